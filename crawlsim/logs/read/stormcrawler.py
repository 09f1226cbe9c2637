"""Dumps of StormCrawler's status index as JSON Lines, as elasticdump writes them.

A dump holds the state of each page at its last visit, which was ``fetchInterval`` minutes before
``nextFetchDate``. In the names of metadata %2E stands for a dot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crawlsim.logs.read.columns import numbers
from crawlsim.logs.read.csv_lines import Block
from crawlsim.logs.read.json_rows import JsonRows, columns_of, json_rows
from crawlsim.logs.read.named import Kind
from crawlsim.logs.read.rows import (
    DIGEST,
    FAILED,
    MOVED,
    NAMED,
    REFUSED,
    SAME,
    Columns,
    Rows,
    rows_of,
)
from crawlsim.logs.read.times import seconds_of
from scenarios.arrays import Array

_MINUTE = 60.0
_NOT_MODIFIED = "304"
_REFUSALS = ("429", "503")
_UNKNOWN = "Where fetchInterval is missing it is not known when the page was fetched: left out."
_STATES: Mapping[str, int] = {
    _NOT_MODIFIED: SAME,
    **dict.fromkeys(_REFUSALS, REFUSED),
    "FETCHED": DIGEST,
    "REDIRECTION": MOVED,
    **dict.fromkeys(("FETCH_ERROR", "ERROR"), FAILED),
}


def read_stormcrawler(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of one dump."""
    del kind
    return "visits", map(_rows, json_rows(parts, path))


def _rows(found: JsonRows) -> Rows:
    keys = (
        "url",
        "status",
        "nextfetchdate",
        "fetchinterval",
        "lastprocesseddate",
        "signature",
        "fetch.statuscode",
    )
    flat = [_flat(row) for row in found.rows]
    url, status, due, interval, processed, signature, code = columns_of(flat, keys)
    status = status.str.upper()
    unsigned = (code == _NOT_MODIFIED) & (signature == "")
    status = status.where(~unsigned | (status != "FETCHED"), _NOT_MODIFIED)
    status = status.where(~code.isin(_REFUSALS) | (status == "FETCHED"), _REFUSALS[0])
    processed_at = seconds_of(processed)
    unknown = np.isnan(numbers(interval)) & np.isnan(processed_at) & (due != "")
    status = status.where(~unknown, "")

    def last_visit(due: Any) -> Array:
        times = seconds_of(due) - _MINUTE * numbers(interval)
        return np.where(np.isnan(times), processed_at, times)

    columns = Columns(
        np.array(found.lines, np.int64), url, due, status, digest=signature, broken=found.broken
    )
    rows = rows_of(columns, states=lambda status: _STATES.get(status, NAMED), seconds=last_visit)
    return replace(rows, notes=(_UNKNOWN,)) if unknown.any() else rows


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its metadata beside its own fields, which come first.

    Exports that flatten documents name metadata ``metadata.signature``. All names are in small
    letters, as versions after 3.5.1 write those of metadata.
    """
    document = row.get("_source", row)
    if not isinstance(document, dict):
        return {}
    metadata = document.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    flat = {name.lower().replace("%2e", "."): value for name, value in named.items()}
    exported = {name.lower().removeprefix("metadata."): value for name, value in document.items()}
    return {**flat, **exported}
