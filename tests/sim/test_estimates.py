"""The estimators on series whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from systems import pages_counted, queue

import sim
from scenarios import MEASURES, ScenarioError, scenario_from
from scenarios.law_points import LAWS, LawPoints
from sim import compiled_engine
from sim.estimates import Totals, estimates_of, jackknife_error, results_from, t_quantile
from sim.page_sums import with_page_sums
from sim.replicate import Precision, run_to_precision
from sim.simpy_engine import simulate
from sim.tally import BufferTally, Tally


def tally(delivered: int, refused: int, served: int, starved: float = 40.0) -> Tally:
    return Tally(
        window=100.0,
        buffer=BufferTally(
            delivered=delivered,
            refused=refused,
            ended=(served, delivered - refused - served, 0, 0),
            sojourn=(2.0 * served, 0.5 * (delivered - refused - served), 0.0, 0.0),
            sojourn_square=(5.0 * served, 0.5 * (delivered - refused - served), 0.0, 0.0),
            inside_at_start=0,
            inside_at_end=0,
            age_at_start=0.0,
            age_at_end=0.0,
            level_time=(starved, 100.0 - starved),
        ),
        robots_time=150.0,
    )


THREE = [tally(10, 1, 7, 40.0), tally(20, 4, 12, 50.0), tally(30, 5, 20, 45.0)]
COSTS = {"costs.loss": 2.0, "costs.obsolescence": 3.0, "costs.response": 5.0, "costs.robots": 7.0}


def by_name(tallies: list[Tally], changes: dict[str, float] | None = None) -> dict[object, object]:
    erlang = {"robots.access_time.erlang": {"shape": 2, "mean": 1.4}}  # losses are counted
    rows = estimates_of(Totals.of(tallies), queue(erlang | (changes or {})))
    return {(row.measure, row.subject): row for row in rows}


def test_shares_are_ratios_of_sums_by_hand() -> None:
    rows = by_name(THREE)
    assert rows["loss_probability", None].estimate == 10 / 60
    assert rows["obsolescence_probability", None].estimate == 11 / 60
    assert rows["success_probability", None].estimate == 39 / 60
    assert rows["arrival_rate", None].estimate == 60 / 300
    assert rows["sojourn_time", "served"].estimate == 2.0
    assert rows["sojourn_time", "accepted"].estimate == pytest.approx((78 + 5.5) / 50)
    assert rows["sojourn_time", "all"].estimate == pytest.approx((78 + 5.5) / 60)
    assert rows["sojourn_time_second_moment", "served"].estimate == 5.0


def test_the_standard_error_of_a_ratio_is_the_jackknife_by_hand() -> None:
    without = np.array([9 / 50, 6 / 40, 5 / 30])
    expected = math.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum())
    assert by_name(THREE)["loss_probability", None].standard_error == pytest.approx(expected)


def test_the_standard_error_of_a_time_average_is_that_of_a_mean() -> None:
    row = by_name(THREE)["mean_in_system", None]
    values = 1 - np.array([0.4, 0.5, 0.45])
    assert row.estimate == pytest.approx(values.mean())
    assert row.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(3))
    half = t_quantile(2) * row.standard_error
    assert (row.low, row.high) == (row.estimate - half, row.estimate + half)
    share = by_name(THREE)["starvation_probability", None]
    assert share.standard_error == pytest.approx(row.standard_error)


def test_the_loss_rate_of_exponential_robots_is_that_of_the_time_with_a_full_buffer() -> None:
    """One robot is heard at level 4, delivering 0.7 pages per unit time; see docs/measures.md."""
    results = sim.run(queue(), engine="compiled")
    full = results.find("level_probability", 4)
    loss_rate = results.find("loss_rate")
    assert full is not None
    assert loss_rate is not None
    assert loss_rate.estimate == pytest.approx(0.7 * full.estimate, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.statistical
def test_the_time_with_a_full_buffer_gives_the_counted_losses_with_less_variance() -> None:
    """400 replications of each of three queues (seed 1), loss counted and as a time average.

    |z| of the paired difference above 4 has probability 6e-5 in each; a rate off by 5 % would
    give 5.8 or more. The ratios of the variances are 0.45, 0.41 and 0.69, each ± 0.05.
    """
    for changes in ({}, {"buffer.when_full": "push-out"}, {"activation.static": 2}):
        scenario = queue(changes)
        active = 2 if "activation.static" in changes else 1
        counted = []
        timed = []
        for replication in range(400):
            found = compiled_engine.simulate(scenario, replication, 1)
            counted.append(found.buffer.lost / found.window)
            timed.append(active * 0.7 * found.buffer.level_time[-1] / found.window)
        difference = np.subtract(counted, timed)
        assert abs(difference.mean()) < 4 * difference.std(ddof=1) / 20
        assert np.var(timed) < np.var(counted)


def test_the_control_cost_is_the_sum_of_the_prices() -> None:
    cost = by_name(THREE, COSTS)["control_cost", None].estimate
    assert cost == pytest.approx(2 * 10 / 300 + 3 * 11 / 300 + 5 * 2.0 + 7 * 450 / 300)


def test_without_prices_there_is_no_cost_and_a_price_of_zero_asks_for_nothing() -> None:
    assert ("control_cost", None) not in by_name(THREE)
    nothing_served = [tally(1, 1, 0), tally(2, 2, 0)]
    cost = by_name(nothing_served, {"costs.loss": 1.0})["control_cost", None]
    assert cost.estimate == pytest.approx(3 / 200)


def test_student_quantiles_are_those_of_the_tables() -> None:
    """Two-sided 95 % points printed in every table: 12.706, 2.262, 2.023, 1.984."""
    for degrees, printed in ((1, 12.706), (9, 2.262), (39, 2.023), (99, 1.984)):
        assert round(t_quantile(degrees), 3) == printed


def test_one_replication_has_no_error_and_no_page_has_no_share() -> None:
    single = by_name(THREE[:1])["loss_probability", None]
    assert math.isnan(single.standard_error)
    assert math.isnan(single.low)
    empty = by_name([tally(0, 0, 0), tally(0, 0, 0)])["loss_probability", None]
    assert math.isnan(empty.estimate)


def test_jackknife_intervals_of_ratios_cover() -> None:
    """Ratio of correlated gammas, 20 replications: coverage of 95 % in 4000 runs (seed 11).

    True coverage outside 93.5 … 96.5 % would be missed with probability below 1e-4.
    """
    stream = np.random.default_rng(11)
    hits = 0
    runs = 4000
    count = 20
    for _ in range(runs):
        pages = stream.gamma(50.0, 2.0, count)
        lost = 0.1 * pages * stream.gamma(20.0, 0.05, count)
        total = lost.sum()
        all_pages = pages.sum()
        error = jackknife_error((total - lost) / (all_pages - pages))
        hits += abs(total / all_pages - 0.1) < t_quantile(count - 1) * error
    assert 0.935 < hits / runs < 0.965


@pytest.mark.thorough
@pytest.mark.statistical
def test_intervals_of_a_simulated_queue_cover_the_exact_value() -> None:
    """M/M/1/2 at load 0.8, starvation 1 / 2.44: 95 % intervals of 150 runs of 12 replications.

    Seeds 0 … 149. Fewer than 132 hits has probability below 1e-4 at a true coverage of 95 %;
    intervals that are 30 % too short (coverage 82 %) would give 123 hits.
    """
    base = queue(
        {
            "robots": {"available": 1, "access_time": {"exponential": {"rate": 0.8}}},
            "activation": {"static": 1},
            "buffer": {"waiting_places": 1, "service": {"exponential": {"rate": 1.0}}},
            "run": {"horizon": 220.0, "warmup": 20.0, "replications": 12},
        }
    )
    hits = 0
    for seed in range(150):
        row = sim.run(base, seed=seed).find("starvation_probability")
        assert row is not None
        hits += row.low < 1 / 2.44 < row.high
    assert 132 <= hits <= 150


def test_every_estimate_is_a_known_measure_and_shares_sum_to_one() -> None:
    results = sim.run(queue(COSTS))
    assert {row.measure for row in results.estimates} <= set(MEASURES)
    shares = ("loss_probability", "obsolescence_probability", "success_probability")
    total = sum(results.find(name).estimate for name in shares)
    assert total == pytest.approx(1.0, abs=1e-12)
    levels = [row.estimate for row in results.estimates if row.measure == "level_probability"]
    assert sum(levels) == pytest.approx(1.0, abs=1e-9)


def test_frames_hold_what_the_results_hold() -> None:
    results = sim.run(queue())
    frame = results.to_frame()
    assert list(frame["estimate"]) == [row.estimate for row in results.estimates]
    long = results.replications_frame()
    mine = long[(long["measure"] == "arrival_rate")]
    assert tuple(mine["value"]) == results.replications["arrival_rate", None]


@pytest.mark.thorough
def test_a_precise_run_is_the_single_run_with_its_number_of_replications() -> None:
    scenario = queue()
    precise = run_to_precision(scenario, Precision(0.04, ("loss_probability",), 400))
    assert 4 < precise.count < 400
    row = precise.find("loss_probability")
    assert row is not None
    assert row.high - row.estimate <= 0.04 * row.estimate
    single = sim.run(scenario, replications=precise.count)
    assert repr(precise) == repr(single)


def test_a_precision_leaves_aside_what_has_a_number_for_each_page_alone() -> None:
    """Pages without a buffer and without judged measures: crawl_rate has no number for all."""
    system = scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [0.5, 1.0], "weights": "uniform"},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 0.5}},
                "accessing": {"policy": "round-robin"},
            },
            "run": {"horizon": 500.0, "warmup": 50.0},
        }
    )
    row = run_to_precision(system, Precision(0.1)).find("weighted_obsolescence")
    assert row.high - row.estimate <= 0.1 * row.estimate


def test_precision_stops_at_the_limit() -> None:
    points = LawPoints(served=(0.5, 1.0, 2.0))
    limited = run_to_precision(queue(), Precision(1e-6, ("arrival_rate",), 9), points=points)
    assert limited.count == 9
    assert repr(limited) == repr(sim.run(queue(), replications=9, points=points))
    assert set(limited.law_counts) == {(law.measure, law.subject) for law in LAWS}


def test_what_was_never_seen_is_looked_for_in_twice_as_many_replications() -> None:
    never = queue({"buffer.obsolescence": "never"})
    results = sim.run(never, replications=3)
    assert Precision(0.1, ("obsolescence_probability",)).next_count(results, never) == 6
    assert Precision(0.1, ("obsolescence_probability",), 5).next_count(results, never) == 5


def test_precision_of_what_is_not_measured_is_refused() -> None:
    results = sim.run(queue(), replications=2)
    Precision(0.1, ("loss_probability",)).check(results)
    with pytest.raises(ScenarioError, match="no such measure; it has"):
        Precision(0.1, ("loss_probability", "losses")).check(results)


@pytest.mark.parametrize("relative", [0.0, -0.1, 1.001, math.nan])
def test_precision_is_a_share(relative: float) -> None:
    with pytest.raises(ScenarioError, match="must be > 0 and at most 1"):
        Precision(relative)


def test_results_from_tallies_are_those_of_run() -> None:
    scenario = queue()
    tallies = [simulate(scenario, replication, seed=1) for replication in range(4)]
    assert results_from(tallies, scenario, "simpy", 1) == sim.run(scenario, engine="simpy")


def test_pages_pushed_out_are_lost_and_were_accepted() -> None:
    """Of 12 pages 1 was refused, 2 were pushed out after 3 each, 9 served after 2 each."""
    plain = tally(12, 1, 9)
    sums = {"sojourn": (18.0, 0.0, 6.0, 0.0), "sojourn_square": (36.0, 0.0, 18.0, 0.0)}
    counted = replace(plain.buffer, ended=(9, 0, 2, 0), **sums)
    rows = by_name([replace(plain, buffer=counted)] * 2, {"buffer.when_full": "push-out"})
    assert rows["loss_probability", None].estimate == 3 / 12
    assert rows["loss_rate", None].estimate == 6 / 200
    assert rows["sojourn_time", "accepted"].estimate == pytest.approx(24 / 11)
    assert rows["sojourn_time", "all"].estimate == pytest.approx(24 / 12)


MILLION = """
from pathlib import Path
import sim
from scenarios import scenario_from
many = scenario_from({
    "name": "many",
    "pages": {"change_rates": {"zipf": {"pages": 1_000_000, "exponent": 1.0, "total": 1000.0}}},
    "robots": {
        "available": 1,
        "access_time": {"exponential": {"rate": 1000.0}},
        "accessing": {"policy": "round-robin"},
    },
    "run": {"horizon": 2200.0, "warmup": 1100.0, "replications": 4, "page_rows": 1_000_000},
})
results = sim.run(many)
row = results.find("obsolescence_rate", 1000)
assert row.low < row.estimate < row.high
assert len(results.estimates) == 4_000_003
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.thorough
@pytest.mark.large
def test_a_million_pages_with_error_bars_fit() -> None:
    """Four replications in less than 1 GiB; an object per estimate would take twice as much.

    The peak of the process since its program began: `ru_maxrss` has that of the one it came from.
    """
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1024


