"""The best probe times: the programmes against the paper's, the bounds, the local optimum."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytic import optimize, resolve
from analytic.index.optimum import NoOptimumError
from analytic.probing import (
    Profile,
    actual_cost,
    best_schedule,
    cost_variance,
    default_slots,
    expected_cost,
    expected_freshness,
    grid_error,
    grid_of,
    probe_times,
    profile_of,
    refined,
    slack,
    threshold_times,
    times_of,
    uniform_times,
)
from analytic.probing.programme import (
    costs_up_to,
    improved_by_moves,
    layered_schedule,
    paper_schedule,
)
from analytic.probing.search import best_probes, optimal_probes
from scenarios import Scenario, ScenarioError, load
from scenarios.rates import Rate
from scenarios.sections import slots_apart

METHODS = (paper_schedule, layered_schedule, best_schedule)


def source(name: str) -> Profile:
    return profile_of(load(f"{name}-uniform"))


def constant(value: float) -> Rate:
    return Rate(breaks=(0.0,), values=(value,), period=1.0)


def some_rate(rng: np.random.Generator, on_grid: bool = True) -> Rate:
    """With stretches of 0, and values that differ by a factor of a thousand."""
    period = float(rng.choice([0.5, 1.0, 2.0, 7.0]))
    pieces = int(rng.integers(1, 6))
    inner = rng.choice(np.arange(1, 16), pieces - 1, replace=False) / 16
    inner = inner if on_grid else rng.random(pieces - 1)
    values = rng.choice([0.0, 0.0, 0.1, 1.0, 2.0, 5.0, 100.0], pieces)
    if not values.any():
        values[0] = 1.0
    breaks = (0.0, *(period * np.sort(inner)).tolist())
    return Rate(breaks=breaks, values=tuple(values.tolist()), period=period)


class Model:
    """A random source, a grid, a number of probes and a spacing that have room."""

    def __init__(self, seed: int, on_grid: bool = True) -> None:
        rng = np.random.default_rng([9, seed])
        self.horizon = float(rng.choice([1.0, 4.0, 8.0]))
        rates = (some_rate(rng, on_grid) for _ in range(2))
        self.profile = Profile(*rates, self.horizon)
        fine = int(32 * self.horizon)
        self.slots = fine if on_grid else int(rng.integers(10, 100))
        self.apart = int(rng.integers(1, 5)) if rng.random() < 0.5 else 1
        most = self.slots // self.apart
        self.probes = int(rng.integers(1, most + 1)) if rng.random() < 0.9 else most
        self.grid = grid_of(self.profile, self.slots)
        self.scale = float(self.grid.L[-1] * self.grid.A[-1])


# ------------------------------------------------------------------------------------------------
# The best times on a grid.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "cost"), [("dbworld", 80.5914583333), ("micronet", 15.4917708333)]
)
def test_published_optimum_on_the_grid_of_hours(name: str, cost: float, method: Any) -> None:
    found = method(grid_of(source(name), 672), 28)
    assert found.cost == pytest.approx(cost, abs=5e-11)
    times = times_of(28.0, 672, found.slots)
    assert expected_cost(source(name), times) == pytest.approx(cost, abs=5e-11)
    assert found.lower_bound == pytest.approx(cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_all_methods_give_the_same_cost_and_keep_the_spacing(seed: int) -> None:
    model = Model(seed, on_grid=seed % 3 > 0)
    naive, *others = (method(model.grid, model.probes, model.apart) for method in METHODS)
    for found in (naive, *others):
        places = [0, *found.slots.tolist()]
        assert (len(found.slots), places[-1]) == (model.probes, model.slots)
        assert min(after - before for before, after in pairwise(places)) >= model.apart
        times = times_of(model.horizon, model.slots, found.slots)
        cost = expected_cost(model.profile, times)
        assert found.cost == pytest.approx(cost, rel=1e-12, abs=1e-14 * model.scale)
        assert cost == pytest.approx(naive.cost, rel=1e-11, abs=1e-14 * model.scale)
        assert found.lower_bound == pytest.approx(cost, rel=1e-11, abs=1e-13 * model.scale)


def test_the_comparison_of_methods_notices_a_spacing_that_is_one_slot_less() -> None:
    """Else two methods that forget the spacing would pass."""
    differ = 0
    for seed in range(60):
        model = Model(seed)
        if model.apart > 1:
            near = best_schedule(model.grid, model.probes, model.apart - 1).cost
            right = paper_schedule(model.grid, model.probes, model.apart).cost
            differ += near < right * (1 - 1e-9)
    assert differ > 5


def test_the_least_cost_is_convex_in_the_number_of_probes() -> None:
    """On which the price of a probe rests; with a spacing, which makes the last ones dear."""
    for seed in range(20):
        model = Model(seed)
        most = min(model.slots // model.apart, 40)
        costs = [paper_schedule(model.grid, n, model.apart).cost for n in range(1, most + 1)]
        assert (np.diff(costs, 2) >= -1e-12 * model.scale).all()


def test_a_small_grid_by_hand() -> None:
    """lambda = 2 in the first half only, a = 1: one probe at its end, one in its middle."""
    early = Rate(breaks=(0.0, 1.0), values=(2.0, 0.0), period=2.0)
    profile = Profile(early, constant(1.0), 2.0)
    found = best_schedule(grid_of(profile, 4), 3)
    assert found.slots.tolist() == [1, 2, 4]
    assert found.cost == pytest.approx(2 * 2 * 0.25 / 2)


def test_a_source_without_cost_can_be_probed_at_any_times() -> None:
    never = Rate(breaks=(0.0, 5.0), values=(0.0, 1.0), period=10.0)
    grid = grid_of(Profile(never, constant(1.0), 4.0), 16)
    for probes in (1, 3, 16):
        found = best_schedule(grid, probes)
        assert (len(found.slots), found.cost) == (probes, 0.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("probes", "apart"), [(0, 1), (5, 0), (5, 3), (17, 1)])
def test_what_has_no_room_is_refused(method: Any, probes: int, apart: int) -> None:
    grid = grid_of(Profile(constant(1.0), constant(1.0), 4.0), 12)
    with pytest.raises(ValueError, match=r"must be >= 1|have no room"):
        method(grid, probes, apart)


def test_a_spacing_of_whole_slots_up_to_rounding_is_whole() -> None:
    """``k * (T / N)`` as a double, three ways, is k slots; a thousandth of a slot more is k + 1."""
    for horizon in (28.0, 0.7, 0.1, 1e6, 17.3):
        for slots in (7, 672, 99_991, 10_000_000):
            for k in {1, 2, 3, 5, slots // 3, slots - 1}:
                for spacing in (k * (horizon / slots), k * horizon / slots, k / slots * horizon):
                    assert slots_apart(spacing, horizon, slots) == k
                assert slots_apart((k + 1e-3) * horizon / slots, horizon, slots) == k + 1


def test_times_that_are_as_far_apart_as_they_must_pass_the_scenario_s_own_check() -> None:
    changes = {"probing.slots": 672, "probing.policy": "optimal", "probing.probes": 24}
    for k in range(1, 29):
        scenario = load("dbworld-uniform").with_(changes | {"probing.minimum_spacing": k / 24})
        times = resolve(scenario).probing.policy.root
        assert np.diff([0.0, *times]).min() >= k / 24 * (1 - 1e-12)


# -- errata ----------------------------------------------------------------------------------------


def test_at_most_n_probes_is_another_problem_than_n_probes() -> None:
    """Errata: D(m, N) = 0 makes it at most; T = 3, delta = 1, a burst just before the end of a day.

    Exactly three probes come at 1, 2 and 3; two can come at the end of the burst.
    """
    burst = Rate(breaks=(0.0, 1.4, 1.5), values=(0.1, 10.0, 0.1), period=3.0)
    profile = Profile(burst, constant(1.0), 3.0)
    grid = grid_of(profile, 30)
    three, two = (best_schedule(grid, n, 10).cost for n in (3, 2))
    assert three > two


# ------------------------------------------------------------------------------------------------
# How good the grid is.


def test_the_sharp_bound_is_attained() -> None:
    """lambda = a = 1, two probes, an odd number of slots: the best time is amid a slot."""
    profile = Profile(constant(1.0), constant(1.0), 1.0)
    for slots in (3, 7, 15):
        found = best_schedule(grid_of(profile, slots), 2)
        error, sharp = grid_error(profile, slots, 2)
        assert sharp
        assert found.cost - 0.25 == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("seed", range(100))
def test_no_schedule_in_continuous_time_is_below_the_bound(seed: int) -> None:
    """The bound less one part in a million would be violated by the test above."""
    model = Model(seed, on_grid=seed % 3 > 0)
    probes = min(model.probes, 40, model.slots // model.apart)
    spacing = model.apart * model.horizon / model.slots if model.apart > 1 else 0.0
    found = best_schedule(model.grid, probes, model.apart)
    error, sharp = grid_error(model.profile, model.slots, probes)
    assert sharp or seed % 3 == 0
    times = times_of(model.horizon, model.slots, found.slots)
    near = refined(model.profile, times, spacing)
    assert found.lower_bound - error <= near.cost * (1 + 1e-12) + 1e-14 * model.scale
    assert near.cost <= found.cost * (1 + 1e-12) + 1e-14 * model.scale


def test_a_break_beside_the_grid_is_reported() -> None:
    profile = source("micronet")
    assert grid_error(profile, 672, 28)[1]
    assert not grid_error(profile, 671, 28)[1]
    width = 28.0 / 671
    printed = 2.6 * 3.0 * (28 * width**2 / 2 + 28.0 * width)
    assert grid_error(profile, 671, 28)[0] == pytest.approx(printed)
    found = optimize(load("micronet-uniform").with_("probing.slots", 671), "probes")
    assert any("Proposition 8" in note for note in found.notes)
    assert found.lower_bound == pytest.approx(15.482, abs=1e-3)


def test_the_grid_of_a_file_that_names_none_has_every_break() -> None:
    for name, probes, apart in (("dbworld", 28, 0.0), ("micronet", 28, 0.05), ("micronet", 900, 0)):
        slots = default_slots(source(name), probes, apart)
        assert grid_error(source(name), slots, probes)[1]
        assert slots >= max(10_000, 20 * probes)
        assert (apart / 28.0 * slots) == pytest.approx(round(apart / 28.0 * slots), abs=1e-8)
    odd = Rate(breaks=(0.0, 1 / math.pi), values=(1.0, 2.0), period=1.0)
    assert default_slots(Profile(odd, constant(1.0), 4.0), 3) == 10_000


# ------------------------------------------------------------------------------------------------
# The local optimum.


@pytest.mark.parametrize(
    ("name", "cost", "kinks"), [("dbworld", 80.5692222332, 19), ("micronet", 15.4825543073, 16)]
)
def test_published_optimum_in_continuous_time(name: str, cost: float, kinks: int) -> None:
    profile = source(name)
    best = best_schedule(grid_of(profile, 672), 28)
    found = refined(profile, times_of(28.0, 672, best.slots))
    assert found.cost == pytest.approx(cost, abs=5e-11)
    assert expected_cost(profile, found.times) == pytest.approx(cost, abs=5e-11)
    assert found.slack < 1e-14
    assert np.isin(found.times[:-1], profile.edges).sum() == kinks
    assert slack(profile, times_of(28.0, 672, best.slots)) > 0.01


@pytest.mark.parametrize("seed", range(100))
def test_what_is_refined_is_a_local_optimum_that_keeps_the_spacing(seed: int) -> None:
    """To first order in every direction, and against random small changes."""
    rng = np.random.default_rng(seed)
    model = Model(seed, on_grid=seed % 2 > 0)
    probes = min(model.probes, 30, model.slots // model.apart)
    spacing = float(rng.uniform(0, model.horizon / probes)) if seed % 3 else 0.0
    start = uniform_times(model.horizon, probes)
    found = refined(model.profile, start, spacing)
    assert found.cost <= expected_cost(model.profile, start) * (1 + 1e-12)
    assert np.diff([0.0, *found.times]).min() >= spacing * (1 - 1e-9)
    assert found.times[-1] == model.horizon
    assert found.slack < 1e-7
    for size in (1e-3, 1e-5):
        shifts = rng.normal(size=probes - 1) * size * model.horizon / probes
        times = np.array(found.times)
        times[:-1] += shifts
        if np.diff([0.0, *times]).min() > spacing:
            cost = expected_cost(model.profile, times)
            assert cost >= found.cost * (1 - 1e-7) - 1e-14 * model.scale


def test_probes_that_keep_together_move_together() -> None:
    """Updates from 1 to 2 only, probes 0.4 apart from 0 on: both have to go right at once.

    Before the horizon 3 the second one is best at 2, the first then 0.4 or more before it.
    """
    middle = Rate(breaks=(0.0, 1.0, 2.0), values=(0.0, 1.0, 0.0), period=3.0)
    profile = Profile(middle, constant(1.0), 3.0)
    start = (1.1, 1.5, 3.0)
    assert slack(profile, start, 0.4) > 0.1
    found = refined(profile, start, 0.4)
    assert found.times == pytest.approx((1.5, 2.0, 3.0))
    assert refined(profile, (0.9, 1.5, 3.0), 0.6).times == pytest.approx((1.4, 2.0, 3.0))


def test_at_constant_rates_equal_spacing_is_the_optimum() -> None:
    profile = Profile(constant(2.5), constant(4.0), 10.0)
    best = best_schedule(grid_of(profile, 1000), 7)
    found = refined(profile, times_of(10.0, 1000, best.slots))
    assert found.times == pytest.approx(uniform_times(10.0, 7), rel=1e-7)
    assert found.cost == pytest.approx(2.5 * 4 * 100 / 14, rel=1e-14)


def test_many_probes_come_near_the_limit_from_below() -> None:
    """``n C*(n) -> S² / 2`` with ``S = int sqrt(lambda a)``, which equal spacing does not reach."""
    profile = source("dbworld")
    widths = np.diff(profile.edges)
    root = float((np.sqrt(profile.updates * profile.importance) * widths).sum())
    missing = []
    for probes in (500, 1000, 2000):
        best = best_schedule(grid_of(profile, 67_200), probes)
        near = refined(profile, times_of(28.0, 67_200, best.slots))
        missing.append(1 - probes * near.cost / (root**2 / 2))
    assert 0 < missing[2] < missing[1] < missing[0] < 0.02
    assert missing[0] / missing[2] == pytest.approx(4, rel=0.2)
    equal = 1000 * expected_cost(profile, uniform_times(28.0, 1000))
    product = float((profile.updates * profile.importance * widths).sum())
    assert equal == pytest.approx(28.0 * product / 2, rel=3e-3)
    assert equal > 1.2 * root**2 / 2


@pytest.mark.parametrize("name", ["dbworld", "micronet"])
def test_the_moves_of_algorithm_10_come_near_the_local_optimum(name: str) -> None:
    profile = source(name)
    for start in (uniform_times(28.0, 28), threshold_times(profile, 28)):
        times, moves = improved_by_moves(profile, start)
        cost = expected_cost(profile, times)
        assert moves > 20
        assert cost < expected_cost(profile, start)
        assert refined(profile, times).cost <= cost
        assert slack(profile, times) > slack(profile, refined(profile, times).times)


def test_moves_keep_the_spacing() -> None:
    profile = source("dbworld")
    times, moves = improved_by_moves(profile, uniform_times(28.0, 28), 0.9)
    assert moves > 0
    assert np.diff([0.0, *times]).min() >= 0.9 * (1 - 1e-12)


def test_moves_end_where_only_rounding_is_left_to_save(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in portions, between which Python hears of an interrupt."""
    profile = source("micronet")
    start = uniform_times(28.0, 28)
    times, moves = improved_by_moves(profile, start, least=1e-300)
    assert expected_cost(profile, times) <= expected_cost(
        profile, improved_by_moves(profile, start)[0]
    )
    monkeypatch.setattr("analytic.probing.programme._PAUSE", 7)
    assert improved_by_moves(profile, start, least=1e-300) == (times, moves)


