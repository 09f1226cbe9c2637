"""What a reader looks at first: five lines on a run, the names of pages, the pages that matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from scenarios import Results, Scenario
from scenarios.activation import Free, Levels, Static, Switching, Threshold
from scenarios.fleet import numbers_by_class
from scenarios.measures import PAGE_MEASURES, Subject
from scenarios.page_groups import finds_worst
from scenarios.sections import PageSize
from scenarios.text import counted, shortened, units, visible

if TYPE_CHECKING:
    from analytic import Comparison, NotApplicable

_LONGEST_NAME = 60
_WORST = 3
_SHARES = {
    "loss_probability": "lost",
    "obsolescence_probability": "obsolete",
    "replacement_probability": "replaced",
    "success_probability": "indexed",
}

_HEAVY = 3.0
_LIGHT = 0.01
"""Offered loads beyond which one of the times is likely to be in another unit."""

_BALANCED = 0.02
"""How far from 1 a load may be that makes neither side the bottleneck."""

_NEARLY = 0.9999
_ROUNDING = 1e-9
"""Shares from which on all but something is not counted out, and of rounding errors."""

_MANY_TIMES = 10.0
"""A load from here on is not shown as a percentage."""

Naming = Callable[[str, Subject], Subject]
"""From a measure and its subject to the subject as it is shown."""

TOO_RARE = "more than a simulation can count; see `crawlsim rare`"
"""What it takes to settle a row for which a million replications would not be enough."""


Said = TypeVar("Said")

PageName = Callable[[str, Subject], str]
"""From a measure and its subject to the name of a page; "" for other subjects."""


def without_formula(comparisons: Iterable[Comparison], verdict: str) -> str:
    """What no formula predicts, where that is why the verdict is what it is; else nothing."""
    if verdict == "not judged":
        return "no exact formula covers it"
    unknown = [row for row in comparisons if row.verdict == verdict and math.isnan(row.predicted)]
    names = ", ".join(dict.fromkeys(row.measure for row in unknown))
    return f"no formula predicts {names}" if names else ""


QUANTILES_OF = {
    "sojourn_quantile": "quantiles of the sojourn time",
    "frontier_delay_quantile": "quantiles of the wait for a robot",
    "time_to_refresh_quantile": "quantiles of the time until a change can be searched",
}
"""Measures that are quantiles, and how what their formulas give begins."""


def without_quantiles(others: Iterable[NotApplicable], measure: str) -> str:
    """Why quantiles have no exact value: what rules out the nearest formula."""
    near = (each for each in others if each.quantity.startswith(QUANTILES_OF[measure]))
    return next((f"no exact {measure}: {each.reason}" for each in near), "")


def alike(
    rows: Iterable[Said], about: Callable[[Said], object], value: Callable[[Said], float]
) -> list[list[Said]]:
    """Rows that say the same number of the same thing, up to rounding, first ones first."""
    of_all: dict[object, list[list[Said]]] = {}
    for row in rows:
        groups = of_all.setdefault(about(row), [])
        number = value(row)
        same = (each for each in groups if math.isclose(value(each[0]), number, rel_tol=_ROUNDING))
        group = next(same, None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return [group for groups in of_all.values() for group in groups]


def page_of(scenario: Scenario) -> PageName | None:
    """From a measure and its subject to the name of the page; None where pages have none."""
    names = None if scenario.model.pages is None else scenario.model.pages.names
    if names is None:
        return None

    def name(measure: str, subject: Subject) -> str:
        is_page = measure in PAGE_MEASURES
        return names[subject] if is_page and isinstance(subject, int) else ""

    return name


def naming_of(scenario: Scenario) -> Naming:
    """How subjects are shown: pages and classes by their names, if any; all others as they are."""
    page = page_of(scenario)
    classes = scenario.robots.classes if scenario.robots else None

    def shown(measure: str, subject: Subject) -> Subject:
        name = page(measure, subject) if page else ""
        if classes and measure == "mean_active_robots" and isinstance(subject, int):
            name = classes[subject].name or ""
        return visible(shortened(name, _LONGEST_NAME)) if name else subject

    return shown


def worst_pages(
    scenario: Scenario, rates: Iterable[tuple[int, float]], count: int
) -> list[tuple[int, float]]:
    """The pages that count most for the staleness of the index.

    Parameters
    ----------
    scenario : Scenario
    rates : iterable of (page, obsolescence rate)
    count : int
        How many are wanted.

    Returns
    -------
    list of (page, obsolescence rate)
        The largest products of weight and rate first, equal ones in their order.
    """
    if scenario.model.pages is None:
        return []
    weights = scenario.model.pages.weights
    found = [(page, rate) for page, rate in rates if not math.isnan(rate)]
    products = [weights[page] * rate for page, rate in found]
    order = np.argsort(-np.array(products), kind="stable")[:count]
    return [found[place] for place in order.tolist()]


def names_of_worst_pages(scenario: Scenario, results: Results) -> dict[int, str]:
    """The names of the pages that the opening lines call the worst; none where pages have none."""
    page = page_of(scenario)
    if page is None:
        return {}
    return {each: page("obsolescence_rate", each) for each, _ in _worst(scenario, results)}


def _worst(scenario: Scenario, results: Results) -> list[tuple[int, float]]:
    """Nothing where there are so many pages that nobody has looked for the worst."""
    if not finds_worst(scenario):
        return []
    rates = (
        (row.subject, row.estimate)
        for row in results.rows.of_measure("obsolescence_rate")
        if isinstance(row.subject, int)
    )
    return worst_pages(scenario, rates, _WORST)


def opening_lines(scenario: Scenario, results: Results) -> Iterator[str]:
    """Load, bottleneck, shares, costs, times and worst pages, as far as the system has them."""

    def value(measure: str, subject: Subject = None) -> float:
        row = results.rows.find(measure, subject)
        return math.nan if row is None else row.estimate

    load = _offered_load(scenario, value)
    used = _utilisation(scenario, value)
    yield from _load_lines(scenario, load, used, value)
    yield from _bottleneck(scenario, load, used, _load_error(results))
    shares = {name: value(measure) for measure, name in _SHARES.items()}
    words = [f"{name} {_percent(share)}" for name, share in shares.items() if share == share]
    if (lost := value("preemption_probability", "all")) == lost:
        words.append(f"lost {_percent(lost)}")
    if (stale := _stale(scenario, value)) == stale:
        words.append(f"index out of date {_percent(stale)}")
    if words:
        yield f"shares: {', '.join(words)}"
    yield from _page_set_lines(scenario, value)
    yield from _frontier_lines(scenario, value)
    yield from _catching_up_lines(scenario, results)
    if (cost := value("routing_cost", "all")) == cost:
        yield f"cost of a packet: {cost:.3g}"
    if (mean := value("sojourn_time", "served")) == mean:
        times = [f"p{100 * share:g} {time:.3g}" for share, time in results.time_to_index.items()]
        unit = units(scenario.time_unit, mean)
        yield f"time to index: {', '.join(times)}, mean {mean:.3g} {unit}"
    shown = naming_of(scenario)
    worst = [
        f"{_page(shown('obsolescence_rate', page))} ({_percent(rate)} of the time out of date)"
        for page, rate in _worst(scenario, results)
    ]
    if worst:
        yield f"worst pages: {', '.join(worst)}"


def _page_set_lines(scenario: Scenario, value: Value) -> Iterator[str]:
    """What the index has of the pages that exist, and what the robots do in vain."""
    if scenario.page_set is None:
        return
    known, indexed, fresh = map(value, ("known_share", "indexed_share", "fresh_share"))
    if fresh == fresh:
        shares = f"{_percent(known)} known, {_percent(indexed)} indexed, {_percent(fresh)} fresh"
        yield f"of the pages that exist: {shares}"
    if (wasted := value("wasted_share")) == wasted:
        gone = _percent(value("gone_share"))
        yield f"vanished: {gone} of the listed pages; {_percent(wasted)} of the accesses are wasted"
    from analytic.page_set import only_grows

    if only_grows(scenario):
        yield "the robots do not keep up: the list of known pages grows on and on"


def _frontier_lines(scenario: Scenario, value: Value) -> Iterator[str]:
    """How many due pages wait, how long, and how many robots have an access."""
    length, delay, busy = map(value, ("frontier_length", "frontier_delay", "busy_robots"))
    if delay == delay:
        unit = units(scenario.time_unit, delay)
        waiting = f"{length:.3g} due pages wait, for {delay:.3g} {unit} on average"
        yield f"frontier: {waiting}; {busy:.3g} robots are busy"


def _catching_up_lines(scenario: Scenario, results: Results) -> Iterator[str]:
    """Why there is no mean time to catch up, where interventions end, and what is known of it."""
    frontier, ended = scenario.model.frontier, scenario.model.timeline.end
    if frontier is None or ended is None:
        return
    if frontier.policy.caught_up is None:
        lacks = "no formula gives how many pages usually wait"
        yield f"catch_up_time: give robots.accessing.caught_up; {lacks}"
        return
    left = scenario.run.horizon - ended
    if left <= 0.0:
        yield "catch_up_time: the last intervention ends after the horizon"
        return
    times = np.array(results.replications["catch_up_time", None])
    late = int(np.isnan(times).sum())
    if late:
        least = float(np.where(np.isnan(times), left, times).mean())
        unit = units(scenario.time_unit, least)
        which = f"in {late} of {counted(results.count, 'replication')} not caught up"
        yield f"catch_up_time: > {least:.3g} {unit} in the mean; {which} by the horizon"


def _page(name: Subject) -> str:
    """A page in words: by its name, or its number."""
    return name if isinstance(name, str) else f"page {name}"


Value = Callable[..., float]
"""From a measure, and a subject, to its estimate; nan where there is none."""


def _offered_load(scenario: Scenario, value: Value) -> float:
    """Time that the indexers would need for all pages delivered, as a share of what they have.

    That of the largest batches, where they take batches.
    """
    if scenario.buffer is None:
        return math.nan
    service, batch = scenario.buffer.service, scenario.buffer.batches
    if not isinstance(service, PageSize) and not scenario.interventions:
        from analytic.machinery.transforms import mean_time

        of_a_page = mean_time(service) / (batch.most if batch else 1)
        if batch is not None and batch.per_page is not None:
            of_a_page += mean_time(batch.per_page)
        return value("arrival_rate") * of_a_page / scenario.buffer.servers
    throughput = value("throughput")
    if throughput == 0:
        return math.inf
    return value("arrival_rate") * _busy(value) / throughput


def _busy(value: Value) -> float:
    """Share of their time that the indexers work; with several of them the mean."""
    idle = value("idle_indexers")
    return 1.0 - (value("starvation_probability") if math.isnan(idle) else idle)


def _utilisation(scenario: Scenario, value: Value) -> float:
    if scenario.robots is None:
        return math.nan
    return value("mean_active_robots") / scenario.robots.available


def _load_lines(scenario: Scenario, load: float, used: float, value: Value) -> Iterator[str]:
    """How busy robots and indexers are."""
    parts = []
    if scenario.robots is not None and used == used:
        which = f"of {scenario.robots.available}{_active_by_class(scenario)}"
        busy = value("busy_robots") / scenario.robots.available
        at_work = f"{_percent(used)} active" if busy != busy else f"{_percent(busy)} busy"
        parts.append(f"robots {at_work} ({which})")
    if scenario.buffer is not None:
        name = "indexer" + "s" * (scenario.buffer.servers > 1)
        parts.append(f"{name} {_percent(_busy(value))} busy, offered load {load:.3g}")
    if parts:
        yield f"load: {'; '.join(parts)}{_doubt(scenario, load)}"


def _active_by_class(scenario: Scenario) -> str:
    """Which robots a fixed number means, where there are classes."""
    robots, rule = scenario.robots, scenario.activation
    if robots is None or robots.classes is None or not isinstance(rule, Static):
        return ""
    numbers = numbers_by_class(robots, rule.root, "activation.static")
    named = zip(robots.classes, numbers, strict=True)
    words = [f"{number} {each.name or f'of class {n}'}" for n, (each, number) in enumerate(named)]
    return f": {', '.join(words)}"


def _load_error(results: Results) -> float:
    """The relative half-width of the offered load."""
    row = results.rows.find("arrival_rate")
    error = math.nan if row is None or not row.estimate else (row.high - row.low) / 2 / row.estimate
    return 0.0 if math.isnan(error) else error


def _bottleneck(scenario: Scenario, load: float, used: float, error: float) -> Iterator[str]:
    """Whether robots or indexers are the bottleneck, if it is clear."""
    if scenario.buffer is None or math.isnan(load) or scenario.model.frontier is not None:
        return  # robots that rest have no pace of their own
    robots = scenario.robots
    by_level = isinstance(scenario.activation, Threshold | Levels | Free | Switching)
    if by_level and robots is not None and robots.classes is not None:
        return  # those that are active do not have the mean pace of all
    held_back = by_level and robots is not None and robots.deliveries is None
    if held_back and robots is not None and robots.environment is not None:
        return  # the robots that are active now and then do not have the mean speed
    full = load / used if held_back else load
    several = scenario.buffer.servers > 1
    name, are, they, need, have = (
        ("the indexers", "are", "they", "need", "they have")
        if several
        else ("the indexer", "is", "it", "needs", "it has")
    )
    if abs(full - 1) <= max(_BALANCED, error):
        what = f"robots and {name[4:]} are balanced: {name} {need}"
    elif full > 1:
        with_all = "with all robots active " if held_back else ""
        what = f"{name} {are} the bottleneck: {with_all}{they} would need"
    else:
        what = f"the robots are the bottleneck: {name} {need}"
    yield f"{what} {_share_of_time(full)} the time {have}"


def _share_of_time(load: float) -> str:
    return f"{100 * load:.0f} % of" if load < _MANY_TIMES else f"{load:.0f} times"


def _doubt(scenario: Scenario, load: float) -> str:
    """What is to be asked where one of the times may be in another unit."""
    if _LIGHT <= load <= _HEAVY or math.isnan(load):
        return ""
    return f"; units? all times must be in one unit ({scenario.time_unit})"


def _stale(scenario: Scenario, value: Value) -> float:
    """Share of the answers, or of the pages by weight, that are out of date."""
    if scenario.model.pages is None:
        return math.nan
    if scenario.clients is not None:
        return value("stale_answer_probability")
    weight = float(scenario.model.pages.weights.sum())
    return value("weighted_obsolescence") / weight if weight else math.nan


def _percent(share: float) -> str:
    """Three digits; what is hardly less than all is not all."""
    words = f"{100 * share:.3g} %"
    if words != "100 %" or share > 1 - _ROUNDING:
        return words
    return f"{100 * share:.2f} %" if share < _NEARLY else f"> {100 * _NEARLY:.2f} %"
