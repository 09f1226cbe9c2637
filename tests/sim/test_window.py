"""What the two ends of a finite window do to an estimate, and to the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples
from systems import pages_counted

import sim
from analytic import Comparison, Prediction, compare, overall, predict
from analytic.page_refresh import cyclic_obsolescence
from crawlsim.cli.output import summary_lines
from scenarios import Estimate, Results, Scenario, load, scenario_from
from scenarios.laws import Deterministic
from scenarios.results import Rows
from sim import simpy_engine
from sim.estimates import Totals
from sim.estimates.end_effects import end_effect_bounds, unevenness
from sim.page_sums import with_page_sums
from sim.tally import ServersTally, Tally

ROUND_ROBIN = {"policy": "round-robin"}


def constant(value: float) -> dict[str, Any]:
    return {"deterministic": {"value": value}}


def pages(rates: Any, access: dict[str, Any], accessing: dict[str, Any], **more: Any) -> Scenario:
    return scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": rates},
            "robots": {"available": 1, "access_time": access, "accessing": accessing},
            **more,
        }
    )


def verdicts(scenario: Scenario) -> list[Comparison]:
    return compare(predict(scenario)[0], sim.run(scenario))


FIFTY = {"zipf": {"pages": 50, "exponent": 0.0, "total": 0.01}}
SHORT = {
    "a count that is off by one": pages(FIFTY, constant(100.0), ROUND_ROBIN),
    "packets that are off by one": scenario_from(
        {
            "name": "packets",
            "servers": {
                "rates": [1e-4, 2e-4],
                "arrivals": {"renewal": constant(7000.0)},
                "routing": {"period": [0, 1]},
            },
        }
    ),
    "servers that are empty at first": scenario_from(
        {
            "name": "packets",
            "servers": {
                "service": [{"erlang": {"shape": 50, "mean": 50.0}}],
                "arrivals": {"renewal": {"uniform": {"low": 26.0, "high": 32.0}}},
                "routing": {"period": [0]},
            },
            "run": {"horizon": 1253.0, "warmup": 0.0},
        }
    ),
    "a horizon of a few cycles": pages(
        [1.0, 1.0, 1.0], constant(1.0), ROUND_ROBIN, run={"horizon": 200.0, "warmup": 10.0}
    ),
    "a partial cycle": pages([1e-4] * 5, constant(3000.0), ROUND_ROBIN, run={"replications": 1000}),
    "the first change of a page never visited": pages(
        [0.0005, 1.0], {"exponential": {"mean": 10.0}}, {"policy": "cyclic", "template": [1]}
    ),
    "no warm-up, and a shift as large as it can be": pages(
        [0.04, 0.7],
        {"exponential": {"mean": 1.4}},
        {"policy": "cyclic", "template": [1]},
        run={"horizon": 499.0, "warmup": 0.0, "seed": 3},
    ),
    "a ready scenario cut short": load("cyclic-constant").with_(
        {"run.horizon": 1500.0, "run.replications": 8}
    ),
    "visits in blocks": pages(
        [0.03, 0.02],
        constant(10.0),
        {"policy": "cyclic", "template": [0] * 10 + [1] * 10},
        run={"horizon": 1350.0},
    ),
    "robots in step": pages(
        [0.03, 0.02],
        constant(10.0),
        {"policy": "cyclic", "template": [0, 0, 1]},
        run={"horizon": 1355.0},
    ).with_("robots.available", 2),
}


@pytest.mark.by_day(besides=("a partial cycle",))
@pytest.mark.parametrize("name", SHORT)
def test_the_ends_of_the_window_refute_no_formula(name: str) -> None:
    rows = verdicts(SHORT[name])
    assert overall(rows) == "inconclusive"
    assert any(row.window_too_short and row.replications_needed is None for row in rows)


@pytest.mark.nightly
@pytest.mark.statistical
def test_a_slow_start_that_only_many_replications_see_refutes_no_formula() -> None:
    """Page 0 forgets its start in 990 time units, the warm-up is 1000: 0.4 % low for ever.

    In the longer window it is accessed ten times, which is too few for its mean time to refresh.
    """
    slow = pages(
        [0.001, 1.0],
        {"exponential": {"mean": 10.0}},
        {"policy": "randomized", "frequencies": [0.0001, 0.9999]},
        run={"replications": 1000},
    )
    row = next(row for row in verdicts(slow) if row.measure == "obsolescence_rate")
    assert (row.verdict, row.window_too_short) == ("inconclusive", True)
    longer = slow.with_({"run.horizon": 1_000_000.0, "run.replications": 500})
    rows = verdicts(longer)
    assert {row.verdict for row in rows if row.measure != "time_to_refresh"} == {"agrees"}
    left = [(row.subject, row.verdict) for row in rows if row.window_too_short]
    assert left == [(0, "inconclusive"), (None, "inconclusive")]


def test_a_longer_window_settles_what_the_ends_left_open() -> None:
    longer = SHORT["visits in blocks"].with_("run.horizon", 250_000.0)
    assert overall(verdicts(longer)) == "agrees"


# 40 replications, standard error 0.0001: 0.2 % of 1.0 is negligible, the ends can shift by 0.01.
@pytest.mark.parametrize(
    ("estimate", "verdict", "too_short"),
    [
        (1.0019, "agrees", False),
        (1.0021, "inconclusive", True),
        (0.99, "inconclusive", True),
        (1.0103, "inconclusive", True),  # 3 standard errors above the edge
        (1.0104, "disagrees", False),
        (0.989, "disagrees", False),
    ],
)
def test_only_a_difference_significantly_above_the_edge_disagrees(
    estimate: float, verdict: str, too_short: bool
) -> None:
    measured = Estimate(
        "mean_in_system", None, estimate, 1e-4, estimate, estimate, end_effect_bound=0.01
    )
    found = Results("made-up", "none", 1, 40, (measured,), {})
    (row,) = compare([Prediction("mean_in_system", None, 1.0, "exact", "made up")], found)
    assert (row.verdict, row.window_too_short) == (verdict, too_short)
    assert row.replications_needed is None


def test_the_advice_is_a_longer_window_not_more_replications() -> None:
    scenario = SHORT["robots in step"]
    results = sim.run(scenario)
    short = [row for row in verdicts(scenario) if row.window_too_short]
    lines = list(summary_lines(scenario, short, results))
    assert lines[0] == "11 rows inconclusive: the window is too short: lengthen run.horizon"
    assert not any("replications" in line for line in lines)


def test_an_edge_survives_columns_and_stays_out_of_frames() -> None:
    row = Estimate("throughput", None, 1.0, 0.1, 0.8, 1.2, end_effect_bound=0.3)
    assert Rows.of([row])[0] == row
    assert list(Rows.of([row])) == [row]
    assert Rows.of([row]).find("throughput", None) == row
    frame = Results("made-up", "none", 1, 2, (row,), {}).to_frame()
    assert list(frame.columns)[-4:] == ["estimate", "standard_error", "low", "high"]


def test_unevenness_by_hand() -> None:
    assert unevenness([0, 1, 2], 4).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0.0])
    assert unevenness([0, 0, 1, 1], 2).tolist() == [1.0, 1.0]
    assert unevenness([0], 1).tolist() == [0.0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_unevenness_is_the_worst_stretch_of_all(cycle: list[int]) -> None:
    expected = np.zeros(4)
    slots = len(cycle)
    for start in range(slots):
        for length in range(slots):
            stretch = (cycle * 2)[start : start + length]
            for page in range(4):
                over = stretch.count(page) - length * cycle.count(page) / slots
                expected[page] = max(expected[page], abs(over))
    assert unevenness(cycle, 4) == pytest.approx(expected, abs=1e-12)


def deterministic_window(
    template: list[int], rates: list[float], ends: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Visits and mean time out of date of each page in (start, end], access times of 1."""
    start, end = ends
    visits = np.zeros(len(rates))
    stale = np.zeros(len(rates))
    for page, rate in enumerate(rates):
        times = [k + 1.0 for k in range(int(end)) if template[k % len(template)] == page]
        visits[page] = sum(start < time <= end for time in times)
        for last, after in zip([0.0, *times], [*times, end], strict=True):
            low = max(last, start) - last
            high = max(after, start) - last
            stale[page] += (high - low) + (np.exp(-rate * high) - np.exp(-rate * low)) / rate
    return visits, stale


