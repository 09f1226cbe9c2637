"""What both engines read off a scenario before they start."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, assert_never

import numpy as np

from scenarios import Scenario, ScenarioError
from scenarios.accessing.due import Due
from scenarios.activation import Free, Levels, Static, Switching, These, Threshold
from scenarios.arrays import Array
from scenarios.base import LARGEST
from scenarios.choices import looks_at_service, tables_of
from scenarios.deliveries import joint_size
from scenarios.interventions import LIMITS
from scenarios.laws import Exponential, PhaseType
from scenarios.model import (
    Backoff,
    Commits,
    Failing,
    FrontierOrder,
    Gaps,
    Never,
    Queue,
    ServerDiscipline,
    ServiceOrder,
    Traffic,
    present,
)
from scenarios.page_data import PageData, due_intervals, due_levels
from scenarios.page_groups import only_sums
from scenarios.sections import Servers
from scenarios.service_phases import seen_phases
from scenarios.signals import SignalRates
from scenarios.spacing_cost import Fading, Geometric, Power, Table
from scenarios.timeline import observation_times
from sim import rules
from sim.laws import draws_and_mean
from sim.speeds import end_of_work, speed_over_time

_ROUNDING_OF_SUMS = 1e-11
"""Relative; the sum of a hundred thousand times is that exact."""

MOST_FOLLOWED = 1_000_000
"""Pages, or levels, times times of observation up to which each one is followed by itself."""

_ADMISSION = {"partial": rules.PARTIAL, "reject": rules.REJECT, "complete": rules.COMPLETE}
"""Admissions of the scenario file as `rules.admitted` knows them."""

_PREEMPTIVE = {ServerDiscipline.PREEMPTIVE: True, ServerDiscipline.NON_PREEMPTIVE: False}

Kind = TypeVar("Kind", ServiceOrder, ServerDiscipline, FrontierOrder)

_ORDER = {
    ServiceOrder.OLDEST_FIRST: rules.OLDEST_FIRST,
    ServiceOrder.NEWEST_FIRST: rules.NEWEST_FIRST,
    ServiceOrder.BY_CLASS: rules.BY_CLASS,
}
"""Orders of service as `rules.next_in_line` knows them."""


_FRONTIER = {
    FrontierOrder.FIRST_DUE: rules.FIRST_DUE,
    FrontierOrder.MOST_OVERDUE: rules.MOST_OVERDUE,
    FrontierOrder.PRIORITY: rules.PRIORITY,
}
"""Orders of the frontier as `rules.urgency` knows them."""


class DueRules(NamedTuple):
    """How pages fall due, as both engines take it.

    Attributes
    ----------
    order : int
    from_start : bool
    first, factor, most : float
        Of the back-off; 0 first: there is none.
    timeout : float
    ended : float
        When the last intervention ends, after what ends then; inf: nobody asks when the robots
        have caught up.
    caught_up : float
        They have when at most so many pages wait.
    """

    order: int
    from_start: bool
    first: float
    factor: float
    most: float
    timeout: float
    ended: float
    caught_up: float


def due_rules(scenario: Scenario) -> DueRules:
    """Those of a scenario with a frontier."""
    frontier = present(scenario.model.frontier)
    failing = present(scenario.model.fleet).failing or Failing(0.0, 0)
    backoff = failing.backoff or Backoff(0.0, 1.0, math.inf)
    ended, caught_up = scenario.model.timeline.end, frontier.policy.caught_up
    asked = ended is not None and caught_up is not None
    return DueRules(
        order=_code_of(frontier.order, "robots.accessing.order", _FRONTIER),
        from_start=frontier.from_start,
        first=backoff.first,
        factor=backoff.factor,
        most=backoff.most,
        timeout=failing.timeout,
        ended=float(after_ties([present(ended)])[0]) if asked else math.inf,
        caught_up=present(caught_up) if asked else 0.0,
    )


class DueLevels(NamedTuple):
    """When pages fall due that signals are heard of.

    Attributes
    ----------
    hazard : ndarray of float, shape (pages,)
        At which each is due; inf: never.
    worth : ndarray of float, shape (pages,)
        The hazard that one signal adds.
    change, silent : ndarray of float, shape (pages,)
        Rates of all changes, and of those without a signal.
    delay : float
        Mean delay of a signal.
    """

    hazard: Array
    worth: Array
    change: Array
    silent: Array
    delay: float

    def age(self, page: int, jump: float) -> float:
        """The age at which a page is due, once signals have added so much to its hazard."""
        left = rules.hazard_left(float(self.hazard[page]), jump)
        known = float(self.change[page]), float(self.silent[page]), self.delay
        return rules.age_at_hazard(left, *known)


@lru_cache(maxsize=1)
def levels_of(policy: Due, pages: PageData) -> DueLevels:
    """Those of a policy by which pages fall due at levels."""
    rates = pages.signals
    given = due_levels(policy, pages)
    worth = worth_of_signals(rates)
    # Age tells nothing of a page that never changes, nor do signals; it is due at its age all the
    # same. Where age tells nothing since all changes have a signal, levels are numbers of signals.
    never_changes = rates.silent + rates.true == 0
    silent = np.where(never_changes, 1.0, rates.silent)
    known = np.where((worth > 0) & np.isfinite(worth), worth, 1.0)
    by_number = np.where(np.isinf(worth), given > 0, known * given)
    aged = (silent > 0) & np.isfinite(given)
    hazard = np.multiply(silent, given, out=by_number.astype(float), where=aged)
    hazard[np.isinf(given)] = np.inf
    delay = mean_delay_of_signals(pages)
    return DueLevels(hazard, worth, silent + rates.true, silent, delay)


def mean_delay_of_signals(pages: PageData) -> float:
    """Mean time until a signal is heard, of pages that have signals."""
    delay = pages.signal_delay
    return draws_and_mean(delay)[1] if delay is not None else 0.0


def means_of_signals(rates: SignalRates) -> tuple[Array, Array]:
    """Mean times between changes that have a signal, and between false signals; inf: no such."""
    return tuple(
        np.divide(1.0, each, out=np.full(each.shape, np.inf), where=each > 0)
        for each in (rates.true, rates.false)
    )


def first_signals(scenario: Scenario, stream: np.random.Generator) -> tuple[Array, Array]:
    """Of each page the first change that has a signal, and the first signal without a change.

    Parameters
    ----------
    scenario : Scenario
    stream : Generator
        The stream "signal", from which both are drawn, page by page.
    """
    means = np.column_stack(means_of_signals(present(scenario.model.pages).signals))
    first = np.full(means.shape, np.inf)
    sent = np.isfinite(means)
    first[sent] = stream.standard_exponential(int(sent.sum())) * means[sent]
    if scenario.interventions:
        speed = speed_over_time(*over_time(scenario, "change_factor"))
        changes = np.flatnonzero(sent[:, 0])
        first[changes, 0] = [end_of_work(speed, 0.0, time) for time in first[changes, 0].tolist()]
    return first[:, 0].copy(), first[:, 1].copy()


def worth_of_signals(rates: SignalRates) -> Array:
    """The hazard that one signal adds, -log(1 - precision), shape (pages,); inf: it is true."""
    with np.errstate(divide="ignore"):
        return np.where(rates.true > 0, -np.log1p(-rates.precision), 0.0)


def silent_rates(scenario: Scenario) -> Array:
    """Rates of the changes of which robots hear no signal, shape (pages,)."""
    pages = present(scenario.model.pages)
    return pages.signals.silent if scenario.model.hearing else pages.change_rates


def mean_gap(scenario: Scenario) -> float:
    """Mean time from one access to the next, if all robots are at work; 1 where that is unknown."""
    laws = [(each.available, each.law) for each in present(scenario.model.fleet).classes]
    rate = math.fsum(
        count / draws_and_mean(law)[1] for count, law in laws if law and draws_and_mean(law)[1]
    )
    return 1.0 / rate if rate > 0 else 1.0


def due_after(policy: Due, pages: PageData) -> Array:
    """How long after its last delivery each page is due, if no signal comes, shape (pages,)."""
    if policy.levels is None:
        return due_intervals(policy, pages)
    levels = levels_of(policy, pages)
    return np.array([levels.age(page, 0.0) for page in range(pages.count)])


def first_due(scenario: Scenario, stream: np.random.Generator) -> Array:
    """When each page is due for the first time, shape (pages,); inf: never.

    Parameters
    ----------
    scenario : Scenario
        With a frontier.
    stream : Generator
        The stream "due", from which one number is drawn for each page.
    """
    frontier = present(scenario.model.frontier)
    intervals = due_after(frontier.policy, present(scenario.model.pages))
    parts = stream.random(len(intervals)) if frontier.is_spread else np.zeros(len(intervals))
    return np.where(np.isinf(intervals), np.inf, parts * np.minimum(intervals, LARGEST))


def begin_of_ages(scenario: Scenario, first: Array) -> Array:
    """When the age of each page begins that it has at time 0, shape (pages,).

    Parameters
    ----------
    scenario : Scenario
        Whose pages fall due at levels.
    first : ndarray of float, shape (pages,)
        When each is due for the first time by its age, as `first_due` says.
    """
    after = due_after(present(scenario.model.frontier).policy, present(scenario.model.pages))
    by_age = np.isfinite(after) & np.isfinite(first)
    return np.where(by_age, first, 0.0) - np.where(by_age, after, 0.0)


def first_commit(commits: Commits, stream: np.random.Generator) -> float:
    """When the index commits for the first time.

    Parameters
    ----------
    commits : Commits
    stream : Generator
        The stream "commit", from which a phase that is not given is drawn.
    """
    if commits.phase is not None:
        return commits.phase
    return float(stream.random()) * commits.interval


def pages_of_frontier(scenario: Scenario) -> int:
    """Number of pages whose own delays are kept; none where only sums of pages are."""
    return 0 if only_sums(scenario) else present(scenario.model.pages).count


def keeps_refresh_times(scenario: Scenario) -> bool:
    """Whether the times until changes are searchable are kept, for quantiles of them."""
    return scenario.model.pages is not None and bool(scenario.model.pages.refresh_quantiles)


def counts_found(scenario: Scenario) -> bool:
    """Whether it is counted which accesses are to a page that has changed since the last one."""
    return present(scenario.robots).unchanged is not None


def share_of_time(scenario: Scenario) -> float:
    """What an access to an unchanged page takes of its length."""
    unchanged = scenario.robots.unchanged if scenario.robots else None
    return 1.0 if unchanged is None else unchanged.share_of_time


def counts_unchanged(scenario: Scenario) -> bool:
    """Whether anonymous pages may be unchanged, and are then not delivered."""
    unchanged = scenario.robots.unchanged if scenario.robots else None
    return unchanged is not None and unchanged.share is not None


def keeps_delays(scenario: Scenario) -> bool:
    """Whether the delays of accesses are kept, since quantiles of them are asked for."""
    return bool(present(scenario.model.frontier).policy.delay_quantiles)


class SpacingLaw(NamedTuple):
    """What accesses to one server cost by distance, as `rules.spacing_cost` takes it."""

    law: int
    first: float
    second: float
    table: Array


def spacing_laws(section: Servers) -> list[SpacingLaw]:
    """One for each server; empty where distances have no cost."""
    laws = []
    for cost in section.spacing_costs:
        if isinstance(cost, Table):
            law = SpacingLaw(rules.TABLE, cost.final_rise, 0.0, np.array(cost.root))
        elif isinstance(cost, Power):
            law = SpacingLaw(rules.POWER, cost.scale, cost.exponent, np.zeros(0))
        elif isinstance(cost, Geometric):
            law = SpacingLaw(rules.GEOMETRIC, cost.first, cost.ratio, np.zeros(0))
        elif isinstance(cost, Fading):
            law = SpacingLaw(rules.FADING, cost.scale, cost.rate, np.zeros(0))
        else:
            assert_never(cost)
        laws.append(law)
    return laws


def buffer_flags(queue: Queue) -> dict[str, Any]:
    """The rules of a buffer as both engines take them."""
    return {
        "servers": queue.servers,
        "capacity": queue.capacity,
        "admission": _ADMISSION[queue.admission],
        "order": _code_of(queue.discipline.order, "buffer.discipline", _ORDER),
        "push_out": queue.discipline.pushes_out_oldest,
        "push_out_last": queue.discipline.pushes_out_lowest,
        "replace": queue.discipline.replaces,
        "page_change": queue.discipline.drops_changed,
    }


def is_preemptive(traffic: Traffic) -> bool:
    """Whether a packet that comes to a busy server takes the place of the one in service."""
    return bool(_code_of(traffic.discipline, "servers.discipline", _PREEMPTIVE))


def _code_of(kind: Kind, key: str, codes: Mapping[Kind, int]) -> int:
    """How the engines know a kind; one that they do not know is refused."""
    if kind not in codes:
        raise ScenarioError(key, kind.value, "cannot be simulated")
    return codes[kind]


def top_level(scenario: Scenario) -> int:
    """The highest level that can be reached: above the capacity where batches enter whole."""
    queue = present(scenario.model.queue)
    deliveries = scenario.robots.deliveries if scenario.robots else None
    if queue.admission != "complete" or deliveries is None:
        return queue.capacity
    return queue.capacity + joint_size(deliveries)[1] - 1


def fates_that_occur(queue: Queue) -> int:
    """So many of the first fates of `sim.rules` may a page meet that entered."""
    if queue.discipline.replaces:
        return rules.REPLACED + 1
    if queue.discipline.pushes_out_oldest or queue.discipline.pushes_out_lowest:
        return rules.PUSHED_OUT + 1
    return (rules.SERVED if isinstance(queue.patience, Never) else rules.OBSOLETE) + 1


def horizon_octave(scenario: Scenario) -> int:
    """Octave of the longest time that there can be."""
    return math.frexp(scenario.run.horizon)[1]


def robots_at_levels(scenario: Scenario, limit: int | None = None) -> list[int]:
    """Active robots at every level, the most of all phases; level 0 without a buffer.

    Under `Model.hysteresis` by the number of thresholds that are passed, not by the level.

    Parameters
    ----------
    scenario : Scenario
    limit : int, optional
        The most that are active by an intervention.
    """
    assert scenario.robots is not None
    rule = scenario.activation
    levels = range(top_level(scenario) + 1) if scenario.buffer else range(1)
    if scenario.model.hysteresis is not None:
        active = list(scenario.model.hysteresis.robots)
    elif isinstance(rule, Threshold):
        active = [rules.threshold_robots(level, rule.robots, rule.at) for level in levels]
    elif isinstance(rule, Levels):
        active = list(rule.robots)
    elif isinstance(rule, Free):
        active = [max(map(max, level)) for level in rule.root]
    else:
        robots = rule.robots if isinstance(rule, Static | These) else scenario.robots.available
        active = [robots for _ in levels]
    return active if limit is None else [min(limit, each) for each in active]


def switched_together(scenario: Scenario) -> int:
    """The most robots that an event switches on where switches are counted, at least 1."""
    robots = present(scenario.model.hysteresis).robots
    return max(robots[0] - robots[-1], 1)


def modes_in_use(scenario: Scenario) -> list[int]:
    """Numbers of active robots that there are at some level and time, in increasing order."""
    if isinstance(scenario.activation, Free):
        return sorted(scenario.activation.robots)
    limits = {None, *over_time(scenario, "robots")[1]}
    return sorted({active for limit in limits for active in robots_at_levels(scenario, limit)})


def robots_when_empty(scenario: Scenario) -> int:
    """Active robots in whose mode the first phase of joint deliveries is drawn."""
    rule = scenario.activation
    return rule.when_empty if isinstance(rule, Free) else robots_at_levels(scenario)[0]


def service_by_phase(scenario: Scenario) -> PhaseType | None:
    """The service whose phase a rule asks for; None where none does."""
    rule = scenario.activation
    queue = scenario.model.queue
    looks = isinstance(rule, Switching) and looks_at_service(scenario.robots, rule)
    if queue is None or not (isinstance(rule, Free) or looks):
        return None
    return seen_phases(queue.service)


def told_apart(scenario: Scenario) -> tuple[int, int]:
    """How many states of the environment, and phases of the service, a rule of switching sees."""
    rule = scenario.activation
    if scenario.robots is None or not isinstance(rule, Switching):
        return 1, 1
    return tables_of(scenario.robots, rule)


def places_of_robots(scenario: Scenario) -> dict[int, int]:
    """The place of each robot in the order of activation, by its number, of robots ever heard.

    A robot is heard while its place is less than the number of active robots. With joint
    deliveries there are no robots of their own. Under switching those that are there.
    """
    robots = present(scenario.robots)
    if robots.deliveries is not None:
        return {}
    if isinstance(scenario.activation, Switching):
        return dict.fromkeys(range(robots.available), 0)
    heard = present(scenario.model.fleet).order[: max(robots_at_levels(scenario))]
    return dict(sorted(zip(heard, range(len(heard)), strict=True)))


def over_time(scenario: Scenario, *effects: str) -> tuple[list[float], list[Any]]:
    """When each setting of effects of interventions begins, the first at 0, and what it is.

    Of one effect its value, of several a tuple of theirs.
    """
    setting = attrgetter(*effects)
    begins: list[float] = []
    values: list[Any] = []
    for piece in scenario.model.timeline.pieces:
        value = setting(piece)
        if not values or value != values[-1]:
            begins.append(piece.begin)
            values.append(value)
    return begins, values


def after_ties(times: Sequence[float] | Array) -> Array:
    """When what comes after every other event at a time is done: later by what sums are rounded.

    The end of the 15th access of 0.2 is 3.0000000000000004 as a sum, and comes before what is
    observed or changed at 3.
    """
    return np.asarray(times) * (1.0 + _ROUNDING_OF_SUMS)


def end_of_run(scenario: Scenario) -> float:
    """When a replication ends: at the horizon, or after what ends then under interventions."""
    horizon = scenario.run.horizon
    return float(after_ties([horizon])[0]) if scenario.interventions else horizon


def times_to_observe(scenario: Scenario) -> Array:
    """When the course is observed: after all else at those times, and never after the end."""
    return np.minimum(after_ties(observation_times(scenario.run)), end_of_run(scenario))


class Limits(NamedTuple):
    """How many robots and indexers may work, each from some time on.

    Attributes
    ----------
    begins : list of float
        The first at 0.
    robots : list of int or None
        None: no limit.
    indexers : list of int
    """

    begins: list[float]
    robots: list[int | None]
    indexers: list[int]


def limits_over_time(scenario: Scenario) -> Limits:
    """The limits of a run, each other than the one before."""
    begins, limits = over_time(scenario, *LIMITS)
    queue = scenario.model.queue
    every = queue.servers if queue else 0
    robots, indexers = zip(*limits, strict=True)
    working = [every if limit is None else limit for limit in indexers]
    return Limits(after_ties(begins).tolist(), list(robots), working)


def some_indexers_stop(scenario: Scenario) -> bool:
    """Whether at some time only some of the indexers may work."""
    return any(piece.indexers is not None for piece in scenario.model.timeline.pieces)


def laws_of_robots(scenario: Scenario, heard: Collection[int]) -> list[tuple[Gaps, list[int]]]:
    """Each access time with the robots that have it, of those that are ever heard."""
    laws = []
    start = 0
    fleet = scenario.model.fleet
    for each in fleet.classes if fleet else ():
        stop = start + each.available
        laws.append((each.gaps, [robot for robot in range(start, stop) if robot in heard]))
        start = stop
    return laws


def robots_may_wait(scenario: Scenario) -> bool:
    """Whether an active robot may wait for a host or a page, with no access going on."""
    spaced = scenario.robots is not None and scenario.robots.host_spacing is not None
    return spaced or scenario.model.frontier is not None


def looks_ahead(scenario: Scenario) -> bool:
    """Whether a robot looks at pages of a sequence that come later, since hosts want a spacing."""
    return robots_may_wait(scenario) and scenario.model.frontier is None


def exponential_delivery(scenario: Scenario) -> float | None:
    """Mean time from one delivery of an active robot to its next one, where it is exponential.

    None where access times are not, their speed varies, or a robot may wait for a host.
    """
    if share_of_time(scenario) < 1:
        return None
    fleet = scenario.model.fleet
    if fleet is None or len(fleet.classes) != 1 or robots_may_wait(scenario):
        return None
    law = fleet.classes[0].gaps
    if fleet.environment is not None or not isinstance(law, Exponential):
        return None
    return draws_and_mean(law)[1] / (1.0 - fleet.failure_probability)


def _event_rates(mode: Any, phase: int) -> Any:
    """Rates of the phase events of one phase, shape (largest batch + 1, order)."""
    rates = mode[:, phase, :].copy()
    rates[0, phase] = 0.0
    return rates


def mean_times(mode: Any) -> list[float | None]:
    """Mean time to the next phase event in each phase; None where there is none."""
    totals = [_event_rates(mode, phase).sum() for phase in range(mode.shape[1])]
    return [1.0 / float(total) if total > 0 else None for total in totals]


def joint_events(mode: Any) -> list[tuple[float, ...]]:
    """For each phase, cumulative probabilities over (batch size, next phase)."""
    rates = [_event_rates(mode, phase).ravel() for phase in range(mode.shape[1])]
    return [rules.cumulative(list(each / each.sum())) if each.any() else () for each in rates]


def pages_followed(scenario: Scenario, times: Array) -> int:
    """Number of pages that are followed one by one; none where only sums of pages are kept."""
    count = 0 if scenario.model.pages is None or only_sums(scenario) else scenario.model.pages.count
    return count if count * len(times) <= MOST_FOLLOWED else 0


@lru_cache(maxsize=1)
def query_sums(pages: PageData) -> tuple[float, ...]:
    """Cumulative probabilities of the pages in a query."""
    weights = pages.weights.tolist()
    total = math.fsum(weights)
    return rules.cumulative([weight / total for weight in weights])