@pytest.mark.parametrize("apart", [1, 3])
def test_one_run_has_the_costs_of_all_smaller_numbers(apart: int) -> None:
    """Each as its own search has it; a spacing that is left out would be cheaper."""
    grid = grid_of(source("dbworld"), 168)
    costs = costs_up_to(grid, 56, apart)
    each = [best_schedule(grid, probes, apart).cost for probes in range(1, 57)]
    assert costs == pytest.approx(each, rel=1e-9)
    assert (np.diff(costs, 2) > -1e-9).all()
    with pytest.raises(ValueError, match="room"):
        costs_up_to(grid, 57, 3)


def test_the_cost_of_fewer_probes_is_told() -> None:
    found = optimal_probes(load("dbworld-optimal"))
    (said,) = (note for note in found.notes if "fewer" in note)
    costs = [best_schedule(grid_of(source("dbworld"), 672), n).cost for n in (27, 14, 7, 3, 1)]
    told = [f"{cost:.6g} with {n}" for cost, n in zip(costs, (27, 14, 7, 3, 1), strict=True)]
    assert said == f"fewer probes on this grid cost {', '.join(told)}"


def moved_by_hand(
    profile: Profile, times: tuple[float, ...], largest: float, ratio: float
) -> tuple[list[float], int]:
    """Algorithm 10 as its text has it: of all moves the one that saves most, by full costs."""
    points = [0.0, *times]
    count = 0
    mu = largest
    while mu >= 1 / 64:
        best: list[float] = []
        saved = 1e-3
        for i in range(1, len(points) - 1):
            for neighbour in (points[i - 1], points[i + 1]):
                moved = [*points]
                moved[i] = (1 - mu) * points[i] + mu * neighbour
                gain = expected_cost(profile, points[1:]) - expected_cost(profile, moved[1:])
                if gain > saved:
                    best, saved = moved, gain
        if best:
            points = best
            count += 1
        else:
            mu *= ratio
    return points[1:], count


