"""The queue of avrachenkov2011 event by event, from its words: slow, obvious, without its formulas.

Every waiting page carries the phase of its own clock and every robot the phase of its own process;
the states are found by walking from the empty system. No Kronecker product, no block, and none of
the code of `analytic`: the two can only be wrong independently.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.activation import Free, Levels, Static, Switching, Threshold
from scenarios.arrays import Array
from scenarios.deliveries import Independent, Marked, Thinned
from scenarios.laws import Erlang, Exponential, Hyperexponential, PhaseType
from scenarios.processes import Bmap, Map, Mmpp, Poisson, Renewal

Found = dict[tuple[str, int | str | None], float]
Jump = tuple[float, tuple[int, ...], int]  # rate, robots afterwards, pages delivered


class Law(NamedTuple):
    """A phase-type time: start probabilities, and rates from phase to phase."""

    start: tuple[float, ...]
    rates: tuple[tuple[float, ...], ...]

    def draws(self) -> list[tuple[float, int]]:
        """First phases, with their probabilities."""
        return [(share, phase) for phase, share in enumerate(self.start) if share > 0]

    def moves(self, phase: int) -> list[tuple[float, int]]:
        """Rates to other phases."""
        return [(r, j) for j, r in enumerate(self.rates[phase]) if j != phase and r > 0]

    def end(self, phase: int) -> float:
        """The rate at which it ends."""
        return max(0.0, -math.fsum(self.rates[phase]))


def law_of(law: Any) -> Law:
    """The phases of a law as a scenario writes it."""
    if isinstance(law, PhaseType):
        return Law(law.alpha, law.T)
    if isinstance(law, Hyperexponential):
        return Law(law.probabilities, tuple(map(tuple, np.diag(np.negative(law.rates)).tolist())))
    if isinstance(law, Exponential):
        return Law((1.0,), ((-(law.rate or 1.0 / (law.mean or math.inf)),),))
    assert isinstance(law, Erlang)
    rate = law.shape / law.mean
    steps = np.diag([-rate] * law.shape) + np.diag([rate] * (law.shape - 1), 1)
    return Law((1.0,) + (0.0,) * (law.shape - 1), tuple(map(tuple, steps.tolist())))


def batches_of(process: Any) -> list[Any]:
    """Matrices of deliveries of 0, 1, 2, … pages."""
    if isinstance(process, Poisson):
        return [[[-process.rate]], [[process.rate]]]
    if isinstance(process, Mmpp):
        return [process.Q, np.diag(process.rates)]
    if isinstance(process, Map):
        return [process.D0, process.D1]
    if isinstance(process, Bmap):
        return list(process.D)
    law = law_of(process.root if isinstance(process, Renewal) else process)
    again = [[law.end(i) * share for share in law.start] for i in range(len(law.start))]
    return [law.rates, again]


def jumps(batches: Iterable[Any], phase: int) -> Iterator[tuple[float, int, int]]:
    """Rate, next phase, pages; the diagonal of the first matrix is no event."""
    for size, matrix in enumerate(batches):
        for target, rate in enumerate(matrix[phase]):
            if rate > 0 and (size or target != phase):
                yield float(rate), target, size


class Page(NamedTuple):
    """Phase of the clock while it waits, of the service afterwards; whether it is followed."""

    phase: int = -1
    tagged: bool = False


class State(NamedTuple):
    """`robots`: each robot's phase, or that of a common process; under switching 1 is active."""

    serving: Page | None
    waiting: tuple[Page, ...]  # the oldest first
    robots: tuple[int, ...]

    @property
    def pages(self) -> tuple[Page, ...]:
        """All in the system, the one in service first."""
        return self.waiting if self.serving is None else (self.serving, *self.waiting)

    def with_robot(self, robot: int, value: int) -> tuple[int, ...]:
        """The phases of the robots, that of one changed."""
        return (*self.robots[:robot], value, *self.robots[robot + 1 :])


class Event(NamedTuple):
    """What happens next: its rate, the state after it, pages delivered, pages that ended."""

    rate: float
    after: State
    delivered: int = 0
    ended: tuple[tuple[str, Page], ...] = ()


Outcome = tuple[float, State, tuple[Page, ...]]  # probability, state afterwards, pages lost


