"""Parquet files and folders of them, read through Dask, a few row groups at a time.

Only the compact rows of each part are kept, so that a data set larger than memory can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from crawlsim.logs.read.named import Kind, needed_places
from crawlsim.logs.read.rows import Columns, Rows, rows_of
from crawlsim.logs.read.times import in_digits
from scenarios.errors import MISSING, ScenarioError

_MAGIC = b"PAR1"
_REFUSALS = (OSError, ValueError, RuntimeError, LookupError, TypeError)
"""What pyarrow and Dask raise when they cannot read a file."""


def is_parquet(path: Path) -> bool:
    """Whether it is a Parquet file, or a folder with such files below it.

    Raises
    ------
    ScenarioError
        If it cannot be read.
    """
    if path.is_dir():
        return any(path.rglob("*.parquet"))
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError("", MISSING, f"cannot be read: {reason}", str(path)) from None


def read_parquet(path: Path, kind: Kind | None) -> tuple[Kind, Iterator[Rows]]:
    """The rows of a Parquet file or folder, by the names of CSV columns.

    Raises
    ------
    ScenarioError
        If it cannot be read, or the packages for it are not installed.
    """
    try:
        import dask.dataframe
        import pyarrow.parquet
    except ImportError:
        allowed = "is Parquet, which needs more packages: pip install 'crawlsim[parquet]'"
        raise ScenarioError("", MISSING, allowed, str(path)) from None
    files = sorted(map(str, path.rglob("*.parquet"))) if path.is_dir() else [str(path)]
    try:
        names = pyarrow.parquet.read_schema(files[0]).names
        places, kind = needed_places(names, path, kind)
        wanted = [names[place] for place in places.values()]
        frame = dask.dataframe.read_parquet(files, columns=wanted, split_row_groups=True)
        parts = frame.to_delayed()
    except ScenarioError:
        raise
    except _REFUSALS as error:
        raise _unreadable(path, error) from None
    return kind, _rows(parts, list(places), wanted, path)


def _unreadable(path: Path, error: Exception) -> ScenarioError:
    return ScenarioError("", MISSING, f"cannot be read as Parquet: {error}", str(path))


def _rows(
    parts: Sequence[Any], fields: Sequence[str], wanted: Sequence[str], path: Path
) -> Iterator[Rows]:
    """The rows of each part, as many parts at once as there are processors."""
    from dask.base import compute
    from dask.delayed import delayed

    compact = delayed(_compact)
    first = 1
    at_once = os.cpu_count() or 1
    with ThreadPoolExecutor(at_once) as pool:
        for start in range(0, len(parts), at_once):
            few = [compact(part, fields, wanted) for part in parts[start : start + at_once]]
            try:
                read = compute(*few, scheduler="threads", pool=pool)
            except _REFUSALS as error:
                raise _unreadable(path, error) from None
            for rows, number in read:
                rows.broken.lines = [(first + line, why) for line, why in rows.broken.lines]
                first += number
                yield rows


def _compact(part: Any, fields: Sequence[str], wanted: Sequence[str]) -> tuple[Rows, int]:
    """The rows of one part, and how many rows it has."""
    columns = {
        field: _readable(part[name], field) for field, name in zip(fields, wanted, strict=True)
    }
    return rows_of(Columns(np.arange(len(part)), **columns)), len(part)


def _readable(column: Any, field: str) -> Any:
    """A column as texts, empty where there is nothing; times may stay dates."""
    import pandas as pd

    column = column.reset_index(drop=True)
    if field == "time" and column.dtype.kind == "M":
        return column
    if column.dtype.kind == "f":
        return column.map(in_digits).astype("str")
    if column.dtype.kind in "iu" or isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    return column.astype("str").where(column.notna(), "")
