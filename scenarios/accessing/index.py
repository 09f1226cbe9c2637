"""What index policies share: an urgency of each page's own age, from two numbers per page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing.policy import Indices, Planned, Shares
from scenarios.accessing.urgency import most_urgent
from scenarios.base import NonNegative

__all__ = ["NEAR", "IndexPolicy", "Numbers", "second_order"]

Numbers = NDArray[np.floating[Any]]

_TERMS = 6
NEAR = 0.02
"""Below this, differences of exponentials are taken from their series."""


def second_order(x: Any) -> Numbers:
    """``e^x - 1 - x`` for -0.02 <= x <= 0.02, to twelve digits."""
    total = np.zeros_like(x)
    for order in range(_TERMS, 1, -1):
        total = (1.0 + total) * (x / order)
    result: Numbers = total * x
    return result


class IndexPolicy(Planned):
    """The page with the greatest index next, in slots since its last access; ties to the lower.

    All pages count as accessed in turn just before the start. Both lists are found by
    ``analytic.resolve`` where the file does not give them.
    """

    exponents: tuple[NonNegative, ...] | None = None
    values: tuple[NonNegative, ...] | None = None

    uses_transform: ClassVar[bool]
    """Whether the exponents are ``-ln E e^{-mu X}`` of the access time X, or ``mu E X``."""

    @property
    def unresolved(self) -> str | None:
        """The key for which the numbers are still to be found."""
        if self.exponents is None:
            return "exponents"
        return "values" if self.values is None else None

    @abstractmethod
    def columns(self, exponents: Numbers, values: Numbers) -> tuple[Numbers, ...]:
        """What the index needs of each page."""

    @abstractmethod
    def index(self, columns: tuple[Numbers, ...], age: Any) -> Numbers:
        """The index of pages `age` slots after their last access; it grows with the age."""

    def plan(self, shares: Shares) -> Iterator[Indices]:  # noqa: ARG002  # needs no shares
        """The page with the greatest index in each slot."""
        return most_urgent(_Ages(self))


class _Ages:
    """Indices of all pages by their ages."""

    def __init__(self, policy: IndexPolicy) -> None:
        self._index = policy.index
        self._columns = policy.columns(np.array(policy.exponents), np.array(policy.values))
        self.pages = len(self._columns[0])
        self._last = np.arange(self.pages) - self.pages

    def at(self, pages: Indices, slot: Any) -> Numbers:
        """Indices of some pages in a slot, or in a column of slots."""
        columns = tuple(each[pages] for each in self._columns)
        return self._index(columns, slot - self._last[pages])

    def afterwards(self, pages: Indices, slots: int) -> Numbers:
        """Indices at the ages 1, 2, …, row by row."""
        columns = tuple(each[pages] for each in self._columns)
        return self._index(columns, np.arange(1, slots + 1)[:, None])

    def start_again(self, below: Numbers, afterwards: Numbers) -> None:
        """Ages 1, 2, … below the slot of the access."""
        below[:] = afterwards

    def access(self, pages: Indices, slots: Indices) -> None:
        """The last access of each page is the latest of these."""
        np.maximum.at(self._last, pages, slots)