def test_replaced_pages_were_accepted() -> None:
    """Of 12 pages 1 was refused, 2 were replaced after 3 each, 9 served after 2 each."""
    plain = tally(12, 1, 9)
    sums = {"sojourn": (18.0, 0.0, 0.0, 6.0), "sojourn_square": (36.0, 0.0, 0.0, 18.0)}
    counted = replace(plain.buffer, ended=(9, 0, 0, 2), **sums)
    rows = by_name([replace(plain, buffer=counted)] * 2)
    assert rows["sojourn_time", "accepted"].estimate == pytest.approx(24 / 11)
    assert rows["sojourn_time_second_moment", "accepted"].estimate == pytest.approx(54 / 11)


def test_the_price_of_staleness_is_paid_for_all_pages_by_weight() -> None:
    """Stale for 10 and 40 of 100, weights 3 and 1: 0.7, at a price of 2."""
    scenario = scenario_from(
        {
            "name": "pages",
            "pages": {"change_rates": [0.1, 0.1], "weights": [3.0, 1.0]},
            "robots": {
                "available": 1,
                "access_time": {"exponential": {"mean": 1.0}},
                "accessing": {"policy": "round-robin"},
            },
            "costs": {"staleness": 2.0},
        }
    )
    part = pages_counted(np.array([50, 50]), np.array([10.0, 40.0]))
    counted = Tally(window=100.0, robots_time=100.0, pages=part)
    totals = Totals.of([with_page_sums(counted, scenario)] * 2)
    rows = {row.measure: row.estimate for row in estimates_of(totals, scenario)}
    assert rows["control_cost"] == pytest.approx(2 * 0.7)
