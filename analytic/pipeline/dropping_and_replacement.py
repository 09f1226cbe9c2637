"""Page-change dropping and replacement: which waiting pages are copies of one page.

The queue then depends on the changes, and on the pages. Followed are one page and the labels of the
others in the queue; pages with the same change rate and share are alike and are numbered by first
appearance, so that a thousand equal pages cost as much as the buffer has places.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from analytic.index.accesses import accessed_pages
from analytic.index.conditions import buffer_of, discipline_of, fleet_of
from analytic.index.formula import Values, dependent
from analytic.indexing_queue import QueueChain
from analytic.indexing_queue.chain import (
    UNLIMITED_PATIENCE,
    controlled_chain,
    next_in_line,
    service_moves,
    settled_moves,
    settled_state,
)
from analytic.indexing_queue.hysteresis import deliveries_by_control, hysteresis_chain
from analytic.indexing_queue.measures import control_cost, level_rows, service_and_patience
from analytic.indexing_queue.sojourns import Row, moment_rows, with_service
from analytic.indexing_queue.unordered_sojourns import LOST, OBSOLETE, SERVED
from analytic.machinery.absorbing import AbsorbingChain
from analytic.machinery.active_robots import numbers_in_use, remembering, robots_at
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.progress import followed
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.state_space import Explored, Move, explore
from analytic.pipeline.random_pages import Freshness
from scenarios import Scenario
from scenarios.arrays import Array
from scenarios.model import QueueDiscipline
from scenarios.sections import Costs

MOST_LABELLED = 20_000
"""States: those of half a minute."""

_CHANGED = 1
"""Kind of the moves at which the page that is followed changes."""


Label = tuple[int, int]

STALE = (-2, 0)
FRESH = (-1, 0)
"""Labels of a waiting copy of the page that is followed; others are (class, number)."""
TAGGED = (-5, 0)
"""The label of a waiting copy that is followed."""
OTHER = (-3, 0)
"""The label in service of any other page: which one does not matter."""
NO_PAGE = (-4, 0)


class PageClass(NamedTuple):
    """Pages that are alike: how many, their change rate, and the share of each."""

    pages: int
    changes: float
    share: float


class LabelledState(NamedTuple):
    """Waiting labels in order of the queue; label in service; is the index current; phases."""

    waiting: tuple[Label, ...]
    serving: Label
    current: bool
    arrivals: int
    phase: int

    @property
    def level(self) -> int:
        """Pages in the system."""
        return 0 if self.serving == NO_PAGE else len(self.waiting) + 1


class Fates(NamedTuple):
    """Pages per unit time by what becomes of them: as both engines count them.

    Attributes
    ----------
    delivered : float
    lost : float
        Refused by a full buffer, or pushed out of it. A delivery that finds its own older copy in
        a full buffer takes its place: nothing is lost.
    obsolete : float
        Because their originals changed.
    replaced : float
        Older copies that newer ones superseded.
    served : float
    """

    delivered: float
    lost: float
    obsolete: float
    replaced: float
    served: float


def replaced_by(label: Label, waiting: tuple[Label, ...]) -> tuple[Label, ...]:
    """Labels of the waiting copies that a delivered page would take the place of."""
    older = (FRESH, STALE) if label == FRESH else (label,)
    return tuple(each for each in older if each in waiting)


def renumbered(waiting: tuple[Label, ...]) -> tuple[Label, ...]:
    """Pages of a class numbered by first appearance: which they are does not matter."""
    names: dict[Label, Label] = {}
    counts: dict[int, int] = {}
    for label in waiting:
        kind = label[0]
        if kind >= 0 and label not in names:
            names[label] = (kind, counts.get(kind, 0))
            counts[kind] = counts.get(kind, 0) + 1
    return tuple(names.get(label, label) for label in waiting)


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
    active, switches : float
        Mean number of active robots, and robots switched on per unit time.
    """

    levels: Array
    rate: float
    age: float
    fates: Fates
    active: float
    switches: float


