"""Smooth rates, and the steps in which they are taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from analytic.probing import Profile, expected_cost, expected_freshness
from analytic.probing.profile import step_error
from scenarios import ScenarioError, load
from scenarios.rates import Lines, Rate, Sine
from scenarios.sections import Source

Smooth = Lines | Sine

sizes = st.floats(0.1, 10.0)


@st.composite
def sines(draw: Any) -> Sine:
    mean = draw(sizes)
    swing = draw(st.floats(0.0, 1.0))
    period = draw(sizes)
    peak = draw(st.floats(0.0, 0.99)) * period
    steps = draw(st.integers(1, 40))
    return Sine(mean=mean, amplitude=swing * mean, peak=peak, period=period, steps=steps)


@st.composite
def lines(draw: Any) -> Lines:
    period = draw(sizes)
    shares = draw(st.lists(st.integers(0, 99), min_size=2, max_size=6, unique=True))
    values = draw(st.lists(st.floats(0.0, 10.0), min_size=len(shares), max_size=len(shares)))
    values[0] += 0.1
    points = [(share * period / 100, value) for share, value in zip(sorted(shares), values)]  # noqa: B905
    return Lines(points=tuple(points), period=period, steps=draw(st.integers(1, 40)))


def rate_of(rate: Smooth) -> Callable[[float], float]:
    """The rate as its definition has it, on [0, period]."""
    if isinstance(rate, Sine):
        turn = 2 * math.pi / rate.period
        return lambda t: rate.mean + rate.amplitude * math.cos(turn * (t - rate.peak))
    times, values = zip(*rate.points, strict=True)
    return lambda t: float(np.interp(t, times, values, period=rate.period))


@given(rate=st.one_of(sines(), lines()))
def test_a_step_has_the_mean_of_its_rate(rate: Smooth) -> None:
    """By quadrature, step by step."""
    edges = [*rate.breaks, rate.period]
    corners = [time for time, _ in rate.points] if isinstance(rate, Lines) else []
    for start, end, value in zip(edges[:-1], edges[1:], rate.values, strict=True):
        inside = [time for time in corners if start < time < end]
        expected = quad(rate_of(rate), start, end, points=inside or None)[0] / (end - start)
        assert value == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(rate=st.one_of(sines(), lines()))
def test_nothing_is_further_off_than_said(rate: Smooth) -> None:
    """The integrals of the rate and of its steps, at 4,000 times."""
    times = np.linspace(0.0, rate.period, 4001)
    fine = rate.model_copy(update={"steps": 4000})
    exact = np.append(0.0, np.cumsum(fine.values)) * rate.period / 4000
    edges = np.array([*rate.breaks, rate.period])
    sums = np.append(0.0, np.cumsum(np.array(rate.values) * np.diff(edges)))
    off = np.abs(np.interp(times, edges, sums) - exact).max()
    assert off <= rate.most_off * (1 + 1e-9) + 1e-12 * exact[-1]


def test_a_sine_comes_close_to_what_is_said() -> None:
    """The bound is no more than that: where a sine is steepest it is nearly attained."""
    rate = Sine(mean=2.0, amplitude=2.0, period=1.0, steps=50)
    middle = rate.period / 4
    end = middle + 0.5 / 50
    exact = quad(rate_of(rate), middle - 0.5 / 50, middle)[0]
    assert (end - middle) * rate.values[12] - exact == pytest.approx(-rate.most_off, rel=0.01)


@st.composite
def schedules(draw: Any) -> tuple[Source, list[float]]:
    source = Source(
        updates=draw(st.one_of(sines(), lines())), importance=draw(st.one_of(sines(), lines()))
    )
    shares = draw(st.lists(st.floats(0.01, 0.99), max_size=5))
    horizon = draw(st.floats(0.5, 20.0))
    return source, [*(share * horizon for share in sorted(shares)), horizon]


def of_source(source: Source, times: list[float]) -> tuple[float, float]:
    """Expected cost and freshness, of its steps."""
    profile = Profile(source.updates, source.importance, times[-1])
    return expected_cost(profile, times), expected_freshness(profile, times)


def differences(source: Source, times: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Of cost and freshness between these steps and very fine ones, and the most there may be."""
    fine = Source(
        updates=source.updates.model_copy(update={"steps": 2000}),
        importance=source.importance.model_copy(update={"steps": 2000}),
    )
    allowed = sum(
        np.array(step_error(each, Profile(each.updates, each.importance, times[-1])))
        for each in (source, fine)
    )
    off = np.abs(np.subtract(of_source(source, times), of_source(fine, times)))
    return off, allowed * (1 + 1e-9) + 1e-9 * np.array(of_source(fine, times))


@given(schedule=schedules())
def test_the_steps_change_a_schedule_by_no_more_than_said(
    schedule: tuple[Source, list[float]],
) -> None:
    off, allowed = differences(*schedule)
    assert (off <= allowed).all()


def test_steps_that_begin_with_the_rate_are_further_off() -> None:
    """A planted error: the rate at the beginning of a step in place of its mean."""
    rate = Sine(mean=2.0, amplitude=2.0, peak=0.3, period=1.0, steps=24)
    source = Source(updates=rate, importance=rate.model_copy(update={"peak": 0.6}))
    times = [0.4, 0.5, 0.9]
    off, allowed = differences(source, times)
    assert (off <= allowed).all()
    beginning = [rate_of(rate)(start) for start in rate.breaks]
    wrong = Rate(breaks=rate.breaks, values=beginning, period=1.0)
    mistaken, _ = of_source(source.model_copy(update={"updates": wrong}), times)
    right, _ = of_source(source, times)
    assert abs(mistaken - right) > allowed[0]


CHANGES = {
    "a rate below 0": ({"mean": 1.0, "amplitude": 1.5, "period": 1.0, "steps": 4}, "amplitude"),
    "no steps": ({"mean": 1.0, "amplitude": 0.5, "period": 1.0}, "steps"),
    "time runs back": ({"points": [[0.5, 1], [0.2, 2]], "period": 1.0, "steps": 4}, "points[0]"),
    "a point at the period": ({"points": [[0, 1], [1, 2]], "period": 1.0, "steps": 4}, "points[1]"),
    "nothing but 0": ({"points": [[0, 0], [0.5, 0]], "period": 1.0, "steps": 4}, "points"),
    "one point": ({"points": [[0, 1]], "period": 1.0, "steps": 4}, "points"),
    "three numbers": ({"points": [[0, 1], [0.5, 2, 3]], "period": 1.0, "steps": 4}, "points[1]"),
    "a peak in another period": (
        {"mean": 1.0, "amplitude": 0.5, "peak": 1.0, "period": 1.0, "steps": 4},
        "peak",
    ),
    "keys of two kinds": ({"mean": 1.0, "breaks": [0], "values": [1], "period": 1.0}, "mean"),
    "two kinds": (
        {"mean": 1.0, "amplitude": 0.5, "points": [[0, 1]], "period": 1.0, "steps": 4},
        "",
    ),
}


@pytest.mark.parametrize(("rate", "key"), CHANGES.values(), ids=CHANGES)
def test_bad_rates_are_refused(rate: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        load("dbworld-uniform", {"source.updates": rate})
    assert refusal.value.key == f"source.updates{'.' if key else ''}{key}"
