"""Rows whose columns have names: CSV, JSON Lines, Common Crawl's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crawlsim.logs.read.columns import DIGESTS, places_of
from crawlsim.logs.read.csv_lines import Block, header_of, separator_hint, table_of
from crawlsim.logs.read.json_rows import JsonRows, columns_of, json_rows
from crawlsim.logs.read.rows import OF_POST, Columns, Rows, rows_of
from crawlsim.logs.read.times import Times
from scenarios.errors import MISSING, ScenarioError

Kind = Literal["visits", "changes"]

NAMES: Mapping[str, tuple[str, ...]] = {
    "url": ("url", "page", "original", "original_uri", "original_url"),
    "time": ("time", "fetch_time", "timestamp"),
    "changed": ("changed",),
    "digest": DIGESTS,
    "status": ("status", "fetch_status", "statuscode", "status_code", "http_status"),
    "mime": ("content_mime_type", "mime", "mimetype"),
    "method": ("method", "http_method", "request_method"),
    "key": ("urlkey", "url_surtkey"),
    "size": ("size", "bytes", "content_length", "length", "warc_record_length"),
}
"""What a column holds, and the names by which it goes, in small letters; the first one counts."""

_OF_POST = OF_POST.encode()


def known_places(header: Sequence[str]) -> dict[str, int]:
    """Where the columns are whose names are known."""
    return places_of([name.strip().lower() for name in header], NAMES)


def needed_places(
    header: Sequence[str], path: Path, kind: Kind | None
) -> tuple[dict[str, int], Kind]:
    """Where the columns are, and whether they are of visits or of changes.

    Raises
    ------
    ScenarioError
        If there is no URL or no time, or visits do not say what they found.
    """
    places = known_places(header)
    if not {"url", "time"} <= set(places):
        allowed = (
            "must name the columns url or page; time, fetch_time or timestamp; and for visits "
            f"digest or changed{separator_hint(header)}"
        )
        raise ScenarioError("header", ",".join(header), allowed, str(path))
    if {"digest", "changed"} & set(places):
        return places, "visits"
    others = {"status", "mime", "method"} & set(places)
    is_named_url = header[places["url"]].strip().lower() != "page"
    looks_visited = others or (is_named_url and len(header) > len({"url", "time"}))
    if kind == "visits" or (kind is None and looks_visited):
        allowed = (
            "visits need a column digest or changed, to tell which found a change; if the times "
            "are those of changes, say --kind changes"
        )
        raise ScenarioError("header", ",".join(header), allowed, str(path))
    return places, "changes"


def places_without_header(fields: Sequence[str], kind: Kind | None) -> dict[str, int] | None:
    """Where the columns are if the first line is a row already: page, time, and changed of visits.

    Returns
    -------
    dict or None
        None where the kind is not said, or the line is not a row.
    """
    import pandas as pd

    names = ("url", "time", "changed") if kind == "visits" else ("url", "time")
    if kind is None or len(fields) < len(names) or {"url", "time"} <= set(known_places(fields)):
        return None
    is_time = np.isfinite(Times()(pd.Series([fields[1]], dtype="str")))[0]
    return {name: place for place, name in enumerate(names)} if is_time else None


def csv_columns(
    parts: Iterator[Block], width: int, places: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """The columns of a CSV file by what they hold, with `lines` and `broken` as `Columns` has them.

    Parameters
    ----------
    parts : iterator of Block
        From the line after the header on.
    width : int
        Fields of a line.
    places : mapping
        What a column holds -> where it is.
    """
    import pandas as pd

    for block in parts:
        if not block.text:
            continue
        names = [name for name in places if name != "key" or _OF_POST in block.text.lower()]
        table = table_of(block, width, [places[name] for name in names])
        columns = table.columns or [pd.Series([], dtype="str")] * len(names)
        named = dict(zip(names, columns, strict=True))
        yield {"lines": table.lines, **named, "broken": table.broken}


def read_csv(parts: Iterator[Block], path: Path, kind: Kind | None) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a CSV file with a header, and whether they are visits or changes."""
    first = next(parts)
    header = header_of(first, path)
    names: Mapping[str, str] = {}
    places = places_without_header(header, kind)
    if places is None:
        places, kind = needed_places(header, path, kind)
        names = {what: header[place].strip().lower() for what, place in places.items()}
        first = first.without_first_line()
    assert kind is not None
    times = Times()
    columns = csv_columns(chain([first], parts), len(header), places)
    return kind, (rows_of(Columns(**each, names=names), seconds=times) for each in columns)


def read_json(parts: Iterator[Block], path: Path, kind: Kind | None) -> tuple[Kind, Iterator[Rows]]:
    """The rows of JSON Lines or of a JSON array, whose keys are the names of columns."""
    chunks = json_rows(parts, path)
    first = next(chunks)
    while not first.rows and (more := next(chunks, None)) is not None:
        more.broken.add(first.broken.count, first.broken.lines)
        first = more
    if not first.rows:
        allowed = "no row can be read: JSON must be an object on each line, or an array of rows"
        raise ScenarioError("", MISSING, allowed, str(path))
    places, kind = needed_places(keys_of(first), path, kind)

    times = Times()
    columns = (json_columns(each, known_places, places) for each in chain([first], chunks))
    return kind, (rows_of(Columns(**each), seconds=times) for each in columns)


def json_columns(
    chunk: JsonRows, places: Callable[[Sequence[str]], Mapping[str, int]], needed: Iterable[str]
) -> dict[str, Any]:
    """The columns of JSON rows by what they hold, as `csv_columns` has those of a CSV file.

    Parameters
    ----------
    chunk : JsonRows
    places : callable
        From the keys of the rows to what a column holds -> which key it has.
    needed : iterable of str
        Columns that are empty where no row has such a key.
    """
    keys = keys_of(chunk)
    names = dict.fromkeys(needed, "")
    names.update({what: keys[place] for what, place in places(keys).items()})
    columns = dict(zip(names, columns_of(chunk.rows, list(names.values())), strict=True))
    return {"lines": np.array(chunk.lines, np.int64), **columns, "broken": chunk.broken}


def keys_of(chunk: JsonRows) -> list[str]:
    """The keys of all rows, which need not have the same ones."""
    return list(dict.fromkeys(name for row in chunk.rows for name in row))
