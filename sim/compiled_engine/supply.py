"""Blocks of numbers drawn in advance, for compiled code to take from."""

from __future__ import annotations

import threading
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
from sim.compiled_engine.many_times import filling_of
from sim.compiled_engine.states import hand, states_of, words_of
from sim.compiled_engine.world import Times
from sim.draws import how_to_draw
from sim.page_source import sequence_blocks
from sim.streams import stream

_ROW = np.dtype([("first", np.int64), ("end", np.int64), ("needs", np.int64)])

_FIRST = 256
_AHEAD = 2**16
"""Pages that compiled code is given at first, and in the end."""

_LONGEST_REPEATED = 2**20
"""Slots up to which a list of pages is written out again for each replication."""

_ONE_AT_A_TIME = Lock()
"""Replications start together in several threads, and a law is compiled for all of them."""


class Law(NamedTuple):
    """A law as compiled code knows it.

    Attributes
    ----------
    refill : function
        Refills the blocks of some rows, from the parameters and the states of their streams; one is
        compiled for each law.
    parameters : tuple of float and ndarray
        As `refill` wants them.
    """

    refill: Callable[..., None]
    parameters: tuple[Any, ...]


class Rows(NamedTuple):
    """Rows of one law, each with a stream of its own.

    Attributes
    ----------
    law : Law
    states : ndarray of uint64, shape (rows, 4)
        The states of the streams, as in `sim.compiled_engine.states`.
    """

    law: Law
    states: Any


def rows_of(process: Any, stream: Any) -> Rows:
    """One row: the successive gaps of a process, or times of a distribution.

    Parameters
    ----------
    process : Distribution or process
    stream : Generator
        Which may be drawn from between two refills.
    """
    return Rows(_law_of(process, stream), words_of(stream)[np.newaxis])


def rows_of_robots(
    process: Any, seed: int, replication: int, source: str, robots: Any
) -> list[Rows]:
    """The same law for each of several robots; only what has a phase has one for each.

    Parameters
    ----------
    process : Distribution or process
    seed, replication : int
    source : str
    robots : sequence of int
    """
    if isinstance(process, Mmpp | Map):
        own = [stream(seed, replication, source, robot) for robot in robots]
        return [Rows(_law_of(process, each), words_of(each)[np.newaxis].copy()) for each in own]
    if not len(robots):
        return []
    return [Rows(_law_of(process, None), states_of(seed, replication, source, robots))]


def _law_of(process: Any, stream: Any) -> Law:
    draw, given = how_to_draw(process, stream)
    with _ONE_AT_A_TIME:
        refill = _refiller(draw)
    filling = filling_of(draw)
    if filling is not None:
        return Law(refill, filling.parameters(given))
    return Law(refill, tuple(each if np.isscalar(each) else np.array(each) for each in given))


@cache
def _refiller(draw: Any) -> Callable[..., None]:
    let_kernels_call_all_of(draw)
    filling = filling_of(draw)
    fill = _one_by_one(inner(draw)) if filling is None else filling.fill

    @kernel
    def refilled(
        drawn: Any,
        rows: Any,
        begins: Any,
        sizes: Any,
        states: Any,
        parameters: Any,
        hand: Any,
        words: Any,
    ) -> None:
        for row in range(len(rows)):
            place = begins[row]
            if place < 0:
                continue
            its = rows[row]
            first = its.first
            end = its.end
            its.first = place
            its.end = place + sizes[row]
            for left in range(first, end):
                drawn[place] = drawn[left]
                place += 1
            for word in range(len(words)):
                words[word] = states[row, word]
            fill(drawn, place, its.end, hand, words, parameters)
            for word in range(len(words)):
                states[row, word] = words[word]

    return refilled


def _one_by_one(draw: Callable[..., float]) -> Callable[..., None]:
    """What fills an array with the numbers of any draw function."""

    @inner
    def filled(
        times: Any, begin: int, end: int, stream: Any, _: Any, parameters: tuple[Any, ...]
    ) -> None:
        for place in range(begin, end):
            times[place] = draw(stream, *parameters)

    return filled


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.spare: list[Any] = []


_here = _OfThread()

_SPARE = 2
"""Rooms that a thread keeps, as many as a replication takes: with new memory for each, growing by
copies, the 32,000 pages of `one-robot` took 4.0 instead of 2.9 ms."""


def _room(size: int) -> Any:
    """Memory for so many numbers, of which only what is used is real."""
    for place, each in enumerate(_here.spare):
        if len(each) == size:
            return _here.spare.pop(place)
    return np.empty(size)


def _leave(room: Any) -> None:
    """Keep it for the next one, in place of the oldest."""
    _here.spare = [*_here.spare, room][-_SPARE:]


