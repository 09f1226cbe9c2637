"""Frequencies of very many pages, in a CSV file beside the scenario with the names of the pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crawlsim.cli.single_files import claim, write
from scenarios import Scenario
from scenarios.columns import Column, names_beside

MOST_LISTED = 1000
"""Frequencies up to which they stand in the scenario file itself."""

_KEY = "robots.accessing.frequencies"
_COLUMN = "frequency"


def with_shares_beside(
    scenario: Scenario, changes: Mapping[str, Any], out: Path
) -> tuple[dict[str, Any], Path | None]:
    """The changes with a long list of frequencies written beside the scenario file.

    Parameters
    ----------
    scenario : Scenario
    changes : mapping
        Dotted keys and values.
    out : Path
        Of the scenario file: that of the frequencies has ``.frequencies.csv`` for its ending.

    Returns
    -------
    changes : dict
    written : Path or None
        The file; None where the list is short, or there is none.

    Raises
    ------
    ScenarioError
        If it cannot be written, or a file of somebody else has its name.
    """
    shares = changes.get(_KEY)
    if not isinstance(shares, list) or len(shares) <= MOST_LISTED:
        return dict(changes), None
    header, names = _names(scenario, len(shares))
    path = claim("--out", str(out.with_suffix(".frequencies.csv")), _is_own)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([header, _COLUMN])
    rows.writerows(zip(names, map(repr, shares), strict=True))
    write("--out", path, text.getvalue().encode())
    beside = {"file": str(path.absolute()), "column": _COLUMN}
    return {**changes, _KEY: beside}, path


def _names(scenario: Scenario, count: int) -> tuple[str, list[str]]:
    """What the file of the change rates calls its pages; else their numbers."""
    rates = scenario.pages.change_rates if scenario.pages else None
    found = names_beside(rates) if isinstance(rates, Column) else None
    return found or ("page", [str(page) for page in range(count)])


def _is_own(content: bytes) -> bool:
    """Whether this is a file of frequencies: a header of two columns, the second one theirs."""
    header = content.partition(b"\n")[0].decode(errors="replace").strip()
    return header.endswith(f",{_COLUMN}")
