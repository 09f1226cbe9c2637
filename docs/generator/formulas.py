"""A page for each result: its statement, when it holds, where it is from, and how to see it."""

from __future__ import annotations

from functools import cache

from analytic.index.bibliography import ORIGINS, REFERENCES
from analytic.index.formula import Condition
from crawlsim.formula_index import INDEX
from generator.examples import Result, example_of
from generator.figures import figure_of
from generator.markdown import (
    block,
    code,
    heading,
    linked,
    page,
    plain,
    prose,
    slug,
    table,
    toctree,
)
from generator.proofs import proof_of
from generator.public import public_name
from papers.rows import TITLES, Row, rows_of

FOLDER = "theory/results"


def label_of(paper: str, number: str) -> str:
    """The label of the page of a result."""
    return f"formula-{paper}-{slug(number)}"


@cache
def results() -> dict[str, list[Result]]:
    """The rows of the index of formulas by label; those of one number are on one page."""
    found: dict[str, list[Result]] = {}
    for each in sorted(INDEX, key=lambda each: each.paper):
        found.setdefault(label_of(each.paper, each.number), []).append(each)
    return found


def formula_pages() -> dict[str, str]:
    """The pages by their places."""
    pages = {}
    by_paper: dict[str, list[list[str]]] = {}
    for label, rows in results().items():
        first = rows[0]
        name = label.removeprefix(f"formula-{first.paper}-")
        pages[f"{FOLDER}/{first.paper}/{name}"] = _page(label, rows)
        kinds = ", ".join(dict.fromkeys(each.kind for each in rows))
        words = plain("; ".join(each.quantity for each in rows))
        link = f"[{plain(first.number)}](#{label})"
        by_paper.setdefault(first.paper, []).append([link, words, plain(kinds)])
    for paper, rows in by_paper.items():
        pages[f"{FOLDER}/{paper}/index"] = page(
            f"# {paper}",
            linked(REFERENCES[paper]),
            table(["result", "gives", "kind"], rows),
            toctree(_names_below(pages, paper), "hidden"),
        )
    pages[f"{FOLDER}/index"] = page(
        "# Results, one by one",
        "Every row of `crawlsim formulas`: what it gives, when it holds, where it is from, and a "
        "command that shows it.",
        toctree([f"{paper}/index" for paper in by_paper], "maxdepth: 1"),
    )
    return pages


def _names_below(pages: dict[str, str], paper: str) -> list[str]:
    folder = f"{FOLDER}/{paper}/"
    return [place.removeprefix(folder) for place in pages if place.startswith(folder)]


def _page(label: str, rows: list[Result]) -> str:
    first = rows[0]
    parts = [heading(label, f"{first.paper} {plain(first.number)}")]
    for each in rows:
        if len(rows) > 1:
            parts.append(f"## {_sentence(each.quantity)}")
        parts += _parts(each, "###" if len(rows) > 1 else "##")
    if figure := figure_of(label):
        parts += ["## Theory beside simulation", figure]
    parts += [f"*Source:* {linked(REFERENCES[first.paper])}"]
    return page(*parts)


def _parts(result: Result, level: str) -> list[str]:
    parts = [f"{_sentence(result.quantity)}\\.", block(result.latex, "{math}"), _symbols(result)]
    if result.origin == "corrected":
        parts.append(_errata(result))
    parts.append(
        f"- Kind: {plain(result.kind)}\n"
        f"- Origin: {plain(result.origin)}: {prose(ORIGINS[result.origin])}\n"
        f"- Function: {_function(result)}\n"
        f"- Derivation: []({proof_of(result)})"
    )
    if result.conditions:
        parts += [f"{level} When it holds", "\n".join(map(_condition, result.conditions))]
    return [*parts, f"{level} See it", block(example_of(result), "sh")]


def _symbols(result: Result) -> str:
    """What the letters of the statement stand for."""
    named = (f"* {{math}}`{symbol}`: {plain(words)}" for symbol, words in result.symbols.items())
    return "\n".join(named)


def _function(result: Result) -> str:
    name = public_name(result.function)
    if name is not None:
        return f"{{py:obj}}`{name}`"
    return code(f"{result.function.__module__}.{result.function.__name__}")


def _condition(condition: Condition) -> str:
    return f"- {prose((condition.__doc__ or '').splitlines()[0])}"


def _sentence(text: str) -> str:
    return plain(text[0].upper() + text[1:])


def _errata(result: Result) -> str:
    """What is wrong in the print."""
    notes = [linked(row.note) for row in _corrected(result) if row.note]
    told = notes or ["What was changed, and how we know, stands in the errata\\."]
    lines = "\n\n".join(dict.fromkeys(told))
    more = f"All of them: [](/reference/errata.md#{result.paper})\\."
    return f":::{{admonition}} Erratum\n:class: warning\n\n{lines}\n\n{more}\n:::\n"


def _corrected(result: Result) -> list[Row]:
    """Rows of the ledger for the same number that are not as printed."""
    if result.paper not in TITLES:
        return []
    number = result.number.removesuffix(" corrected")
    rows = rows_of(result.paper).values()
    wrong = [row for row in rows if row.status in ("corrected", "refuted")]
    ends = set(number.split("-")) if number.startswith("(") else {number}
    return [row for row in wrong if row.item in ends or row.item == number]
