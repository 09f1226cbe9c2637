"""Small parts of the engines and estimates by themselves, against brute force and closed forms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from systems import queue

import sim
from scenarios import Scenario, ScenarioError, load, scenario_from
from sim import simpy_engine
from sim.engine_inputs import first_signals, spacing_laws
from sim.estimates.controls import controlled
from sim.estimates.end_effects import _of_routing_cost, unevenness
from sim.estimates.measures import _WholeAndPages
from sim.estimates.paired import Estimated, paired_difference
from sim.page_spool import PageSpool, page_table
from sim.rules import spacing_cost
from sim.speeds import NEVER, end_of_work, piece_at, speed_over_time, work_until
from sim.splitting import _estimated, _has, _refusals, _Splits, _without_pages

# Speeds


def work_between(begins: list[float], values: list[float], begin: float, end: float) -> float:
    """The integral of the speed, piece by piece."""
    ends = [*begins[1:], math.inf]
    return math.fsum(
        value * max(min(end, last) - max(begin, first), 0.0)
        for first, last, value in zip(begins, ends, values, strict=True)
    )


def test_work_ends_where_the_integral_of_the_speed_is_done() -> None:
    """Drawn pieces, a third of them without any speed; or it never ends."""
    rng = np.random.default_rng(5)
    never = 0
    for _ in range(300):
        count = int(rng.integers(1, 6))
        begins = [0.0, *np.cumsum(rng.integers(1, 4, count - 1)).astype(float)]
        values = (rng.integers(0, 3, count) * rng.random(count)).tolist()
        now = float(rng.uniform(0.0, begins[-1] + 2.0))
        work = float(rng.exponential(3.0))
        speed = speed_over_time(begins, values)
        end = end_of_work(speed, now, work)
        if end == NEVER:
            never += 1
            assert values[-1] == 0.0
            assert work_between(begins, values, now, 1e6) < work
        else:
            assert work_between(begins, values, now, end) == pytest.approx(work)
            assert work_between(begins, values, now, end - 1e-6) < work
        assert work_until(speed, now) == pytest.approx(work_between(begins, values, 0.0, now))
    assert 20 < never < 280


def test_work_of_no_length_ends_at_once_even_where_nothing_is_done() -> None:
    for values in ([0.0, 0.0], [0.0, 2.0], [3.0, 0.0]):
        assert end_of_work(speed_over_time([0.0, 5.0], values), 1.0, 0.0) == 1.0
    speed = speed_over_time([0.0, 5.0, 7.0], [0.5, 0.0, 2.0])
    assert end_of_work(speed, 1.0, 2.0) == 5.0
    assert end_of_work(speed, 1.0, 2.0 * (1 + 1e-15)) == pytest.approx(5.0, abs=2.1)
    assert end_of_work(speed, 5.5, 1.0) == 7.5


def test_work_that_a_piece_ends_with_ends_with_it() -> None:
    """By exact numbers, over more pieces, and where a quotient is rounded beyond the end."""
    speed = speed_over_time([0.0, 1.0, 2.0, 5.0], [1.0, 1.0, 0.0, 1.0])
    assert end_of_work(speed, 0.0, 1.0) == 1.0
    assert end_of_work(speed_over_time([0.0, 1.0, 2.0, 5.0], speed.values), 0.0, 2.0) == 2.0
    for value, limit, now in ((1.54, 5.51, 0.19), (1.55, 7.12, 3.71), (1.89, 3.43, 0.24)):
        work = value * (limit - now)
        assert now + work / value > limit
        assert end_of_work(speed_over_time([0.0, limit], [value, 0.0]), now, work) == limit


def test_the_piece_of_a_start_is_that_which_begins_with_it() -> None:
    speed = speed_over_time([0.0, 5.0, 7.0], [1.0, 1.0, 1.0])
    assert [piece_at(speed, now) for now in (0.0, 4.9, 5.0, 6.9, 7.0, 1e9)] == [0, 0, 1, 1, 2, 2]


def with_signals(interventions: list[dict[str, Any]] | None = None) -> Scenario:
    tables: dict[str, Any] = {
        "name": "heard",
        "pages": {
            "change_rates": [0.2, 0.5, 1.0],
            "signals": {"recall": [0.5, 0.0, 1.0], "precision": [0.5, 1.0, 0.25]},
        },
        "robots": {
            "available": 1,
            "access_time": {"exponential": {"mean": 1.0}},
            "accessing": {"policy": "crawl-value"},
        },
        "run": {"horizon": 50.0, "warmup": 0.0, "replications": 2},
    }
    return scenario_from(tables | ({"interventions": interventions} if interventions else {}))


def test_first_signals_of_changes_come_as_fast_as_changes_do() -> None:
    """Half as fast until 15, then twice as fast: false signals do not know of it."""
    plain = first_signals(with_signals(), np.random.default_rng(1))
    slow = [{"at": 0.0, "until": 15.0, "change_factor": 0.5}, {"at": 15.0, "change_factor": 2.0}]
    changed = first_signals(with_signals(slow), np.random.default_rng(1))
    assert np.isfinite(plain[0]).tolist() == [True, False, True]
    expected = np.where(plain[0] <= 7.5, plain[0] / 0.5, 15.0 + (plain[0] - 7.5) / 2.0)
    np.testing.assert_allclose(changed[0], expected)
    assert (plain[0] <= 7.5).any()
    assert ((plain[0] > 7.5) & np.isfinite(plain[0])).any()
    np.testing.assert_array_equal(changed[1], plain[1])
    gaps = np.random.default_rng(1).standard_exponential(4)
    expected = gaps / [0.1, 0.1, 1.0, 3.0]
    assert plain[0][[0, 2]].tolist() == pytest.approx(expected[[0, 2]].tolist())
    assert plain[1][[0, 2]].tolist() == pytest.approx(expected[[1, 3]].tolist())


# Rules of level and phases


def test_a_free_rule_that_looks_at_no_phase_is_a_rule_of_levels() -> None:
    """On the same random numbers, to the last bit; at level 3 there is no robot."""
    numbers = [2, 2, 1, 0, 1]
    base = {
        "robots": {"available": 2, "access_time": {"exponential": {"mean": 1.0}}},
        "buffer": {"waiting_places": 3, "service": {"exponential": {"mean": 0.8}}},
        "run": {"horizon": 80.0, "warmup": 10.0, "replications": 1},
        "name": "free",
    }
    by_level = scenario_from(base | {"activation": {"levels": numbers}})
    free = scenario_from(base | {"activation": {"free": [[[each]] for each in numbers]}})
    found, expected = (simpy_engine.simulate(each, 0, 7) for each in (free, by_level))
    assert found.robots_time == pytest.approx(expected.robots_time, rel=1e-12)
    assert found.buffer is not None
    assert expected.buffer is not None
    assert found.buffer.delivered == expected.buffer.delivered > 20
    assert found.buffer.ended == expected.buffer.ended
    np.testing.assert_array_equal(found.buffer.level_time, expected.buffer.level_time)


# Estimates


def test_the_whole_and_pages_are_a_list_of_them() -> None:
    for pages in (range(4), range(3, 6), range(0)):
        lazy, listed = _WholeAndPages(pages), [None, *pages]
        assert list(lazy) == listed
        assert len(lazy) == len(listed)
        assert lazy[0] is None
        for place in (slice(None), slice(1, 3), slice(0, 9, 2), slice(-2, None)):
            assert lazy[place] == listed[place]
        for subject in (None, *range(8)):
            assert (subject in lazy) == (subject in listed)
            if subject in listed:
                assert lazy.index(subject) == listed.index(subject)
        for place in range(-len(listed), len(listed)):
            assert lazy[place] == listed[place]
        with pytest.raises(IndexError):
            lazy[len(listed)]


@pytest.mark.parametrize(("difference", "doubt"), [(0.0, 0.5), (0.25, 0.0), (-0.25, 1.0)])
def test_a_difference_without_an_error_is_certain_or_none(difference: float, doubt: float) -> None:
    one, other = (Estimated(each, np.full(4, each)) for each in (0.5 + difference, 0.5))
    found = paired_difference(one, other)
    assert (found.difference, found.standard_error) == (difference, 0.0)
    assert (found.doubt, found.is_tie) == (doubt, difference == 0.0)


def test_a_difference_of_one_replication_is_in_doubt() -> None:
    one, other = Estimated(1.0, np.array([math.nan])), Estimated(0.5, np.array([math.nan]))
    assert paired_difference(one, other).doubt == 0.5


def test_doubts_are_those_of_student() -> None:
    values = np.array([0.3, -0.1, 0.4, 0.2])
    without = (values.sum() - values) / 3
    found = paired_difference(Estimated(0.2, without), Estimated(0.0, np.zeros(4)))
    error = values.std(ddof=1) / 2
    assert found.standard_error == pytest.approx(error)
    assert found.doubt == pytest.approx(stats.t.cdf(-0.2 / error, 3))
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 3) * error)
    unlike = paired_difference(Estimated(0.2, without), Estimated(0.0, np.zeros(9)))
    assert (unlike.standard_error, unlike.degrees) == (pytest.approx(error), 3)


PRICED: dict[str, Any] = {
    "name": "priced",
    "pages": {"change_rates": [0.1, 0.3, 0.5], "sizes": [9.0, 2.0, 5.0]},
    "robots": {
        "available": 2,
        "access_time": {"exponential": {"mean": 0.8}},
        "accessing": {"policy": "cyclic", "template": [0, 1, 2, 1]},
        "failure": {"probability": 0.2},
        "unchanged": {"bytes": 0.25},
    },
    "run": {"horizon": 60.0, "warmup": 5.0, "replications": 3, "seed": 5},
}


def cost_and(tables: dict[str, Any], *measures: str) -> list[float]:
    """The cost, and the sum of some measures over all pages."""
    results = sim.run(tables, engine="simpy")
    found = []
    for measure in ("control_cost", *measures):
        rows = [each for each in results.estimates if each.measure == measure]
        whole = [each.estimate for each in rows if each.subject in (None, "all")]
        found.append(whole[0] if whole else math.fsum(each.estimate for each in rows))
    return found


@pytest.mark.parametrize(("access", "byte"), [(2.0, 3.0), (2.0, 0.0), (0.0, 3.0)])
def test_prices_of_accesses_without_a_buffer_are_paid_for_each_that_begins(
    access: float, byte: float
) -> None:
    """A fifth of the accesses fails: a delivery takes 1.25 of them."""
    prices = {"costs": {"access": access, "byte": byte}}
    cost, rate, fetched = cost_and(PRICED | prices, "crawl_rate", "bytes_rate")
    assert min(rate, fetched) > 0
    assert cost == pytest.approx(1.25 * (access * rate + byte * fetched))


def test_where_pages_fall_due_all_accesses_are_paid_that_begin() -> None:
    robots = {
        **PRICED["robots"],
        "accessing": {"policy": "due", "intervals": [3.0, 2.0, 1.5]},
        "failure": {"probability": 0.2, "timeout": 1.5},
    }
    tables = PRICED | {"robots": robots, "costs": {"access": 2.0}}
    (cost,) = cost_and(tables)
    scenario = scenario_from(tables)
    tallies = [simpy_engine.simulate(scenario, number, 5) for number in range(3)]
    started = [each.frontier.started for each in tallies if each.frontier]
    assert cost == pytest.approx(2.0 * sum(started) / (3 * 55.0))


@pytest.mark.parametrize(("shape", "certain"), [(1.5, False), (2.5, True)])
def test_the_table_of_pages_knows_what_has_no_variance(
    shape: float, certain: bool, tmp_path: Path
) -> None:
    """What is left of an access when a page changes; else it is as the rows of a run have it."""
    tables: dict[str, Any] = {
        "name": "heavy",
        "pages": {"change_rates": [0.1, 0.3, 0.5]},
        "robots": {
            "available": 1,
            "access_time": {"pareto": {"mean": 0.8, "shape": shape}},
            "accessing": {"policy": "randomized", "frequencies": [0.5, 0.3, 0.2]},
        },
        "run": {"horizon": 60.0, "warmup": 5.0, "replications": 3, "seed": 5, "page_rows": 0},
    }
    spool = PageSpool(tmp_path)
    sim.run(tables, engine="simpy", spool=spool)
    scenario = scenario_from(tables)
    (columns,) = page_table(spool, scenario)
    rows = sim.run(scenario.with_("run.page_rows", 3), engine="simpy")
    names = {row.measure for row in rows.estimates if isinstance(row.subject, int)}
    assert {name for name in columns if f"{name}_low" in columns} == names
    assert "time_to_refresh" in names
    for measure in names:
        found = columns[f"{measure}_standard_error"]
        expected = [row.standard_error for row in rows.rows.of_measure(measure)]
        np.testing.assert_array_equal(found, expected[-3:])
        if measure == "time_to_refresh":
            assert np.isfinite(found).all() == certain
            assert np.isnan(found).all() != certain


def test_control_variates_leave_what_is_not_compared_as_it_is() -> None:
    """A subject without its leave-one-out estimates ends its measure; others are corrected."""
    results = sim.run(queue({"run.horizon": 60.0, "run.replications": 16}), engine="simpy")
    found = controlled(results)
    assert found.variance_ratios
    measures = {measure for measure, _ in found.variance_ratios}
    (some, *_) = sorted(measures)
    from dataclasses import replace

    less = {key: each for key, each in results.leave_one_out.items() if key[0] != some}
    other = controlled(replace(results, leave_one_out=less))
    assert {measure for measure, _ in other.variance_ratios} == measures - {some}
    for row, corrected, plain in zip(
        other.estimates, found.estimates, results.estimates, strict=True
    ):
        same = plain if row.measure == some else corrected
        assert repr(row.estimate) == repr(same.estimate)
    few = sim.run(queue({"run.horizon": 60.0, "run.replications": 9}), engine="simpy")
    assert controlled(few) is few


def servers(**more: Any) -> Any:
    tables = {
        "name": "servers",
        "servers": {
            "rates": [1.0, 2.0, 3.0],
            "arrivals": {"poisson": {"rate": 1.0}},
            "routing": {"period": [0, 1, 0, 0, 1]},
            **more,
        },
    }
    return scenario_from(tables).servers


def test_the_ends_of_a_window_shift_a_mean_cost_by_losses_by_their_weights() -> None:
    section = servers(weights=[2.0, 1.0, 0.5])
    part = {"lost": np.array([4.0, 2.0, 1.0]), "served": np.array([6.0, 8.0, 4.0])}
    packets = np.array([3.0, 2.0, 1.0])
    found = _of_routing_cost(part, packets, section)
    assert found.tolist() == pytest.approx(
        [2.0 * 3 / 10, 1.0 * 2 / 10, 0.5 * 1 / 5, (6.0 + 2.0 + 0.5) / 25]
    )


def test_the_ends_of_a_window_shift_a_cost_by_distance_by_its_spread() -> None:
    """Server 0 has distances 2, 1, 2, server 1 distances 3, 2; server 2 is never met."""
    by_distance = {"spacing_cost": {"power": {"scale": 4.0, "exponent": 1.5}}}
    section = servers(weights=[2.0, 1.0, 0.0], **by_distance)
    part = {"spaced": np.array([30.0, 20.0, 0.0])}
    found = _of_routing_cost(part, np.zeros(3), section)
    cost = {
        distance: spacing_cost(*spacing_laws(section)[0], distance, 0.0) for distance in (1, 2, 3)
    }
    spread = [2.0 * abs(cost[2] - cost[1]) * 3 / 30, abs(cost[3] - cost[2]) * 2 / 20, 0.0]
    paid = [2.0 * cost[1], 2.0 * cost[2], cost[2], cost[3]]
    whole = (max(paid) - min(paid)) * (5 + 3) / 50
    assert found.tolist() == pytest.approx([*spread, whole])
    drawn = servers(**by_distance, routing={"random": [0.5, 0.3, 0.2]})
    assert _of_routing_cost(part, np.zeros(3), drawn).tolist() == [0.0] * 4


def test_unevenness_is_the_largest_gap_between_counts_and_their_share() -> None:
    """Of every stretch of the repeated cycle, counted out."""
    cycle = [0, 1, 0, 0, 1]
    shares = np.bincount(cycle, minlength=3) / len(cycle)
    largest = np.zeros(3)
    for begin in range(5):
        for length in range(11):
            seen = [cycle[(begin + n) % 5] for n in range(length)]
            gap = np.abs(np.bincount(seen, minlength=3) - length * shares) if seen else 0.0
            largest = np.maximum(largest, gap)
    assert unevenness(np.array(cycle), 3).tolist() == pytest.approx(largest.tolist())


# Rare losses


def test_a_rare_loss_is_a_ratio_of_sums_with_the_error_of_its_logarithm() -> None:
    splits = _Splits(np.array([1, 2, 3]), np.array([4, 1, 2]), 1000, 6.0)
    rows = np.array([[0.2, 100.0, 50.0], [0.1, 90.0, 60.0], [0.4, 110.0, 70.0]])
    found = _estimated("x", 7, rows, splits)
    lost, delivered = rows[:, 0], rows[:, 1]
    probability = 0.7 / 300.0
    logs = np.log([(0.7 - a) / (300.0 - b) for a, b in zip(lost, delivered, strict=True)])
    error = math.sqrt(2 / 3 * ((logs - logs.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, 2) * error
    assert found.probability == pytest.approx(probability)
    assert found.log_error == pytest.approx(error)
    assert (found.low, found.high) == pytest.approx(
        (probability * math.exp(-half), probability * math.exp(half))
    )
    assert (found.levels, found.copies) == ((1, 3), (4, 2))
    assert (found.scenario, found.seed, found.replications, found.events) == ("x", 7, 3, 1180)
    assert found.plain_events == pytest.approx((1 - probability) / (probability * error**2) * 6.0)
    rows[:2, 0] = 0.0
    with pytest.raises(ScenarioError) as refused:
        _estimated("x", 7, rows, splits)
    assert str(refused.value) == (
        "run.replications = 3\nsaw almost no page lost; a longer run.horizon sees more"
    )


def test_what_cannot_be_split_is_refused_by_its_key() -> None:
    def said(scenario: Scenario) -> list[tuple[str, str]]:
        return [(key, reason) for key, _, reason in _refusals(scenario)]

    assert said(queue()) == []
    assert said(load("randomized-constant")) == [
        ("buffer", "is needed: without a buffer that robots fill no page is lost")
    ]
    of_pages = "depends on the pages; rare losses are found for pages without identity"
    polite = {"pages.hosts": [0] * 20, "robots.host_spacing": 0.5}
    assert said(load("pipeline-light")) == []
    assert said(load("pipeline-light").with_(polite)) == [("robots.host_spacing", of_pages)]
    assert said(load("pipeline-replacement")) == [("buffer.replace_older_copy", of_pages)]
    assert said(load("pipeline-page-change")) == [("buffer.obsolescence", of_pages)]
    assert said(load("big-and-small-pages")) == [("buffer.service.page-size", of_pages)]
    assert said(load("news-before-documents")) == [
        ("buffer.discipline", "tells pages apart; as many are lost with fifo")
    ]
    with pytest.raises(ScenarioError) as refused:
        _without_pages(load("randomized-constant"))
    assert refused.value.key == "buffer"
    assert _has(load("randomized-constant"), "robots.accessing")
    assert not _has(queue(), "robots.accessing")
    assert not _has(load("routing-two-servers"), "robots.accessing")