@dataclass(frozen=True, eq=False)
class _Walk:
    """The moves seen by one page of a class, the others of its class counted without it."""

    chain: QueueChain
    deliveries: tuple[Array, ...]
    page: PageClass
    others: tuple[PageClass, ...]
    discipline: QueueDiscipline
    new_stay_new: bool = False

    def moves(self, state: LabelledState) -> Iterator[Move]:
        """All moves from a state."""
        return settled_moves(self.chain, self._unsettled(state))

    def _unsettled(self, state: LabelledState) -> Iterator[Move]:
        hidden = self._hidden[state.level][state.arrivals]
        for arrivals in np.flatnonzero(hidden > 0).tolist():
            yield Move(float(hidden[arrivals]), state._replace(arrivals=arrivals))
        for arrivals, rate in enumerate(self.deliveries[state.level][state.arrivals].tolist()):
            if rate > 0:
                for share, label in self._labels(state):
                    yield from self._delivered(state, label, rate * share, arrivals)
        yield from self._changes(state)
        if state.level:
            yield from self._served(state)

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
        if state.serving == NO_PAGE:
            in_service = label if label == FRESH else OTHER
            for phase, share in enumerate(self.chain.service.start.tolist()):
                yield Move(rate * share, state._replace(serving=in_service, phase=phase))
            return
        yield Move(rate, state._replace(waiting=renumbered(self._joined(state.waiting, label))))

    def _joined(self, waiting: tuple[Label, ...], label: Label) -> tuple[Label, ...]:
        older = replaced_by(label, waiting)
        if self.discipline.replaces and older:
            return tuple(label if each in older else each for each in waiting)
        if len(waiting) + 1 < self.chain.top:
            return (*waiting, label)
        return (*waiting[1:], label) if self.discipline.pushes_out_oldest and waiting else waiting

    def _changes(self, state: LabelledState) -> Iterator[Move]:
        """The page followed changes, or others that wait do."""
        turned = tuple(STALE if each == FRESH else each for each in state.waiting)
        if self.discipline.drops_changed:
            turned = tuple(each for each in state.waiting if each not in (FRESH, STALE))
        changed = state._replace(waiting=renumbered(turned))
        if not self.new_stay_new:
            serving = STALE if state.serving == FRESH else state.serving
            changed = changed._replace(serving=serving, current=False)
        yield Move(self.page.changes, changed, _CHANGED)
        yield from self._other_changes(state)

    def _other_changes(self, state: LabelledState) -> Iterator[Move]:
        """Other pages change, of which copies wait."""
        if self.discipline.drops_changed:
            for label in dict.fromkeys(each for each in state.waiting if each[0] >= 0):
                left = tuple(each for each in state.waiting if each != label)
                yield Move(self.others[label[0]].changes, state._replace(waiting=renumbered(left)))

    def _served(self, state: LabelledState) -> Iterator[Move]:
        yield from service_moves(self.chain, state, self._next(state))

    def _next(self, state: LabelledState) -> Iterator[tuple[float, LabelledState]]:
        """The state when a copy is indexed and the next page is in service."""
        state = state._replace(current=state.current or state.serving == FRESH)
        if not state.waiting:
            yield 1.0, state._replace(serving=NO_PAGE, phase=0)
            return
        waiting = state.waiting
        place = next_in_line(self.discipline.order, len(waiting))
        label = waiting[place]
        left = renumbered(waiting[:place] + waiting[place + 1 :])
        serving = label if label in (FRESH, STALE) else OTHER
        for phase, share in enumerate(self.chain.service.start.tolist()):
            yield share, state._replace(waiting=left, serving=serving, phase=phase)

    def fates(self, state: LabelledState) -> Fates:
        """Pages per unit time by what becomes of them, in a state."""
        delivered = float(self.deliveries[state.level][state.arrivals].sum())
        lost = dropped = replaced = 0.0
        for share, label in self._labels(state):
            if self.discipline.replaces and replaced_by(label, state.waiting):
                replaced += delivered * share
            elif state.level == self.chain.top:
                lost += delivered * share
        if self.discipline.drops_changed:
            dropped = sum(
                self.page.changes if each in (FRESH, STALE) else self.others[each[0]].changes
                for each in state.waiting
            )
        served = float(self.chain.service.exit_rates[state.phase]) if state.level else 0.0
        return Fates(delivered, lost, dropped, replaced, served)


