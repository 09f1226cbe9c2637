"""Heritrix's crawl.log: a line for each URI that was tried, in words that blanks part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crawlsim.logs.read.csv_lines import MOST_SHOWN, Block
from crawlsim.logs.read.named import Kind
from crawlsim.logs.read.rows import Columns, Rows, rows_of
from crawlsim.logs.read.words import columns_of_words

_PLACES = {"time": 0, "status": 1, "size": 2, "url": 3, "mime": 6, "digest": 9}
_THREAD = 7
_FEWEST = 10


def read_heritrix(
    parts: Iterator[Block], path: Path, kind: Kind | None
) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a crawl.log; the time is that of the first column, when the line was written."""
    del path, kind
    return "visits", map(_rows, parts)


def _rows(block: Block) -> Rows:
    wanted = [*_PLACES.values(), _THREAD]
    lines, (*columns, thread), broken = columns_of_words(block, wanted, _FEWEST)
    whole = thread.str.startswith("#").to_numpy(bool)
    if not whole.all():  # a blank in a URL makes two words of it
        odd = lines[~whole]
        why = f"has no thread such as #012 as its word {_THREAD + 1}"
        broken.add(len(odd), [(line, why) for line in odd[:MOST_SHOWN].tolist()])
        lines = lines[whole]
        columns = [each[whole] for each in columns]
    named = dict(zip(_PLACES, columns, strict=True))
    return rows_of(Columns(lines, **named, broken=broken))