@pytest.mark.parametrize(("largest", "ratio"), [(0.5, 0.5), (0.4, 0.7), (1.0, 0.3)])
def test_the_moves_of_the_file_are_those_of_the_paper(largest: float, ratio: float) -> None:
    """Seven probes of two days of DBWorld; a planted ratio leads elsewhere."""
    moves = {"largest_move": largest, "ratio": ratio}
    rest = {"smallest_move": 1 / 64, "least_saving": 1e-3}
    changes = {"probing.horizon": 2.0, "probing.probes": 7, "probing.slots": 48}
    scenario = load("dbworld-optimal", changes)
    found = best_probes(scenario.with_("probing.refine", moves | rest))
    times, count = moved_by_hand(found.profile, found.grid_times, largest, ratio)
    assert found.moved[1] == count >= 3
    assert found.times == pytest.approx(times, rel=1e-12)
    other = best_probes(scenario.with_("probing.refine", moves | rest | {"ratio": 0.9}))
    assert other.times != found.times


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("largest_move", 0.0),
        ("largest_move", 1.1),
        ("largest_move", 0.001),
        ("ratio", 1.0),
        ("smallest_move", 0.0),
        ("least_saving", 0.0),
    ],
)
def test_moves_that_are_none_are_refused(key: str, value: float) -> None:
    named = "smallest_move" if value == 0.001 else key
    with pytest.raises(ScenarioError, match="must be") as refusal:
        load("dbworld-optimal", {"probing.refine": {key: value}})
    assert refusal.value.key == f"probing.refine.{named}"


