"""The indexing queue written out event by event: slow, obvious, from the words of the model.

Every waiting page carries the phase of its own clock and every robot the phase of its own process;
the states are found by walking from the empty system. No Kronecker product, no block, and none of
the code of `analytic`: the two can only be wrong independently.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scenarios import Scenario
from scenarios.activation import Static, Switching, Threshold
from scenarios.deliveries import Independent, Marked, Thinned
from scenarios.distributions import Erlang, Exponential, Hyperexponential, PhaseType
from scenarios.processes import Bmap, Map, Mmpp, Poisson, Renewal

__all__ = ["Queue", "State", "measures", "sojourns", "stationary"]

Row = tuple[str, int | str | None]


class Law(NamedTuple):
    """A phase-type time: start probabilities, and rates from phase to phase."""

    start: tuple[float, ...]
    rates: tuple[tuple[float, ...], ...]

    def draws(self) -> list[tuple[float, int]]:
        return [(share, phase) for phase, share in enumerate(self.start) if share > 0]

    def moves(self, phase: int) -> list[tuple[float, int]]:
        return [(r, j) for j, r in enumerate(self.rates[phase]) if j != phase and r > 0]

    def end(self, phase: int) -> float:
        return max(0.0, -math.fsum(self.rates[phase]))


def law_of(law: Any) -> Law:
    if isinstance(law, Exponential):
        return Law((1.0,), ((-(law.rate or 1.0 / (law.mean or 1.0)),),))
    if isinstance(law, Erlang):
        rate = law.shape / law.mean
        steps = np.diag([-rate] * law.shape) + np.diag([rate] * (law.shape - 1), 1)
        return Law((1.0,) + (0.0,) * (law.shape - 1), tuple(map(tuple, steps.tolist())))
    if isinstance(law, Hyperexponential):
        return Law(law.probabilities, tuple(map(tuple, (-np.diag(law.rates)).tolist())))
    assert isinstance(law, PhaseType)
    return Law(law.alpha, law.T)


def batches_of(process: Any) -> list[np.ndarray]:
    """Matrices of deliveries of 0, 1, 2, … pages."""
    if isinstance(process, Poisson):
        return [np.array([[-process.rate]]), np.array([[process.rate]])]
    if isinstance(process, Mmpp):
        return [np.array(process.Q) - np.diag(process.rates), np.diag(process.rates)]
    if isinstance(process, Map):
        return [np.array(process.D0), np.array(process.D1)]
    if isinstance(process, Bmap):
        return [np.array(matrix) for matrix in process.D]
    law = law_of(process.root if isinstance(process, Renewal) else process)
    again = [[law.end(i) * share for share in law.start] for i in range(len(law.start))]
    return [np.array(law.rates), np.array(again)]


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
        return self.waiting if self.serving is None else (self.serving, *self.waiting)


class Event(NamedTuple):
    """What happens next: its rate, the state after it, pages delivered, pages that ended."""

    rate: float
    after: State
    delivered: int = 0
    ended: tuple[tuple[str, Page], ...] = ()


class Queue:
    """One scenario and its events."""

    def __init__(self, scenario: Scenario) -> None:
        assert scenario.buffer is not None
        assert scenario.robots is not None
        self.buffer, self.rule, self.fleet = scenario.buffer, scenario.activation, scenario.robots
        self.places = self.buffer.waiting_places + 1
        self.service = law_of(self.buffer.service)
        never = self.buffer.obsolescence == "never"
        self.clock = Law((1.0,), ((0.0,),)) if never else law_of(self.buffer.obsolescence)

    def empty(self) -> State:
        robots: tuple[int, ...] = (0,)  # one common phase
        if isinstance(self.rule, Switching):
            robots = (1,) * self.fleet.available
        elif isinstance(self.fleet.deliveries, Independent):
            robots = (0,) * self.fleet.available
        elif self.fleet.access_time is not None:
            robots = (0,) * self.active(State(None, (), ()))  # the others never start
        return State(None, (), robots)

    def active(self, state: State) -> int:
        level = len(state.pages)
        if isinstance(self.rule, Switching):
            return sum(state.robots)
        if isinstance(self.rule, Threshold):
            limits = (*self.rule.at, math.inf)
            return next(n for n, at in zip(self.rule.robots, limits, strict=True) if level <= at)
        return self.rule.robots if isinstance(self.rule, Static) else self.fleet.available

    # -- events ----------------------------------------------------------------------------------

    def events(self, state: State, tag: int | None = None) -> Iterator[Event]:
        """All that can happen; with `tag`, that page of a batch is followed."""
        yield from self.service_events(state)
        yield from self.clock_events(state)
        for rate, robots, size in self.robot_events(state):
            pages = [Page(tagged=place == tag) for place in range(size)]
            moved = state._replace(robots=robots)
            for share, after, lost in self.admit(moved, pages):
                ended = tuple(("lost", page) for page in lost)
                after = self.switch_on(after) if size else after
                yield Event(rate * share, after, size, ended)

    def service_events(self, state: State) -> Iterator[Event]:
        page = state.serving
        if page is None:
            return
        for rate, phase in self.service.moves(page.phase):
            yield Event(rate, state._replace(serving=page._replace(phase=phase)))
        rate, ended = self.service.end(page.phase), (("served", page),)
        if not state.waiting:
            yield Event(rate, self.switch_on(state._replace(serving=None)), 0, ended)
            return
        lifo = self.buffer.discipline == "lifo"
        chosen, rest = state.waiting[0], state.waiting[1:]
        if lifo:
            chosen, rest = state.waiting[-1], state.waiting[:-1]
        for share, phase in self.service.draws():
            after = State(chosen._replace(phase=phase), rest, state.robots)
            yield Event(rate * share, self.switch_on(after), 0, ended)

    def clock_events(self, state: State) -> Iterator[Event]:
        for place, page in enumerate(state.waiting):
            before, behind = state.waiting[:place], state.waiting[place + 1 :]
            for rate, phase in self.clock.moves(page.phase):
                waiting = (*before, page._replace(phase=phase), *behind)
                yield Event(rate, state._replace(waiting=waiting))
            after = state._replace(waiting=before + behind)
            yield Event(self.clock.end(page.phase), after, 0, (("obsolete", page),))

    def robot_events(self, state: State) -> Iterator[tuple[float, tuple[int, ...], int]]:
        """Rate, robots afterwards, pages delivered."""
        active, joint = self.active(state), self.fleet.deliveries
        if isinstance(self.rule, Switching):
            own = batches_of(self.fleet.access_time)
            assert own[1].shape == (1, 1)
            for robot in (n for n, is_on in enumerate(state.robots) if is_on):
                yield own[1][0, 0], replaced(state.robots, robot, 0), 1
        elif joint is None or isinstance(joint, Independent):
            for robot in range(len(state.robots)):  # each for itself; one that is off is not heard
                own = batches_of(self.fleet.access_time if joint is None else joint.root[robot])
                for rate, phase, size in jumps(own, state.robots[robot]):
                    robots = replaced(state.robots, robot, phase)
                    yield rate, robots, size if robot < active else 0
        elif isinstance(joint, Thinned):
            keep = (0.0, *joint.root.keep)[active]
            for rate, phase, size in jumps(batches_of(joint.root.process), state.robots[0]):
                yield rate * keep, (phase,), size
                yield rate * (1 - keep), (phase,), 0
        elif isinstance(joint, Marked):
            yield from ((r, (j,), 0) for r, j, _ in jumps([joint.root.D0], state.robots[0]))
            for robot, own in enumerate(joint.root.robots):
                for size, matrix in enumerate(own, start=1):
                    for phase, rate in enumerate(matrix[state.robots[0]]):
                        yield rate, (phase,), size if robot < active else 0
        elif active > 0:  # modes; with no robot the phase stands still
            own = batches_of(joint.root[active - 1])
            yield from ((r, (j,), size) for r, j, size in jumps(own, state.robots[0]))

    # -- what events do --------------------------------------------------------------------------

    def admit(self, state: State, pages: list[Page]) -> list[tuple[float, State, tuple[Page, ...]]]:
        """Probability, state afterwards, pages lost."""
        room = self.places - len(state.pages)
        rejects = self.buffer.admission == "reject" and len(pages) > room
        if rejects or (self.buffer.admission == "complete" and room <= 0):
            return [(1.0, state, tuple(pages))]
        outcomes: list[tuple[float, State, tuple[Page, ...]]] = [(1.0, state, ())]
        for page in pages:
            outcomes = [
                (share * more, after, lost + also)
                for share, before, lost in outcomes
                for more, after, also in self.enter(before, page)
            ]
        return outcomes

    def enter(self, state: State, page: Page) -> Iterator[tuple[float, State, tuple[Page, ...]]]:
        if state.serving is None:
            for share, phase in self.service.draws():
                yield share, state._replace(serving=page._replace(phase=phase)), ()
            return
        waiting, lost = state.waiting, ()
        if self.buffer.admission != "complete" and len(state.pages) >= self.places:
            if self.buffer.when_full == "lose-new" or not waiting:
                yield 1.0, state, (page,)
                return
            waiting, lost = waiting[1:], waiting[:1]
        for share, phase in self.clock.draws():
            yield share, state._replace(waiting=(*waiting, page._replace(phase=phase))), lost

    def switch_on(self, state: State) -> State:
        """After a delivery or a service: the first idle robot, if fewer are active than wanted."""
        if not isinstance(self.rule, Switching):
            return state
        by_phase = state.serving is not None and len(self.rule.targets) > 1
        row = self.rule.targets[state.serving.phase if by_phase else 0]  # type: ignore[union-attr]
        if sum(state.robots) >= row[len(state.pages)]:
            return state
        return state._replace(robots=replaced(state.robots, state.robots.index(0), 1))


def replaced(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


def jumps(batches: Iterable[Any], phase: int) -> Iterator[tuple[float, int, int]]:
    """Rate, next phase, pages; the diagonal of D0 is no event."""
    for size, matrix in enumerate(batches):
        for target, rate in enumerate(matrix[phase]):
            if rate > 0 and (size or target != phase):
                yield float(rate), target, size


# -- the chain and what it says ------------------------------------------------------------------


def walk(queue: Queue, first: Iterable[State]) -> dict[State, int]:
    """Numbers of all states that can be reached."""
    number = {state: index for index, state in enumerate(first)}
    todo = deque(number)
    while todo:
        for event in queue.events(todo.popleft()):
            if event.rate > 0 and event.after not in number:
                number[event.after] = len(number)
                todo.append(event.after)
    return number


def rates_between(queue: Queue, number: dict[State, int]) -> np.ndarray:
    rates = np.zeros((len(number), len(number)))
    for state, row in number.items():
        for event in queue.events(state):
            if event.rate > 0 and event.after in number:
                rates[row, number[event.after]] += event.rate
    np.fill_diagonal(rates, 0.0)
    return rates


def stationary(rates: np.ndarray) -> np.ndarray:
    """Censoring one state after the other (Grassmann, Taksar, Heyman), on the closed class."""
    reach = (rates > 0) | np.eye(len(rates), dtype=bool)
    for _ in range(max(1, len(rates).bit_length())):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    kept = np.flatnonzero([not np.any(reach[i] & ~reach[:, i]) for i in range(len(rates))])
    assert reach[np.ix_(kept, kept)].all(), "several closed classes"
    censored = rates[np.ix_(kept, kept)]
    for last in range(len(kept) - 1, 0, -1):
        share = censored[last, :last] / censored[last, :last].sum()
        censored[:last, :last] += np.outer(censored[:last, last], share)
    weight = np.ones(len(kept))
    for state in range(1, len(kept)):
        inflow = weight[:state] @ censored[:state, state]
        weight[state] = inflow / censored[state, :state].sum()
    law = np.zeros(len(rates))
    law[kept] = weight / weight.sum()
    return law


def solve(queue: Queue) -> dict[State, float]:
    number = walk(queue, [queue.empty()])
    law = stationary(rates_between(queue, number))
    return {state: float(law[index]) for state, index in number.items() if law[index] > 0}


def measures(scenario: Scenario) -> dict[Row, float]:
    """Every measure but the sojourn times, as {(measure, subject): value}."""
    queue = Queue(scenario)
    law = solve(queue)
    flow: Counter[str] = Counter()
    levels: Counter[int] = Counter()
    for state, probability in law.items():
        levels[len(state.pages)] += probability  # type: ignore[assignment]
        for event in queue.events(state):
            flow["delivered"] += probability * event.rate * event.delivered  # type: ignore[assignment]
            for fate, _ in event.ended:
                flow[fate] += probability * event.rate  # type: ignore[assignment]
    found: dict[Row, float] = {
        ("arrival_rate", None): flow["delivered"],
        ("loss_rate", None): flow["lost"],
        ("throughput", None): flow["served"],
        ("starvation_probability", None): levels[0],
        ("mean_active_robots", None): sum(p * queue.active(state) for state, p in law.items()),
        ("mean_in_system", None): sum(level * p for level, p in levels.items()),
    }
    found |= {("level_probability", level): p for level, p in levels.items()}
    if flow["delivered"]:
        names = {"loss": "lost", "obsolescence": "obsolete", "success": "served"}
        shares = {name: flow[fate] / flow["delivered"] for name, fate in names.items()}
        found |= {(f"{name}_probability", None): share for name, share in shares.items()}
    return found


def sojourns(scenario: Scenario) -> dict[Row, float]:
    """Moments of the time from entry to end, by class, from following each page that enters.

    The whole system goes on around the tagged page, arrivals and robots included.
    """
    queue = Queue(scenario)
    starts: Counter[State] = Counter()
    delivered = 0.0
    for state, probability in solve(queue).items():
        largest = max((event.delivered for event in queue.events(state)), default=0)
        for tag in range(largest):
            for event in (e for e in queue.events(state, tag) if e.delivered > tag):
                delivered += probability * event.rate
                if is_inside(event.after):
                    starts[event.after] += probability * event.rate  # type: ignore[assignment]
    number = {s: i for i, s in enumerate(s for s in walk(queue, starts) if is_inside(s))}
    ends = {fate: np.zeros(len(number)) for fate in ("served", "obsolete", "lost")}
    rates = rates_between(queue, number)
    for state, row in number.items():
        for event in queue.events(state):
            for fate in (fate for fate, page in event.ended if page.tagged):
                ends[fate][row] += event.rate
    ends["accepted"] = sum(ends.values(), np.zeros(len(number)))
    balance = np.diag(rates.sum(axis=1) + ends["accepted"]) - rates
    start = np.array([starts[state] for state in number])
    found: dict[Row, float] = {}
    for fate, rate in ends.items():
        reach = np.linalg.solve(balance, rate)
        once = np.linalg.solve(balance, reach)
        twice = 2 * np.linalg.solve(balance, once)
        if fate == "accepted" and delivered:
            found["sojourn_time", "all"] = float(start @ once) / delivered
            found["sojourn_time_second_moment", "all"] = float(start @ twice) / delivered
        if flow := float(start @ reach):
            found["sojourn_time", fate] = float(start @ once) / flow
            found["sojourn_time_second_moment", fate] = float(start @ twice) / flow
    return found


def is_inside(state: State) -> bool:
    return any(page.tagged for page in state.pages)