class LabelledQueue(NamedTuple):
    """What `labelled_page` takes, but for the class of the page."""

    chain: QueueChain
    deliveries: tuple[Array, ...]
    classes: tuple[PageClass, ...]
    discipline: QueueDiscipline

    def walk(self, followed: int) -> _Walk:
        """The moves seen by a page of a class."""
        others = tuple(
            each._replace(pages=each.pages - (kind == followed))
            for kind, each in enumerate(self.classes)
        )
        return _Walk(self.chain, self.deliveries, self.classes[followed], others, self.discipline)

    @property
    def start(self) -> LabelledState:
        """The empty system."""
        return LabelledState((), NO_PAGE, True, self.chain.start or 0, 0)


def labelled_page(
    chain: QueueChain,
    deliveries: tuple[Array, ...],
    classes: tuple[PageClass, ...],
    followed: int,
    discipline: QueueDiscipline,
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
    discipline : QueueDiscipline

    Raises
    ------
    NoAnswerError
        If its chain has more than `MOST_LABELLED` states.

    Notes
    -----
    Of the stationary distribution of: labels of the waiting pages in order, what is in service,
    whether the index is current. At a change of the page followed its waiting copies are dropped or
    go stale, and so does the one in service: it will be indexed, and the index stays stale. A copy
    that is older than the one in the index changes nothing. Unless changes drop copies the queue
    does not depend on them; then the age is the mean time from a stationary instant, at which all
    copies there are turn stale, to the first indexing of one that is not.
    """
    page = classes[followed]
    queue = LabelledQueue(chain, deliveries, classes, discipline)
    aged = not discipline.drops_changed
    seen = page._replace(changes=page.changes or 1.0) if aged else page
    walk = replace(queue.walk(followed), page=seen)
    explored = explore([queue.start], walk.moves, kinds=2, most=MOST_LABELLED)
    stationary = explored.stationary()
    levels = np.zeros(chain.top + 1)
    for state, index in explored.states.items():
        levels[state.level] += stationary[index]
    rate = sum(stationary[index] for state, index in explored.states.items() if not state.current)
    age = np.nan
    if aged:
        starts = stationary @ explored.rates[_CHANGED] / seen.changes
        age = _age(explored, explored.rates[0], starts)
    fates = stationary @ np.array([walk.fates(state) for state in explored.states])
    rate = float(rate) if page.changes else 0.0
    active = np.array([chain.active[s.level, s.arrivals, 0] for s in explored.states])
    moved = sum(explored.rates[1:], explored.rates[0]).tocoo()
    gained = np.maximum(active[moved.col] - active[moved.row], 0.0)
    switches = float((stationary[moved.row] * moved.data) @ gained)
    fate_rates = Fates(*fates.tolist())
    return LabelledPage(levels, rate, age, fate_rates, float(stationary @ active), switches)


def _age(explored: Explored, moves: scipy.sparse.csr_matrix, starts: Array) -> float:
    """Mean time until the index is current, by some of the moves; inf where it never is."""
    stale = np.array([not state.current for state in explored.states])
    ends = np.asarray(moves[stale][:, ~stale].sum(axis=1)).ravel()
    if not ends.any():
        return np.inf
    chain = AbsorbingChain(starts[stale], moves[stale][:, stale], ends[:, None])
    return chain.total(np.ones(len(ends)))


def age_with_dropping(queue: LabelledQueue, followed: int) -> float:
    """Mean age of the copy of a page in the index, where changes drop its waiting copies.

    Parameters
    ----------
    queue : LabelledQueue
    followed : int
        The class of the page.

    Notes
    -----
    The age exceeds t iff no copy delivered after an instant is indexed within t of it; so its mean
    is the mean time from a stationary instant to the first such indexing, whatever changes
    meanwhile. The labels say now which copies were delivered after the instant.
    """
    walk = queue.walk(followed)
    seen = explore([queue.start], walk.moves, kinds=2, most=MOST_LABELLED)
    starts: Counter[LabelledState] = Counter()
    for state, probability in zip(seen.states, seen.stationary().tolist(), strict=True):
        waiting = tuple(STALE if each == FRESH else each for each in state.waiting)
        serving = STALE if state.serving == FRESH else state.serving
        starts[state._replace(waiting=waiting, serving=serving, current=False)] += probability
    later = replace(walk, new_stay_new=True)
    explored = explore(starts, later.moves, kinds=2, most=2 * MOST_LABELLED)
    flows = np.zeros(len(explored.states))
    flows[: len(starts)] = list(starts.values())
    return _age(explored, explored.rates[0] + explored.rates[_CHANGED], flows)


@dataclass(frozen=True, eq=False)
class _TaggedWalk(_Walk):
    """The moves of one waiting copy of the page; other copies of it are `FRESH`.

    Those that end the wait lead nowhere.
    """

    def _delivered(
        self, state: LabelledState, label: Label, rate: float, into: int
    ) -> Iterator[Move]:
        waiting = renumbered(self._joined(state.waiting, label))
        if TAGGED in waiting and not (self.discipline.replaces and label == FRESH):
            yield Move(rate, state._replace(waiting=waiting, arrivals=into))
        else:
            yield Move(rate, state, LOST)

    def _changes(self, state: LabelledState) -> Iterator[Move]:
        if self.discipline.drops_changed:
            yield Move(self.page.changes, state, OBSOLETE)
            yield from self._other_changes(state)

    def _served(self, state: LabelledState) -> Iterator[Move]:
        waiting = state.waiting
        if waiting[next_in_line(self.discipline.order, len(waiting))] == TAGGED:
            yield from service_moves(self.chain, state, [(1.0, state)], SERVED)
        else:
            following = [
                (share, after._replace(serving=OTHER)) for share, after in self._next(state)
            ]
            yield from service_moves(self.chain, state, following)


def _tagged(label: Label) -> Label:
    return FRESH if label == STALE else label


def labelled_sojourns(queue: LabelledQueue) -> Iterator[Row]:
    """Moments of the sojourn times by class of pages, where copies of a page leave together.

    A copy that takes the place of an older one has entered, and the older one leaves.
    """
    waits: Array = np.zeros((3, 3))
    at_once = total = 0.0
    for kind, page in enumerate(queue.classes):
        walk = queue.walk(kind)
        seen = explore([queue.start], walk.moves, kinds=2, most=MOST_LABELLED)
        flows: Counter[LabelledState] = Counter()
        for state, probability in zip(seen.states, seen.stationary().tolist(), strict=True):
            rates = queue.deliveries[state.level][state.arrivals] * probability
            total += float(rates.sum()) * page.pages * page.share
            if not state.level:
                at_once += float(rates.sum()) * page.pages * page.share
                continue
            waiting = tuple(map(_tagged, state.waiting))
            joined = walk._joined(waiting, TAGGED)
            if queue.discipline.replaces and FRESH in waiting:
                joined = tuple(TAGGED if each == FRESH else each for each in waiting)
            for arrivals, rate in enumerate(rates.tolist() if TAGGED in joined else ()):
                after = LabelledState(renumbered(joined), OTHER, False, arrivals, state.phase)
                flows[settled_state(walk.chain, after)] += rate * page.pages * page.share
        if flows:
            tagged = _TaggedWalk(walk.chain, walk.deliveries, page, walk.others, walk.discipline)
            explored = explore(flows, tagged.moves, kinds=4, most=MOST_LABELLED)
            waits += explored.absorbed(np.array(list(flows.values()))).moments(2).T
    return moment_rows(with_service(waits, at_once, queue.chain.service), total)


# --- of a scenario ----------------------------------------------------------------------------


def labelled(scenario: Scenario) -> tuple[LabelledPage, ...]:
    """What labels say of each page, whatever the prices.

    Raises
    ------
    NoAnswerError
        If its chain has too many states.
    """
    return _labelled(scenario.model_copy(update={"costs": Costs()}))


def _queue_and_kinds(scenario: Scenario) -> tuple[LabelledQueue, list[int]]:
    """The queue of a scenario, and the class of each page."""
    top = buffer_of(scenario).capacity
    kinds = accessed_pages(scenario).kinds
    number = len(kinds.counts)
    if max(top - 2, 0) * math.log(number) > math.log(MOST_LABELLED):
        raise NoAnswerError(f"its {number} kinds of pages have too many orders in the buffer")
    service, _ = service_and_patience(scenario)
    modes = delivery_modes(fleet_of(scenario), numbers_in_use(scenario))
    laws = service, UNLIMITED_PATIENCE
    if (given := remembering(scenario)) is not None:
        chain = hysteresis_chain(modes, given, *laws, top, "partial")
        deliveries = (deliveries_by_control(modes, given),) * (top + 1)
    else:
        at = robots_at(scenario)
        chain = controlled_chain(modes, at, *laws, top, "partial")
        deliveries = tuple(modes[at(level), 1] for level in range(top + 1))
    columns = (kinds.counts, kinds.change_rates, kinds.shares)
    classes = tuple(map(PageClass, *(column.tolist() for column in columns)))
    queue = LabelledQueue(chain, deliveries, classes, discipline_of(scenario))
    return queue, kinds.of_page.tolist()


def _solved(scenario: Scenario) -> tuple[LabelledPage, ...]:
    queue, which = _queue_and_kinds(scenario)
    chain, deliveries, classes, discipline = queue
    doing = f"{scenario.name}: orders of the waiting pages, kinds of pages"
    by_kind = [
        labelled_page(chain, deliveries, classes, kind, discipline)
        for kind in followed(range(len(classes)), doing, len(classes))
    ]
    return tuple(by_kind[kind] for kind in which)


_labelled = Remembered(_solved, 1024)


@dependent
def labels_fit(scenario: Scenario) -> str | None:
    """The chain of the labels of waiting pages has at most 20 000 states."""
    labelled(scenario)
    return None


def freshness_by_labels(scenario: Scenario) -> Freshness:
    """By labels."""
    pages = labelled(scenario)
    return Freshness(
        rates=lambda: np.array([page.rate for page in pages]),
        ages=lambda: _ages(scenario),
    )


def _ages(scenario: Scenario) -> Array:
    """Mean ages of the copies; nan where changes drop copies and the chain is too large."""
    pages = labelled(scenario)
    if not discipline_of(scenario).drops_changed:
        return np.array([page.age for page in pages])
    queue, which = _queue_and_kinds(scenario)
    try:
        by_kind = [age_with_dropping(queue, kind) for kind in range(len(queue.classes))]
    except NoAnswerError:
        return np.full(len(pages), np.nan)
    return np.array(by_kind)[which]


def sojourns_with_labels(scenario: Scenario) -> Values:
    """Sojourn times by class where copies of a page leave together."""
    return labelled_sojourns(_queue_and_kinds(scenario)[0])


def rows_with_labels(scenario: Scenario) -> Values:
    """Levels, rates and shares of the queue where copies of a page leave it together.

    A delivery that takes the place of its waiting older copy needs no room: it is lost only where
    the buffer is full and none of its copies waits.
    """
    page = labelled(scenario)[0]  # of the queue every page says the same
    rates = page.fates._asdict()
    if not discipline_of(scenario).replaces:
        del rates["replaced"]
    yield from level_rows(page.levels, page.active, rates)
    if scenario.model.hysteresis is not None:
        yield "switch_rate", None, page.switches


def cost_with_labels(scenario: Scenario) -> float:
    """The control cost without that of staleness; no price may be on the response time."""
    page = labelled(scenario)[0]
    others = {
        "starvation": float(page.levels[0]),
        "robots": page.active,
        "response": math.nan,
        "switch": page.switches,
    }
    return control_cost(page.fates._asdict(), others, scenario.prices)
