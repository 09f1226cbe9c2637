"""Polite probing: eq. (5) against exact sums, the policies, the engine, both against each other.

Simulated families have a false-alarm probability of 1e-3 and fixed seeds. With the library's
replications a standard error is 0.25 % of the cost: a true difference of 1.3 % is seen with
probability 0.95.
"""

from __future__ import annotations

import csv
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache
from io import StringIO
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

import sim
from analytic import compare, overall, predict, resolve
from analytic.probing import (
    Profile,
    cost_variance,
    expected_cost,
    expected_freshness,
    first_arrival_times,
    join,
    probe_times,
    profile_of,
    threshold_times,
    uniform_times,
)
from scenarios import Results, Scenario, ScenarioError, load, scenario_from
from scenarios.rates import Rate
from sim import rates, rules
from sim.event_log import EventLog
from sim.simpy_engine import covers, simulate
from sim.tally import ConservationError, ProbingTally

# ------------------------------------------------------------------------------------------------
# Oracles: exact sums over the pieces between all breaks, from the definitions.


def value_at(rate: Rate, time: Fraction) -> Fraction:
    rest = time % Fraction(rate.period)
    return Fraction(
        [v for b, v in zip(rate.breaks, rate.values, strict=True) if Fraction(b) <= rest][-1]
    )


