"""A page for each paper: what became of each of its items."""

from __future__ import annotations

from collections.abc import Iterator

from analytic.index.bibliography import REFERENCES
from generator.markdown import LONG, code, fold, heading, linked, page, plain, table, toctree
from papers.rows import STATUSES, TITLES, Row, counts_of, rows_of

FOLDER = "reference/papers"
_MANY = 20
"""Rows that are not folded, of what is in no table."""


def paper_pages() -> dict[str, str]:
    """The pages by their places."""
    pages = {f"{FOLDER}/{key}": _page(key) for key in TITLES}
    rows = [
        [f"[{key}](#paper-{key})", plain(title), *(str(n) for n in counts_of(key).values())]
        for key, title in TITLES.items()
    ]
    meanings = "\n".join(f"- *{status}*: {plain(means)}" for status, means in STATUSES.items())
    pages[f"{FOLDER}/index"] = page(
        "# Papers",
        "Every formula, table cell, figure and claim of five papers, and what became of it. "
        "`crawlsim paper NAME --verify` computes each number anew.",
        table(["paper", "title", *STATUSES], rows),
        meanings,
        "Full references, and the other sources: [](/reference/bibliography.md).",
        toctree(TITLES, "hidden"),
    )
    return pages


def _page(key: str) -> str:
    call = code(f"crawlsim reproduce {key} ITEM")
    lead = f"{call} computes an item and prints it beside what the paper has\\."
    parts = [heading(f"paper-{key}", key), linked(REFERENCES[key]), lead]
    rows = rows_of(key).values()
    for status, means in STATUSES.items():
        mine = [row for row in rows if row.status == status]
        if mine:
            parts += [f"## {status.capitalize()}", f"{len(mine)} items: {plain(means)}\\."]
            parts += _by_table(mine)
    return page(*parts)


def _by_table(rows: list[Row]) -> Iterator[str]:
    """The cells of each table of the paper folded, if they are many; and so all other rows."""
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        name = row.item.partition(",")[0] if row.kind == "table cell" else ""
        by_table.setdefault(name, []).append(row)
    long = {name: cells for name, cells in by_table.items() if name and len(cells) > LONG}
    others = [row for name, cells in by_table.items() if name not in long for row in cells]
    if others:
        yield _rows(others) if len(others) <= _MANY else fold(f"{len(others)} items", _rows(others))
    for name, cells in long.items():
        yield fold(f"{name}: {len(cells)} cells", _rows(cells))


def _rows(rows: list[Row]) -> str:
    head = ["item", "kind", "printed", "ours", "note"]
    cells = [_cells(row) for row in rows]
    filled = [n for n in range(len(head)) if any(row[n] for row in cells)]
    return table([head[n] for n in filled], [[row[n] for n in filled] for row in cells])


def _cells(row: Row) -> list[str]:
    words = [row.item, row.kind, row.printed or "", row.ours or "", row.note or ""]
    return [linked(each) for each in words]
