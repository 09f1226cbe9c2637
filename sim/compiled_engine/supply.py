"""Blocks of numbers drawn in advance, for compiled code to take from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_shares
from sim.compiled_engine.laws import Law, fill
from sim.compiled_engine.world import Times

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
    """

    _SMALLEST, _LARGEST, _IN_ALL = 32, 2**16, 2**18

    def __init__(self, laws: list[Law], streams: list[Any], needs: Any) -> None:
        self._laws, self._streams, self._needs = laws, streams, needs
        self._block = max(self._SMALLEST, 2 * int(needs.max(initial=0)))
        self._drawn = np.empty((len(laws), 0))
        self._used = np.zeros(len(laws), dtype=np.int64)

    def times(self) -> Times:
        """The blocks as compiled code takes from them."""
        return Times(self._drawn, self._used, self._needs, np.zeros(1, dtype=np.bool_))

    def _is_low(self) -> bool:
        """Whether some row is half empty; what is dry is."""
        return bool((2 * self._used >= self._drawn.shape[1]).any())

    def refill(self) -> None:
        """Draw as many times as fit, if there are few; blocks grow up to a limit."""
        if not self._is_low():
            return
        drawn = np.empty((len(self._laws), self._block))
        for row in np.flatnonzero(self._needs):
            left = self._drawn[row, self._used[row] :]
            drawn[row, : len(left)] = left
            fill(drawn[row, len(left) :], self._laws[row], self._streams[row])
        self._drawn, self._used = drawn, np.zeros_like(self._used)
        limit = min(self._LARGEST, self._IN_ALL // len(drawn))
        self._block = max(self._block, min(2 * self._block, limit))


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
