"""Several robots on one sequence: who delivers when, the exact formulas, and one fast robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

import sim
from analytic import compare, optimize, overall, predict
from analytic.page_refresh import (
    best_shares,
    cyclic_obsolescence,
    exponential_robots_obsolescence,
    random_rounds_obsolescence,
    randomized_obsolescence,
    robots_in_step_obsolescence,
)
from scenarios import Scenario, load, scenario_from
from scenarios.laws import Deterministic, Exponential

RATES = [0.5, 0.2, 1.0, 0.0, 0.3]
CYCLE = [0, 1, 0, 2, 3, 2]

cycles = st.lists(st.integers(0, 4), min_size=1, max_size=9)


def shared(law: dict[str, Any], robots: int, accessing: dict[str, Any] | None = None) -> Scenario:
    return scenario_from(
        {
            "name": "shared",
            "pages": {"change_rates": RATES, "weights": "uniform"},
            "robots": {
                "available": robots,
                "access_time": law,
                "accessing": accessing or {"policy": "cyclic", "template": CYCLE},
            },
            "run": {"horizon": 20000.0, "warmup": 100.0, "replications": 10, "seed": 4},
        }
    )


def by_brute_force(rate: float, cycle: list[int], mean: float, robots: int) -> float:
    """Obsolescence of page 0 from the whole chain: slot, robots that carry it, fresh or stale.

    Stationary equations of the embedded chain at ends of accesses, solved as they stand; the time
    out of date in a step is that after the change where the copy was fresh, all of it where not.
    """
    rho = robots / mean
    fresh_stays = rho / (rho + rate)
    states = [(s, j, d) for s in range(len(cycle)) for j in range(robots + 1) for d in (0, 1)]
    place = {state: index for index, state in enumerate(states)}
    moves = np.zeros((len(states), len(states)))
    for (slot, carried, stale), row in place.items():
        following = (slot + 1) % len(cycle)
        takes = int(cycle[following] == 0)
        for delivered, chance in ((1, carried / robots), (0, 1 - carried / robots)):
            for after, part in ((0, fresh_stays), (1, 1 - fresh_stays)):
                if stale:
                    after, part = 1, float(after)
                left = min(carried - delivered + takes, robots)
                target = (following, left, 0 if delivered else after)
                if chance * part:
                    moves[row, place[target]] += chance * part
    balance = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    law = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    out = [1.0 if stale else 1 - fresh_stays for _, _, stale in states]
    return float(law @ np.array(out))


@settings(max_examples=examples(40))
@given(cycles, st.floats(0.01, 10.0), st.integers(1, 4))
def test_exponential_robots_against_the_whole_chain(
    cycle: list[int], rate: float, robots: int
) -> None:
    found = exponential_robots_obsolescence([rate] * 5, cycle, 1.3, robots)
    expected = by_brute_force(rate, cycle, 1.3, robots) if 0 in cycle else 1.0
    assert found[0] == pytest.approx(expected, rel=1e-9)


@given(cycles, st.floats(1e-9, 50.0))
def test_one_robot_is_the_case_of_the_paper(cycle: list[int], rate: float) -> None:
    rates = [rate] * 5
    one = exponential_robots_obsolescence(rates, cycle, 0.7, 1)
    assert one == pytest.approx(cyclic_obsolescence(rates, cycle, Exponential(mean=0.7)), rel=1e-12)
    step = robots_in_step_obsolescence(rates, cycle, 0.7, 1)
    expected = cyclic_obsolescence(rates, cycle, Deterministic(value=0.7))
    assert step == pytest.approx(expected, rel=1e-12)


def test_robots_in_step_by_hand() -> None:
    """Two robots on 0, 1, 2: page 0 in slots 0, 3, 6 …, delivered after rounds 0, 1, 3, 4, 6."""
    exc = lambda t: t - 1 + np.exp(-t)  # noqa: E731
    found = robots_in_step_obsolescence([1.0] * 3, [0, 1, 2], 1.0, 2)
    assert found[0] == pytest.approx((exc(1) + exc(2)) / 3)
    both = robots_in_step_obsolescence([1.0, 1.0], [0, 0, 1, 1], 1.0, 2)
    assert both == pytest.approx([exc(2) / 2] * 2)  # two copies at once are one


def test_random_rounds_by_hand() -> None:
    """One page and another one, half each, two robots: 3/4 of the rounds bring it."""
    found = random_rounds_obsolescence([1.0, 1.0], [0.5, 0.5], 1.0, 2)
    assert found == pytest.approx(
        randomized_obsolescence([1.0], [0.75], Deterministic(value=1.0))[[0, 0]]
    )


def exact_sources(scenario: Scenario) -> set[str]:
    return {
        each.source
        for each in predict(scenario)[0]
        if each.kind == "exact" and each.measure == "obsolescence_rate"
    }


CASES = {
    "in step": (
        {"deterministic": {"value": 1.0}},
        {"policy": "cyclic", "template": CYCLE},
        "coffman1998 (3), robots in step",
    ),
    "exponential": (
        {"exponential": {"mean": 1.0}},
        {"policy": "golden-ratio", "cycle": 13},
        "coffman1998 (3), exponential robots",
    ),
    "in step, at random": (
        {"deterministic": {"value": 1.0}},
        {"policy": "randomized", "frequencies": [0.4, 0.2, 0.2, 0.1, 0.1]},
        "coffman1998 Lemma 4.1, robots in step",
    ),
    "exponential, at random": (
        {"exponential": {"mean": 1.0}},
        {"policy": "randomized"},
        "coffman1998 Lemma 4.1",
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("robots", [2, 5])
def test_simulation_and_formula_agree(case: str, robots: int) -> None:
    """Family error 1e-3, seed 4; an error of 4 % of a rate would be seen."""
    law, accessing, source = CASES[case]
    scenario = shared(law, robots, accessing)
    assert exact_sources(scenario) == {source}
    rows = compare(predict(scenario)[0], sim.run(scenario), (), np.ones(5))
    assert overall(rows) != "disagrees"


@pytest.mark.statistical
@pytest.mark.parametrize("law", [{"deterministic": {"value": 1.0}}, {"exponential": {"mean": 1.0}}])
def test_one_fast_robot_is_refuted(law: dict[str, Any]) -> None:
    """The planted error: the formulas of one robot three times as fast; 9 % of a rate, at least."""
    ((kind, (time,)),) = ((key, each.values()) for key, each in law.items())
    key = {"deterministic": "value", "exponential": "mean"}[kind]
    fast = predict(shared({kind: {key: time / 3}}, 1))[0]
    exact = [each for each in fast if each.kind == "exact"]
    assert overall(compare(exact, sim.run(shared(law, 3)), (), np.ones(5))) == "disagrees"


def test_disorder_hurts_a_regular_sequence_and_helps_one_in_bunches() -> None:
    """Against one robot as fast as both; neither is a general law."""
    fast = Exponential(mean=0.5)
    regular = [0, 1]
    bunches = [0, 0, 1, 1]
    several = [exponential_robots_obsolescence([0.5] * 2, c, 1.0, 2)[0] for c in (regular, bunches)]
    one = [cyclic_obsolescence([0.5] * 2, c, fast)[0] for c in (regular, bunches)]
    assert several[0] > 1.01 * one[0]
    assert several[1] < 0.999 * one[1]


def test_other_laws_have_no_exact_value_but_a_bound() -> None:
    scenario = shared({"uniform": {"low": 0.5, "high": 1.5}}, 3)
    kinds = {(p.measure, p.kind) for p in predict(scenario)[0]}
    assert ("weighted_obsolescence", "lower bound") in kinds
    assert ("weighted_obsolescence", "exact") not in kinds


def test_too_long_a_period_is_refused_with_the_reason() -> None:
    law = {"exponential": {"mean": 1.0}}
    many = shared(law, 4).with_(
        {
            "pages.change_rates": [0.001] * 1200,
            "robots.accessing": {"policy": "round-robin"},
        }
    )
    said = {each.source: each.reason for each in predict(many)[1]}
    reason = "the period is too long for this many robots"
    assert said["coffman1998 (3), exponential robots"] == reason


def test_several_exponential_robots_are_one_fast_one_for_random_choices_only() -> None:
    """The frequencies of a periodic policy are those of constant times, and the note says so."""
    law = {"exponential": {"mean": 3.0}}
    shuffled = optimize(shared(law, 3, {"policy": "golden-ratio"}), "frequencies")
    assert any("constant intervals of the same mean" in note for note in shuffled.notes)
    assert shuffled.decision["frequencies"] == pytest.approx(
        best_shares(RATES, np.ones(5), Deterministic(value=1.0)).tolist()
    )
    assert shuffled.lower_bound is not None
    assert shuffled.cost is not None
    assert shuffled.lower_bound < shuffled.cost
    drawn = optimize(shared(law, 3, {"policy": "randomized"}), "frequencies")
    assert not any("constant times" in note for note in drawn.notes)


def test_the_library_says_what_disorder_costs() -> None:
    """As the file has it: each copy about a tenth more often out of date than one robot's."""
    scenario = load("exponential-robots")
    found = [p.value for p in predict(scenario)[0] if p.measure == "obsolescence_rate"]
    assert scenario.pages is not None
    rates, template = scenario.pages.change_rates, scenario.robots.accessing.template  # type: ignore[union-attr]
    one = cyclic_obsolescence(rates, template, Exponential(mean=2 / 3))  # type: ignore[arg-type]
    assert np.array(found) / one == pytest.approx(np.full(5, 1.09), abs=0.035)
