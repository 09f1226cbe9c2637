"""Blocks of numbers drawn in advance, for compiled code to take from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.accessing.policy import Periodic
from scenarios.page_data import access_cycle
from scenarios.processes import Map, Mmpp
from sim.compiled_engine.jit import inner, kernel, let_kernels_call_all_of
from sim.compiled_engine.world import Times
from sim.draws import how_to_draw
from sim.page_source import sequence_blocks

_ONE_AT_A_TIME = Lock()
"""Replications start together in several threads, and a law is compiled for all of them."""


class Law(NamedTuple):
    """A law as compiled code knows it.

    Attributes
    ----------
    fill : function
        Fills a block of times, from the parameters and a stream; one is compiled for each law.
    parameters : tuple of float and ndarray
        As the draw function of the law in `sim.laws` wants them.
    """

    fill: Callable[..., None]
    parameters: tuple[Any, ...]


def law_of(process: Any, stream: Any) -> Law:
    """The law of the successive gaps of a process, or of a distribution."""
    draw, given = how_to_draw(process, stream)
    with _ONE_AT_A_TIME:
        fill_block = _filler(draw)
    return Law(fill_block, tuple(each if np.isscalar(each) else np.array(each) for each in given))


def laws_of(process: Any, streams: list[Any]) -> list[Law]:
    """The same law for each of several streams; only what has a phase has one for each."""
    if isinstance(process, Mmpp | Map):
        return [law_of(process, stream) for stream in streams]
    return [law_of(process, None)] * len(streams) if streams else []


def fill(times: Any, law: Law, stream: Any) -> None:
    """Draw a block of times."""
    law.fill(times, law.parameters, stream)


@cache
def _filler(draw: Any) -> Callable[..., None]:
    let_kernels_call_all_of(draw)
    draw = inner(draw)

    @kernel
    def filled(times: Any, parameters: Any, stream: Any) -> None:
        for index in range(len(times)):
            times[index] = draw(stream, *parameters)

    return filled


class Supply:
    """Times drawn in advance, a block per law.

    What one law gives next does not depend on what happens meanwhile. A block grows with its use,
    a small one fast, since each call of compiled code costs as much as a thousand numbers.

    Parameters
    ----------
    laws : list of Law
    streams : list of Generator
        One per law.
    needs : ndarray of int, shape (laws,)
        The most that one event takes of each; what none takes is never drawn.
    """

    _SMALLEST = 16
    _SMALL = 4096
    _LARGEST = 2**16
    _IN_ALL = 2**18
    _LONG = 0.02  # seconds

    def __init__(self, laws: list[Law], streams: list[Any], needs: Any) -> None:
        self._laws = laws
        self._streams = streams
        self._needs = needs
        self._size = np.where(needs > 0, np.maximum(self._SMALLEST, 2 * needs), 0)
        self._most = max(self._IN_ALL, 2 * int(self._size.sum()))
        self._is_slow = np.zeros(len(laws), dtype=np.bool_)
        self._seconds_each = np.full(len(laws), np.inf)
        self._drawn = np.empty(int(self._size.sum()))
        self._end = np.cumsum(self._size)
        self._next = self._end.copy()

    def times(self) -> Times:
        """The blocks as compiled code takes from them."""
        return Times(self._drawn, self._next, self._end, self._needs, np.zeros(1, dtype=np.bool_))

    def refill(self) -> None:
        """Fill up the rows that are half empty, what is exhausted among them.

        The others are left alone: of many robots only a few may be at work.
        """
        left = self._end - self._next
        low = np.flatnonzero((2 * left <= self._size) & (self._needs > 0))
        for row, start in zip(low.tolist(), self._grown(low).tolist(), strict=True):
            block = self._drawn[start : start + self._size[row]]
            block[: left[row]] = self._drawn[self._next[row] : self._end[row]]
            begun = perf_counter()
            fill(block[left[row] :], self._laws[row], self._streams[row])
            took = perf_counter() - begun
            self._is_slow[row] |= took > self._LONG
            self._seconds_each[row] = took / (len(block) - left[row])
            self._next[row] = start
            self._end[row] = start + len(block)

    def _grown(self, rows: Any) -> Any:
        """Enlarge the blocks of these rows, while all together stay small; where they begin now.

        One that took long to fill does not grow: an interrupt would have to wait for it.
        """
        begin = self._end[rows] - self._size[rows]
        size = self._size[rows]
        fast = (size < self._SMALL) & (16 * size * self._seconds_each[rows] < self._LONG)
        fast &= 16 * size.sum() <= self._IN_ALL // 8
        larger = np.where(fast, 16 * size, 2 * size)
        grown = np.maximum(size, np.minimum(larger, self._LARGEST))
        grown[self._is_slow[rows]] = size[self._is_slow[rows]]
        if self._size.sum() + (grown - size).sum() > self._most or (grown == size).all():
            return begin
        self._size[rows] = grown
        begin = len(self._drawn) + np.cumsum(grown) - grown
        self._drawn = np.concatenate([self._drawn, np.empty(grown.sum())])
        return begin


class Sequence:
    """The pages to access, in blocks of the accessing policy's own making.

    Parameters
    ----------
    blocks : iterator of ndarray of int
    ahead : int
        Pages that compiled code may take before it asks again.
    """

    def __init__(self, blocks: Iterator[Any], ahead: int) -> None:
        self._blocks = blocks
        self._ahead = ahead

    def after(self, pages: Any, used: int) -> tuple[Any, int]:
        """At least `ahead` pages more, and where they begin, after the first `used` of these."""
        left = len(pages) - used
        if left >= self._ahead:
            return pages, used
        parts = [pages[used:]]
        while left < self._ahead:
            parts.append(next(self._blocks))
            left += len(parts[-1])
        return np.concatenate(parts), 0


class _Repeated:
    """The same for a policy that repeats one list of pages: written out once."""

    def __init__(self, cycle: Any, ahead: int) -> None:
        self._cycle = len(cycle)
        self._pages = np.tile(cycle, 2 + ahead // len(cycle))

    def after(self, pages: Any, used: int) -> tuple[Any, int]:  # noqa: ARG002  # same call as its sibling
        """At least `ahead` pages more, and where they begin."""
        return self._pages, used % self._cycle


def sequence_of(scenario: Scenario, stream: Any, ahead: int) -> Sequence | _Repeated:
    """The pages that a scenario's policy wants accessed; none where pages have no identity."""
    section = scenario.pages
    policy = scenario.robots.accessing if scenario.robots else None
    if section is None or policy is None:
        return _Repeated(np.full(1, -1), ahead)
    if isinstance(policy, Periodic):
        return _Repeated(access_cycle(policy, section), ahead)
    return Sequence(sequence_blocks(policy, section, stream), ahead)
