"""Write what ``crawlsim formulas``, ``schema`` and reports of studies say; the glossary's synonyms.

Run as ``python -m experiments.make_lists`` after a change of any. The commands would otherwise load
all formulas, or all sections of a scenario, before they say a word.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from crawlsim.formula_index import records
from crawlsim.lists import SYNONYMS
from scenarios import schema

ROOT = Path(__file__).parents[1]
_GLOSSARY = "docs/glossary.md"
_SYNONYMS = "## Words of other books\n"


def texts() -> dict[str, str]:
    """File name -> what it is to hold."""
    lists = {
        "crawlsim/cli/formulas.json": records(),
        "crawlsim/cli/schema.json": schema(),
        "crawlsim/study/model.json": model_sentences(),
    }
    made = {
        name: json.dumps(each, indent=2, ensure_ascii=False) + "\n" for name, each in lists.items()
    }
    before = (ROOT / _GLOSSARY).read_text(encoding="utf-8").partition(_SYNONYMS)[0]
    head = "\n| word | means here | begin with |\n|---|---|---|\n"
    return made | {_GLOSSARY: before + _SYNONYMS + head + "".join(_rows())}


def model_sentences() -> dict[str, str]:
    """What docs/model.md says, by the words in bold that each of its points begins with."""
    text = (ROOT / "docs/model.md").read_text(encoding="utf-8")
    points = re.findall(r"^- \*\*(.*?)\*\*(.*?)(?=^- |^$|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return {heading: " ".join((heading + rest).split()) for heading, rest in points}


def _rows() -> list[str]:
    links = {word: posixpath.relpath(each["page"], "docs") for word, each in SYNONYMS.items()}
    return [
        f"| {word} | {SYNONYMS[word]['means']} | [{link.rpartition('/')[2]}]({link}) |\n"
        for word, link in links.items()
    ]


def main() -> None:
    """Write them."""
    for name, text in texts().items():
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
