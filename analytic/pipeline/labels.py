"""Page-change dropping and replacement: which waiting pages are copies of one page.

The queue then depends on the changes, and on the pages. Followed are one page and the labels of the
others in the queue; pages with the same change rate and share are alike and are numbered by first
appearance, so that a thousand equal pages cost as much as the buffer has places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analytic.indexing_queue import QueueChain
from analytic.markov import stationary_sparse
from analytic.pipeline.exploring import Explored, Move, explore, totals
from analytic.pipeline.label_states import (
    FRESH,
    NOBODY,
    OTHER,
    STALE,
    Fates,
    Label,
    LabelledRules,
    LabelledState,
    PageClass,
    renumbered,
    replaced_by,
)
from scenarios.arrays import Array

MOST_LABELLED = 20_000
"""States: those of half a minute."""

_CHANGED = 1
"""Kind of the moves at which the page that is followed changes."""


class LabelledPage(NamedTuple):
    """Probabilities of the levels, shape (places + 1,), and what the index has of one page.

    Attributes
    ----------
    levels : ndarray
    rate : float
        Obsolescence rate.
    age : float
        Mean age of the copy in the index; nan where waiting copies are dropped at changes.
    fates : Fates
        Of the pages of all kinds.
    """

    levels: Array
    rate: float
    age: float
    fates: Fates


@dataclass(frozen=True, eq=False)
class _Walk:
    """The moves seen by one page of a class, the others of its class counted without it."""

    chain: QueueChain
    deliveries: tuple[Array, ...]
    page: PageClass
    others: tuple[PageClass, ...]
    rules: LabelledRules

    def moves(self, state: LabelledState) -> Iterator[Move]:
        """All moves from a state."""
        level = 0 if state.serving == NOBODY else len(state.waiting) + 1
        yield from self._quiet(state, level)
        for arrivals, rate in enumerate(self.deliveries[level][state.arrivals].tolist()):
            if rate > 0:
                for share, label in self._labels(state):
                    yield from self._delivered(state, label, rate * share, arrivals)
        yield from self._changes(state)
        if level:
            yield from self._service(state, level)

    def _quiet(self, state: LabelledState, level: int) -> Iterator[Move]:
        """Phase changes of the deliveries that bring nothing."""
        hidden = self._hidden[level][state.arrivals]
        for arrivals in np.flatnonzero(hidden > 0).tolist():
            yield Move(float(hidden[arrivals]), state._replace(arrivals=arrivals))

    @cached_property
    def _hidden(self) -> tuple[Array, ...]:
        """Per level, the phase-only moves of the chain without its lost deliveries."""
        empty = np.zeros((self.chain.order, self.chain.order))
        kept = []
        for level, moves in enumerate(self.chain.arrivals):
            quiet = moves[0][0] if 0 in moves else empty
            lost = self.deliveries[level] if level == self.chain.top else empty
            kept.append(np.where(np.eye(len(quiet)) > 0, 0.0, np.maximum(quiet - lost, 0.0)))
        return tuple(kept)

    def _labels(self, state: LabelledState) -> Iterator[tuple[float, Label]]:
        """What a delivered page can be: the page followed, one that waits, one that does not."""
        yield self.page.share, FRESH
        for kind, each in enumerate(self.others):
            present = dict.fromkeys(label for label in state.waiting if label[0] == kind)
            for label in present:
                yield each.share, label
            absent = each.pages - len(present)
            if absent > 0:
                yield absent * each.share, (kind, len(present))

    def _delivered(
        self, state: LabelledState, label: Label, rate: float, into: int
    ) -> Iterator[Move]:
        state = state._replace(arrivals=into)
        if state.serving == NOBODY:
            in_service = label if label == FRESH else OTHER
            for phase, share in enumerate(self.chain.service.start.tolist()):
                yield Move(rate * share, state._replace(serving=in_service, phase=phase))
            return
        yield Move(rate, state._replace(waiting=renumbered(self._joined(state.waiting, label))))

    def _joined(self, waiting: tuple[Label, ...], label: Label) -> tuple[Label, ...]:
        older = replaced_by(label, waiting)
        if self.rules.replaces and older:
            return tuple(label if each in older else each for each in waiting)
        if len(waiting) + 1 < self.chain.top:
            return (*waiting, label)
        return (*waiting[1:], label) if self.rules.pushes_out and waiting else waiting

    def _changes(self, state: LabelledState) -> Iterator[Move]:
        """The page followed changes, or others that wait do."""
        turned = tuple(STALE if each == FRESH else each for each in state.waiting)
        if self.rules.drops_changed:
            turned = tuple(each for each in state.waiting if each not in (FRESH, STALE))
        serving = STALE if state.serving == FRESH else state.serving
        changed = state._replace(waiting=renumbered(turned), serving=serving, current=False)
        yield Move(self.page.changes, changed, _CHANGED)
        if self.rules.drops_changed:
            for label in dict.fromkeys(each for each in state.waiting if each[0] >= 0):
                left = tuple(each for each in state.waiting if each != label)
                yield Move(self.others[label[0]].changes, state._replace(waiting=renumbered(left)))

    def _service(self, state: LabelledState, level: int) -> Iterator[Move]:
        service = self.chain.service
        turns = self.chain.turnover[level]
        for phase, rate in enumerate(service.generator[state.phase].tolist()):
            if phase != state.phase:
                yield Move(rate, state._replace(phase=phase))
        done = float(service.exit_rates[state.phase])
        for share, after in self._next(state):
            turn = turns[after.phase if len(turns) > 1 else 0][state.arrivals]
            for arrivals in np.flatnonzero(turn).tolist():
                yield Move(done * share * float(turn[arrivals]), after._replace(arrivals=arrivals))

    def _next(self, state: LabelledState) -> Iterator[tuple[float, LabelledState]]:
        """The state when a copy is indexed and the next page is in service."""
        state = state._replace(current=state.current or state.serving == FRESH)
        if not state.waiting:
            yield 1.0, state._replace(serving=NOBODY, phase=0)
            return
        place = len(state.waiting) - 1 if self.rules.last_first else 0
        label = state.waiting[place]
        left = renumbered(state.waiting[:place] + state.waiting[place + 1 :])
        serving = label if label in (FRESH, STALE) else OTHER
        for phase, share in enumerate(self.chain.service.start.tolist()):
            yield share, state._replace(waiting=left, serving=serving, phase=phase)

    def fates(self, state: LabelledState) -> Fates:
        """Pages per unit time by what becomes of them, in a state."""
        level = 0 if state.serving == NOBODY else len(state.waiting) + 1
        delivered = float(self.deliveries[level][state.arrivals].sum())
        lost = dropped = replaced = 0.0
        for share, label in self._labels(state):
            if self.rules.replaces and replaced_by(label, state.waiting):
                replaced += delivered * share
            elif level == self.chain.top:
                lost += delivered * share
        if self.rules.drops_changed:
            dropped = sum(
                self.page.changes if each in (FRESH, STALE) else self.others[each[0]].changes
                for each in state.waiting
            )
        served = float(self.chain.service.exit_rates[state.phase]) if level else 0.0
        return Fates(delivered, lost, dropped, replaced, served)


def labelled_page(
    chain: QueueChain,
    deliveries: tuple[Array, ...],
    classes: tuple[PageClass, ...],
    followed: int,
    rules: LabelledRules,
) -> LabelledPage:
    """Levels and flows of the queue, obsolescence rate and age of the copy of a class of pages.

    Parameters
    ----------
    chain : QueueChain
        Without timers; pages are delivered one by one.
    deliveries : tuple of ndarray, one per level
        Rates of the deliveries from arrival phase to arrival phase.
    classes : tuple of PageClass
    followed : int
        The class of the page that is followed.
    rules : LabelledRules

    Raises
    ------
    TooManyStatesError
        If its chain has more than `MOST_LABELLED` states.

    Notes
    -----
    The stationary law of: labels of the waiting pages in order, what is in service, whether the
    index is current. At a change of the page followed its waiting copies are dropped or go stale,
    and so does the one in service: it will be indexed, and the index stays stale. A copy that is
    older than the one in the index changes nothing. Unless changes drop copies the queue does not
    depend on them; then the age is the mean time from a stationary instant, at which all copies
    there are turn stale, to the first indexing of one that is not.
    """
    page = classes[followed]
    others = tuple(
        each._replace(pages=each.pages - (kind == followed)) for kind, each in enumerate(classes)
    )
    aged = not rules.drops_changed
    seen = page._replace(changes=page.changes or 1.0) if aged else page
    walk = _Walk(chain, deliveries, seen, others, rules)
    start = LabelledState((), NOBODY, True, 0 if chain.start is None else chain.start, 0)
    found = explore([start], walk.moves, kinds=2, most=MOST_LABELLED)
    rates = (found.rates[0] + found.rates[_CHANGED]).tolil()
    rates.setdiag(0.0)
    rates.setdiag(-np.asarray(rates.sum(axis=1)).ravel())
    law = stationary_sparse(rates.tocsr())
    levels = np.zeros(chain.top + 1)
    for state, index in found.states.items():
        levels[0 if state.serving == NOBODY else len(state.waiting) + 1] += law[index]
    stale = sum(law[index] for state, index in found.states.items() if not state.current)
    age = _age(found, law @ found.rates[_CHANGED] / seen.changes) if aged else np.nan
    fates = Fates(*(law @ np.array([walk.fates(state) for state in found.states])).tolist())
    return LabelledPage(levels, float(stale) if page.changes else 0.0, age, fates)


def _age(found: Explored, starts: Array) -> float:
    """Mean time until the index is current, without further changes; inf where it never is."""
    stale = np.array([not state.current for state in found.states])
    moves = found.rates[0]
    ends = np.asarray(moves[stale][:, ~stale].sum(axis=1)).ravel()
    if not ends.any():
        return np.inf
    left = totals(moves[stale][:, stale], ends, np.ones(len(ends)))
    return float(starts[stale] @ left)