@settings(max_examples=examples(300))
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=16),
    st.lists(st.floats(1e-3, 10.0), min_size=3, max_size=3),
    st.floats(0.0, 40.0),
    st.floats(2.0, 60.0),
)
def test_no_window_shifts_a_periodic_schedule_by_more_than_its_edge(
    template: list[int], rates: list[float], warmup: float, window: float
) -> None:
    """The exact means of a window with deterministic accesses, against the long run."""
    visits, stale = deterministic_window(template, rates, (warmup, warmup + window))
    if visits.sum() == 0:
        return
    scenario = pages(rates, constant(1.0), {"policy": "cyclic", "template": template})
    part = pages_counted(visits, stale)
    tally = with_page_sums(Tally(window=window, robots_time=window, pages=part), scenario)
    totals = Totals.of([tally])
    bounds = end_effect_bounds(totals, scenario)
    shares = np.bincount(template, minlength=3) / len(template)
    limit = cyclic_obsolescence(rates, template, Deterministic(value=1.0))
    just = 1 + 1e-9
    assert np.all(np.abs(visits / window - shares) <= bounds["crawl_rate"] * just)
    assert np.all(
        np.abs(visits / visits.sum() - shares) <= bounds["crawl_frequency"] * just + 1e-12
    )
    assert np.all(np.abs(stale / window - limit) <= bounds["obsolescence_rate"] * just)
    weighted = end_effect_bounds(totals, scenario.with_("pages.weights", [1.0, 2.0, 3.0]))
    assert weighted["stale_answer_probability"] == pytest.approx(
        weighted["weighted_obsolescence"] / 6
    )