def pieces(
    rates_of: tuple[Rate, Rate], start: Fraction, end: Fraction
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(update rate, importance, width) of every piece of (start, end]."""
    points = {start, end}
    for rate in rates_of:
        period = Fraction(rate.period)
        for k in range(int(start / period), int(end / period) + 1):
            points |= {k * period + Fraction(b) for b in rate.breaks}
    cuts = sorted(point for point in points if start <= point <= end)
    return [
        (value_at(rates_of[0], (a + b) / 2), value_at(rates_of[1], (a + b) / 2), b - a)
        for a, b in pairwise(cuts)
    ]


def exact_cost(rates_of: tuple[Rate, Rate], start: Fraction, end: Fraction) -> Fraction:
    """Mass of lambda(t) a(x) on start < t < x <= end, rectangle by rectangle."""
    parts = pieces(rates_of, start, end)
    cost = sum((u * a * w * w / 2 for u, a, w in parts), Fraction(0))
    for index, (u, _, w) in enumerate(parts):
        cost += u * w * sum((a * x for _, a, x in parts[index + 1 :]), Fraction(0))
    return cost


def quadrature(
    rates_of: tuple[Rate, Rate], start: Fraction, end: Fraction
) -> tuple[float, float, float, float, float]:
    """Updates, importance, cost, variance and fresh time by Gauss-Legendre in every piece."""
    parts = [tuple(map(float, part)) for part in pieces(rates_of, start, end)]
    nodes, weights = np.polynomial.legendre.leggauss(30)
    nodes = (nodes + 1) / 2
    weights = weights / 2
    updates = importance = cost = variance = fresh = 0.0
    whole = sum(a * w for _, a, w in parts)
    for u, a, w in parts:
        to_the_end = whole - importance - a * w * nodes
        cost += u * w * float(weights @ to_the_end)
        variance += u * w * float(weights @ to_the_end**2)
        fresh += w * float(weights @ np.exp(-updates - u * w * nodes))
        updates += u * w
        importance += a * w
    return updates, importance, cost, variance, fresh


SIXTEENTHS = st.integers(1, 15)


@st.composite
def some_rates(draw: st.DrawFn) -> Rate:
    """A rate whose breaks and period have few binary digits, so that Fractions are exact."""
    period = draw(st.sampled_from([0.5, 1.0, 2.0, 7.0]))
    inner = sorted(draw(st.sets(SIXTEENTHS, max_size=4)))
    values = draw(st.lists(st.integers(0, 8), min_size=len(inner) + 1, max_size=len(inner) + 1))
    if not any(values):
        values[0] = 1
    breaks = (0.0, *(period * each / 16 for each in inner))
    return Rate(breaks=breaks, values=tuple(float(v) for v in values), period=period)


MOMENTS = st.builds(
    lambda coarse, fine: Fraction(coarse, 64) + Fraction(fine, 2**36),
    st.integers(0, 8 * 64 - 1),
    st.integers(0, 3),
)
"""Times in [0, 8), some of them tiny steps apart."""


@given(some_rates(), some_rates(), MOMENTS, MOMENTS)
@settings(max_examples=examples(150))
def test_the_integrals_of_an_interval_are_those_of_the_definitions(
    updates: Rate, importance: Rate, one: Fraction, other: Fraction
) -> None:
    start = min(one, other)
    end = max(one, other)
    found = Profile(updates, importance, 8.0).between(float(start), float(end))
    wanted = quadrature((updates, importance), start, end)
    assert [float(each) for each in found] == pytest.approx(wanted, rel=1e-10, abs=1e-300)
    exact = float(exact_cost((updates, importance), start, end))
    assert float(found.cost) == pytest.approx(exact, rel=1e-13, abs=1e-300)


@given(some_rates(), some_rates(), st.lists(MOMENTS, min_size=3, max_size=3))
@settings(max_examples=examples(100))
def test_an_interval_is_its_two_parts_joined(
    updates: Rate, importance: Rate, moments: list[Fraction]
) -> None:
    """Lemma 3 (13), and the same for variance and freshness."""
    start, middle, end = sorted(float(each) for each in moments)
    profile = Profile(updates, importance, 8.0)
    whole = profile.between(start, end)
    parts = profile.between([start, middle], [middle, end])
    first, second = (type(parts)(*(each[i] for each in parts)) for i in (0, 1))
    for one, other in zip(whole, join(first, second), strict=True):
        assert float(one) == pytest.approx(float(other), rel=1e-12, abs=1e-300)


DAY = Rate(breaks=(0.0, 0.375, 0.75), values=(2.0, 7.0, 3.0), period=1.0)
WORK = Rate(breaks=(0.0, 0.375, 0.75), values=(1.0, 3.0, 1.0), period=1.0)
ONLY_WORK = Rate(breaks=(0.0, 0.375, 0.75), values=(0.0, 1.0, 0.0), period=1.0)
QUIET_NIGHT = Rate(breaks=(0.0, 0.25, 0.75), values=(0.0, 2.0, 0.0), period=1.0)
ALWAYS = Rate(breaks=(0.0,), values=(1.0,), period=1.0)


@pytest.mark.parametrize("width", [2.0**-40, 2.0**-20, 0.25, 1.5])
@pytest.mark.parametrize("around", [5.375, 4095.375, 4095.5])
def test_short_intervals_far_from_0_lose_no_digits(width: float, around: float) -> None:
    """Differences of integrals from 0 would keep none of them at the smallest width."""
    start = around - width / 2
    end = around + width / 2
    found = float(Profile(DAY, WORK, 4097.0).between(start, end).cost)
    wanted = float(exact_cost((DAY, WORK), Fraction(start), Fraction(end)))
    assert found == pytest.approx(wanted, rel=1e-14)


def test_rates_may_have_periods_that_do_not_fit() -> None:
    fast = Rate(breaks=(0.0, 0.1), values=(1.0, 0.0), period=0.3)
    found = Profile(fast, DAY, 2.0).between(0.05, 1.9)
    wanted = quadrature((fast, DAY), Fraction(0.05), Fraction(1.9))
    assert [float(each) for each in found] == pytest.approx(wanted, rel=1e-12)


def test_constant_rates_cost_what_the_hand_says() -> None:
    """``lambda a T**2 / (2 n)`` at equal spacing; one interval has variance lambda a² T³ / 3."""
    rate = Rate(breaks=(0.0,), values=(2.5,), period=3.0)
    profile = Profile(rate, Rate(breaks=(0.0,), values=(4.0,), period=1.0), 10.0)
    assert expected_cost(profile, uniform_times(10.0, 8)) == pytest.approx(2.5 * 4 * 100 / 16)
    assert cost_variance(profile, (10.0,)) == pytest.approx(2.5 * 16 * 1000 / 3)
    fresh = -math.expm1(-2.5 * 5) / (2.5 * 5)
    assert expected_freshness(profile, (5.0, 10.0)) == pytest.approx(fresh)


def test_updates_of_the_night_wait_for_the_morning() -> None:
    """One update expected in the night (a = 0), then half a day with a = 2 until the probe."""
    night = Rate(breaks=(0.0, 0.5), values=(2.0, 0.0), period=1.0)
    day = Rate(breaks=(0.0, 0.5), values=(0.0, 2.0), period=1.0)
    assert expected_cost(Profile(night, day, 1.0), (1.0,)) == pytest.approx(1.0)
    assert expected_cost(Profile(night, day, 1.0), (0.5, 1.0)) == 0.0


# ------------------------------------------------------------------------------------------------
# Published numbers, and the same by other ways.

LIBRARY = tuple(
    f"{source}-{policy}"
    for source in ("dbworld", "micronet")
    for policy in ("uniform", "threshold", "first-arrival", "optimal")
)
OF_MICRONET = LIBRARY[4:]
"""8000 replications each, where those of dbworld have 2000."""


@cache
def source(name: str) -> Profile:
    return profile_of(load(f"{name}-uniform"))


def test_published_costs_of_dbworld() -> None:
    """Uniform, n = 28: 107.9125; threshold, n = 7: 359.432 (docs/derivations.md, at the end)."""
    profile = source("dbworld")
    assert expected_cost(profile, uniform_times(28.0, 28)) == pytest.approx(107.9125, rel=1e-12)
    seven = expected_cost(profile, threshold_times(profile, 7))
    assert seven == pytest.approx(359.432, abs=5e-4)


@pytest.mark.parametrize(("name", "weekly"), [("dbworld", 29.1125), ("micronet", 6.19125)])
def test_published_updates_per_week(name: str, weekly: float) -> None:
    profile = source(name)
    found = profile.between([0.0, 7.0, 14.0, 21.0], [7.0, 14.0, 21.0, 28.0]).updates
    assert found == pytest.approx([weekly] * 4)


@cache
def best_hourly_times(name: str) -> tuple[float, ...]:
    """28 probe times on the grid of hours with the smallest cost, by plain recursion (11)."""
    profile = source(name)
    grid = np.arange(673) / 24
    later, earlier = np.meshgrid(grid, grid)
    costs = np.where(
        earlier < later,
        profile.between(np.minimum(earlier, later), np.maximum(earlier, later)).cost,
        np.inf,
    )
    best = costs[:, -1]
    choices = []
    for _ in range(27):
        totals = costs + best
        choices.append(totals.argmin(axis=1))
        best = totals.min(axis=1)
    index = 0
    times = []
    for choice in reversed(choices):
        index = int(choice[index])
        times.append(float(grid[index]))
    return (*times, 28.0)


@pytest.mark.by_day("micronet-15.4917708333")
@pytest.mark.parametrize(
    ("name", "cost"), [("dbworld", 80.5914583333), ("micronet", 15.4917708333)]
)
def test_published_optimum_on_the_grid_of_hours(name: str, cost: float) -> None:
    found = expected_cost(source(name), best_hourly_times(name))
    assert found == pytest.approx(cost, abs=5e-11)


# ------------------------------------------------------------------------------------------------
# Policies.

PROFILES = {
    "dbworld": lambda: source("dbworld"),
    "micronet": lambda: source("micronet"),
    "one week, other periods": lambda: Profile(DAY, QUIET_NIGHT, 6.7),
    "only work counts": lambda: Profile(DAY, ONLY_WORK, 28.0),
    "nothing at night": lambda: Profile(QUIET_NIGHT, ONLY_WORK, 28.0),
    "no updates at night": lambda: Profile(QUIET_NIGHT, WORK, 28.0),
}


@pytest.mark.by_day(besides=("no updates at night-300",))
@pytest.mark.parametrize("probes", [1, 2, 3, 7, 28, 29, 300])
@pytest.mark.parametrize("name", PROFILES)
def test_policies_have_exactly_n_equal_intervals(name: str, probes: int) -> None:
    profile = PROFILES[name]()
    for times in (threshold_times(profile, probes), first_arrival_times(profile, probes)):
        assert len(times) == probes
        assert times[-1] == profile.horizon
        assert all(before < after for before, after in pairwise((0.0, *times)))
    costs = profile.between(*_ends(threshold_times(profile, probes))).cost
    assert costs == pytest.approx(np.full(probes, costs[0]), rel=1e-11 * probes)
    updates = profile.between(*_ends(first_arrival_times(profile, probes))).updates
    assert updates == pytest.approx(np.full(probes, updates[0]), rel=1e-11 * probes)


def _ends(times: tuple[float, ...]) -> tuple[list[float], list[float]]:
    return [0.0, *times[:-1]], list(times)


@given(some_rates(), some_rates(), st.integers(2, 12))
@settings(max_examples=examples(100))
def test_a_threshold_makes_all_costs_equal_or_there_is_none(
    updates: Rate, importance: Rate, probes: int
) -> None:
    profile = Profile(updates, importance, 8.0)
    try:
        times = threshold_times(profile, probes)
    except ValueError:
        # Then so many probes can leave no cost at all: nothing matters while updates come.
        assert not (profile.updates * profile.importance).any()
        return
    costs = profile.between(*_ends(times)).cost
    assert costs == pytest.approx(np.full(probes, costs[0]), rel=1e-9)


def test_a_first_arrival_probe_comes_as_early_as_it_can() -> None:
    """All updates of a day have come by 18:00; the night changes nothing."""
    assert first_arrival_times(Profile(QUIET_NIGHT, WORK, 3.0), 3) == (0.75, 1.75, 3.0)


def test_a_probe_may_wait_where_waiting_is_free() -> None:
    """lambda = 1, a = 1, 0, 1 on [0, 2.9]: a threshold of 1/2 and a probe in the free stretch.

    From s in (1, 2) to 2.9 the cost is ``0.9 (2.45 - s)``, which is 1/2 at s = 2.45 - 5/9.
    """
    pause = Rate(breaks=(0.0, 1.0, 2.0), values=(1.0, 0.0, 1.0), period=3.0)
    first, last = threshold_times(Profile(ALWAYS, pause, 2.9), 2)
    assert (first, last) == (pytest.approx(2.45 - 5 / 9, rel=1e-9), 2.9)


@pytest.mark.parametrize(
    ("updates", "importance", "horizon", "probes"),
    [
        ((0.7000000000000001, 7.0, 2.5, 0.0), (1.75, 7.0, 1e-9, 2.5), 10.0, 7),
        ((0.17, 1.58, 1.0, 0.0), (1.02, 2.77, 0.0, 0.96), 14.2, 16),
        ((0.02, 4.2, 1.0, 0.0), (0.1, 1.0, 3.3, 0.0), 24.3, 29),
        ((0.25, 1.0, 8.0, 0.0), (4.9, 5.8, 6.3, 0.0), 10.1, 28),
    ],
)
def test_a_threshold_stands_up_to_rounding_errors_that_grow(
    updates: tuple[float, ...], importance: tuple[float, ...], horizon: float, probes: int
) -> None:
    """After a burst the importance of what is left multiplies the error of the last probe in it.

    The first one: of 7 intervals the last would cost 4.9e-5, the others 6.8e-11.
    """
    rates_of = (
        Rate(breaks=(0.0, cut), values=(early, late), period=period)
        for cut, period, early, late in (updates, importance)
    )
    profile = Profile(*rates_of, horizon)
    times = threshold_times(profile, probes)
    costs = profile.between(*_ends(times)).cost
    assert costs == pytest.approx(np.full(probes, costs[0]), rel=1e-3)


def test_uniform_times_of_both_sides_are_the_same() -> None:
    for probes, horizon in ((28, 28.0), (7, 0.1), (1, 3.0), (1000, 17.3)):
        scenario = monitor({"probing.horizon": horizon, "probing.probes": probes})
        resolved = resolve(scenario)
        assert simulate(resolved, 0, seed=1) == simulate(scenario, 0, seed=1)


# ------------------------------------------------------------------------------------------------
# Resolving and refusing.


def monitor(changes: dict[str, Any] | None = None) -> Scenario:
    base = scenario_from(
        {
            "name": "monitor",
            "source": {
                "updates": {"breaks": [0.0, 0.375, 0.75], "values": [2, 7, 3], "period": 1.0},
                "importance": {"breaks": [0.0, 0.375, 0.75], "values": [1, 3, 1], "period": 1.0},
            },
            "probing": {"horizon": 4.0, "probes": 4, "policy": "uniform"},
            "run": {"replications": 50},
        }
    )
    return base.with_(changes) if changes else base


@pytest.mark.parametrize("policy", ["uniform", "threshold", "first-arrival"])
def test_resolve_writes_the_times_into_the_scenario(policy: str) -> None:
    scenario = monitor({"probing.policy": policy, "probing.probes": 5})
    resolved = resolve(scenario)
    assert resolved.probing.policy.root == probe_times(scenario)
    assert resolve(resolved) == resolved
    assert predict(resolved)[0] == predict(scenario)[0]
    covers(resolved)


NEVER = {"breaks": [0.0, 5.0], "values": [0.0, 1.0], "period": 10.0}


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        (
            {
                "probing.policy": "threshold",
                "probing.probes": 5,
                "probing.minimum_spacing": 0.7,
            },
            "probing.policy",
            "probes as little as 0.652141 apart; minimum_spacing is 0.7",
        ),
        (
            {
                "probing.policy": "first-arrival",
                "probing.probes": 2,
                "probing.minimum_spacing": 1.5,
                "source.updates": {"breaks": [0.0, 2.0], "values": [3.0, 1.0], "period": 4.0},
            },
            "probing.policy",
            "probes as little as 1.33333 apart",  # from 0 to the first one
        ),
        (
            {"probing.policy": "first-arrival", "source.updates": NEVER},
            "probing.policy",
            "no updates are expected",
        ),
        (
            {"probing.policy": "threshold", "source.importance": NEVER},
            "probing.policy",
            "no threshold gives 4 probes",
        ),
        (
            {
                "probing.policy": "threshold",
                "probing.probes": 32,
                "probing.horizon": 28.928135105480763,
                "source.updates": {
                    "breaks": [0.0, 4.842331138178312],
                    "values": [0.0002744491663510938, 0.0],
                    "period": 7.0,
                },
                "source.importance": {
                    "breaks": [0.0, 0.6577082760019164],
                    "values": [0.003280023919317591, 3.4256293995002076e-07],
                    "period": 1.0,
                },
            },
            "probing.policy",
            "32 intervals of equal cost cannot be attained with rounded times",
        ),
        (
            {"probing.policy": "threshold", "probing.horizon": 1e7},
            "probing.policy",
            "more than 1000000 pieces",
        ),
    ],
)
def test_resolve_refuses_by_key(changes: dict[str, Any], key: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as refusal:
        resolve(monitor(changes))
    assert refusal.value.key == key
    assert len(str(refusal.value).splitlines()) <= 3


@pytest.mark.parametrize("times", [[1.0, 4.0], [2.0, 3.0, 4.0]])
def test_given_times_keep_the_minimum_spacing_from_0_on(times: list[float]) -> None:
    change = {"probing.policy": {"times": times}, "probing.probes": None}
    assert monitor(change).probing.minimum_spacing == 0
    with pytest.raises(ScenarioError, match="apart, from 0 on"):
        monitor(change | {"probing.minimum_spacing": 1.25})


@pytest.mark.parametrize("policy", ["threshold", "first-arrival", "optimal"])
def test_the_engine_wants_resolved_times(policy: str) -> None:
    scenario = monitor({"probing.policy": policy, "probing.slots": 96})
    with pytest.raises(ScenarioError, match="still to be resolved") as refusal:
        sim.run(scenario)
    assert (refusal.value.key, refusal.value.value) == ("probing.policy", policy)


def test_no_other_formula_answers_for_a_monitor() -> None:
    predictions, others = predict(monitor())
    assert [(p.measure, p.source) for p in predictions] == [
        ("obsolescence_cost", "eckstein2005 (5)"),
        ("source_freshness", "eckstein2005 section 2.1"),
    ]
    assert all(other.reason for other in others)
    optimal = monitor({"probing.policy": "optimal", "probing.slots": 96})
    reasons = {other.source: other.reason for other in predict(optimal)[1]}
    assert reasons["eckstein2005 (5)"] == "the probe times are still to be optimised"


# ------------------------------------------------------------------------------------------------
# The engine.


def cycle_of(rate: Rate) -> rates.Cycle:
    return rates.cycle(rate.breaks, rate.values, rate.period)


@given(some_rates(), MOMENTS, MOMENTS, st.sampled_from([0, 5, 10**6]))
@settings(max_examples=examples(100))
def test_the_integral_of_a_rate_is_that_of_its_pieces(
    rate: Rate, one: Fraction, other: Fraction, periods: int
) -> None:
    start = min(one, other)
    end = max(one, other)
    wanted = float(sum(u * w for u, _, w in pieces((rate, rate), start, end)))
    far = periods * rate.period
    marks = (rates.mark(cycle_of(rate), far + float(each)) for each in (start, end))
    lost = 2**-52 * 8 * (1 + far) * max(rate.values)  # rounding of the times themselves
    assert rates.integral(cycle_of(rate), *marks) == pytest.approx(wanted, rel=1e-12, abs=lost)


@given(some_rates(), st.floats(0, 1e4))
@settings(max_examples=examples(100))
def test_an_update_comes_when_its_expected_number_is_reached(rate: Rate, target: float) -> None:
    known = cycle_of(rate)
    time = rates.reached(known, target)
    found = rates.integral(known, (0.0, 0.0), rates.mark(known, time))
    assert found == pytest.approx(target, rel=1e-9, abs=1e-12)
    just_after = rates.mark(known, math.nextafter(time, math.inf) * (1 + 1e-9) + 1e-9)
    assert rates.integral(known, (0.0, 0.0), just_after) > found  # not before a quiet stretch


def test_rounding_puts_no_update_into_a_quiet_stretch() -> None:
    """``0.48 + (4.53 - 0.48) / 3.0`` is the number after 1.83, where the quiet stretch begins."""
    known = rates.cycle((0.0, 0.48, 1.83), (1.0, 3.0, 0.0), 10.0)
    assert 0.48 + (4.53 - 0.48) / 3.0 > 1.83
    assert rates.reached(known, 4.53) == 1.83


def test_updates_never_come_in_a_quiet_stretch() -> None:
    log = StringIO()
    quiet = monitor({"source.updates.values": [0, 7, 0], "probing.horizon": 50.0})
    simulate(quiet, 0, 1, EventLog(log))
    times = [float(row["time"]) % 1 for row in rows(log) if row["event"] == "update"]
    assert len(times) > 50
    assert min(times) >= 0.375
    assert max(times) <= 0.75


def rows(log: StringIO) -> list[dict[str, str]]:
    log.seek(0)
    return list(csv.DictReader(log))


@pytest.mark.parametrize("policy", ["uniform", "threshold", "first-arrival"])
def test_the_cost_is_that_of_the_path_in_the_event_log(policy: str) -> None:
    """Every logged update, from its time to the next logged probe, by exact sums."""
    scenario = resolve(monitor({"probing.policy": policy, "probing.horizon": 9.7}))
    log = StringIO()
    tally = simulate(scenario, 3, 5, EventLog(log)).probing
    assert tally is not None
    cost = Fraction(0)
    pending = []
    fresh = last = Fraction(0)
    for row in rows(log):
        now = Fraction(float(row["time"]))
        if row["event"] == "update":
            pending.append(now)
        else:
            cost += sum(a * w for u in pending for _, a, w in pieces((DAY, WORK), u, now))
            fresh += min([*pending, now]) - last
            pending = []
            last = now
        assert int(row["level"]) == len(pending)
    assert not pending
    assert tally.cost == pytest.approx(float(cost), rel=1e-12)
    assert tally.fresh_time == pytest.approx(float(fresh), rel=1e-12)
    assert (tally.updates, tally.probes) == (tally.seen, 4)


@pytest.mark.parametrize(("rate", "cost"), [(1.0, 0.0), (2.0, 1.5)])
def test_an_update_at_the_time_of_a_probe_is_seen_at_once(
    monkeypatch: pytest.MonkeyPatch, rate: float, cost: float
) -> None:
    """An update every 1 / rate, a probe every unit, the last ones of both at the horizon."""
    monkeypatch.setattr(rules, "draw_exponential", lambda _stream, mean: mean)
    constant = monitor(
        {
            "source.updates": {"breaks": [0.0], "values": [rate], "period": 1.0},
            "source.importance": {"breaks": [0.0], "values": [1.0], "period": 1.0},
            "probing.horizon": 3.0,
            "probing.policy.times": [1.0, 2.0, 3.0],
            "probing.probes": 3,
        }
    )
    tally = simulate(constant, 0, seed=1).probing
    count = int(3 * rate)
    assert tally == ProbingTally(
        updates=count,
        probes=3,
        seen=count,
        pending=0,
        cost=cost,
        fresh_time=3 / rate,
        largest_wait=1.0,
    )


def test_one_replication_is_one_path_up_to_the_horizon_whatever_run_says() -> None:
    short = monitor({"run.horizon": 1.0, "run.warmup": 0.5})
    assert simulate(short, 0, seed=1) == simulate(monitor(), 0, seed=1)
    assert simulate(short, 0, seed=1).window == 4.0


def test_the_same_seed_gives_the_same_path() -> None:
    assert simulate(monitor(), 1, seed=5) == simulate(monitor(), 1, seed=5)
    assert simulate(monitor(), 1, seed=5) != simulate(monitor(), 1, seed=6)
    assert simulate(monitor(), 1, seed=5) != simulate(monitor(), 2, seed=5)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"updates": 1}, "seen"),
        ({"seen": -1}, "seen"),
        ({"seen": -1, "pending": 1}, "never seen"),
        ({"cost": -1e9}, "cost"),
        ({"cost": 1e9}, "cost"),
        ({"fresh_time": -4.0}, "fresh for"),
        ({"fresh_time": 4.0}, "fresh for"),
    ],
)
def test_updates_that_get_lost_or_cost_too_much_are_noticed(
    changes: dict[str, float], says: str
) -> None:
    tally = simulate(monitor(), 0, seed=1)
    assert tally.probing is not None
    wrong = {name: getattr(tally.probing, name) + change for name, change in changes.items()}
    spoiled = replace(tally, probing=replace(tally.probing, **wrong))
    with pytest.raises(ConservationError, match=says):
        spoiled.check(4.0, 0)


@pytest.mark.thorough
def test_chunks_of_replications_on_workers_change_nothing() -> None:
    scenario = monitor({"run.replications": 600})
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        assert sim.run(scenario, executor=processes) == sim.run(scenario)


# ------------------------------------------------------------------------------------------------
# Simulation against formula.


@cache
def simulated(name: str) -> tuple[Scenario, Results]:
    scenario = resolve(load(name))
    return scenario, sim.run(scenario)


def verdict(scenario: Scenario, results: Results, measures: tuple[str, ...] = ()) -> str:
    return overall(compare(predict(scenario)[0], results, measures or scenario.judged))


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize("name", LIBRARY)
def test_simulation_and_formula_agree(name: str) -> None:
    assert verdict(*simulated(name)) == "agrees"


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["dbworld-uniform", "dbworld-optimal", "micronet-optimal"])
def test_the_freshness_of_the_source_agrees_too(name: str) -> None:
    """20000 paths: a standard error of 0.1 %, so that 0.7 % is seen with probability 0.95."""
    scenario, _ = simulated(name)
    results = sim.run(scenario, replications=20_000)
    assert verdict(scenario, results, ("source_freshness",)) == "agrees"


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(("source", "late"), [("dbworld", 0.1), ("micronet", 0.15)])
def test_freshness_sees_probes_that_come_late(source: str, late: float) -> None:
    """All but the last probe, a tenth of a day: 4.4 %, nine standard errors or more."""
    scenario, _ = simulated(f"{source}-optimal")
    times = scenario.probing.policy.root
    moved = [*(time + late for time in times[:-1]), times[-1]]
    wrong = scenario.with_("probing.policy", {"times": moved})
    results = sim.run(wrong, replications=8000)
    assert verdict(scenario, results, ("source_freshness",)) == "disagrees"


@pytest.mark.by_day(besides=(*OF_MICRONET, "dbworld-uniform", "dbworld-threshold"))
@pytest.mark.statistical
@pytest.mark.parametrize("name", LIBRARY)
def test_the_variance_of_the_cost_is_as_predicted(name: str) -> None:
    """Ratio of variances within 4.5 standard errors (about 14 % and 7 %): false alarms 7e-6 each.

    The cost has little excess kurtosis; 0.1 is allowed for it.
    """
    scenario, results = simulated(name)
    predicted = cost_variance(profile_of(scenario), probe_times(scenario))
    ratio = np.var(results.replications["obsolescence_cost", None], ddof=1) / predicted
    assert abs(ratio - 1) < 4.5 * math.sqrt(2.1 / results.count)


def shifted(scenario: Scenario, hours: float) -> Scenario:
    _, *breaks = scenario.source.importance.breaks
    later = [0.0, *(each + hours / 24 for each in breaks)]
    return scenario.with_("source.importance.breaks", later)


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "hours", "effect"),
    [
        ("dbworld-uniform", 1, 0.042),
        ("dbworld-threshold", -1, 0.0152),
        ("micronet-uniform", -1, -0.080),
    ],
)
def test_importance_shifted_by_an_hour_disagrees(name: str, hours: float, effect: float) -> None:
    """Six standard errors or more."""
    scenario = resolve(load(name))
    wrong = shifted(scenario, hours)
    right = predict(scenario)[0][0]
    moved = predict(wrong)[0][0]
    assert moved.value / right.value - 1 == pytest.approx(effect, abs=1e-3)
    assert verdict(scenario, sim.run(wrong)) == "disagrees"


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "hours", "effect"), [("dbworld", 1, 0.038), ("micronet", 1, -0.021)]
)
def test_the_optimal_schedule_agrees_and_sees_a_shift_of_an_hour(
    name: str, hours: float, effect: float
) -> None:
    times = list(best_hourly_times(name))
    scenario = load(f"{name}-uniform").with_("probing.policy", {"times": times})
    wrong = shifted(scenario, hours)
    right = predict(scenario)[0][0]
    moved = predict(wrong)[0][0]
    assert moved.value / right.value - 1 == pytest.approx(effect, abs=1e-3)
    assert verdict(scenario, sim.run(scenario)) == "agrees"
    assert verdict(scenario, sim.run(wrong)) == "disagrees"


@pytest.mark.thorough
@pytest.mark.statistical
def test_three_per_cent_more_updates_disagree() -> None:
    """Twelve standard errors."""
    scenario = resolve(load("dbworld-first-arrival"))
    faster = [1.03 * value for value in scenario.source.updates.values]
    wrong = scenario.with_("source.updates.values", faster)
    assert verdict(scenario, sim.run(wrong)) == "disagrees"


@pytest.mark.parametrize(
    ("start", "end"),
    [(3.0, 2.0), (-1.0, 2.0), (1.0, 8.5), (math.nan, 2.0), ([0.0, 3.0], [1.0, 2.0])],
)
def test_an_interval_out_of_order_or_range_is_refused(start: Any, end: Any) -> None:
    with pytest.raises(ValueError, match=r"must be in order, and within 0 … 8"):
        Profile(DAY, WORK, 8.0).between(start, end)


# ------------------------------------------------------------------------------------------------
# Policies by their own parameter


@pytest.mark.parametrize(
    ("policy", "quantity"),
    [
        ({"threshold": 3.2}, lambda profile, a, b: float(profile.between(a, b).cost)),
        (
            {"first-arrival": 0.9},
            lambda profile, a, b: -math.expm1(-float(profile.between(a, b).updates)),
        ),
        ({"uniform": 0.9}, lambda _, a, b: b - a),
    ],
    ids=["threshold", "first-arrival", "uniform"],
)
def test_a_parameter_says_what_comes_between_two_probes(policy: Any, quantity: Any) -> None:
    scenario = load("dbworld-threshold").with_({"probing.policy": policy, "probing.probes": None})
    times = probe_times(scenario)
    profile = profile_of(scenario)
    (value,) = policy.values()
    between = [quantity(profile, a, b) for a, b in pairwise((0.0, *times))]
    assert between[:-1] == pytest.approx([value] * (len(times) - 1), rel=1e-9)
    assert 0.0 < between[-1] <= value * (1 + 1e-9)
    assert times[-1] == 28.0


def test_the_parameter_of_a_number_of_probes_gives_these_probes() -> None:
    """A threshold that n probes share, a probability, a distance: the same n times."""
    scenario = load("dbworld-threshold")
    profile = profile_of(scenario)
    by_number = {
        policy: probe_times(scenario.with_("probing.policy", policy))
        for policy in ("uniform", "threshold", "first-arrival")
    }
    parameters = {
        "uniform": 1.0,
        "threshold": float(profile.between(0.0, by_number["threshold"][0]).cost),
        "first-arrival": -math.expm1(-float(profile.between(0.0, 28.0).updates) / 28),
    }
    for policy, times in by_number.items():
        again = probe_times(scenario.with_("probing.policy", {policy: parameters[policy]}))
        assert again == pytest.approx(times, rel=1e-7)


def test_a_parameter_that_needs_too_many_probes_is_refused() -> None:
    scenario = load("dbworld-threshold")
    with pytest.raises(ScenarioError, match=r"probes 49 times; probing\.probes allows 28"):
        resolve(scenario.with_("probing.policy", {"threshold": 1.0}))
    free = scenario.with_({"probing.policy": {"uniform": 1e-9}, "probing.probes": None})
    with pytest.raises(ScenarioError, match="more than 1,000,000 times"):
        resolve(free)
    with pytest.raises(ScenarioError, match="more than 1,000,000 times"):
        resolve(free.with_("probing.policy", {"first-arrival": 1e-9}))


def test_what_a_parameter_gives_agrees_with_its_simulation() -> None:
    scenario = load("dbworld-threshold").with_(
        {"probing.policy": {"threshold": 3.5}, "run.replications": 2000}
    )
    resolved = resolve(scenario)
    assert resolved.probing is not None
    assert resolved.probing.probes == len(resolved.probing.policy.root)  # type: ignore[union-attr]
    rows = compare(predict(resolved)[0], sim.run(resolved))
    assert {row.measure: row.verdict for row in rows}["obsolescence_cost"] == "agrees"
