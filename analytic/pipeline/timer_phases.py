"""Timers with phases, first come first served: old pages counted, the timers of all kept in order.

As in `old_and_new`, with the phase of every waiting page's timer: for small buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue import QueueChain
from analytic.pipeline.exploring import Explored, Move, explore

INDEXED = 1


class _State(NamedTuple):
    """Level, old pages in the system, phases; timers of the waiting pages, the oldest first."""

    level: int
    old: int
    arrivals: int
    phase: int
    timers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Walk:
    chain: QueueChain

    def starts(self) -> Iterator[_State]:
        """All pages old, in the order of the chain's states."""
        phases = len(self.chain.service.start)
        timers = len(self.chain.patience.start)
        for level in range(self.chain.top + 1):
            inner = product(range(self.chain.order), range(phases if level else 1))
            for arrivals, phase in inner:
                for each in product(range(timers), repeat=max(level - 1, 0)):
                    yield _State(level, level, arrivals, phase, each)

    def moves(self, state: _State) -> Iterator[Move]:
        """All moves from a state."""
        yield from self._deliveries(state)
        if state.level:
            yield from self._service(state)
            yield from self._timers(state)

    def _deliveries(self, state: _State) -> Iterator[Move]:
        for entering, matrices in self.chain.arrivals[state.level].items():
            rates = matrices[state.phase if len(matrices) > 1 else 0][state.arrivals]
            for arrivals in np.flatnonzero(rates > 0).tolist():
                for share, after in self._entered(state, entering):
                    yield Move(float(rates[arrivals]) * share, after._replace(arrivals=arrivals))

    def _entered(self, state: _State, entering: int) -> Iterator[tuple[float, _State]]:
        """The state when new pages have joined, each with a timer of its own but the first."""
        if not entering:
            yield 1.0, state
            return
        joining = entering if state.level else entering - 1
        begun = [(1.0, state.phase)] if state.level else _draws(self.chain.service.start)
        clocks = product(_draws(self.chain.patience.start), repeat=joining)
        for (share, phase), drawn in product(begun, clocks):
            timers = state.timers + tuple(each for _, each in drawn)
            probability = share * float(np.prod([each for each, _ in drawn]))
            level = state.level + entering
            yield probability, state._replace(level=level, phase=phase, timers=timers)

    def _service(self, state: _State) -> Iterator[Move]:
        service = self.chain.service
        turns = self.chain.turnover[state.level]
        for phase, rate in enumerate(service.generator[state.phase].tolist()):
            if phase != state.phase:
                yield Move(rate, state._replace(phase=phase))
        done = float(service.exit_rates[state.phase])
        kind = 0 if state.old else INDEXED
        begun = _draws(service.start) if state.level > 1 else [(1.0, 0)]
        left = _State(state.level - 1, max(state.old - 1, 0), 0, 0, state.timers[1:])
        for share, phase in begun:
            turn = turns[phase if len(turns) > 1 else 0][state.arrivals]
            for arrivals in np.flatnonzero(turn).tolist():
                after = left._replace(phase=phase, arrivals=arrivals)
                yield Move(done * share * float(turn[arrivals]), after, kind)

    def _timers(self, state: _State) -> Iterator[Move]:
        """Timers change phase, or go off: then a page leaves, an old one among the first."""
        timer = self.chain.patience
        for place, phase in enumerate(state.timers):
            before = state.timers[:place]
            behind = state.timers[place + 1 :]
            for after, rate in enumerate(timer.generator[phase].tolist()):
                if after != phase:
                    yield Move(rate, state._replace(timers=(*before, after, *behind)))
            is_old = place + 2 <= state.old
            gone = _State(
                state.level - 1, state.old - is_old, state.arrivals, state.phase, before + behind
            )
            yield Move(float(timer.exit_rates[phase]), gone)


def _draws(start: np.ndarray) -> list[tuple[float, int]]:
    return [(float(start[each]), each) for each in np.flatnonzero(start).tolist()]


def timed_pages(chain: QueueChain) -> Explored:
    """The chain of old and new pages with the phases of all timers.

    For `counted_rates`; its first states are those of the queue, all pages old.

    Raises
    ------
    TooManyStatesError
        If it has more than `MOST_STATES` states.
    """
    walk = _Walk(chain)
    return explore(walk.starts(), walk.moves, kinds=2)
