"""Blocks of numbers drawn in advance, for compiled code to take from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_shares
from sim.compiled_engine.laws import Law, fill

__all__ = ["Sequence", "Supply", "sequence_of"]


class Supply:
    """Times drawn in advance, one row per law.

    What one law gives next does not depend on what happens meanwhile.

    Parameters
    ----------
    laws : list of Law
    streams : list of Generator
        One per law.
    needs : ndarray of int, shape (laws,)
        The most that one event takes of each; what none takes is never drawn.

    Attributes
    ----------
    drawn : ndarray of float, shape (laws, block)
    used : ndarray of int, shape (laws,)
        How many of each row have been taken.
    """

    _SMALLEST, _LARGEST = 32, 2**16

    def __init__(self, laws: list[Law], streams: list[Any], needs: Any) -> None:
        self._laws, self._streams, self.needs = laws, streams, needs
        self._block = max(self._SMALLEST, 2 * int(needs.max()))
        self.drawn = np.empty((len(laws), 0))
        self.used = np.zeros(len(laws), dtype=np.int64)

    def refill(self) -> None:
        """Draw as many times as fit; each call makes the blocks larger, up to a limit."""
        drawn = np.empty((len(self._laws), self._block))
        for row in np.flatnonzero(self.needs):
            left = self.drawn[row, self.used[row] :]
            drawn[row, : len(left)] = left
            fill(drawn[row, len(left) :], self._laws[row], self._streams[row])
        self.drawn, self.used = drawn, np.zeros_like(self.used)
        self._block = max(self._block, min(2 * self._block, self._LARGEST // len(drawn)))


class Sequence:
    """The pages to access, in blocks of the accessing policy's own making.

    Parameters
    ----------
    blocks : iterator of ndarray of int
    ahead : int
        Pages that compiled code may take before it asks again.
    """

    def __init__(self, blocks: Iterator[Any], ahead: int) -> None:
        self._blocks, self._ahead = blocks, ahead

    def after(self, pages: Any, asked: int) -> tuple[Any, int]:
        """At least `ahead` pages more, and where they begin, after the first `asked` of these."""
        parts = [pages[asked:]]
        while sum(map(len, parts)) < self._ahead:
            parts.append(next(self._blocks))
        return np.concatenate(parts), 0


class _Repeated:
    """The same for a policy that repeats one list of pages: written out once."""

    def __init__(self, cycle: Any, ahead: int) -> None:
        self._cycle, self._pages = len(cycle), np.resize(cycle, len(cycle) + ahead)

    def after(self, pages: Any, asked: int) -> tuple[Any, int]:  # noqa: ARG002  # same call as its sibling
        """At least `ahead` pages more, and where they begin."""
        return self._pages, asked % self._cycle


def sequence_of(scenario: Scenario, stream: Any, ahead: int) -> Sequence | _Repeated:
    """The pages that a scenario's policy wants accessed; none where pages have no identity."""
    section, policy = scenario.pages, scenario.robots.accessing if scenario.robots else None
    if section is None or policy is None:
        return _Repeated(np.full(1, -1), ahead)
    shares = access_shares(policy, section)
    if isinstance(policy, Periodic):
        return _Repeated(policy.cycle_of(shares), ahead)
    return Sequence(policy.sequence(shares, stream), ahead)
