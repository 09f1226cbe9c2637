"""What index policies share: an urgency of each page's own age, from two numbers per page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing.policy import Indices, Planned, Shares
from scenarios.accessing.urgency import Kind, Urgency, most_urgent
from scenarios.base import NonNegative

Numbers = NDArray[np.floating[Any]]

_TERMS = 6
NEAR = 0.02
"""Below this, differences of exponentials are taken from their series."""


def second_order(x: Any) -> Numbers:
    """``e^x - 1 - x`` for -0.02 <= x <= 0.02, to twelve digits."""
    total = np.zeros_like(x)
    for order in range(_TERMS, 1, -1):
        total = (1.0 + total) * (x / order)
    return total * x


class IndexPolicy(Planned):
    """The page with the greatest index next, in slots since its last access; ties to the lower.

    All pages count as accessed in turn just before the start. Both lists are found by
    ``analytic.resolve`` where the file does not give them.
    """

    exponents: tuple[NonNegative, ...] | None = None
    values: tuple[NonNegative, ...] | None = None

    urgency: ClassVar[Kind]
    """What the search for the greatest index, in compiled code, knows it by."""
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
        columns = self.columns(np.array(self.exponents), np.array(self.values))
        pages = len(columns[0])
        return most_urgent(Urgency(self.urgency, columns, np.arange(pages) - pages))