def test_a_group_of_one_page_has_the_end_effects_of_that_page() -> None:
    """Ten pages of ten rates: each tenth has one, and all of them are followed as well."""
    rates = [0.01 * (1 + page) for page in range(10)]
    sizes = [100.0 * (10 - page) for page in range(10)]
    scenario = pages(
        rates,
        constant(1.0),
        {"policy": "cyclic", "template": [*range(10), 0, 0, 3]},
        run={"horizon": 397.0, "warmup": 7.0},  # thirty rounds
    ).with_("pages.sizes", sizes)
    tally = simpy_engine.simulate(scenario, 0, 3)
    by_page = end_effect_bounds(Totals.of([with_page_sums(tally, scenario)]), scenario)
    in_groups = scenario.with_("run.page_rows", 5)
    summed = replace(with_page_sums(tally, in_groups), pages=None)
    by_group = end_effect_bounds(Totals.of([summed]), in_groups)
    followed = np.argsort(-np.array(rates), kind="stable")
    for measure in ("unchanged_share", "bytes_rate"):
        each = by_page[measure][1:]
        assert len(set(each.tolist())) > 2
        assert by_group[measure][1:] == pytest.approx([*each, *each[followed]]), measure
    assert by_group["unchanged_share"][0] == pytest.approx(by_page["unchanged_share"][0])


def test_end_effects_of_servers_by_hand() -> None:
    """10 and 5 packets in a window of 50; of a period 0, 0, 1 a stretch has 2/3 too many."""
    part = ServersTally(
        *((10, 5, 0), (4, 1, 0), (6, 4, 0), (0, 0, 0), (0, 0, 0), (9.0, 9.0, 0.0)),
        *((9, 4, 0), (0.0, 0.0, 0.0), (0, 0, 0)),
    )
    scenario = scenario_from(
        {
            "name": "packets",
            "servers": {
                "rates": [1.0, 1.0, 1.0],
                "arrivals": {"poisson": {"rate": 0.3}},
                "routing": {"period": [0, 0, 1]},
            },
            "costs": {"loss": 3.0},
        }
    )
    bounds = end_effect_bounds(Totals.of([Tally(window=50.0, servers=part)] * 2), scenario)
    both = 1 + 2 / 3
    lost = bounds["preemption_probability"]
    assert lost[[0, 1, 3]].tolist() == pytest.approx([both / 10, both / 5, 2 * both / 15])
    assert bounds["arrival_rate"].tolist() == [1 / 50]
    assert bounds["loss_rate"].tolist() == pytest.approx([(1 + 2 * both) / 50])
    assert bounds["control_cost"].tolist() == pytest.approx([3 * (1 + 2 * both) / 50])