class Supply:
    """Times drawn in advance, a block per row.

    What one stream gives next does not depend on what happens meanwhile. A block grows with its
    use, a small one fast, since each call of compiled code costs as much as a thousand numbers.

    Parameters
    ----------
    rows : list of Rows
    needs : ndarray of int, shape (rows in all,)
        The most that one event takes of each; what none takes is never drawn.

    Attributes
    ----------
    used : int
        How many numbers the blocks take, former ones included.
    """

    _SMALLEST = 16
    _AT_FIRST = 512  # in all rows together
    _SMALL = 4096
    _LARGEST = 2**18
    _IN_ALL = 2**20
    _LONG = 0.02  # seconds

    def __init__(self, rows: list[Rows], needs: Any) -> None:
        self._laws = rows
        self._is_used = needs > 0
        smallest = max(self._SMALLEST, self._AT_FIRST // max(int(self._is_used.sum()), 1))
        self._size = np.where(needs > 0, np.maximum(smallest, 2 * needs), 0)
        self.used = int(self._size.sum())
        self._most = max(self._IN_ALL, 2 * self.used)
        self._is_slow = np.zeros(len(needs), dtype=np.bool_)
        self._seconds_each = np.full(len(needs), np.inf)
        self._drawn = _room(2 * self._most)
        blocks = np.empty(len(needs), _ROW)
        blocks["needs"] = needs
        blocks["end"] = np.cumsum(self._size)
        blocks["first"] = blocks["end"]
        self._first, self._end = blocks["first"], blocks["end"]
        self._blocks: Any = blocks.view(np.recarray)

    def release(self) -> None:
        """Leave the memory to the next replication; nobody takes numbers any more."""
        _leave(self._drawn)

    def times(self) -> Times:
        """The blocks as compiled code takes from them."""
        return Times(self._drawn, self._blocks, np.zeros(1, dtype=np.bool_))

    def refill(self) -> None:
        """Fill up the rows that are half empty, what is exhausted among them.

        The others are left alone: of many robots only a few may be at work.
        """
        left = self._end - self._first
        is_low = (2 * left <= self._size) & self._is_used
        begins = np.full(len(left), -1)
        begins[is_low] = self._grown(np.flatnonzero(is_low))
        start = 0
        for law, states in self._laws:
            those = slice(start, start + len(states))
            start += len(states)
            wanted = int((self._size[those] - left[those]) @ is_low[those])
            if wanted == 0:
                continue
            blocks = self._drawn, self._blocks[those], begins[those], self._size[those]
            begun = perf_counter()
            law.refill(*blocks, states, law.parameters, *hand())
            took = perf_counter() - begun
            self._is_slow[those] = took > self._LONG
            self._seconds_each[those] = took / wanted

    def _grown(self, rows: Any) -> Any:
        """Enlarge the blocks of these rows, while all together stay small; where they begin now.

        One that took long to fill does not grow: an interrupt would have to wait for it. Nor does
        one before its first use: of many robots a few may need all the room.
        """
        begin = self._end[rows] - self._size[rows]
        size = self._size[rows]
        fast = (size < self._SMALL) & (16 * size * self._seconds_each[rows] < self._LONG)
        fast &= 16 * size.sum() <= self._IN_ALL // 8
        larger = np.where(fast, 16 * size, 2 * size)
        grown = np.maximum(size, np.minimum(larger, self._LARGEST))
        stays = self._is_slow[rows] | (self._seconds_each[rows] == np.inf)
        grown[stays] = size[stays]
        more = grown > size
        total = int(grown[more].sum())
        too_many = int(self._size.sum()) + total - int(size[more].sum()) > self._most
        if too_many or self.used + total > len(self._drawn):
            return begin
        self._size[rows] = grown
        begin[more] = self.used + np.cumsum(grown[more]) - grown[more]
        self.used += total
        return begin


class Sequence:
    """The pages to access, in blocks of the accessing policy's own making.

    Parameters
    ----------
    blocks : iterator of ndarray of int
    fewest : int
        Pages that compiled code can take at least before it asks again; more each time it does.
    """

    def __init__(self, blocks: Iterator[Any], fewest: int) -> None:
        self._blocks = blocks
        self._ahead = max(fewest, _FIRST)

    def after(self, pages: Any, used: int) -> tuple[Any, int]:
        """At least so many pages more, and where they begin, after the first `used` of these."""
        left = len(pages) - used
        if left >= self._ahead:
            return pages, used
        parts = [pages[used:]]
        while left < self._ahead:
            parts.append(next(self._blocks))
            left += len(parts[-1])
        self._ahead = max(self._ahead, min(4 * self._ahead, _AHEAD))
        return np.concatenate(parts), 0


class _Repeated:
    """The same for a policy that repeats one list of pages: written out once."""

    def __init__(self, cycle: Any, fewest: int) -> None:
        self._cycle = len(cycle)
        self._pages = np.tile(cycle, 2 + max(fewest, _AHEAD) // len(cycle))

    def after(self, pages: Any, used: int) -> tuple[Any, int]:  # noqa: ARG002  # same call as its sibling
        """At least so many pages more, and where they begin."""
        return self._pages, used % self._cycle


def _pieces_of(cycle: Any) -> Iterator[Any]:
    """A list of pages again and again, some at a time."""
    while True:
        for start in range(0, len(cycle), _AHEAD):
            yield cycle[start : start + _AHEAD]


def sequence_of(scenario: Scenario, stream: Any, fewest: int) -> Sequence | _Repeated:
    """The pages that a scenario's policy wants accessed; none where pages have no identity."""
    section = scenario.pages
    policy = scenario.robots.accessing if scenario.robots else None
    if section is None or policy is None:
        return _Repeated(np.full(1, -1), fewest)
    if isinstance(policy, Periodic):
        cycle = access_cycle(policy, section)
        if len(cycle) > _LONGEST_REPEATED:
            return Sequence(_pieces_of(cycle), fewest)
        return _Repeated(cycle, fewest)
    return Sequence(sequence_blocks(policy, section, stream), fewest)
