"""The initial transient: how long it lasts, and how it biases estimates.

A warm-up should not be shorter; where it is, `StartShifts` says by how much the start can shift an
estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from analytic.index.accesses import time_per_access
from analytic.index.conditions import fleet_of, independent_services, service_law
from analytic.index.formula import Prediction, dependent, is_covered
from analytic.index.page_conditions import resolved_frequencies
from analytic.index.page_rows import page_rows
from analytic.indexing_queue import empty_probability, relaxation_time_of, stays_of
from analytic.indexing_queue.chain import count_states
from analytic.indexing_queue.measures import one_closed_class, size_of
from analytic.machinery.arrival_process import gap_map, gap_order
from analytic.machinery.markov import closed_classes, relaxation_time
from analytic.machinery.phase_type import phase_count
from analytic.machinery.refusal import NoAnswerError
from analytic.machinery.transforms import mean_time, moments
from analytic.page_set import list_relaxation
from analytic.transient.forgetting import Forgetting
from analytic.transient.formulas import QUEUE
from analytic.transient.queue import QueueOverTime
from analytic.transient.queue_start import idle_starts, queue_forgetting, residual_area
from analytic.transient.recovery import settling_time
from scenarios import MEASURES, Scenario, ScenarioError
from scenarios.accessing.index import IndexPolicy
from scenarios.accessing.policy import Periodic
from scenarios.activation import Switching
from scenarios.arrays import Array
from scenarios.laws import Law
from scenarios.measures import Subject
from scenarios.model import Gaps, present
from scenarios.page_data import PageData, access_cycle, due_intervals, realised_shares
from scenarios.page_groups import group_names, largest_in_groups, only_sums
from scenarios.processes import Map, Mmpp
from scenarios.text import shortened

START_LEFT = 10
"""A suggested warm-up is this many times what the system remembers: e^-10 = 5e-5 is left."""

_OFF = 0.001
"""Share of the long run by which the mean and the losses may be off after a suggested warm-up."""

_FOLLOWED_AT_ONCE = 200
"""States of a queue up to which its course is followed for a warm-up."""

_ONCE = 1.01
"""A cycle is over after one of them; a little more, so that no rounding cuts it short."""

_SHARE = 20
"""Where nothing is known of a start, one part in this many of the horizon is given to it."""

UNKNOWN_START = "nothing is known of how long the queue remembers that it started empty"
"""Why its rows are inconclusive."""

IN_STEP = "indexers whose times hardly vary stay in step, since they are hardly ever idle"
"""Why they are as well."""

_OUT_OF_STEP = "the time until the indexers have fallen out of step"

_OF_QUEUE = (
    *("loss_rate", "throughput", "loss_probability", "obsolescence_probability"),
    *("success_probability", "replacement_probability", "starvation_probability"),
    *("idle_indexers", "mean_batch", "mean_in_system", "mean_active_robots"),
    *("resume_rate", "set_up_share", "blocking_probability", "mean_in_orbit"),
    "level_probability",
    *("sojourn_time", "sojourn_time_second_moment", "sojourn_quantile", "control_cost"),
)

_SOJOURNS = ("sojourn_time", "sojourn_time_second_moment", "sojourn_quantile")
_STALENESS = (
    "obsolescence_rate",
    "index_age",
    "weighted_obsolescence",
    "stale_answer_probability",
    "time_to_refresh",
    "time_to_refresh_quantile",
)
_OF_PAGES = (*_STALENESS, "control_cost")

_ROUNDING = 1e-12
_LONGEST_NAME = 60
_LARGEST_ORDER = 400
"""Phases up to which eigenvalues are computed."""

_ONLY_LOWERED = (
    *("loss_probability", "loss_rate", "obsolescence_probability", "throughput", "mean_in_system"),
    *_SOJOURNS,
    *_STALENESS,
)
"""An empty buffer and fresh copies lose nothing, keep nobody waiting, and are not out of date."""

_OF_A_PAGE = (
    *("obsolescence_rate", "index_age"),
    *("time_to_refresh", "time_to_refresh_quantile"),
)


class WarmUpNeed(NamedTuple):
    """How long one source of initialisation bias lasts.

    Attributes
    ----------
    name : str
    time : float
    needed : float
        After how many such times it has forgotten.
    measures : tuple of str
        Which measures follow it; empty: all of them.
    pages : ndarray, shape (pages,), optional
        The time of each page, where it is `time` of the slowest.
    forgetting : Forgetting, optional
        How it forgets, where more is known than for how long it remembers.
    later : float
        A time after which what was forgotten can be searched.
    """

    name: str
    time: float
    needed: float = START_LEFT
    measures: tuple[str, ...] = ()
    pages: Array | None = None
    forgetting: Forgetting | None = None
    later: float = 0.0

    @property
    def long_enough(self) -> float:
        """A warm-up after which it is forgotten."""
        return self.needed * self.time + self.later

    @property
    def rule(self) -> str:
        """How long that is, in words."""
        times = self.name if self.needed == 1 else f"{self.needed:.3g} times {self.name}"
        return f"{times} and the {self.later:.6g} to the next commit" if self.later else times

    def left(self, warmup: float) -> float:
        """For how long it is remembered after a warm-up."""
        left = max(self.long_enough - warmup, 0.0)
        if self.forgetting is None:
            return left
        return min(left, self.forgetting.left(max(warmup - self.later, 0.0)))


def start_up_times(scenario: Scenario) -> list[tuple[str, float]]:
    """Times in which a system forgets its start, each with its name; only those that are known.

    The time until a small queue is near its long run; relaxation times of larger ones, of the
    access times and of the arrivals of packets; the longest stay of a waiting page, where pages are
    not served in their order; the time until indexers whose times hardly vary have fallen out of
    step; of pages that come and go the mean lifetime, and the relaxation time
    of the list of known ones; the cycle of the pages, or the mean time between accesses of the page
    that is drawn most rarely; the mean time to the first change of a page that is never accessed.

    Parameters
    ----------
    scenario : Scenario
    """
    known = _warm_up_needs(scenario)
    return [(each.name, each.time) for each in known if math.isfinite(each.time)]


def _warm_up_needs(scenario: Scenario) -> list[WarmUpNeed]:
    known = []
    if (settled := _time_to_settle(scenario)) is not None:
        name = "the time until mean in system and losses are within 0.1 % of the long run"
        known.append(WarmUpNeed(name, settled, needed=1.0))
    elif (queue := relaxation_time_of(scenario)) is not None:
        # It starts empty: after a time t the distance from the stationary distribution is at most
        # sqrt(1 / p) e^(-t / relaxation), with the stationary probability p of the start (exactly
        # so for reversible chains).
        empty = empty_probability(scenario) or 1.0
        rarity = -math.log(empty) / 2 if 0 < empty < 1 else 0.0
        known.append(WarmUpNeed("the relaxation time of the queue", queue, START_LEFT + rarity))
    elif scenario.buffer is not None and scenario.robots is not None:
        known.append(_large_queue(scenario))
    known += _oldest_page(scenario)
    known += _servers_in_step(scenario)
    known += _page_set(scenario)
    if scenario.robots is not None:
        for each in fleet_of(scenario).classes:
            known += _relaxation("the relaxation time of the access times", each.gaps)
        if (environment := scenario.robots.environment) is not None:
            name = "the relaxation time of the robots' environment"
            known.append(WarmUpNeed(name, relaxation_time(np.array(environment.Q))))
    if (traffic := scenario.model.traffic) is not None:
        known += _relaxation("the relaxation time of the arrivals", traffic.gaps)
    known += _accesses(scenario)
    known += _due_at_once(scenario)
    commits = scenario.model.commits
    return known if commits is None else [*known, *_until_searched(known, commits.interval)]


def _due_at_once(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """Pages that are due together come apart by the spread of their accesses, cycle by cycle.

    After n cycles of length C the places in a cycle are spread by sqrt(n) s, s the standard
    deviation of an access. Of a normal law of that width around a circle of length C what is
    left of its first wave is ``e^(-2 (pi s / C)^2 n)``: 1e-4 after C^2 / (2 s^2) cycles.
    """
    frontier, fleet, section = scenario.model.frontier, scenario.model.fleet, scenario.model.pages
    if frontier is None or fleet is None or section is None or frontier.is_spread:
        return
    intervals = _times_until_due(scenario)
    if fleet.law is None or not np.isfinite(intervals).any():
        return
    mean, square = moments(fleet.law)
    spread = square - mean**2
    if spread <= _ROUNDING * mean**2:
        return  # constant accesses take turns for ever
    cycle = float(intervals[np.isfinite(intervals)].max()) + mean
    name = "the time until pages that are first due at once have come apart"
    yield WarmUpNeed(name, cycle * max(cycle**2 / (2.0 * spread), 1.0), 1.0)


def _times_until_due(scenario: Scenario) -> Array:
    """The mean time from a delivery of each page until it is due again, with signals or without."""
    if scenario.model.hearing is not None:
        from analytic.signals import due_cycles  # loaded only where pages fall due, as below

        return due_cycles(scenario).lengths
    return due_intervals(present(scenario.model.frontier).policy, present(scenario.model.pages))


def _until_searched(known: Sequence[WarmUpNeed], interval: float) -> Iterator[WarmUpNeed]:
    """What is searched forgets a start as late as the index does, and the time to a commit more."""
    yield WarmUpNeed("the time between commits", interval, 1.0, _OF_PAGES)
    for each in known:
        if not each.measures or "obsolescence_rate" in each.measures:
            yield each._replace(measures=_OF_PAGES, later=interval)


def _page_set(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """The lifetime of the pages of time 0, and how fast the list of known pages settles."""
    if scenario.page_set is None:
        return
    yield WarmUpNeed("the mean lifetime of a page", mean_time(scenario.page_set.lifetime))
    if (listed := list_relaxation(scenario)) is not None:
        yield WarmUpNeed("the relaxation time of the list of known pages", listed)


@lru_cache(maxsize=8)
def _large_queue(scenario: Scenario) -> WarmUpNeed:
    """How a queue forgets that it was empty; for ever, as it were, where nothing is known of it."""
    forgetting = queue_forgetting(scenario)
    if forgetting is None:
        return WarmUpNeed(UNKNOWN_START, math.inf, needed=1.0, measures=_OF_QUEUE)
    name = "the time in which the queue forgets that it was empty"
    return WarmUpNeed(name, forgetting.time, needed=1.0, forgetting=forgetting)


@lru_cache(maxsize=8)
def _time_to_settle(scenario: Scenario) -> float | None:
    """That of the exact course of a small queue, from the start on."""
    queue = scenario.model.queue
    if queue is None or queue.servers > 1 or not is_covered((*QUEUE, _small), scenario):
        return None
    try:
        return settling_time(QueueOverTime(scenario), _OFF)
    except NoAnswerError:
        return None


@dependent
def _small(scenario: Scenario) -> str | None:
    """The chain has at most 200 states, so that it is followed at once, and one closed class."""
    states = count_states(*size_of(scenario))
    return one_closed_class(scenario) if states <= _FOLLOWED_AT_ONCE else f"{states} states"


def _oldest_page(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """That of the ages in a buffer that does not serve its pages in their order.

    The numbers of pages forget the start sooner than their ages do: under "lifo" the page at the
    bottom is served when the busy period ends.
    """
    queue = scenario.model.queue
    if queue is None or queue.discipline.is_ordered:
        return
    stays = stays_of(scenario)
    if stays is not None and math.isfinite(stays.longest):
        measures = (*_SOJOURNS, *(_STALENESS if scenario.model.pages else ()), "control_cost")
        yield WarmUpNeed("the longest stay of a waiting page", stays.longest, measures=measures)


def _servers_in_step(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """Indexers with nearly constant times that start together keep finishing together.

    They fall out of step as their times spread, like the accesses in `_due_at_once`, or sooner
    where an indexer idles and starts afresh at the next delivery (`idle_starts`).
    """
    queue = scenario.model.queue
    if queue is None or queue.servers == 1 or scenario.robots is None:
        return
    if independent_services(scenario) is not None:
        return  # by the order of the pages they may stay in step, or never be
    service = service_law(scenario)
    if phase_count(service) is not None:
        return  # the phases are in the chain
    mean, square = moments(service)
    if queue.batch is not None and queue.batch.per_page is not None:
        each, each_square = moments(queue.batch.per_page)
        square += 2.0 * mean * queue.batch.most * each + (queue.batch.most * each) ** 2
        square += queue.batch.most * (each_square - each**2)
        mean += queue.batch.most * each
    spread = square / mean**2 - 1.0
    resets = idle_starts(scenario) / queue.servers
    times = [mean / (2.0 * spread)] if spread > _ROUNDING else []
    times += [START_LEFT / resets] if resets > 0 else []
    time = min(times, default=math.inf)
    if time > scenario.run.horizon:
        yield WarmUpNeed(IN_STEP, math.inf, 1.0, _OF_QUEUE)
    elif time > mean:
        yield WarmUpNeed(
            "the time until the indexers have fallen out of step", time, 1.0, _OF_QUEUE
        )


def suggested_warmup(scenario: Scenario) -> tuple[float, str]:
    """A warm-up that is long enough, and by which rule.

    Of the times in which the system forgets its start the longest, as often as it takes: of a small
    queue the time until its exact course is within 0.1 % of the long run; else ten times a
    relaxation time (e^-10 = 5e-5 is left), and for a queue, which starts empty, half the logarithm
    of how rare that is on top; ten of the longest stays of a waiting page, where pages
    are not served in their order; a cycle of the pages once, or as often as it takes to have each
    of them indexed. A twentieth of the horizon where no such time is known.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    ScenarioError
        If the horizon is not longer than the warm-up.
    """
    known = [each for each in _warm_up_needs(scenario) if math.isfinite(each.time)]
    if not known:
        return scenario.run.horizon / _SHARE, "a twentieth of the horizon: nothing else is known"
    longest = max(known, key=lambda each: each.long_enough)
    warmup = longest.long_enough
    rule = longest.rule
    if warmup >= scenario.run.horizon:
        allowed = f"must be longer than a warm-up of {rule} ({longest.time:.6g})"
        raise ScenarioError("run.horizon", scenario.run.horizon, allowed, scenario.name)
    return warmup, rule


def needed_warmup(scenario: Scenario) -> float:
    """The shortest warm-up after which nothing known of the system remembers the start; 0 if none.

    Parameters
    ----------
    scenario : Scenario
        Its own warm-up and horizon do not matter.
    """
    needed = (each.long_enough for each in _warm_up_needs(scenario))
    return max(filter(math.isfinite, needed), default=0.0)


def remembered_starts(scenario: Scenario) -> list[WarmUpNeed]:
    """In which respects the scenario's own warm-up is too short to forget the start.

    In none under interventions: what is predicted of them includes the start.
    """
    warmup = scenario.run.warmup
    if scenario.probing is not None or scenario.interventions:
        return []
    short = [each for each in _warm_up_needs(scenario) if warmup * _ONCE < each.long_enough]
    asked = scenario.model.quantiles
    return [
        each._replace(measures=tuple(name for name in each.measures if asked.get(name, True)))
        for each in short
    ]


def _relaxation(name: str, process: Gaps) -> Iterator[WarmUpNeed]:
    """That of the phase of a process, where it has one and forgets it."""
    if not isinstance(process, Map | Mmpp):
        return
    if (gap_order(process) or 0) > _LARGEST_ORDER:
        return
    generator = sum(gap_map(process) or (), start=np.zeros(1))
    if len(closed_classes(generator)) == 1:
        yield WarmUpNeed(name, relaxation_time(generator))


def _cycles(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """Times from one delivery to the next of pages that fall due."""
    pages = present(scenario.model.pages)
    from analytic.frontier import expected_cycles

    cycles = expected_cycles(scenario, _times_until_due(scenario))
    times = np.where(np.isfinite(cycles), cycles, 0.0)
    rarest = int(np.argmax(times))
    if times[rarest] > 0:
        name = f"the mean time between accesses of {_called(pages, rarest)}"
        yield WarmUpNeed(name, float(times[rarest]), START_LEFT, _OF_PAGES, times)


def _accesses(scenario: Scenario) -> Iterator[WarmUpNeed]:
    """Times between accesses of pages, and to the first change of a page without accesses."""
    policy = scenario.model.accessing
    if scenario.model.pages is None or policy is None or resolved_frequencies(scenario) is not None:
        return
    if isinstance(policy, IndexPolicy):
        return
    if scenario.model.frontier is not None:
        yield from _cycles(scenario)
        return
    stays = stays_of(scenario) if scenario.buffer is not None else None
    indexed = stays.served if stays is not None and stays.served > 0 else 1.0
    shares = realised_shares(policy, scenario.model.pages)
    access = time_per_access(scenario)
    if isinstance(policy, Periodic):
        slots = len(access_cycle(policy, scenario.model.pages))
        delivered = _delivered_per_slot(scenario)
        lost = 1.0 - indexed * delivered
        rounds = _ONCE + (START_LEFT / -math.log(lost) if lost > 0 else 0.0)
        known = WarmUpNeed("the cycle of the pages", slots * delivered * access, rounds, _OF_PAGES)
    else:
        rarest = int(np.argmin(np.where(shares > 0, shares, np.inf)))
        name = f"the mean time between accesses of {_called(scenario.model.pages, rarest)}"
        with np.errstate(divide="ignore"):
            times = access / (shares * indexed)
        times = np.where(np.isfinite(times), times, 0.0)
        known = WarmUpNeed(name, float(times[rarest]), START_LEFT, _OF_PAGES, times)
    if math.isfinite(known.time):
        yield known
    rates = scenario.model.pages.change_rates
    waiting = np.where((shares == 0) & (rates > 0), rates, np.inf)
    slowest = int(np.argmin(waiting))
    if waiting[slowest] < math.inf:
        page = _called(scenario.model.pages, slowest)
        name = f"the mean time to the first change of {page}, which is never accessed"
        times = np.where(waiting < math.inf, 1.0 / waiting, 0.0)
        yield WarmUpNeed(name, float(times[slowest]), START_LEFT, _OF_PAGES, times)


def _delivered_per_slot(scenario: Scenario) -> float:
    """Share of the slots of a list whose pages robots do not give up."""
    failing = scenario.model.fleet.failing if scenario.model.fleet else None
    return 1.0 if failing is None else 1.0 - failing.given_up


def _called(pages: PageData, page: int) -> str:
    names = pages.names
    return shortened(names[page], _LONGEST_NAME) if names else f"page {page}"


def _left_of_long_times(scenario: Scenario) -> float:
    """Share of the window in which the services and accesses of heavy tails are missing.

    In the long run some of them have begun long ago; at the start all of them begin.
    """
    queue = scenario.model.queue
    laws: list[object] = [] if queue is None else [queue.service]
    if scenario.robots is not None:
        laws += [each.law for each in fleet_of(scenario).classes]
    heavy = [each for each in laws if isinstance(each, Law) and math.isfinite(each.tail_index)]
    run = scenario.run
    area = sum(residual_area(law, run.warmup, run.horizon) for law in heavy)
    return min(area / run.window, 1.0)


class StartShifts:
    """How far the start can shift each estimate.

    Of a window of which the share e still remembers the start, the long run makes 1 - e and
    something else the rest: the estimate is ``(1 - e) p + e q``. Nothing that is measured is
    negative, so it is lowered by e p at most; a fraction is raised by e (1 - p) at most. What an
    empty buffer and fresh copies can only lower is not raised, unless robots are switched: then
    all of them are active at the start, and may be too many; or unless indexers are in step.

    Parameters
    ----------
    scenario : Scenario
    """

    def __init__(self, scenario: Scenario) -> None:
        run = scenario.run
        memories = remembered_starts(scenario)
        self._warmup = run.warmup
        self._window = run.window
        self._raised = isinstance(scenario.activation, Switching) or any(
            each.name == _OUT_OF_STEP for each in memories
        )
        self._unknown = {
            measure for each in memories if math.isinf(each.time) for measure in each.measures
        }
        self._together = [
            (each.measures, min(each.left(run.warmup) / self._window, 1.0))
            for each in memories
            if each.pages is None
        ]
        self._together.append(((), _left_of_long_times(scenario)))
        by_page = [
            self._left(each.needed * each.pages + each.later)
            for each in memories
            if each.pages is not None
        ]
        pages = 1 if scenario.model.pages is None else scenario.model.pages.count
        self._by_page = np.max([np.zeros(pages), *by_page], axis=0)
        weights = np.zeros(1) if scenario.model.pages is None else scenario.model.pages.weights
        stale = float(weights @ self._by_page) if scenario.model.pages else 0.0
        self._by_group: dict[Subject, float] = {}
        self._sum_of_group: dict[Subject, float] = {}
        if scenario.model.pages is not None and only_sums(scenario):
            names = group_names(scenario.model.pages)
            largest = largest_in_groups(scenario.model.pages, self._by_page)
            self._by_group = dict(zip(names, largest.tolist(), strict=True))
            rows = page_rows(scenario, "weighted_obsolescence", weights * self._by_page)
            self._sum_of_group = {subject: value for _, subject, value in rows}
        self._sums = {
            "weighted_obsolescence": stale,
            "stale_answer_probability": stale / weights.sum() if weights.sum() > 0 else 0.0,
            "control_cost": scenario.prices.staleness * stale,
        }

    def of(self, prediction: Prediction, estimate: float) -> float:
        """The largest such shift in the direction in which the estimate lies.

        A sum over pages is shifted by those of the pages, each of which is stale with probability
        1 at most. Infinite where nothing is known of the start.
        """
        if prediction.measure in self._unknown:
            return math.inf
        share = self.share_of(prediction.measure, prediction.subject)
        predicted = prediction.value
        pages = self._sums.get(prediction.measure, 0.0)
        if prediction.measure == "weighted_obsolescence" and prediction.subject is not None:
            pages = self._sum_of_group[prediction.subject]
        if estimate <= predicted:
            return min(share * predicted + pages, max(predicted, 0.0))
        if prediction.measure in _ONLY_LOWERED and not self._raised:
            return 0.0
        if MEASURES[prediction.measure].is_fraction:
            return share * (1.0 - predicted) + pages
        return share * estimate + pages

    def share_of(self, measure: str, page: Subject = None) -> float:
        """The share of the window in which what is measured remembers the start."""
        follow = (left for names, left in self._together if not names or measure in names)
        share = max(follow, default=0.0)
        if measure == "time_to_refresh_quantile":
            single, _, one_of_all = str(page).partition(" ")
            page = int(single) if one_of_all else None
        if measure not in _OF_A_PAGE:
            return share
        if isinstance(page, int):
            return max(share, float(self._by_page[page]))
        if page is None:  # every change counts alike, also those of the page that is slowest
            return max(share, float(self._by_page.max()))
        return max(share, self._by_group.get(page, 0.0))

    def _left(self, needed: Any) -> Array:
        return np.clip((np.asarray(needed) - self._warmup) / self._window, 0.0, 1.0)
