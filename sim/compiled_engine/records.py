"""Records that compiled code can change, alone and in a row.

numpy's own (`np.record`, `np.recarray`) find fields in Python: as plain Python, four fifths of the
time of this engine went there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np


class Records(np.ndarray):
    """Records in a row; a field of all of them is an attribute."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in (self.dtype.names or ()):
            raise AttributeError(f"records have no field {name!r}")
        return np.asarray(self[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def records(count: int, fields: np.dtype) -> Any:
    """So many records with these fields, all zero."""
    return np.zeros(count, fields).view(Records)


def record(**values: Any) -> Any:
    """One; its fields have the types of their first values."""
    fields = _fields_of(tuple(values), tuple(type(value) for value in values.values()))
    return np.array([tuple(values.values())], fields)[0]


def record_type(fields: Sequence[tuple[str, Any]], align: bool = False) -> np.dtype:
    """The type of records with these fields."""
    plain = np.dtype(list(fields), align=align)
    members: dict[str, Any] = {name: _field(name) for name, _ in fields}
    return np.dtype((type("Record", (np.void,), {"__slots__": (), **members}), plain))


def _field(name: str) -> property:
    def change(each: Any, value: Any) -> None:
        each[name] = value

    return property(itemgetter(name), change)


@cache
def _fields_of(names: tuple[str, ...], types: tuple[type, ...]) -> np.dtype:
    kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
    return record_type([(name, kinds[each]) for name, each in zip(names, types, strict=True)])