@pytest.mark.parametrize(
    ("key", "value"), [("largest", 1.5), ("ratio", 1.0), ("ratio", 0.0), ("smallest", 0.6)]
)
def test_moves_that_cannot_be_made_are_refused(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{key} is .*must be"):
        improved_by_moves(source("dbworld"), uniform_times(28.0, 28), **{key: value})


@pytest.mark.parametrize("key", ["least", "smallest"])
@pytest.mark.parametrize("value", [0.0, -1e-9, math.nan])
def test_moves_without_an_end_are_refused(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{key} is .*must be > 0"):
        improved_by_moves(source("dbworld"), uniform_times(28.0, 28), **{key: value})


# ------------------------------------------------------------------------------------------------
# Costs of a trace.


def test_the_cost_of_a_trace_by_hand() -> None:
    """Importance 1 in the first half of a day, 3 in the second; an update at a probe is free."""
    halves = Rate(breaks=(0.0, 0.5), values=(1.0, 3.0), period=1.0)
    profile = Profile(constant(1.0), halves, 2.0)
    updates = [0.25, 1.0, 1.75, 0.0]
    assert actual_cost(profile, (1.0, 2.0), updates) == pytest.approx(1.75 + 0.75 + 2.0)
    assert actual_cost(profile, (1.0, 2.0), []) == 0.0
    with pytest.raises(ValueError, match="must be in"):
        actual_cost(profile, (1.0, 2.0), [2.5])


@pytest.mark.thorough
def test_the_mean_cost_of_traces_is_the_expected_cost() -> None:
    """4000 Poisson traces by thinning; five standard errors, 1.3 %, false alarm 6e-7."""
    profile = source("micronet")
    rng = np.random.default_rng(3)
    times = threshold_times(profile, 28)
    fastest = profile.updates.max()
    costs = []
    for _ in range(4000):
        each = np.sort(rng.uniform(0.0, 28.0, rng.poisson(fastest * 28.0)))
        rates = profile.updates[np.searchsorted(profile.edges, each, "right") - 1]
        costs.append(actual_cost(profile, times, each[rng.random(len(each)) * fastest < rates]))
    error = np.std(costs) / math.sqrt(len(costs))
    assert abs(np.mean(costs) - expected_cost(profile, times)) < 5 * error
    assert abs(np.mean(costs) - expected_cost(profile, uniform_times(28.0, 28))) > 10 * error


# ------------------------------------------------------------------------------------------------
# The target, the file, the command.


@pytest.mark.parametrize(
    ("name", "cost"), [("dbworld-optimal", 80.5914583333), ("micronet-optimal", 15.4825543073)]
)
def test_optimal_in_a_file_is_resolved(name: str, cost: float) -> None:
    scenario = load(name)
    resolved = resolve(scenario)
    found = optimize(scenario, "probes")
    assert resolved.probing.policy.root == tuple(found.decision["times"]) == found.search.times
    assert expected_cost(profile_of(resolved), probe_times(resolved)) == pytest.approx(
        cost, abs=5e-11
    )
    assert found.cost == pytest.approx(cost, abs=5e-11)
    assert resolve(resolved) == resolved
    assert scenario.with_(found.changes) == resolved


def test_bounds_of_the_published_optimum() -> None:
    """Another program's cost is 0.0014 % above a bound for all schedules (docs/derivations.md)."""
    found = optimize(load("dbworld-uniform"), "probes")
    assert found.lower_bound < 80.5692222332 < found.cost
    assert found.lower_bound > 80.568
    assert found.horizon == 28.0


def test_the_policies_are_compared() -> None:
    rows = {row["policy"]: row for row in optimize(load("dbworld-optimal"), "probes").table}
    assert rows["uniform"]["cost"] == pytest.approx(107.9125)
    assert rows["optimal on the grid"]["cost"] == pytest.approx(80.5914583333)
    assert rows["optimal, refined"]["above, %"] == 0
    costs = [row["cost"] for row in rows.values()]
    assert costs == sorted(costs, reverse=True)
    assert all(0 < row["freshness"] < 1 and row["deviation"] > 0 for row in rows.values())


def test_a_policy_that_breaks_the_spacing_is_left_out_with_the_reason() -> None:
    scenario = load("dbworld-optimal").with_("probing.minimum_spacing", 0.8)
    found = optimize(scenario, "probes")
    assert {row["policy"] for row in found.table} == {
        "uniform",
        "optimal on the grid",
        "optimal, refined",
    }
    assert any(note.startswith("threshold: probes as little as") for note in found.notes)
    assert found.lower_bound <= found.cost


def test_given_times_count_as_the_number_of_probes() -> None:
    given = load("dbworld-uniform").with_(
        {"probing.policy": {"times": [7.0, 14.0, 28.0]}, "probing.probes": None}
    )
    assert len(optimize(given, "probes").decision["times"]) == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"probing.slots": 20_000_000}, "at most 10000000 are searched"),
        ({"source.updates.period": 7e-6, "source.updates.breaks": [0.0]}, "pieces up to"),
    ],
)
def test_what_is_too_large_is_refused_by_key(changes: dict[str, Any], says: str) -> None:
    base = load("dbworld-optimal")
    if "source.updates.period" in changes:
        changes = {"source.updates": {"breaks": [0.0], "values": [1.0], "period": 7e-6}}
    with pytest.raises(ScenarioError, match=says) as refusal:
        resolve(base.with_(changes))
    assert refusal.value.key == "probing.policy"


