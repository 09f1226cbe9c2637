"""Records that compiled code can change."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


def record(**values: Any) -> Any:
    """A record that compiled code can change; its fields have the types of their first values."""
    kind = _kind_of_record(tuple(values), tuple(type(value) for value in values.values()))
    return np.array([tuple(values.values())], kind)[0]


@cache
def _kind_of_record(names: tuple[str, ...], types: tuple[type, ...]) -> Any:
    kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
    fields = [(name, kinds[each]) for name, each in zip(names, types, strict=True)]
    return np.dtype((np.record, fields))
