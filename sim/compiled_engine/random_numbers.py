"""Blocks of numbers drawn in advance, for compiled code to take from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
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
from sim.compiled_engine.records import record_type, records
from sim.compiled_engine.seeding import Streams
from sim.compiled_engine.states import hand, words_of
from sim.compiled_engine.times import Times
from sim.draws import how_to_draw
from sim.page_source import sequence_blocks

_ROW = record_type([("first", np.int64), ("end", np.int64), ("needs", np.int64)])

_FIRST = 256
_AHEAD = 2**16
"""Pages that compiled code is given at first, and in the end."""

_LONGEST_REPEATED = 2**20
"""Slots up to which a list of pages is written out once more."""

_ONE_AT_A_TIME = Lock()
"""Replications start together in several threads, and a law is compiled for all of them."""


class Law(NamedTuple):
    """A law as compiled code knows it.

    Attributes
    ----------
    refill : function
        Refills the blocks of those rows that are half empty, from the parameters and the states of
        their streams, and says how many numbers that took; one is compiled for each law.
    parameters : tuple of float and ndarray
        As `refill` wants them.
    """

    refill: Callable[..., int]
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
    process: Any, streams: Streams, source: str, robots: Sequence[int]
) -> list[Rows]:
    """The same law for each of several robots; only what has a phase has one for each.

    Parameters
    ----------
    process : Distribution or process
    streams : Streams
    source : str
    robots : sequence of int
    """
    if isinstance(process, Mmpp | Map):
        own = [streams.stream(source, robot) for robot in robots]
        return [Rows(_law_of(process, each), words_of(each)[np.newaxis].copy()) for each in own]
    if not len(robots):
        return []
    return [Rows(_law_of(process, None), streams.states(source, robots))]


def _law_of(process: Any, stream: Any) -> Law:
    draw, given = how_to_draw(process, stream)
    with _ONE_AT_A_TIME:
        refill = _refiller(draw)
    filling = filling_of(draw)
    if filling is not None:
        return Law(refill, filling.parameters(given))
    return Law(refill, tuple(each if np.isscalar(each) else np.array(each) for each in given))


@cache
def _refiller(draw: Any) -> Callable[..., int]:
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
    ) -> int:
        numbers = 0
        for row in range(len(rows)):
            its = rows[row]
            first = its.first
            end = its.end
            if 2 * (end - first) > sizes[row] or sizes[row] == 0:
                continue
            place = begins[row]
            its.first = place
            its.end = place + sizes[row]
            for left in range(first, end):
                drawn[place] = drawn[left]
                place += 1
            numbers += its.end - place
            for word in range(len(words)):
                words[word] = states[row, word]
            fill(drawn, place, its.end, hand, words, parameters)
            for word in range(len(words)):
                states[row, word] = words[word]
        return numbers

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


class _Part(NamedTuple):
    """The rows of one law: what refills them, from what, and how long a number took."""

    refill: Callable[..., int]
    given: tuple[Any, ...]
    seconds_each: Any


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.spare: list[Any] = []


_here = _OfThread()

_SPARE = 2
"""Rooms that a thread keeps, as many as a replication takes: with new memory for each, growing by
copies, the 32,000 pages of `one-robot` took 4.0 instead of 2.9 ms."""


def _room(size: int) -> Any:
    """Memory for this many numbers; the system provides only what is used."""
    for place, each in enumerate(_here.spare):
        if len(each) == size:
            return _here.spare.pop(place)
    return np.empty(size)


def _leave(room: Any) -> None:
    """Keep it for the next one, in place of the oldest."""
    _here.spare = [*_here.spare, room][-_SPARE:]


class RandomNumbers:
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
    times : Times
        The blocks as compiled code takes from them.
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
        is_used = needs > 0
        smallest = max(self._SMALLEST, self._AT_FIRST // max(int(is_used.sum()), 1))
        self._size = np.maximum(smallest, 2 * needs) * is_used
        blocks = records(len(needs), _ROW)
        blocks.needs = needs
        blocks.end = blocks.first = np.cumsum(self._size)
        self._first, self._end = blocks.first, blocks.end
        self._begin = self._end - self._size
        self._seconds_each = np.zeros(len(needs))  # inf where it took long
        self.used = int(self._size.sum())
        self._most = max(self._IN_ALL, 2 * self.used)
        drawn = _room(2 * self._most)
        self.times = Times(drawn, blocks, np.zeros(1, dtype=np.bool_))
        self._parts = list(self._parts_of(rows))
        self._is_begun = False

    def _parts_of(self, rows: list[Rows]) -> Iterator[_Part]:
        start = 0
        for law, states in rows:
            those = slice(start, start + len(states))
            start += len(states)
            if self._size[those].any():
                blocks = self.times.rows[those], self._begin[those], self._size[those]
                given = self.times.drawn, *blocks, states, law.parameters
                yield _Part(law.refill, given, self._seconds_each[those])

    def release(self) -> None:
        """Leave the memory to the next replication; nobody takes numbers any more."""
        _leave(self.times.drawn)

    def refill(self) -> None:
        """Fill up the rows that are half empty, what is used up among them.

        The others are left alone: of many robots only a few may be at work.
        """
        if self._is_begun:
            self._grow()
        self._is_begun = True
        drawn_by = hand()
        for part in self._parts:
            begun = perf_counter()
            numbers = part.refill(*part.given, *drawn_by)
            took = perf_counter() - begun
            if numbers:
                part.seconds_each[:] = took / numbers if took <= self._LONG else np.inf
        self.times.used_up[0] = False

    def _grow(self) -> None:
        """Enlarge the blocks of the rows that are half empty, while all together stay small.

        One that took long to fill does not grow: an interrupt would have to wait for it.
        """
        may_grow = (2 * (self._end - self._first) <= self._size) & (self._seconds_each < np.inf)
        rows = np.flatnonzero(may_grow & (self._size > 0))
        size = self._size[rows]
        fast = (size < self._SMALL) & (16 * size * self._seconds_each[rows] < self._LONG)
        fast &= 16 * size.sum() <= self._IN_ALL // 8
        grown = np.minimum(np.where(fast, 16 * size, 2 * size), self._LARGEST)
        rows, size, grown = (each[grown > size] for each in (rows, size, grown))
        total = int(grown.sum())
        too_many = int(self._size.sum()) + total - int(size.sum()) > self._most
        if too_many or self.used + total > len(self.times.drawn):
            return
        self._size[rows] = grown
        self._begin[rows] = self.used + np.cumsum(grown) - grown
        self.used += total


class PagesAhead:
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
        """At least this many more pages, and where they begin, after the first `used` of these."""
        left = len(pages) - used
        if left >= self._ahead:
            return pages, used
        parts = [pages[used:]]
        while left < self._ahead:
            parts.append(next(self._blocks))
            left += len(parts[-1])
        self._ahead = max(self._ahead, min(4 * self._ahead, _AHEAD))
        return np.concatenate(parts), 0


class Repeated:
    """The same for a policy that repeats one list of pages: written out once, for all replications.

    Parameters
    ----------
    cycle : ndarray of int
    fewest : int
        Pages that compiled code can take at least before it asks again.
    """

    def __init__(self, cycle: Any, fewest: int) -> None:
        self._cycle = len(cycle)
        self._pages = np.tile(cycle, 2 + max(fewest, _AHEAD) // len(cycle))

    def after(self, pages: Any, used: int) -> tuple[Any, int]:  # noqa: ARG002  # same call as its sibling
        """At least this many more pages, and where they begin."""
        return self._pages, used % self._cycle


def _pieces_of(cycle: Any) -> Iterator[Any]:
    """A list of pages again and again, some at a time."""
    while True:
        for start in range(0, len(cycle), _AHEAD):
            yield cycle[start : start + _AHEAD]


def repeated_pages(scenario: Scenario, fewest: int) -> Repeated | None:
    """The pages that a scenario's policy wants accessed, where it repeats a list of them.

    None where it draws them, or the list is long. Where pages have no identity there are no numbers
    on it.
    """
    section = scenario.model.pages
    policy = scenario.model.sequence
    if section is None or policy is None:
        return Repeated(np.full(1, -1), fewest)
    cycle = access_cycle(policy, section) if isinstance(policy, Periodic) else None
    if cycle is None or len(cycle) > _LONGEST_REPEATED:
        return None
    return Repeated(cycle, fewest)


def pages_ahead(scenario: Scenario, stream: Any, fewest: int) -> PagesAhead:
    """The same pages, where they are drawn, or the list is long."""
    policy = scenario.model.sequence
    assert scenario.model.pages is not None
    assert policy is not None
    if isinstance(policy, Periodic):
        return PagesAhead(_pieces_of(access_cycle(policy, scenario.model.pages)), fewest)
    return PagesAhead(sequence_blocks(policy, scenario.model.pages, stream), fewest)
