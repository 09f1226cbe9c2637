"""The ledger of the papers as plain values, as `crawlsim.lists` documents it."""

from __future__ import annotations

from typing import Any

from papers.rows import TITLES, WITHOUT_NUMBER, counts_of, rows_named, rows_of


def papers() -> list[dict[str, Any]]:
    """Title, number of items, and how many of them have each status, of each paper."""
    return [
        {"paper": key, "title": title, "items": len(rows_of(key)), **counts_of(key)}
        for key, title in TITLES.items()
    ]


def paper(key: str, *, verify: bool = False) -> list[dict[str, Any]]:
    """The items of a paper; with `verify` whether each number is as stated."""
    records = [row._asdict() for row in rows_of(key).values()]
    if verify:
        from papers.computed import verified

        for record, (_, outcome) in zip(records, verified(key), strict=True):
            record["verified"] = outcome
    return records


def reproduce(key: str, item: str) -> list[dict[str, Any]]:
    """Numbers of an item, computed beside those printed."""
    rows = [row for row in rows_named(key, item) if row.status not in WITHOUT_NUMBER]
    from papers.computed import computed

    numbers = computed(key).numbers
    return [row._asdict() | {"computed": numbers[row.item]()} for row in rows]
