"""Pages that are served by class: one chain for each class, whatever their number.

For the pages of the first classes all others are alike: how many of them wait, how many wait in
all, and the phase of the deliveries are a Markov chain. So are, for a page that waits, the pages
that go before it and all that wait. Services and timers are exponential; docs/theory/
indexing-queue.md, "Priorities".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from analytic.index import conditions
from analytic.index.conditions import buffer_and_robots, buffer_of
from analytic.index.formula import dependent
from analytic.indexing_queue.chain import accepted_pages
from analytic.indexing_queue.measures import (
    UNCHANGED,
    KnownLevels,
    all_rows,
    limited_robots_at,
    service_and_patience,
    size_of,
)
from analytic.indexing_queue.several_servers import idle_servers
from analytic.indexing_queue.sojourns import Row, moment_rows, with_service
from analytic.machinery.active_robots import numbers_in_use
from analytic.machinery.arrival_process import delivery_modes
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.refusal import NoAnswerError, Remembered
from analytic.machinery.state_space import Move, explore
from scenarios import Scenario
from scenarios.accessing.randomized import Randomized
from scenarios.arrays import Array
from scenarios.model import present
from scenarios.page_data import access_shares

MOST_STATES = 200_000
"""Of the chains of all classes together."""

_ONWARD, _TAKEN, _OBSOLETE, _PUSHED_OUT = range(4)


class Line(NamedTuple):
    """Pages that go before some others, pages in the system, and the phase of the deliveries."""

    before: int
    level: int
    phase: int


class ClassResults(NamedTuple):
    """What becomes of the pages of a class, per unit time.

    Attributes
    ----------
    refused : float
        Pages that do not enter.
    moments : ndarray, shape (3, 3)
        Of those that are served, become obsolete and are pushed out: their number, their times from
        entry to end, and the squares of these, summed.
    """

    refused: float
    moments: Array

    @property
    def lost(self) -> float:
        """Pages that do not enter, or are pushed out."""
        return self.refused + float(self.moments[2, 0])

    @property
    def delivered(self) -> float:
        """All pages."""
        return self.refused + float(self.moments[:, 0].sum())


@dataclass(frozen=True, eq=False)
class PriorityQueue:
    """A queue whose servers take the pages of the first class before those of the next.

    Attributes
    ----------
    modes : ndarray, shape (robots + 1, largest delivery + 1, order, order)
        As in `analytic.indexing_queue.chain.controlled_chain`.
    robots_at : callable
        Active robots at a level.
    service : PhaseLaw
        Exponential.
    servers, places : int
    admission : {"partial", "reject", "complete"}
    pushes_out_lowest : bool
        A page that finds no room pushes out the newest one of the last class that waits, if that is
        behind its own.
    obsolescence : float
        Rate at which each waiting page becomes obsolete; 0: never.
    shares : tuple of float
        Of the pages of each class, drawn independently.
    """

    modes: Array
    robots_at: Callable[[int], int]
    service: PhaseLaw
    servers: int
    places: int
    admission: str
    pushes_out_lowest: bool
    obsolescence: float
    shares: tuple[float, ...]

    def waiting(self, level: int) -> int:
        """Pages that wait at a level."""
        return max(level - self.servers, 0)

    def entering(self, level: int, pages: int) -> int:
        """Pages of a delivery that find room."""
        return accepted_pages(level, pages, self.servers + self.places, self.admission)

    @cached_property
    def deliveries(self) -> Callable[[int, int], list[tuple[int, int, float]]]:
        """From active robots and a phase: the pages that come, the phase then, the rate."""

        @cache
        def rates(active: int, phase: int) -> list[tuple[int, int, float]]:
            into = self.modes[active, :, phase]
            return [
                (pages, after, float(into[pages, after]))
                for pages, after in np.argwhere(into > 0).tolist()
                if pages > 0 or after != phase
            ]

        return rates

    def coming(self, line: Line) -> list[tuple[int, int, float]]:
        """The same of a state."""
        return self.deliveries(self.robots_at(line.level), line.phase)


@dataclass(frozen=True, eq=False)
class _Cut:
    """The pages before a place in line, as those behind it see them, or a page that stands there.

    Attributes
    ----------
    queue : PriorityQueue
    first : float
        Share of the pages that come and go before it.
    page : int
        1: a page stands there, which waits; 0: none does.
    """

    queue: PriorityQueue
    first: float
    page: int

    def joined(self, line: Line, pages: range, entering: int) -> dict[Line | None, float]:
        """Where some pages of a delivery lead: probabilities; None: the page is pushed out."""
        here: dict[Line | None, float] = {line: 1.0}
        for number in pages:
            after: dict[Line | None, float] = defaultdict(float)
            for state, share in here.items():
                if state is None:
                    after[None] += share
                    continue
                for goes_before, part in ((1, self.first), (0, 1.0 - self.first)):
                    if part > 0:
                        after[self._with(state, goes_before, number < entering)] += share * part
            here = after
        return here

    def _with(self, line: Line, goes_before: int, enters: bool) -> Line | None:
        """One page more."""
        before, level, phase = line
        waits = level >= self.queue.servers
        if enters:
            return Line(before + goes_before * waits, level + 1, phase)
        if not (goes_before and self.queue.pushes_out_lowest):
            return line
        if self.queue.waiting(level) > before + self.page:
            return Line(before + 1, level, phase)
        return None if self.page else line

    def moves(self, line: Line) -> Iterator[Move]:
        """All moves from a state."""
        before, level, phase = line
        queue = self.queue
        for pages, after, rate in queue.coming(line):
            come = queue.entering(level, pages)
            for state, share in self.joined(line._replace(phase=after), range(pages), come).items():
                if state is None:
                    yield Move(rate * share, line, _PUSHED_OUT)
                else:
                    yield Move(rate * share, state)
        served = min(level, queue.servers) * float(queue.service.exit_rates[0])
        closer = Line(before - 1, level - 1, phase)
        if before:
            yield Move(served, closer)
        else:
            yield Move(served, Line(0, level - 1, phase), _TAKEN if self.page else _ONWARD)
        theta = queue.obsolescence
        behind = queue.waiting(level) - before - self.page
        yield Move(theta * before, closer)
        yield Move(theta * behind, Line(before, level - 1, phase))
        yield Move(theta * self.page, line, _OBSOLETE)

    def probabilities(self) -> dict[Line, float]:
        """The stationary distribution, where no page stands there.

        Raises
        ------
        NoAnswerError
            If there are too many states.
        ValueError
            If there are several closed classes.
        """
        start = [Line(0, 0, phase) for phase in range(self.queue.modes.shape[2])]
        explored = explore(start, self.moves, most=MOST_STATES)
        found = np.maximum(explored.stationary(), 0.0).tolist()
        return dict(zip(explored.states, found, strict=True))

    def waits(self, entries: dict[Line, float]) -> Array:
        """Moments of the waits of pages that stand there, by kind of end, shape (3, 3)."""
        if not entries:
            return np.zeros((3, 3))
        explored = explore(entries, self.moves, kinds=4, most=MOST_STATES)
        return explored.absorbed(np.array(list(entries.values()))).moments(2).T


class _Arrival(NamedTuple):
    """Pages per unit time that find a state, whether they have room, and what comes with them.

    Attributes
    ----------
    flow : float
    line : Line
    enters : bool
    others : range
        The pages of the same delivery that come after it.
    entering : int
        Pages of the delivery that find room.
    """

    flow: float
    line: Line
    enters: bool
    others: range
    entering: int


def _arrivals(cut: _Cut) -> Iterator[_Arrival]:
    """All pages that come, with those that are before their place in line."""
    queue = cut.queue
    for line, probability in cut.probabilities().items():
        for pages, after, rate in queue.coming(line):
            come = queue.entering(line.level, pages)
            for number in range(pages):
                found = cut.joined(line._replace(phase=after), range(number), come)
                for state, part in found.items():
                    others = range(number + 1, pages)
                    flow = probability * rate * part
                    yield _Arrival(flow, present(state), number < come, others, come)


def _class_results(queue: PriorityQueue, group: int) -> ClassResults:
    """A page of a class is followed from its entry, with the pages that go before it."""
    before, share = math.fsum(queue.shares[:group]), queue.shares[group]
    is_last = group == len(queue.shares) - 1
    seen = _Cut(queue, 1.0 if is_last else before + share, page=0)
    own = _Cut(queue, before, page=1)
    refused = at_once = pushed_out = 0.0
    entries: dict[Line, float] = defaultdict(float)
    for each in _arrivals(seen) if share > 0 else ():
        flow, line = share * each.flow, each.line
        waiting = queue.waiting(line.level)
        if each.enters and line.level < queue.servers:
            at_once += flow
        elif each.enters or (queue.pushes_out_lowest and line.before < waiting):
            entered = line._replace(level=line.level + each.enters)
            for then, chance in own.joined(entered, each.others, each.entering).items():
                if then is None:
                    pushed_out += flow * chance
                else:
                    entries[then] += flow * chance
        else:
            refused += flow
    moments = with_service(own.waits(entries), at_once, queue.service)
    moments[2, 0] += pushed_out
    return ClassResults(refused, moments)


class SolvedPriorities(NamedTuple):
    """What becomes of each class, and the stationary law of levels and phases."""

    classes: list[ClassResults]
    levels: dict[Line, float]


def solve_priorities(queue: PriorityQueue) -> SolvedPriorities:
    """Losses, obsolescence and sojourn times of each class, and the levels.

    Raises
    ------
    NoAnswerError
        If a chain has too many states.
    ValueError
        If there are several closed classes.
    """
    classes = [_class_results(queue, group) for group in range(len(queue.shares))]
    return SolvedPriorities(classes, _Cut(queue, 1.0, page=0).probabilities())


# --- of a scenario ----------------------------------------------------------------------------


def priority_queue_of(scenario: Scenario) -> PriorityQueue:
    """The queue of a scenario that meets the conditions of its formulas."""
    queue, _ = buffer_and_robots(scenario)
    return PriorityQueue(
        modes=delivery_modes(conditions.fleet_of(scenario), numbers_in_use(scenario)),
        robots_at=limited_robots_at(scenario, UNCHANGED),
        service=service_and_patience(scenario)[0],
        servers=queue.servers,
        places=queue.waiting_places,
        admission=queue.admission,
        pushes_out_lowest=queue.discipline.pushes_out_lowest,
        obsolescence=conditions.timer_rate(scenario),
        shares=_shares_of_classes(scenario),
    )


def _shares_of_classes(scenario: Scenario) -> tuple[float, ...]:
    """Shares of the deliveries: given, or those of the pages that are drawn at random."""
    given = present(buffer_of(scenario).classes)
    if given.shares:
        return given.shares
    pages = present(scenario.model.pages)
    drawn = access_shares(present(scenario.model.accessing), pages)
    return tuple(np.bincount(pages.classes, weights=drawn, minlength=given.count).tolist())


@Remembered
def solution_of_priorities(scenario: Scenario) -> SolvedPriorities:
    """The classes of a scenario, solved.

    Raises
    ------
    NoAnswerError
        If the steady state is not unique.
    """
    try:
        return solve_priorities(priority_queue_of(scenario))
    except ValueError as failure:
        raise NoAnswerError(f"its chain has no unique steady state: {failure}") from None


def measures_of_priorities(scenario: Scenario) -> Iterator[Row]:
    """All measures but those of single pages: of each class, then of all together."""
    solved = solution_of_priorities(scenario)
    for group, each in enumerate(solved.classes):
        yield from _rows_of_class(group, each)
    queue, _ = buffer_and_robots(scenario)
    levels = np.zeros(1 + max(line.level for line in solved.levels))
    for line, share in solved.levels.items():
        levels[line.level] += share
    moments = sum((each.moments for each in solved.classes), np.zeros((3, 3)))
    delivered = math.fsum(each.delivered for each in solved.classes)
    rates = {
        "delivered": delivered,
        "lost": math.fsum(each.lost for each in solved.classes),
        "obsolete": float(moments[1, 0]),
        "served": float(moments[0, 0]),
    }
    active = limited_robots_at(scenario, UNCHANGED)
    robots = math.fsum(share * active(line.level) for line, share in solved.levels.items())
    sojourns = list(moment_rows(moments))
    known = KnownLevels.of(levels)
    for row in all_rows(known, (robots, []), rates, scenario.prices, sojourns):
        if row[:2] != ("sojourn_time_second_moment", "all"):
            yield row
    if delivered > 0:
        yield "sojourn_time_second_moment", "all", float(moments[:, 2].sum() / delivered)
    if queue.servers_named:
        yield "idle_indexers", None, idle_servers(levels, queue.servers)


def _rows_of_class(group: int, results: ClassResults) -> Iterator[Row]:
    if results.delivered > 0:
        yield "loss_probability", group, results.lost / results.delivered
        obsolete = float(results.moments[1, 0])
        yield "obsolescence_probability", group, obsolete / results.delivered
    for name, subject, value in moment_rows(results.moments):
        if subject != "obsolete":
            yield name, f"{subject} {group}", value


# --- what stands against them -------------------------------------------------------------------


def classes_drawn(scenario: Scenario) -> str | None:
    """Of which class the next page is depends on nothing that came before."""
    policy = scenario.model.accessing
    if policy is None:
        return None
    if not isinstance(policy, Randomized):
        return "pages are not drawn at random: their classes depend on the order of accesses"
    if policy.unresolved:
        return f"the {policy.unresolved} of the accessing policy are still to be found"
    discipline = conditions.discipline_of(scenario)
    return conditions.all_of(
        "waiting pages are dropped when their originals change"
        if discipline.drops_changed
        else None,
        "newer copies replace older ones" if discipline.replaces else None,
    )


@dependent
def classes_fit(scenario: Scenario) -> str | None:
    """The chains of all classes together have at most 200 000 states."""
    queue, _ = buffer_and_robots(scenario)
    order, _, _, top = size_of(scenario)
    waiting = top - queue.servers
    each = order * (queue.servers + (waiting + 1) * (waiting + 2) // 2)
    states = each * present(queue.classes).count
    if states <= MOST_STATES:
        return None
    return f"the chains of its classes have {states} states, limit {MOST_STATES}"


@dependent
def classes_solved(scenario: Scenario) -> str | None:
    """The steady state is unique."""
    solution_of_priorities(scenario)
    return None


PRIORITIES = (
    conditions.has_buffer,
    conditions.served_by_class,
    conditions.no_host_spacing,
    conditions.resolved_activation,
    conditions.not_switching,
    conditions.markovian_accesses,
    classes_drawn,
    conditions.exponential_service,
    conditions.exponential_patience_or_none,
    classes_fit,
    classes_solved,
)
"""Conditions of pages that are served by class."""
