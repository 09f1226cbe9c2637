"""The rows of the ledger, read from the files beside this one."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from scenarios import ScenarioError
from scenarios.base import nearest, one_of

TITLES: dict[str, str] = {
    "coffman1998": "Optimal robot scheduling for Web search engines",
    "avrachenkov2011": (
        "Optimal threshold control by the robots of Web search engines with obsolescence of "
        "documents"
    ),
    "talim2001": "Controlling the robots of Web search engines",
    "altman2000": "Open-loop routeing to M parallel servers with no buffers",
    "eckstein2005": "Optimal information monitoring under a politeness constraint",
}
"""The papers, by their keys."""

STATUSES: dict[str, str] = {
    "reproduced": "what is printed comes out, to the digits printed",
    "corrected": "it does not, and ours is right",
    "refuted": "false, with a counterexample",
    "re-derived": "our copy of the paper has lost the formula; this one is ours",
    "data lost": "the inputs are not in our copy of the paper",
    "not served": "crawlsim does not do this",
}

KINDS = (
    *("equation", "theorem", "algorithm", "example", "table cell", "figure", "claim"),
    "open problem",
)

WITHOUT_NUMBER = ("data lost", "not served")
"""Statuses of rows that nothing is computed for."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

_BETWEEN = re.compile(r",(?![^(\[]*[)\]])")
"""A comma outside of brackets."""


class Row(NamedTuple):
    """What became of one item of a paper.

    Attributes
    ----------
    item : str
        A number as the paper has it, a cell of a table, or where a claim stands and what it says.
    kind, status : str
        Of `KINDS` and of `STATUSES`.
    printed : str or None
        Digit for digit; None where no number is printed.
    ours : str or None
        A number, and words after it; None where nothing is computed.
    shown : str or None
        A command that prints ours.
    note : str or None
        Why it is not as printed.
    """

    item: str
    kind: str
    status: str
    printed: str | None
    ours: str | None
    shown: str | None
    note: str | None

    def with_number(self, computed: float) -> str:
        """Ours, with its number computed anew and rounded to as many digits."""
        assert self.ours is not None
        number = _number_in(self.ours)
        return self.ours.replace(number, _rounded(computed, number), 1)

    def agrees_with(self, computed: float) -> bool:
        """Whether a number computed anew is ours, to the digits given there."""
        assert self.ours is not None
        number = _number_in(self.ours)
        return abs(computed - float(number)) <= 0.51 * _last_place(number)


@cache
def rows_of(paper: str) -> dict[str, Row]:
    """The rows of a paper by item, in the order of its file.

    Raises
    ------
    ScenarioError
        If there is no such paper.
    """
    if paper not in TITLES:
        raise ScenarioError("paper", paper, f"must be {one_of(paper, TITLES)}")
    text = (files("papers") / f"{paper}.csv").read_text("utf-8")
    rows = [_row(paper, record) for record in csv.DictReader(io.StringIO(text))]
    return {row.item: row for row in rows}


def rows_named(paper: str, item: str) -> list[Row]:
    """The row of an item, or those of all cells of a table or of a line of it.

    Raises
    ------
    ScenarioError
        If the paper has no such item.
    """
    rows = rows_of(paper)
    wanted = normal(item)
    found = [row for row in rows.values() if normal(row.item) == wanted]
    found = found or [row for row in rows.values() if wanted in map(normal, _groups(row.item))]
    if not found:
        names = dict.fromkeys(group for row in rows.values() for group in _groups(row.item))
        hint = nearest(item, [*rows, *names], "")
        allowed = f"must be an item of the paper{hint}; crawlsim paper {paper} lists them"
        raise ScenarioError("item", item, allowed)
    return found


def name_of_all(rows: list[Row]) -> str:
    """The item, or the smallest part of the paper that all of these stand in."""
    if len(rows) == 1:
        return rows[0].item
    return [
        group for group in _groups(rows[0].item) if all(group in _groups(r.item) for r in rows)
    ][-1]


def _groups(item: str) -> list[str]:
    """What an item is of, the widest first: "Table 1", and "Table 1, (0.01, 5, 0.4)" say."""
    commas = [found.start() for found in _BETWEEN.finditer(item)]
    return [item[:comma] for comma in commas]


def counts_of(paper: str) -> dict[str, int]:
    """How many rows a paper has of each status."""
    counts = Counter(row.status for row in rows_of(paper).values())
    return {status: counts[status] for status in STATUSES}


def normal(item: str) -> str:
    """The name of an item without what does not matter: spaces, case, zeros at the ends."""
    short = re.sub(r"\s+", "", item).lower()
    short = re.sub(r"(?<!\d)0+(?=\.\d)", "", short)
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", short).replace(".,", ",").replace(".)", ")")


def _row(paper: str, record: dict[str, str]) -> Row:
    values = {key: record[key] or None for key in Row._fields}
    row = Row(**values)  # type: ignore[arg-type]
    if row.ours is not None and row.shown is None:
        row = row._replace(shown=f"crawlsim reproduce {paper} {shlex.quote(row.item)}")
    return row


def _number_in(text: str) -> str:
    """The first number of a text."""
    found = _NUMBER.search(text)
    assert found is not None, text
    return found.group()


def _last_place(number: str) -> float:
    """What a number's last digit stands for."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))


def _rounded(value: float, like: str) -> str:
    """A number with as many digits as another one."""
    mantissa, _, exponent = like.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return f"{value:.{decimals}{'e' if exponent else 'f'}}"