def test_the_command_finds_writes_and_draws(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("optimize", "micronet-optimal", "--target", "probes")
    code, out, _ = crawlsim(*words, "--out", "best.toml", "--figure", "best.svg")
    assert code == 0
    title = "micronet-optimal: probes: times = [0.791667, 1.79167, 2.79167, 3.79167, 4.79167, "
    assert out.startswith(title)
    assert "cost 15.4826 up to 28 day, bound 15.4823" in out.splitlines()[0]
    assert "672 slots cost at most" in " ".join(out.split())
    assert Path("best.svg").read_text().startswith("<?xml")
    _, out, _ = crawlsim("solve", "best.toml", "--json")
    predicted, _ = json.loads(out)[0]["predictions"]
    assert predicted["value"] == pytest.approx(15.4825543073, abs=5e-11)
    _, out, _ = crawlsim(*words, "--json")
    (record,) = json.loads(out)
    assert len(record["decision"]["times"]) == 28
    assert record["lower_bound"] < record["cost"]


def test_the_figure_shows_every_probe() -> None:
    from crawlsim.report import plot_best_probes

    found = optimize(load("dbworld-optimal"), "probes").search
    ax = plot_best_probes(found)
    assert ax.get_ylabel() == "updates per day"
    drawn = {float(x) for line in ax.get_lines() for x in np.ravel(line.get_xdata())}
    drawn |= {float(p[0]) for c in ax.collections for s in c.get_paths() for p in s.vertices}
    assert set(found.times) <= drawn


def resolved_cost(scenario: Scenario) -> float:
    resolved = resolve(scenario)
    return expected_cost(profile_of(resolved), probe_times(resolved))


def test_refining_never_costs_more() -> None:
    base = load("dbworld-optimal")
    for probes in (1, 2, 5, 40, 168):
        coarse = base.with_({"probing.probes": probes, "probing.slots": 336})
        assert resolved_cost(coarse.with_("probing.refine", True)) <= resolved_cost(coarse)


@pytest.mark.parametrize(
    "times", [[2.0, 1.0, 28.0], [30.0], [1.0, 2.0], [], [-1.0, 28.0], [[1.0, 28.0]]]
)
def test_times_that_are_no_schedule_are_refused_by_every_function(times: Any) -> None:
    profile = profile_of(load("dbworld-uniform"))
    for function in (expected_cost, cost_variance, expected_freshness, refined, slack):
        with pytest.raises(ValueError, match=r"must increase from 0 and end with 28\.0"):
            function(profile, times)
    with pytest.raises(ValueError, match=r"at least 2\.0 apart"):
        refined(profile, [1.0, 1.1, 28.0], 2.0)
    with pytest.raises(ValueError, match="whole numbers"):
        best_schedule(grid_of(profile, 672), 28, 1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("spacing", [0.97, 0.99, 0.345])
def test_a_spacing_that_is_rounded_up_makes_no_false_promise(spacing: float) -> None:
    """Against a grid so fine that the spacing is whole: the promise holds, and says why."""
    scenario = load("dbworld-optimal").with_("probing.minimum_spacing", spacing)
    search = best_probes(scenario)
    fine = best_probes(scenario.with_("probing.slots", 28_000)).grid_cost
    assert search.kept_spacing > spacing
    assert search.grid_cost - search.error <= fine
    (note,) = [each for each in optimal_probes(scenario).notes if "not a whole number" in each]
    assert f"the grid keeps {search.kept_spacing:.6g}" in note


def test_a_spacing_that_leaves_hardly_any_room_gets_a_grid_with_room() -> None:
    scenario = load("dbworld-uniform").with_("probing.minimum_spacing", 0.9999)
    search = best_probes(scenario)
    assert search.slots > 100_000
    assert min(np.diff([0.0, *search.times])) >= 0.9999 * (1 - 1e-9)
    none = scenario.with_("probing.minimum_spacing", 1.0)
    assert best_probes(none).times == pytest.approx(np.arange(1.0, 29.0))
    with pytest.raises(NoOptimumError, match=r"set probing\.slots to more"):
        best_probes(scenario.with_("probing.slots", 1000))


def test_every_command_says_which_times_it_took(crawlsim: Any) -> None:
    code, _, err = crawlsim("solve", "dbworld-optimal")
    assert code == 0
    assert 'probing.policy = "optimal" is times = [' in err
    assert "28 in all]" in err


@pytest.mark.parametrize(
    "change",
    [
        ("--set", "probing.policy.times=[7.0, 14.0, 28.0]", "--set", "probing.probes=3"),
        ("--set", 'probing.policy="uniform"'),
    ],
)
def test_times_that_nobody_has_to_find_are_not_announced(crawlsim: Any, change: Any) -> None:
    code, _, err = crawlsim("solve", "dbworld-optimal", *change)
    assert code == 0
    assert err == ""


# ------------------------------------------------------------------------------------------------
# What is asked for, and what rounding can do.


def with_rates(updates: Rate, importance: Rate, horizon: float, **probing: Any) -> Scenario:
    """dbworld-uniform with another source and [probing]."""
    rates = {"updates": updates.model_dump(), "importance": importance.model_dump()}
    base = load("dbworld-uniform")
    return base.with_(
        {f"source.{key}": rate for key, rate in rates.items()}
        | {"probing.horizon": horizon}
        | {f"probing.{key}": value for key, value in probing.items()}
    )


def test_a_file_that_asks_for_times_on_the_grid_pays_for_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from analytic.probing import search as probe_search

    searches = []

    def counted(*args: Any) -> Any:
        searches.append(args)
        return best_schedule(*args)

    def never(*_: Any) -> Any:
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr(probe_search, "best_schedule", counted)
    monkeypatch.setattr(probe_search, "refined", never)
    resolve(load("dbworld-optimal"))
    assert len(searches) == 1
    with pytest.raises(AssertionError, match="nobody asked"):
        resolve(load("dbworld-optimal").with_("probing.refine", True))


def test_a_default_grid_that_is_too_fine_gives_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from analytic.probing import search as probe_search

    monkeypatch.setattr(probe_search, "LARGEST_GRID", 5000)
    search = best_probes(load("dbworld-uniform").with_("probing.slots", 672))
    assert search.lower_bound == pytest.approx(search.grid_cost - search.error, rel=1e-9)


@pytest.mark.parametrize("spacing", [0.31, 0.35, 0.399, 1 / math.e])
def test_a_bound_holds_where_the_spacing_is_no_whole_number_of_slots(spacing: float) -> None:
    """Two probes, the first at the spacing: updates up to 0.3 wait for it, 0.3 s - 0.045.

    Rounded up on ten slots the first probe comes at 0.4: 0.075, and the grid costs 0.0025 at most.
    """
    early = Rate(breaks=(0.0, 0.3), values=(1.0, 0.0), period=1.0)
    changes = {"probes": 2, "slots": 10, "minimum_spacing": spacing}
    search = best_probes(with_rates(early, constant(1.0), 1.0, **changes))
    exact = 0.3 * spacing - 0.045
    assert expected_cost(search.profile, (spacing, 1.0)) == pytest.approx(exact)
    assert 0 < search.lower_bound <= exact


@pytest.mark.parametrize("seed", range(30))
def test_a_bound_holds_for_rates_of_every_size(seed: int) -> None:
    """Rates from 1 to 1e12: differences of running sums are wrong by more than a cost."""
    rng = np.random.default_rng([5, seed])
    rates = [
        Rate(breaks=tuple(np.arange(8) / 8), values=tuple(10.0 ** rng.integers(0, 13, 8)), period=1)
        for _ in range(2)
    ]
    search = best_probes(with_rates(*rates, 1.0, probes=6, slots=64))
    least = paper_schedule(grid_of(search.profile, 64), 6).cost
    assert search.lower_bound <= least
    assert search.lower_bound <= search.grid_cost


def test_a_bound_is_not_lifted_by_rounding() -> None:
    """Without its rounding error taken off the bound is 6e-6 above the optimum."""
    rates = [
        Rate(breaks=tuple(np.arange(8) / 8), values=values, period=1)
        for values in (
            (100000000000.0, 1.0, 1000000.0, 100000000000.0, 100000000000.0, 10000.0, 1.0, 10.0),
            (0.0, 1000000000000.0, 0.0, 0.0, 0.0, 0.0, 1000000000.0, 1000000000.0),
        )
    ]
    search = best_probes(with_rates(*rates, 1.0, probes=6, slots=512))
    assert search.lower_bound <= paper_schedule(grid_of(search.profile, 512), 6).cost


def test_running_sums_keep_what_rounding_loses() -> None:
    """The last digit; a plain sum loses 1e-13 of this one."""
    from analytic.probing.kernels import running_sums

    rng = np.random.default_rng(4)
    parts = rng.random(20_000) * 10.0 ** rng.integers(-8, 9, 20_000)
    sums = running_sums(parts)
    exact = np.array([math.fsum(parts[:j]) for j in range(0, 20_001, 100)])
    assert (np.abs(sums[::100] - exact) <= np.spacing(exact)).all()
    assert (np.abs(np.append(0.0, np.cumsum(parts))[::100] - exact) > np.spacing(exact)).any()


@pytest.mark.parametrize("probes", [2, 3, 16])
def test_where_nothing_is_at_stake_no_probe_moves(probes: int) -> None:
    """Updates in the morning, which matter in the evening only, and a probe between."""
    morning = Rate(breaks=(0.0, 0.3), values=(1.0, 0.0), period=1.0)
    evening = Rate(breaks=(0.0, 0.7), values=(0.0, 0.1), period=1.0)
    changes = {"probes": probes, "slots": 40, "refine": True}
    never = Rate(breaks=(0.0, 5.0), values=(0.0, 1.0), period=10.0)
    for rates in ((morning, evening), (morning, never), (never, evening)):
        search = best_probes(with_rates(*rates, 1.0, **changes))
        assert search.grid_cost == search.cost == 0
        assert search.times == search.grid_times
        resolve(search.scenario)


@pytest.mark.parametrize("seed", [0, 20, 67, 85, 181, 247, 257])
def test_refined_times_are_different_times(seed: int) -> None:
    """Updates at some times, importance at others: many schedules cost nothing, or hardly any."""
    rng = np.random.default_rng(seed)
    pieces = int(rng.integers(2, 8))
    breaks = (0.0, *np.sort(rng.random(pieces - 1)).tolist())
    updates = rng.random(pieces) * (rng.random(pieces) < 0.5)
    importance = rng.random(pieces) * (updates == 0)
    rates = (
        Rate(breaks=breaks, values=tuple(values), period=1.0) for values in (updates, importance)
    )
    profile = Profile(*rates, 1.0)
    best = best_schedule(grid_of(profile, 1000), 16)
    found = refined(profile, times_of(1.0, 1000, best.slots))
    assert np.diff([0.0, *found.times]).min() > 0
    assert found.cost <= best.cost


def test_one_of_a_thing_is_called_so() -> None:
    with pytest.raises(ValueError, match="no room for 28 probes 1 slot apart"):
        best_schedule(grid_of(source("dbworld"), 20), 28)
    with pytest.raises(ValueError, match="no room for 1 probe 30 slots apart"):
        best_schedule(grid_of(source("dbworld"), 20), 1, 30)
    for method in METHODS:
        with pytest.raises(ValueError, match="no room for 7 probes 3 slots apart"):
            method(grid_of(source("dbworld"), 20), 7, 3)


# ------------------------------------------------------------------------------------------------
# Tight chains.


@pytest.mark.parametrize(("probes", "slots", "share"), [(200, 5000, 0.999), (800, 20_000, 0.999)])
def test_a_tight_chain_of_many_probes_comes_to_a_local_optimum(
    probes: int, slots: int, share: float
) -> None:
    """Only parts of it can move, and which is not known: probe by probe it took 2000 rounds."""
    profile = source("dbworld")
    spacing = share * 28 / probes
    best = best_schedule(grid_of(profile, slots), probes, 25)
    found = refined(profile, times_of(28.0, slots, best.slots), spacing)
    assert found.converged
    assert found.slack < 1e-10
    assert found.rounds < 60
    assert found.cost < best.cost
    assert np.diff([0.0, *found.times]).min() >= spacing * (1 - 1e-9)


def test_a_local_optimum_that_is_not_reached_is_not_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from analytic.probing import refinement

    monkeypatch.setattr(refinement, "_ROUNDS", 1)
    scenario = load("dbworld-uniform").with_(
        {"probing.probes": 100, "probing.slots": 5000, "probing.minimum_spacing": 0.95 * 0.28}
    )
    found = optimize(scenario, "probes")
    assert not found.search.refined.converged
    assert any(note.startswith("refined: not converged after 1 round,") for note in found.notes)
    monkeypatch.undo()
    assert not any("not converged" in note for note in optimize(scenario, "probes").notes)


def test_moves_at_once_save_what_they_say_and_keep_the_spacing() -> None:
    from analytic.probing.descent import Cells, lattice_moves, total

    profile = source("micronet")
    cells = Cells(profile.edges, profile.updates, profile.importance)
    for spacing in (0.0, 0.5, 0.9):
        times = np.array([0.0, *uniform_times(28.0, 28)])
        before = total(cells, times)
        saved = lattice_moves(cells, times, spacing, 0.05, 0.0)
        assert saved > 0
        assert before - total(cells, times) == pytest.approx(saved, rel=1e-9)
        assert np.diff(times).min() >= spacing * (1 - 1e-12)
        assert (times[0], times[-1]) == (0.0, 28.0)
        assert lattice_moves(cells, times, spacing, 0.05, before) == 0


def test_a_figure_of_a_part_says_so() -> None:
    from crawlsim.report import plot_probes

    whole = load("dbworld-uniform")
    assert plot_probes(whole).get_xlabel() == "time (day)"
    year = whole.with_({"probing.horizon": 36_400.0, "probing.probes": 400})
    label = plot_probes(year).get_xlabel()
    assert label.startswith("time (day), the first ")
    assert label.endswith(" of 36400")
