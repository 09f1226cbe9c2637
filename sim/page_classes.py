"""Classes of pages that a buffer tells apart: who is of which, their line, what became of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping, Reversible, Sequence
from itertools import chain
from typing import Any

import numpy as np

from scenarios.model import PageClasses as Given
from sim import rules
from sim.pages import Load
from sim.tally import PageClassesTally

Item = tuple[int, float, Load, int]
"""A page in the system: its sequence number, its time of entry, its copy, its class."""


class ClassLine(MutableMapping[int, Item], Reversible[int]):
    """Waiting pages by their numbers: all of a class before those of the next, as they entered.

    Parameters
    ----------
    count : int
        Classes.
    """

    def __init__(self, count: int) -> None:
        self._lines = [OrderedDict[int, Item]() for _ in range(count)]
        self._line_of: dict[int, OrderedDict[int, Item]] = {}

    def __getitem__(self, number: int) -> Item:
        return self._line_of[number][number]

    def __setitem__(self, number: int, item: Item) -> None:
        self._line_of[number] = self._lines[item[3]]
        self._line_of[number][number] = item

    def __delitem__(self, number: int) -> None:
        del self._line_of.pop(number)[number]

    def __len__(self) -> int:
        return len(self._line_of)

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._lines)

    def __reversed__(self) -> Iterator[int]:
        return chain.from_iterable(map(reversed, reversed(self._lines)))


class PageClasses:
    """The class of each page, and counts by class.

    Parameters
    ----------
    given : scenarios.model.PageClasses
    of_page : sequence of int
        The class of each page that has an identity.
    stream : Generator
        From which the classes of the others are drawn.
    """

    def __init__(self, given: Given, of_page: Sequence[int], stream: Any) -> None:
        self.count = given.count
        self._of_page = of_page
        self._sums = rules.cumulative(given.shares) if given.shares else ()
        self._stream = stream
        self.end_warmup()

    def of(self, load: Load) -> int:
        """The class of a page that is delivered."""
        if load is not None:
            return self._of_page[load.page]
        return rules.pick(self._sums, self._stream.random())

    def count_end(self, group: int, fate: int, sojourn: float) -> None:
        """A page of a class has ended."""
        self._ended[group, fate] += 1
        self._sojourn[group, fate] += sojourn
        self._square[group, fate] += sojourn * sojourn

    def count_refused(self, group: int) -> None:
        """A page of a class does not enter."""
        self._refused[group] += 1

    def end_warmup(self) -> None:
        """Forget what was counted so far: the warm-up is over."""
        self._refused = np.zeros(self.count, dtype=np.int64)
        self._ended = np.zeros((self.count, 4), dtype=np.int64)
        self._sojourn, self._square = np.zeros((2, self.count, 4))

    def tally(self) -> PageClassesTally:
        """What was counted since the end of the warm-up."""
        return class_tally(self._refused, self._ended, self._sojourn, self._square)


def class_tally(refused: Any, ended: Any, sojourn: Any, square: Any) -> PageClassesTally:
    """The tally of counts in arrays, the last three of shape (classes, fates)."""
    by_class = (tuple(map(tuple, each.tolist())) for each in (ended, sojourn, square))
    return PageClassesTally(tuple(refused.tolist()), *by_class)