class Queue:
    """One scenario, its events, and what they come to in the long run.

    Parameters
    ----------
    scenario : Scenario
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        buffer: Any = scenario.buffer
        self.buffer = buffer
        self.fleet: Any = scenario.robots
        self.rule = scenario.activation
        self.places = buffer.waiting_places + 1
        self.service = law_of(buffer.service)
        never = buffer.obsolescence == "never"
        self.clock = Law((1.0,), ((0.0,),)) if never else law_of(buffer.obsolescence)

    def empty(self) -> State:
        """No page, and every robot in its first phase."""
        if isinstance(self.rule, Switching):
            return State(None, (), (1,) * self.fleet.available)
        if isinstance(self.rule, Levels | Free):
            robots = max(self.rule.robots)
        else:
            robots = self.active(State(None, (), ()))  # the others never start
        if self.fleet.deliveries is not None:
            own = isinstance(self.fleet.deliveries, Independent)
            robots = self.fleet.available if own else 1
        return State(None, (), (0,) * robots)

    def active(self, state: State) -> int:
        """Robots whose deliveries count."""
        if isinstance(self.rule, Switching):
            return sum(state.robots)
        if isinstance(self.rule, Threshold):
            steps = zip(self.rule.robots, (*self.rule.at, math.inf), strict=True)
            return next(robots for robots, at in steps if len(state.pages) <= at)
        if isinstance(self.rule, Levels):
            return self.rule.robots[len(state.pages)]
        if isinstance(self.rule, Free):
            service = state.serving.phase if state.serving else 0
            own = self.fleet.deliveries is None  # exponential accesses, which have no phase
            return self.rule.root[len(state.pages)][0 if own else state.robots[0]][service]
        return self.rule.robots if isinstance(self.rule, Static) else self.fleet.available

    def events(self, state: State, tag: int | None = None) -> Iterator[Event]:
        """All that can happen; with `tag`, that page of a batch is followed."""
        yield from self.service_events(state)
        yield from self.clock_events(state)
        for rate, robots, size in self.robot_events(state):
            pages = [Page(tagged=place == tag) for place in range(size)]
            for share, after, lost in self.admit(state._replace(robots=robots), pages):
                after = self.switch_on(after) if size else after
                yield Event(rate * share, after, size, tuple(("lost", page) for page in lost))

    def service_events(self, state: State) -> Iterator[Event]:
        """The service goes on or ends; the next one begins."""
        if state.serving is None:
            return
        for rate, phase in self.service.moves(state.serving.phase):
            yield Event(rate, state._replace(serving=state.serving._replace(phase=phase)))
        rate = self.service.end(state.serving.phase)
        ended = (("served", state.serving),)
        if not state.waiting:
            yield Event(rate, self.switch_on(state._replace(serving=None)), 0, ended)
            return
        place = {"fifo": 0, "lifo": len(state.waiting) - 1}[self.buffer.discipline]
        page, rest = state.waiting[place], state.waiting[:place] + state.waiting[place + 1 :]
        for share, phase in self.service.draws():
            after = State(page._replace(phase=phase), rest, state.robots)
            yield Event(rate * share, self.switch_on(after), 0, ended)

    def clock_events(self, state: State) -> Iterator[Event]:
        """The clock of a waiting page goes on or runs out."""
        for place, page in enumerate(state.waiting):
            before = state.waiting[:place]
            behind = state.waiting[place + 1 :]
            for rate, phase in self.clock.moves(page.phase):
                waiting = (*before, page._replace(phase=phase), *behind)
                yield Event(rate, state._replace(waiting=waiting))
            after = state._replace(waiting=before + behind)
            yield Event(self.clock.end(page.phase), after, 0, (("obsolete", page),))

    def robot_events(self, state: State) -> Iterator[Jump]:
        """What the robots do, whatever becomes of their pages."""
        joint = self.fleet.deliveries
        if isinstance(self.rule, Switching):
            rate = batches_of(self.fleet.access_time)[1][0][0]
            on = [robot for robot, is_on in enumerate(state.robots) if is_on]
            return iter([(rate, state.with_robot(robot, 0), 1) for robot in on])
        if joint is None or isinstance(joint, Independent):
            return self.each_robot(state)
        if isinstance(joint, Marked):
            return self.marks(state)
        return self.common_process(state)

    def each_robot(self, state: State) -> Iterator[Jump]:
        """Every robot for itself; one that is switched off runs on and is not heard."""
        for robot, phase in enumerate(state.robots):
            joint = self.fleet.deliveries
            own = batches_of(self.fleet.access_time if joint is None else joint.root[robot])
            heard = robot < self.active(state)
            for rate, target, size in jumps(own, phase):
                yield rate, state.with_robot(robot, target), size if heard else 0

    def marks(self, state: State) -> Iterator[Jump]:
        """One process, each of whose batches is of one robot."""
        joint = self.fleet.deliveries.root
        active = self.active(state)
        (phase,) = state.robots
        for rate, target, _ in jumps([joint.D0], phase):
            yield rate, (target,), 0
        for robot, batches in enumerate(joint.robots):
            for size, matrix in enumerate(batches, start=1):
                for target, rate in enumerate(matrix[phase]):
                    yield rate, (target,), size if robot < active else 0

    def common_process(self, state: State) -> Iterator[Jump]:
        """Thinned batches, or a process per number of robots; with no robot it stands still."""
        joint = self.fleet.deliveries
        active = self.active(state)
        (phase,) = state.robots
        if isinstance(joint, Thinned):
            keep = (0.0, *joint.root.keep)[active]
            for rate, target, size in jumps(batches_of(joint.root.process), phase):
                yield rate * keep, (target,), size
                yield rate * (1 - keep), (target,), 0
        elif active > 0:
            for rate, target, size in jumps(batches_of(joint.root[active - 1]), phase):
                yield rate, (target,), size

    def admit(self, state: State, pages: list[Page]) -> list[Outcome]:
        """What may become of a batch."""
        room = self.places - len(state.pages)
        refused = {"partial": False, "reject": len(pages) > room, "complete": room <= 0}
        if refused[self.buffer.admission]:
            return [(1.0, state, tuple(pages))]
        outcomes: list[Outcome] = [(1.0, state, ())]
        for page in pages:
            outcomes = [
                (share * more, after, lost + also)
                for share, before, lost in outcomes
                for more, after, also in self.enter(before, page)
            ]
        return outcomes

    def enter(self, state: State, page: Page) -> list[Outcome]:
        """What may become of a page."""
        if state.serving is None:
            draws = self.service.draws()
            return [(q, state._replace(serving=page._replace(phase=j)), ()) for q, j in draws]
        waiting = state.waiting
        lost: tuple[Page, ...] = ()
        if self.buffer.admission != "complete" and len(state.pages) >= self.places:
            if self.buffer.when_full == "lose-new" or not waiting:
                return [(1.0, state, (page,))]
            lost, waiting = waiting[:1], waiting[1:]  # push-out
        draws = self.clock.draws()
        return [
            (q, state._replace(waiting=(*waiting, Page(j, page.tagged))), lost) for q, j in draws
        ]

    def switch_on(self, state: State) -> State:
        """After a delivery or a service: the first idle robot, if fewer are active than wanted."""
        if not isinstance(self.rule, Switching):
            return state
        by_phase = state.serving is not None and len(self.rule.targets) > 1
        row = self.rule.targets[state.serving.phase if by_phase and state.serving else 0]
        if sum(state.robots) >= row[len(state.pages)]:
            return state
        return state._replace(robots=state.with_robot(state.robots.index(0), 1))

    # -- in the long run -------------------------------------------------------------------------

    @cached_property
    def _walked(self) -> dict[State, list[Event]]:
        return walked(self, [self.empty()], lambda _: True)

    @cached_property
    def states(self) -> list[State]:
        """All states, by level and then in the order of their phases."""
        return sorted(self._walked, key=lambda state: (len(state.pages), state.robots, state.pages))

    @cached_property
    def rates(self) -> Array:
        """Rates between all states, 0 on the diagonal."""
        return rates_between(self.states, self._walked)

    @property
    def generator(self) -> Array:
        """The same; on the diagonal what makes the rows sum to zero."""
        return self.rates - np.diag(self.rates.sum(axis=1))

    @cached_property
    def solution(self) -> list[tuple[State, float]]:
        """The states that recur, with the fractions of time spent there."""
        shares = stationary(self.rates)
        return [(state, float(p)) for state, p in zip(self.states, shares, strict=True) if p > 0]

    @cached_property
    def happening(self) -> list[tuple[float, State, Event]]:
        """Each event with the state before it, and how often it happens per unit time."""
        return [
            (share * event.rate, state, event)
            for state, share in self.solution
            for event in self._walked[state]
        ]


def walked(
    queue: Queue, first: Iterable[State], inside: Callable[[State], bool]
) -> dict[State, list[Event]]:
    """The states that can be reached inside, and what may happen in each."""
    events: dict[State, list[Event]] = {state: [] for state in first}
    todo = deque(events)
    while todo:
        state = todo.popleft()
        events[state] = [*queue.events(state)]
        for event in events[state]:
            if event.rate > 0 and event.after not in events and inside(event.after):
                events[event.after] = []
                todo.append(event.after)
    return events


def rates_between(states: Iterable[State], events: dict[State, list[Event]]) -> Array:
    """Rates from each of the states to another of them."""
    place = {state: index for index, state in enumerate(states)}
    rates = np.zeros((len(place), len(place)))
    for state, origin in place.items():
        for event in events[state]:
            target = place.get(event.after, origin)
            if target != origin:
                rates[origin, target] += event.rate
    return rates


def stationary(rates: Array) -> Array:
    """Censoring one state after the other, on the one closed class."""
    reach = (rates > 0) | np.eye(len(rates), dtype=bool)
    for _ in range(len(rates).bit_length()):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    kept = np.flatnonzero([not np.any(reach[i] & ~reach[:, i]) for i in range(len(rates))])
    assert reach[np.ix_(kept, kept)].all(), "several closed classes"
    censored = rates[np.ix_(kept, kept)]
    weight = np.ones(len(kept))
    for last in range(len(kept) - 1, 0, -1):
        share = censored[last, :last] / censored[last, :last].sum()
        censored[:last, :last] += np.outer(censored[:last, last], share)
    for state in range(1, len(kept)):
        inflow = weight[:state] @ censored[:state, state]
        weight[state] = inflow / censored[state, :state].sum()
    law = np.zeros(len(rates))
    law[kept] = weight / weight.sum()
    return law


def measures(scenario: Scenario) -> Found:
    """Every measure but the sojourn times."""
    return measures_of(Queue(scenario))


def measures_of(queue: Queue) -> Found:
    """The same of a queue that is at hand."""
    flow = dict.fromkeys(("delivered", "lost", "obsolete", "served"), 0.0)
    for often, _, event in queue.happening:
        flow["delivered"] += often * event.delivered
        for fate, _ in event.ended:
            flow[fate] += often
    levels: dict[int, float] = {}
    for state, share in queue.solution:
        levels[len(state.pages)] = levels.get(len(state.pages), 0.0) + share
    found: Found = {("arrival_rate", None): flow["delivered"], ("loss_rate", None): flow["lost"]}
    found["throughput", None] = flow["served"]
    found["starvation_probability", None] = levels[0]
    found["mean_active_robots", None] = sum(p * queue.active(state) for state, p in queue.solution)
    found["mean_in_system", None] = sum(level * p for level, p in levels.items())
    found |= {("level_probability", level): p for level, p in levels.items()}
    fates = {"loss": "lost", "obsolescence": "obsolete", "success": "served"}
    for name in fates if flow["delivered"] > 0 else ():
        found[f"{name}_probability", None] = flow[fates[name]] / flow["delivered"]
    return found


FATES = ("served", "obsolete", "lost", "accepted")


class Followed:
    """Each page followed from its entry to its end, the whole system going on around it.

    Parameters
    ----------
    queue : Queue
    entries : (mapping, float), optional
        As those of `tagged_entries`, where they are others.
    """

    def __init__(self, queue: Queue, entries: tuple[dict[State, float], float] | None = None):
        starts, self.delivered = tagged_entries(queue) if entries is None else entries
        found = walked(queue, starts, is_inside)
        self.rates = rates_between(found, found)
        self.start = np.array([starts.get(state, 0.0) for state in found])
        self.ends = np.zeros((len(found), len(FATES)))
        for row, events in enumerate(found.values()):
            for event in events:
                for fate in (fate for fate, page in event.ended if page.tagged):
                    self.ends[row, FATES.index(fate)] += event.rate
        self.ends[:, -1] = self.ends.sum(axis=1)

    @property
    def generator(self) -> Array:
        """Rates between the states of a page that is followed."""
        return self.rates - np.diag(self.rates.sum(axis=1) + self.ends[:, -1])

    def pages(self) -> Array:
        """Pages per unit time of each fate."""
        result: Array = self.start @ until_the_end(self.rates, self.ends[:, -1], self.ends)
        return result

    def by_fate(self, ended: Array) -> dict[str, float]:
        """Shares of the pages of each fate, and of all; lost pages that never entered are 0 old."""
        pages = self.pages()
        found = {}
        for fate, number, each in zip(FATES, pages, ended, strict=True):
            found[fate] = each / number if number > 0 else 0.0
        refused = self.delivered - pages[-1]
        found["all"] = (refused + ended[-1]) / self.delivered
        return found

    def ended_by(self, exponential: Array) -> dict[str, float]:
        """Distribution function at t, from the matrix exponential of generator times t."""
        waiting = self.start @ exponential
        left = waiting @ until_the_end(self.rates, self.ends[:, -1], self.ends)
        return self.by_fate(self.pages() - left)

    def transform(self, s: float) -> dict[str, float]:
        """E exp(-s V) of the pages of each fate, and of all."""
        moving = s * np.eye(len(self.start)) - self.generator
        return self.by_fate(self.start @ np.linalg.solve(moving, self.ends))

    def sojourns(self) -> Found:
        """Moments of the time from entry to end, by class."""
        reach = until_the_end(self.rates, self.ends[:, -1], self.ends)
        once = until_the_end(self.rates, self.ends[:, -1], reach)
        twice = until_the_end(self.rates, self.ends[:, -1], once)
        found: Found = {}
        for column, fate in enumerate(FATES):
            for subject, flow in ((fate, self.start @ reach[:, column]), ("all", self.delivered)):
                if flow > 0:  # the last column, of all that enter, is that of "all" too
                    found["sojourn_time", subject] = float(self.start @ once[:, column] / flow)
                    square = float(2 * self.start @ twice[:, column] / flow)
                    found["sojourn_time_second_moment", subject] = square
        return found


class Undisturbed(Queue):
    """What is ahead of a page: in order of arrival no later delivery matters to it."""

    def robot_events(self, state: State) -> Iterator[Jump]:  # noqa: ARG002  # whatever it is
        """None."""
        return iter(())


def followed_in_order(
    scenario: Scenario, starts: dict[State, float], delivered: float = math.nan
) -> Followed:
    """The same of pages that are served in order and never pushed out, in fewer states.

    Parameters
    ----------
    scenario : Scenario
    starts : mapping
        The states in which pages enter, and how many per unit time.
    delivered : float
        Pages delivered per unit time, those that do not enter included.
    """
    ahead: dict[State, float] = {}
    for state, rate in starts.items():
        place = next((k for k, page in enumerate(state.waiting) if page.tagged), -1)
        cut = State(state.serving, state.waiting[: place + 1], ())
        ahead[cut] = ahead.get(cut, 0.0) + rate
    return Followed(Undisturbed(scenario), (ahead, delivered))


def sojourns(scenario: Scenario) -> Found:
    """The same of all pages of a scenario."""
    return Followed(Queue(scenario)).sojourns()


def until_the_end(rates: Array, ends: Array, rewards: Array) -> Array:
    """Mean rewards from each state until the end, censoring without a subtraction."""
    censored = rates.copy()
    ends = ends.copy()
    mean = rewards.copy()
    for last in range(len(ends) - 1, -1, -1):
        out = censored[last, :last].sum() + ends[last]
        share = censored[:last, last] / out
        mean[:last] += np.outer(share, mean[last])
        ends[:last] += share * ends[last]
        into = np.flatnonzero(share)
        censored[into, :last] += np.outer(share[into], censored[last, :last])
    for state in range(len(ends)):
        gain = mean[state] + censored[state, :state] @ mean[:state]
        mean[state] = gain / (censored[state, :state].sum() + ends[state])
    return mean


def tagged_entries(
    queue: Queue, batches: Callable[[State, Event], bool] = lambda _state, _event: True
) -> tuple[dict[State, float], float]:
    """Rates at which a page enters, by the state that it enters; pages delivered per unit time.

    Parameters
    ----------
    queue : Queue
    batches : callable
        Of which batches: by the state that one meets, and its event.
    """
    starts: dict[State, float] = {}
    delivered = 0.0
    largest = max((event.delivered for _, _, event in queue.happening), default=0)
    for state, probability in queue.solution:
        for tag in range(largest):
            for event in (event for event in queue.events(state, tag) if event.delivered > tag):
                if not batches(state, event):
                    continue
                delivered += probability * event.rate
                if event.rate > 0 and is_inside(event.after):
                    starts[event.after] = starts.get(event.after, 0.0) + probability * event.rate
    return starts, delivered


def is_inside(state: State) -> bool:
    """Whether the page that is followed is in the system."""
    return any(page.tagged for page in state.pages)
