"""Write what ``crawlsim formulas`` and ``crawlsim schema`` answer from, after a change of either.

Run as ``python -m experiments.make_lists``. The commands would otherwise load all formulas, or all
sections of a scenario, before they say a word.
"""

from __future__ import annotations

import json
from pathlib import Path

from crawlsim.formula_index import records
from scenarios import schema

FOLDER = Path(__file__).parents[1] / "crawlsim" / "cli"


def texts() -> dict[str, str]:
    """File name -> what it is to hold."""
    lists = {"formulas.json": records(), "schema.json": schema()}
    return {
        name: json.dumps(each, indent=2, ensure_ascii=False) + "\n" for name, each in lists.items()
    }


def main() -> None:
    """Write them."""
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
