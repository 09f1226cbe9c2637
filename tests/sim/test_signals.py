"""Signals of changes: when they are sent and heard, and which page robots then take."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.special import gammainc
from test_engines_agree import assert_same_path

import analytic
import sim
from experiments.signals_above_bound import system
from scenarios import Scenario, ScenarioError, load, scenario_from
from scenarios.model import present
from scenarios.results import Estimate
from sim import compiled_engine, rules, simpy_engine
from sim.compiled_engine.crawl_values import (
    FEW,
    MANY,
    NODES,
    CrawlValues,
    crawl_values_of,
    end_access_of,
    hear_signal,
    take_most_valuable,
)

RATES = [0.3, 1.0, 0.05, 2.0, 0.0, 0.7]


def with_signals(signals: dict[str, Any], **changes: Any) -> Scenario:
    """One robot, six pages."""
    scenario = scenario_from(
        {
            "name": "heard",
            "pages": {"change_rates": RATES, "weights": "uniform", "signals": signals},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 0.5}},
                "accessing": {"policy": "crawl-value"},
            },
            "run": {"horizon": 2000.0, "warmup": 100.0, "replications": 2},
        }
    )
    return scenario.with_(changes) if changes else scenario


def value_of_level(change: float, recall: float, precision: float, hazard: float) -> float:
    """What an access at a hazard is worth, per weight over change rate, from sums over signals."""
    silent, heard = (1.0 - recall) * change, recall * change / precision
    false = heard - recall * change
    level = hazard / silent
    worth = -np.log1p(-precision) / silent if precision < 1 else np.inf
    most = int(level / worth) if worth < np.inf else 0
    left = level - np.arange(most + 1) * (worth if worth < np.inf else 0.0)
    count = np.arange(most + 1)
    length = (gammainc(count + 1, heard * left) / heard).sum()
    all_rates = silent + heard
    parts = (false / all_rates) ** count * gammainc(count + 1, all_rates * left) / all_rates
    return float(change * (parts.sum() - np.exp(-hazard) * length))


@pytest.mark.parametrize(
    ("recall", "precision"),
    [(0.5, 0.2), (0.8, 0.8), (0.1, 0.9), (0.99, 0.5), (0.3, 1.0), (0.6, 0.02), (0.7, 0.001)],
)
def test_tables_of_crawl_values_are_right_at_their_nodes(recall: float, precision: float) -> None:
    """By the sums over signals; they are made from the equation of their slope."""
    values = crawl_values_of(with_signals({"recall": recall, "precision": precision}))
    table = values.table[values.kind[1]]
    hazards = -2.0 * np.log1p(-np.arange(1, NODES) / NODES)
    right = np.array([value_of_level(2.0, recall, precision, each) for each in hazards])
    error = table[1:NODES] - right
    assert np.abs(error).max() < 1e-3
    assert np.abs(error / right).max() < (1e-3 if precision > 0.01 else 2e-2)
    assert table[0] == 0.0
    assert table[NODES] == 1.0


def test_between_nodes_values_are_right_too() -> None:
    scenario = with_signals({"recall": 0.5, "precision": 0.2})
    values = crawl_values_of(scenario)
    for time in np.linspace(0.1, 6.0, 40):
        hazard = 0.5 * 1.0 * (time - values.since[1])
        found = brute_force(values, float(time))[1]
        assert found == pytest.approx(value_of_level(1.0, 0.5, 0.2, hazard), rel=3e-4)


def brute_force(values: CrawlValues, now: float) -> Any:
    """The values of all pages, from the same tables by another way."""
    age = np.maximum(now - values.since, 0.0)
    hazard = values.change * np.minimum(age, values.delay) + values.jump
    hazard = hazard + values.silent * np.maximum(age - values.delay, 0.0)
    place = (1.0 - np.exp(-hazard / 2.0)) * NODES
    node = np.minimum(place.astype(int), NODES - 1)
    part = place - node
    first, last = (values.table[values.kind, each] for each in (node, node + 1))
    rises, ends = (values.slope[values.kind, each] for each in (node, node + 1))
    basis = (2 * part**3 - 3 * part**2 + 1, part**3 - 2 * part**2 + part)
    cubic = basis[0] * first + basis[1] * rises
    cubic += (1 - basis[0]) * last + (part**3 - part**2) * ends
    return values.value * np.where(values.value > 0, cubic, 0.0)


KINDS: dict[str, dict[str, Any]] = {
    "half": {"recall": 0.5, "precision": 0.2},
    "true": {"recall": 0.4, "precision": 1.0},
    "all-signalled": {"recall": 1.0, "precision": 0.3},
    "of-all-kinds": {"recall": [0.0, 1.0, 0.5, 0.9] * 750, "false_rate": [0.1, 0.0] * 1500},
    "late": {"recall": 0.7, "precision": 0.4, "delay": {"exponential": {"mean": 20.0}}},
}


@pytest.mark.thorough
@pytest.mark.parametrize("signals", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("gap", [1.0, 0.02], ids=["busy", "idle"])
def test_the_page_that_is_taken_is_worth_most(signals: dict[str, Any], gap: float) -> None:
    """Of 3000 pages, by looking at all of them, whatever was heard and taken before."""
    random = np.random.default_rng(7)
    change = random.gamma(1.0, 1.0 / 1500, 3000)
    change[:5] = 0.0
    pages = {"change_rates": change.tolist(), "weights": random.gamma(1.0, 1.0, 3000).tolist()}
    scenario = with_signals({"recall": 0.5, "precision": 0.5}).with_(
        {"pages": {**pages, "signals": signals}}
    )
    values = crawl_values_of(scenario)
    heard = scenario.model.pages.signals.heard  # type: ignore[arg-type]  # there are pages
    limits, now, taken = set(), 0.0, -1
    for _ in range(3000):
        now += gap
        for page in np.flatnonzero(random.random(3000) < heard * gap):
            hear_signal(values, int(page), now)
        worth = np.where(values.taken, -np.inf, brute_force(values, now))
        before = taken
        taken = take_most_valuable(values, now)
        assert worth[taken] >= worth.max() - 1e-12 * values.value.max()
        if before >= 0:
            end_access_of(values, before, now)
        limits.add(float(values.state.limit))
        assert values.state.listed <= MANY
    assert limits == {0.0} or len(limits) > 1
    assert FEW < MANY < len(change)


def stale_share(scenario: Scenario) -> Estimate:
    return sim.run(scenario).find("weighted_obsolescence")


@pytest.mark.thorough
def test_a_page_due_at_its_level_is_as_fresh_as_the_sums_say() -> None:
    """The check value of one page: .7867; an error of 0.002 would be noticed (five intervals)."""
    scenario = with_signals(
        {"recall": 0.6, "precision": 0.4},
        **{
            "pages.change_rates": [1.0],
            "robots.accessing": {"policy": "due", "levels": 1.7},
            "robots.access_time": {"deterministic": {"value": 1e-9}},
            "run.horizon": 50_000.0,
            "run.replications": 10,
        },
    )
    found = stale_share(scenario)
    assert found.estimate == pytest.approx(1 - 0.7867, abs=0.002)
    assert abs(found.estimate - (1 - 0.7867)) < 4 * found.standard_error


@pytest.mark.parametrize("policy", ["round-robin", "whittle"])
def test_others_do_not_hear(policy: str) -> None:
    """Whoever does not listen sees the same numbers as without signals."""
    given: dict[str, Any] = {"policy": policy}
    if policy == "whittle":
        given |= {"exponents": [0.1] * 6, "values": [1.0, 2.0, 3.0, 1.0, 1.0, 1.0]}
    heard = with_signals({"recall": 0.5, "precision": 0.5}, **{"robots.accessing": given})
    deaf = heard.with_("pages.signals", None)
    for engine in (simpy_engine, compiled_engine):
        one, other = engine.simulate(heard, 0, 1), engine.simulate(deaf, 0, 1)
        assert one.pages is not None
        assert other.pages is not None
        assert one.pages.stale_time.tolist() == other.pages.stale_time.tolist()


def test_signals_come_at_the_rates_that_were_given() -> None:
    """Changes, true and false signals are independent Poisson processes (5 standard errors)."""
    scenario = with_signals({"recall": 0.6, "precision": 0.3}, **{"run.horizon": 4000.0})
    events = []

    class Kept:
        def add(self, row: Any) -> None:
            events.append((row[2], row[4]))

    simpy_engine.simulate(scenario, 0, 1, log=Kept())
    for page, rate in enumerate(RATES):
        for event, mean in (("change", rate), ("signal", 2.0 * rate)):
            count = events.count((event, page))
            assert abs(count - 4000 * mean) <= 5 * max(4000 * mean, 1) ** 0.5


def test_more_signals_than_a_clock_can_tell_apart_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"pages\.signals"):
        sim.run(with_signals({"recall": 0.5, "false_rate": 1e13}))


def test_a_signal_that_is_heard_too_soon_is_no_news() -> None:
    assert not rules.is_news(0.3, 0.5)
    assert rules.is_news(0.5, 0.5)
    assert rules.hazard_of_age(2.0, 3.0, 1.0, 0.5) == 3.0 * 0.5 + 1.0 * 1.5
    for age in (0.2, 0.5, 7.0):
        hazard = rules.hazard_of_age(age, 3.0, 1.0, 0.5)
        assert rules.age_at_hazard(hazard, 3.0, 1.0, 0.5) == pytest.approx(age)
    assert rules.age_at_hazard(2.0, 3.0, 0.0, 0.5) == np.inf
    assert rules.hazard_left(np.inf, np.inf) == np.inf


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"pages.signals": {"recall": 0.5}}, "pages.signals"),
        ({"pages.signals": {"recall": 1.5, "precision": 0.5}}, "pages.signals.recall"),
        ({"pages.signals": {"recall": [0.5], "precision": 0.5}}, "pages.signals.recall"),
        ({"pages.signals": {"recall": 0.5, "precision": 0.0}}, "pages.signals.precision"),
        (
            {"pages.signals": {"recall": 0.5, "precision": 0.5, "false_rate": 1.0}},
            "pages.signals",
        ),
        ({"pages.signals": {"recall": 0.5, "precision": [0.5] * 7}}, "pages.signals.precision"),
        ({"pages.signals": None, "robots.accessing": {"policy": "on-signal"}}, "policy"),
        (
            {"pages.signals": None, "robots.accessing": {"policy": "due", "levels": 1.0}},
            "robots.accessing.levels",
        ),
        ({"robots.accessing": {"policy": "due"}}, "robots.accessing"),
        (
            {"robots.accessing": {"policy": "due", "levels": 1.0, "intervals": 1.0}},
            "robots.accessing",
        ),
        ({"robots.accessing": {"policy": "due", "levels": [1.0]}}, "robots.accessing.levels"),
        ({"robots.available": 6}, "robots.accessing.policy"),
        ({"pages.hosts": [0] * 6, "robots.host_spacing": 1.0}, "robots.host_spacing"),
        (
            {"robots.accessing": {"policy": "crawl-value", "exponents": [1.0] * 6}},
            "robots.accessing.exponents",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_its_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        with_signals({"recall": 0.5, "precision": 0.5}, **changes)
    assert key in str(refusal.value)


def stale_part(scenario: Scenario, policy: dict[str, Any], **changes: Any) -> tuple[float, float]:
    """What is out of date, by weight, and its standard error."""
    changed = scenario.with_({"robots.accessing": policy, **changes})
    found = sim.run(analytic.resolve(changed)).find("weighted_obsolescence")
    return found.estimate, found.standard_error


@pytest.mark.thorough
def test_blind_trust_helps_where_there_is_time_for_it_and_harms_where_there_is_none() -> None:
    """Five accesses for each change, then two or three; five standard errors apart."""
    pings = load("pings-trusted-blindly").with_("run.replications", 10)
    for changes, sign in ((0.2, -1.0), (0.4, 1.0)):
        of_all = {"pages.change_rates.zipf.total": changes}
        blind, error = stale_part(pings, {"policy": "on-signal"}, **of_all)
        deaf, other = stale_part(pings, {"policy": "whittle"}, **of_all)
        weighed, third = stale_part(pings, {"policy": "crawl-value"}, **of_all)
        assert sign * (blind - deaf) > 5 * (error + other)
        assert min(blind, deaf) - weighed > 5 * (error + other + third)


@pytest.mark.thorough
def test_late_signals_make_nothing_better() -> None:
    """Mean delays of none, half an access, ten and a hundred: then they are all but ignored."""
    pings = load("pings-trusted-blindly").with_("run.replications", 10)
    policy = {"policy": "crawl-value"}
    found = [stale_part(pings, policy)]
    for delay in (0.5, 10.0, 100.0):
        law = {"pages.signals.delay": {"exponential": {"mean": delay}}}
        found.append(stale_part(pings, policy, **law))
    deaf = stale_part(pings, {"policy": "whittle"})
    for (sooner, error), (later, other) in pairwise(found):
        assert later > sooner - 3 * (error + other)
    assert found[2][0] > found[0][0] + 5 * (found[0][1] + found[2][1])
    assert found[-1][0] < 1.05 * deaf[0]


@pytest.mark.thorough
@pytest.mark.parametrize("changes", [0.3, 1.0, 3.0])
def test_five_hundred_pages_come_near_to_the_bound(changes: float) -> None:
    """Freshness within 0.5 % of the bound, which the estimate is not below either."""
    scenario = system(500, changes, 0.2, 0.5)
    (bound,) = [each.value for each in analytic.predict(scenario)[0]]
    found = sim.run(scenario).find("weighted_obsolescence")
    of_all = float(present(scenario.model.pages).weights.sum())
    assert (of_all - found.estimate) / (of_all - bound) > 0.995
    assert found.estimate > bound - 4 * found.standard_error


@pytest.mark.thorough
def test_a_hundred_thousand_pages_in_both_engines() -> None:
    assert_same_path(
        system(100_000, 1.0, 0.2, 0.5).with_({"run.horizon": 0.3, "run.warmup": 0.1}),
        replications=1,
    )
