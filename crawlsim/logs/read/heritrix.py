"""Heritrix's crawl.log: a line for each URI that was tried, in words that blanks part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crawlsim.logs.read.csv_lines import Block
from crawlsim.logs.read.named import Kind
from crawlsim.logs.read.rows import Columns, Rows, rows_of
from crawlsim.logs.read.words import columns_of_words

_PLACES = {"time": 0, "status": 1, "url": 3, "mime": 6, "digest": 9}
_FEWEST = 10


def read_heritrix(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a crawl.log; the time is that of the first column, when the line was written."""
    del path, kind
    return "visits", map(_rows, parts)


def _rows(block: Block) -> Rows:
    lines, columns, broken = columns_of_words(block, list(_PLACES.values()), _FEWEST)
    named = dict(zip(_PLACES, columns, strict=True))
    return rows_of(Columns(lines, **named, broken=broken))
