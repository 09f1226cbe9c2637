"""What is stored of an output, and whether it is the same now."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scenarios.arrays import Array

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_FEW = 8


def compare(stored: Path, found: Sequence[str]) -> None:
    """Raise an `AssertionError` that names the first line which is not as it is stored.

    Where `STORE_OUTPUTS` is set they are stored instead.
    """
    if os.environ.get("STORE_OUTPUTS"):
        stored.write_text("\n".join(found) + "\n", "utf-8")
    wanted = stored.read_text("utf-8").splitlines()
    for line, (before, now) in enumerate(itertools.zip_longest(wanted, found, fillvalue=""), 1):
        assert same(before, now), f"line {line} of {stored.name}\n- {before}\n+ {now}"


def numbers(values: Any, digits: int = 5) -> str:
    """A few numbers as they are, many by what they come to."""
    found: Array = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    if len(found) > _FEW:
        known = np.isfinite(found)
        count = max(known.sum(), 1)
        weights = np.linspace(0, 1, len(found))[known]
        means = found[known].sum() / count, weights @ found[known] / count
        found = np.array([found[0], *means, found[-1]])
        return f"many {' '.join(f'{value:#.{digits}g}' for value in found)}"
    return " ".join(f"{value:#.{digits}g}" for value in found)


def same(stored: str, found: str) -> bool:
    """Whether words are the same, and numbers but for rounding.

    They may differ in the last digit that is written. Of numbers with all their digits that is
    more than all processors agree on: sums of ten thousand terms are off by ten thousand roundings
    of 1e-16 at most, relatively, and differences of numbers near 1 by 1e-9.
    """
    if _NUMBER.sub("0", stored) != _NUMBER.sub("0", found):
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(found), strict=True)
    return all(one == other or _near(one, other) for one, other in pairs)


def _near(stored: str, found: str) -> bool:
    if "." not in stored and "e" not in stored:
        return False
    digits, _, power = stored.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(float(stored) - float(found)) <= 1.01 * max(unit, 1e-9, 1e-12 * abs(float(stored)))
