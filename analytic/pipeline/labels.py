"""Page-change dropping and replacement: which waiting pages are copies of one page.

The queue then depends on the changes, and on the pages. Followed are one page and the labels of the
others in the queue; pages with the same change rate and share are alike and are numbered by first
appearance, so that a thousand equal pages cost as much as the buffer has places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytic.decision_process import stationary_law
from analytic.indexing_queue import QueueChain
from analytic.pipeline.exploring import Explored, Move, explore, totals

__all__ = ["MOST_LABELLED", "LabelledPage", "LabelledRules", "PageClass", "labelled_page"]

Array = NDArray[np.floating[Any]]
Label = tuple[int, int]

MOST_LABELLED = 20_000
"""States: those of half a minute."""

STALE, FRESH = (-2, 0), (-1, 0)
"""Labels of a waiting copy of the page that is followed; others are (class, number)."""
OTHER = (-3, 0)
"""The label in service of any other page: which one does not matter."""
NOBODY = (-4, 0)

_CHANGED = 1
"""Kind of the moves at which the page that is followed changes."""


class PageClass(NamedTuple):
    """Pages that are alike: how many, their change rate, and the share of each."""

    pages: int
    changes: float
    share: float


class LabelledPage(NamedTuple):
    """Probabilities of the levels, shape (places + 1,), and what the index has of one page.

    Attributes
    ----------
    levels : ndarray
    rate : float
        Obsolescence rate.
    age : float
        Mean age of the copy in the index; nan where waiting copies are dropped at changes.
    """

    levels: Array
    rate: float
    age: float


class LabelledRules(NamedTuple):
    """What the buffer does beyond first come first served.

    Attributes
    ----------
    drops_changed : bool
        All waiting copies of a page are dropped when it changes.
    replaces : bool
        A delivered page takes the place of its waiting older copy.
    last_first : bool
        The newest waiting page is served next.
    pushes_out : bool
        A full buffer loses its oldest waiting page.
    """

    drops_changed: bool = False
    replaces: bool = False
    last_first: bool = False
    pushes_out: bool = False


class _State(NamedTuple):
    """Waiting labels in order of the queue; label in service; is the index current; phases."""

    waiting: tuple[Label, ...]
    serving: Label
    current: bool
    arrivals: int
    phase: int


def _renumbered(waiting: tuple[Label, ...]) -> tuple[Label, ...]:
    """Pages of a class numbered by first appearance: which they are does not matter."""
    names: dict[Label, Label] = {}
    counts: dict[int, int] = {}
    for label in waiting:
        kind = label[0]
        if kind >= 0 and label not in names:
            names[label] = (kind, counts.get(kind, 0))
            counts[kind] = counts.get(kind, 0) + 1
    return tuple(names.get(label, label) for label in waiting)


@dataclass(frozen=True, eq=False)
class _Walk:
    """The moves seen by one page of a class, the others of its class counted without it."""

    chain: QueueChain
    deliveries: tuple[Array, ...]
    page: PageClass
    others: tuple[PageClass, ...]
    rules: LabelledRules

    def moves(self, state: _State) -> Iterator[Move]:
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

    def _quiet(self, state: _State, level: int) -> Iterator[Move]:
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

    def _labels(self, state: _State) -> Iterator[tuple[float, Label]]:
        """What a delivered page can be: the page followed, one that waits, one that does not."""
        yield self.page.share, FRESH
        for kind, each in enumerate(self.others):
            present = dict.fromkeys(label for label in state.waiting if label[0] == kind)
            for label in present:
                yield each.share, label
            absent = each.pages - len(present)
            if absent > 0:
                yield absent * each.share, (kind, len(present))

    def _delivered(self, state: _State, label: Label, rate: float, into: int) -> Iterator[Move]:
        state = state._replace(arrivals=into)
        if state.serving == NOBODY:
            in_service = label if label == FRESH else OTHER
            for phase, share in enumerate(self.chain.service.start.tolist()):
                yield Move(rate * share, state._replace(serving=in_service, phase=phase))
            return
        yield Move(rate, state._replace(waiting=_renumbered(self._joined(state.waiting, label))))

    def _joined(self, waiting: tuple[Label, ...], label: Label) -> tuple[Label, ...]:
        older = (FRESH, STALE) if label == FRESH else (label,)
        if self.rules.replaces and set(older) & set(waiting):
            return tuple(label if each in older else each for each in waiting)
        if len(waiting) + 1 < self.chain.top:
            return (*waiting, label)
        return (*waiting[1:], label) if self.rules.pushes_out and waiting else waiting

    def _changes(self, state: _State) -> Iterator[Move]:
        """The page followed changes, or others that wait do."""
        turned = tuple(STALE if each == FRESH else each for each in state.waiting)
        if self.rules.drops_changed:
            turned = tuple(each for each in state.waiting if each not in (FRESH, STALE))
        serving = STALE if state.serving == FRESH else state.serving
        changed = state._replace(waiting=_renumbered(turned), serving=serving, current=False)
        yield Move(self.page.changes, changed, _CHANGED)
        if self.rules.drops_changed:
            for label in dict.fromkeys(each for each in state.waiting if each[0] >= 0):
                left = tuple(each for each in state.waiting if each != label)
                yield Move(self.others[label[0]].changes, state._replace(waiting=_renumbered(left)))

    def _service(self, state: _State, level: int) -> Iterator[Move]:
        service, turns = self.chain.service, self.chain.turnover[level]
        for phase, rate in enumerate(service.generator[state.phase].tolist()):
            if phase != state.phase:
                yield Move(rate, state._replace(phase=phase))
        done = float(service.exit_rates[state.phase])
        for share, after in self._next(state):
            turn = turns[after.phase if len(turns) > 1 else 0][state.arrivals]
            for arrivals in np.flatnonzero(turn).tolist():
                yield Move(done * share * float(turn[arrivals]), after._replace(arrivals=arrivals))

    def _next(self, state: _State) -> Iterator[tuple[float, _State]]:
        """The state when a copy is indexed and the next page is in service."""
        state = state._replace(current=state.current or state.serving == FRESH)
        if not state.waiting:
            yield 1.0, state._replace(serving=NOBODY, phase=0)
            return
        place = len(state.waiting) - 1 if self.rules.last_first else 0
        label = state.waiting[place]
        left = _renumbered(state.waiting[:place] + state.waiting[place + 1 :])
        serving = label if label in (FRESH, STALE) else OTHER
        for phase, share in enumerate(self.chain.service.start.tolist()):
            yield share, state._replace(waiting=left, serving=serving, phase=phase)


def labelled_page(
    chain: QueueChain,
    deliveries: tuple[Array, ...],
    classes: tuple[PageClass, ...],
    followed: int,
    rules: LabelledRules,
) -> LabelledPage:
    """Levels of the queue, and obsolescence rate and age of the copy of the pages of a class.

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
    start = _State((), NOBODY, True, 0 if chain.start is None else chain.start, 0)
    found = explore([start], walk.moves, kinds=2, most=MOST_LABELLED)
    rates = (found.rates[0] + found.rates[_CHANGED]).tolil()
    rates.setdiag(0.0)
    rates.setdiag(-np.asarray(rates.sum(axis=1)).ravel())
    law = stationary_law(rates.tocsr())
    levels = np.zeros(chain.top + 1)
    for state, index in found.states.items():
        levels[0 if state.serving == NOBODY else len(state.waiting) + 1] += law[index]
    stale = sum(law[index] for state, index in found.states.items() if not state.current)
    age = _age(found, law @ found.rates[_CHANGED] / seen.changes) if aged else np.nan
    return LabelledPage(levels, float(stale) if page.changes else 0.0, age)


def _age(found: Explored, starts: Array) -> float:
    """Mean time until the index is current, without further changes; inf where it never is."""
    stale = np.array([not state.current for state in found.states])
    moves = found.rates[0]
    ends = np.asarray(moves[stale][:, ~stale].sum(axis=1)).ravel()
    if not ends.any():
        return np.inf
    left = totals(moves[stale][:, stale], ends, np.ones(len(ends)))
    return float(starts[stale] @ left)
