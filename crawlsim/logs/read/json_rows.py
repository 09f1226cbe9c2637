"""JSON Lines, or a JSON array, as rows: a few thousand at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawlsim.logs.read.csv_lines import Block, Broken
from scenarios.errors import MISSING, ScenarioError

_NO_JSON = "is not a JSON object"


@dataclass
class JsonRows:
    """Objects of some lines.

    Attributes
    ----------
    lines : list of int
        Number of each line in the file, from 1.
    rows : list of dict
    broken : Broken
    """

    lines: list[int] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    broken: Broken = field(default_factory=Broken)

    def take(self, line: int, row: object) -> None:
        """One more, if it is an object; the answer of a search holds several."""
        hits = row.get("hits") if isinstance(row, dict) else None
        found = hits.get("hits") if isinstance(hits, dict) else None
        if isinstance(found, list):
            for each in found:
                self.take(line, each)
        elif isinstance(row, dict):
            self.lines.append(line)
            self.rows.append(row)
        else:
            self.broken.add(1, [(line, _NO_JSON)])


def json_rows(parts: Iterator[Block], path: Path) -> Iterator[JsonRows]:
    """The objects of a file of JSON Lines, or of a JSON array.

    An array of arrays, the first of which names the fields, is a table too; CDX servers give it.
    Objects may also stand on several lines each, as Elasticsearch writes what a search found.

    Raises
    ------
    ScenarioError
        If an array is not JSON.
    """
    for block in parts:
        if block.text.lstrip()[:1] == b"[":
            yield _rows_of_array(block, parts, path)
            return
        if block.text.lstrip().partition(b"\n")[0].strip() == b"{":
            yield _rows_of_tall_objects(block, parts)
            return
        rows = JsonRows()
        for offset, line in enumerate(block.text.split(b"\n")[:-1]):
            if line.strip():
                take_line(rows, block.first + offset, line)
        yield rows


def take_line(rows: JsonRows, line: int, text: bytes) -> None:
    """The object of one line, or that it is none."""
    try:
        rows.take(line, json.loads(text.decode("utf-8", "backslashreplace")))
    except (ValueError, RecursionError):
        rows.broken.add(1, [(line, _NO_JSON)])


def _rows_of_tall_objects(block: Block, parts: Iterator[Block]) -> JsonRows:
    """The objects of a file in which each has several lines."""
    text = b"".join([block.text, *(part.text for part in parts)])
    left = text.decode("utf-8", "backslashreplace").strip()
    rows = JsonRows()
    decoder = json.JSONDecoder()
    line = block.first
    while left:
        try:
            row, end = decoder.raw_decode(left)
        except (ValueError, RecursionError):
            rows.broken.add(1, [(line, _NO_JSON)])
            break
        rows.take(line, row)
        line += left.count("\n", 0, end) + 1
        left = left[end:].lstrip()
    return rows


def _rows_of_array(block: Block, parts: Iterator[Block], path: Path) -> JsonRows:
    text = b"".join([block.text, *(part.text for part in parts)])
    try:
        array = json.loads(text.decode("utf-8", "backslashreplace"))
    except (ValueError, RecursionError):
        allowed = "begins like a JSON array but is not one"
        raise ScenarioError("", MISSING, allowed, str(path)) from None
    if array and isinstance(array[0], list):
        names = [str(name) for name in array[0]]
        array = [
            dict(zip(names, row, strict=True))
            if isinstance(row, list) and len(row) == len(names)
            else row
            for row in array[1:]
        ]
    rows = JsonRows()
    for number, row in enumerate(array, start=1):
        if row == []:  # a CDX server says after it where the next answer begins
            break
        rows.take(number, row)
    return rows


def text_of(value: object) -> str:
    """A value as the text that a column of CSV would hold; of a list its first entry."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        if value.isascii():
            return value
        # Halves of surrogate pairs, which JSON can spell, are not text.
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Any]:
    """Columns of text by the keys of the objects, empty where one has no such key."""
    import pandas as pd

    return [pd.Series([text_of(row.get(name)) for row in rows], dtype=object) for name in names]
