"""What the formulas say of scenarios whose robots hear, what they leave alone, and the optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from systems import signals_with

import analytic
import sim
from analytic import optimize
from analytic.index.predictions import FORMULAS
from analytic.machinery.transforms import mean_time
from analytic.signals import best_levels, cycles_at, level_obsolescence, signal_worths
from analytic.transient.start_up import start_up_times
from experiments.signals_above_bound import excess, system
from scenarios import Scenario, load, scenario_from
from scenarios.base import LARGEST
from scenarios.laws import Deterministic, Distribution, Exponential

CHANGES, PRECISIONS, RECALLS = [1.0, 0.5, 2.0, 0.2], [0.2, 0.8, 0.6, 1.0], [0.5, 0.8, 1.0, 0.5]
HEARD: dict[str, Any] = {
    "name": "signals",
    "pages": {
        "change_rates": CHANGES,
        "signals": {"recall": RECALLS, "precision": PRECISIONS},
    },
    "robots": {
        "available": 4,
        "access_time": {"exponential": {"mean": 0.1}},
        "accessing": {"policy": "due", "levels": [2.0, 5.0, 2.0, 1e9]},
    },
}
BY_VALUE = {
    "robots.available": 2,
    "robots.accessing": {"policy": "crawl-value"},
}
BLINDLY = {"robots.accessing": {"policy": "on-signal", "frequencies": "optimal"}}


def predicted(scenario: Scenario) -> dict[tuple[str, Any, str], float]:
    return {
        (each.measure, each.subject, each.kind): each.value
        for each in analytic.predict(scenario)[0]
    }


def drawn_stale_share(
    page: int, level: float, law: Distribution, cycles: int, seed: int
) -> tuple[float, float]:
    """Stale share of one page with a robot of its own, event by event, and its standard error."""
    stream = np.random.default_rng(seed)
    signals = signals_with(CHANGES[page], PRECISIONS[page], RECALLS[page])
    silent, true, false = (float(each[0]) for each in signals)
    counted = silent == 0
    worth = 1.0 if counted else float(signal_worths(signals)[0])
    times, stale_times = np.zeros(cycles), np.zeros(cycles)
    for cycle in range(cycles):
        clock = state = 0.0
        changed = np.inf
        while state < level:
            step = stream.exponential(1.0 / (silent + true + false))
            if not counted and step >= level - state:
                clock += level - state
                break
            clock += step
            state += 0.0 if counted else step
            which = stream.uniform(0.0, silent + true + false)
            if which < silent + true:
                changed = min(changed, clock)
            if which >= silent:
                state += worth
        is_constant = isinstance(law, Deterministic)
        access = mean_time(law) if is_constant else stream.exponential(mean_time(law))
        changed = min(changed, clock + stream.exponential(1.0 / CHANGES[page]))
        times[cycle] = clock + access
        stale_times[cycle] = max(clock + access - changed, 0.0)
    share = stale_times.mean() / times.mean()
    return share, float((stale_times - share * times).std() / times.mean() / np.sqrt(cycles))


@pytest.mark.parametrize("law", [Exponential(mean=0.4), Deterministic(value=0.4)])
@pytest.mark.parametrize(("page", "level"), [(0, 2.0), (1, 5.0), (2, 2.0), (3, 6.0)])
def test_stale_shares_that_are_drawn(page: int, level: float, law: Distribution) -> None:
    """Eight shares within 4.5 standard errors: a false alarm in 18,000 seeds.

    Planted: accesses whose stale time is forgotten, which move each share by more.
    """
    signals = signals_with(CHANGES[page], PRECISIONS[page], RECALLS[page])
    stale = level_obsolescence(signals, [level], law)[0]
    drawn, error = drawn_stale_share(page, level, law, 20_000, seed=11)
    assert abs(drawn - stale) < 4.5 * error
    found = cycles_at(signals, np.array([level]))
    forgotten = 1.0 - (found.fresh[0] + mean_time(law)) / (found.lengths[0] + mean_time(law))
    assert abs(drawn - forgotten) > 4.5 * error


def test_levels_with_a_robot_for_each_page() -> None:
    scenario = scenario_from(HEARD)
    found = predicted(scenario)
    signals = scenario.model.pages.signals
    levels = [2.0, 5.0, 2.0, 1e9]
    stale = level_obsolescence(signals, levels, Exponential(mean=0.1))
    lengths = cycles_at(signals, np.array(levels)).lengths + 0.1
    assert lengths[3] == pytest.approx(1.0 / 0.1 + 0.1)
    for page in range(4):
        assert found["obsolescence_rate", page, "exact"] == pytest.approx(stale[page])
        assert found["crawl_rate", page, "exact"] == pytest.approx(1.0 / lengths[page])
    assert found["busy_robots", None, "exact"] == pytest.approx(float((0.1 / lengths).sum()))
    cost = found["weighted_obsolescence", None, "exact"]
    assert cost == pytest.approx(float(np.array(CHANGES) @ stale))
    assert found["weighted_obsolescence", None, "lower bound"] < cost


def test_a_level_that_is_infinite_is_never_reached() -> None:
    """Not by a signal that is surely true either; a level far away is reached by that."""
    scenario = scenario_from(HEARD).with_("robots.accessing.levels", [2.0, 5.0, 2.0, np.inf])
    found = predicted(scenario)
    assert found["obsolescence_rate", 3, "exact"] == 1.0
    assert found["crawl_rate", 3, "exact"] == 0.0


def test_pages_that_are_due_by_signals_alone() -> None:
    """Precision 1 and fewer accesses than signals: two are due by signals, the last one never."""
    sure = {
        "pages.signals": {"recall": 0.5, "precision": 1.0},
        "pages.weights": [1.0, 0.5, 2.0, 0.01],
    }
    budget = {"robots.accessing": {"policy": "due", "levels": "optimal", "budget": 1.5}}
    best = optimize(scenario_from(HEARD).with_({**sure, **budget}), "frequencies")
    levels, rates = (np.array(best.decision[each]) for each in ("levels", "rates"))
    assert np.isinf(levels).tolist() == (rates == 0.0).tolist() == [False, False, False, True]
    assert levels.max(where=rates > 0, initial=0.0) == LARGEST


def test_accesses_that_take_no_time_at_the_best_levels_reach_the_bound() -> None:
    at_once = {
        "robots.access_time": {"exponential": {"mean": 1e-9}},
        "robots.accessing": {"policy": "due", "levels": "optimal", "budget": 1.7},
        "pages.signals": {"recall": 0.6, "precision": 0.4},
    }
    scenario = scenario_from(HEARD).with_(at_once)
    best = optimize(scenario, "frequencies")
    assert best.kind == "exact"
    assert best.cost == pytest.approx(best.lower_bound, rel=1e-7)
    assert sum(best.decision["rates"]) == pytest.approx(1.7)
    resolved = analytic.resolve(scenario)
    assert list(resolved.model.accessing.levels) == best.decision["levels"]
    assert predicted(resolved)["weighted_obsolescence", None, "exact"] == best.cost


def test_levels_are_less_by_what_accesses_take() -> None:
    budget = {"robots.accessing": {"policy": "due", "levels": "optimal", "budget": 1.7}}
    scenario = scenario_from(HEARD).with_({**budget, "pages.signals.recall": 0.6})
    best = optimize(scenario, "frequencies")
    found = predicted(scenario.with_(best.changes))
    rates = [found["crawl_rate", page, "exact"] for page in range(4)]
    aged = [each for each in range(4) if np.isfinite(best.decision["levels"][each])]
    np.testing.assert_allclose(np.array(rates)[aged], np.array(best.decision["rates"])[aged])
    assert best.lower_bound < best.cost


@pytest.mark.parametrize("changed", [BY_VALUE, BLINDLY])
def test_the_bound_is_all_that_is_said_of_others(changed: dict[str, Any]) -> None:
    scenario = analytic.resolve(scenario_from(HEARD).with_(changed))
    found, others = analytic.predict(scenario)
    (bound,) = found
    accesses = 10.0 * scenario.robots.available
    best = best_levels(scenario.model.pages.signals, np.array(CHANGES), accesses)
    assert (bound.measure, bound.kind) == ("weighted_obsolescence", "lower bound")
    assert bound.value == pytest.approx(float(np.array(CHANGES) @ (1.0 - best.fresh)))
    assert len(others) == len(FORMULAS) - 1
    optimum = optimize(scenario, "frequencies")
    assert optimum.lower_bound == bound.value
    assert set(optimum.decision) == {"levels", "rates"}


def test_a_buffer_and_late_signals_leave_the_bound() -> None:
    """Both make nothing better; the queue is as it is without signals."""
    scenario = scenario_from(HEARD).with_(BY_VALUE)
    buffer = {"waiting_places": 3, "service": {"exponential": {"mean": 0.1}}}
    late = scenario.with_({"buffer": buffer, "pages.signals.delay": {"exponential": {"mean": 1.0}}})
    found = predicted(late)
    bound = found["weighted_obsolescence", None, "lower bound"]
    assert bound == predicted(scenario)["weighted_obsolescence", None, "lower bound"]
    assert ("loss_probability", None, "exact") in found
    assert ("weighted_obsolescence", None, "exact") not in found
    assert ("obsolescence_rate", 0, "exact") not in found


def test_late_signals_have_no_formula_at_levels() -> None:
    late = scenario_from(HEARD).with_("pages.signals.delay", {"exponential": {"mean": 1.0}})
    assert all(each.kind != "exact" for each in analytic.predict(late)[0])
    (reason,) = [
        each.reason
        for each in analytic.predict(late)[1]
        if each.source.endswith("levels, a robot for each page")
    ]
    assert reason == "signals are heard late"


@pytest.mark.parametrize("policy", ["deadline", "randomized", "golden-ratio"])
def test_policies_that_ignore_signals_keep_their_formulas(policy: str) -> None:
    deaf = {"available": 1, "access_time": {"exponential": {"mean": 0.1}}}
    accessing = {"policy": policy, "frequencies": "change-rate"}
    scenario = scenario_from(HEARD).with_("robots", {**deaf, "accessing": accessing})
    assert predicted(scenario) == predicted(scenario.with_("pages.signals", None))


def test_blind_frequencies_are_those_without_signals() -> None:
    resolved = analytic.resolve(scenario_from(HEARD).with_(BLINDLY))
    none = np.zeros(4)
    deaf = best_levels(
        resolved.model.pages.signals._replace(silent=np.array(CHANGES), true=none, false=none),
        np.array(CHANGES),
        40.0,
    )
    np.testing.assert_allclose(resolved.model.accessing.frequencies, deaf.rates / 40.0, rtol=1e-9)


def test_a_warm_up_knows_how_long_cycles_are() -> None:
    """Page 3 is accessed at its signals alone, ten in a hundred units of time."""
    known = dict(start_up_times(scenario_from(HEARD)))
    assert known["the mean time between accesses of page 3"] == pytest.approx(10.1)


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
def test_one_signal_that_says_all_makes_a_page_due() -> None:
    """With recall and precision 1 a level of two signals is one of one; inf is never reached."""
    scenario = scenario_from(HEARD).with_(
        {
            "pages.signals": {"recall": 1.0, "precision": 1.0},
            "robots.accessing.levels": [1.0, 2.0, 1e9, math.inf],
            "run.horizon": 5000.0,
            "run.warmup": 150.0,
        }
    )
    found, said = sim.run(scenario), predicted(scenario)
    for page in range(4):
        row = found.find("crawl_rate", page)
        exact = said["crawl_rate", page, "exact"]
        assert abs(row.estimate - exact) <= 4.5 * row.standard_error


@pytest.mark.thorough
def test_simulated_levels_agree() -> None:
    """Of ten measures each within 4.5 standard errors; levels a tenth higher would be seen."""
    scenario = scenario_from(HEARD).with_(
        {"run.horizon": 20000.0, "run.warmup": 150.0, "run.replications": 10, "run.seed": 3}
    )
    found = sim.run(scenario)
    higher = scenario.with_("robots.accessing.levels", [2.2, 5.5, 3.0, 1e9])
    said, planted = predicted(scenario), predicted(higher)
    rows = [("weighted_obsolescence", None), ("busy_robots", None)]
    rows += [
        (measure, page) for measure in ("obsolescence_rate", "crawl_rate") for page in range(4)
    ]
    seen = 0
    for measure, subject in rows:
        row = found.find(measure, subject)
        assert row is not None
        assert abs(row.estimate - said[measure, subject, "exact"]) < 4.5 * row.standard_error
        off = abs(row.estimate - planted[measure, subject, "exact"])
        seen += off > 4.5 * row.standard_error
    assert seen >= 6


@pytest.mark.thorough
def test_a_robot_that_goes_by_value_comes_near_the_bound() -> None:
    """Of 200 pages it is within 5 per cent above; three standard errors below would refute it."""
    scenario = system(200, 1.0, 0.2, 0.5).with_("run.horizon", 800.0)
    above, error = excess(scenario)
    assert -3.0 * error < above < 0.05


def test_the_bound_takes_the_accesses_that_levels_allow() -> None:
    """Robots that rest make fewer than they could; who never accesses has everything stale."""
    scenario = load("sitemap-half-true")
    found = predicted(scenario)
    bound = found["weighted_obsolescence", None, "lower bound"]
    exact = found["weighted_obsolescence", None, "exact"]
    assert 0.95 * exact < bound < exact
    never = predicted(scenario.with_("robots.accessing.levels", np.inf))
    assert never["weighted_obsolescence", None, "lower bound"] == pytest.approx(5.0)
    late = predicted(scenario.with_("pages.signals.delay.exponential.mean", 1.0))
    assert late["weighted_obsolescence", None, "lower bound"] < 0.01
