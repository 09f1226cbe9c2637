"""Transforms of the laws against 80-digit arithmetic, and of matrices against quadrature."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from profiles import examples
from scipy.integrate import quad_vec
from scipy.linalg import expm
from scipy.stats import gamma

from analytic.machinery.transforms import (
    complement,
    exc,
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    transform,
    x_minus_log1p,
)
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    PhaseType,
    Uniform,
)

decimal.getcontext().prec = 80
ONE = Decimal(1)


def gamma_reference(law: Any, s: Decimal) -> tuple[Decimal, Decimal]:
    shape = Decimal(getattr(law, "shape", 1))
    mean = Decimal(law.mean)
    return mean, (-shape * (1 + s * mean / shape).ln()).exp()


def uniform_reference(law: Any, s: Decimal) -> tuple[Decimal, Decimal]:
    low = Decimal(law.low)
    high = Decimal(law.high)
    return (low + high) / 2, ((-low * s).exp() - (-high * s).exp()) / (s * (high - low))


def hyperexponential_reference(law: Any, s: Decimal) -> tuple[Decimal, Decimal]:
    pairs = [
        (Decimal(p), Decimal(rate)) for p, rate in zip(law.probabilities, law.rates, strict=True)
    ]
    mean = sum((p / rate for p, rate in pairs), Decimal(0))
    return mean, sum((p * rate / (rate + s) for p, rate in pairs), Decimal(0))


def empirical_reference(law: Any, s: Decimal) -> tuple[Decimal, Decimal]:
    values = [Decimal(value) for value in law.values]
    mean = sum(values, Decimal(0)) / len(values)
    return mean, sum(((-s * value).exp() for value in values), Decimal(0)) / len(values)


def two_phases_reference(law: Any, s: Decimal) -> tuple[Decimal, Decimal]:
    (a, b), (c, d) = [[Decimal(rate) for rate in row] for row in law.T]
    start = [Decimal(p) for p in law.alpha]

    def resolved(s: Decimal, first: Decimal, second: Decimal) -> Decimal:
        determinant = (s - a) * (s - d) - b * c
        solved = [(s - d) * first + b * second, (s - a) * second + c * first]
        return (start[0] * solved[0] + start[1] * solved[1]) / determinant

    return resolved(Decimal(0), ONE, ONE), resolved(s, -a - b, -c - d)


REFERENCES: dict[type, Callable[[Any, Decimal], tuple[Decimal, Decimal]]] = {
    Deterministic: lambda law, s: (Decimal(law.value), (-s * Decimal(law.value)).exp()),
    Exponential: gamma_reference,
    Erlang: gamma_reference,
    Gamma: gamma_reference,
    Uniform: uniform_reference,
    Hyperexponential: hyperexponential_reference,
    Empirical: empirical_reference,
    PhaseType: two_phases_reference,
}

# Numbers that are sums of few powers of two, so that probabilities sum to one in both arithmetics.
EIGHTHS = st.integers(1, 80).map(lambda n: n / 8)
HALVES = st.tuples(EIGHTHS, EIGHTHS)
LAWS = st.one_of(
    EIGHTHS.map(lambda x: Deterministic(value=x)),
    EIGHTHS.map(lambda x: Exponential(mean=x)),
    st.builds(Erlang, shape=st.integers(1, 500), mean=EIGHTHS),
    st.builds(Gamma, shape=st.sampled_from([0.001, 0.3, 2.5, 1e6]), mean=EIGHTHS),
    HALVES.map(lambda pair: Uniform(low=pair[0] - 0.125, high=pair[0] + pair[1])),
    HALVES.map(lambda rates: Hyperexponential(probabilities=(0.25, 0.75), rates=rates)),
    st.lists(EIGHTHS, min_size=2, max_size=4).map(lambda values: Empirical(values=tuple(values))),
    st.tuples(EIGHTHS, EIGHTHS, EIGHTHS, EIGHTHS).map(
        lambda r: PhaseType(alpha=(0.25, 0.75), T=((-r[0] - r[1], r[1]), (r[2], -r[2] - r[3])))
    ),
)


@settings(max_examples=examples(150))
@given(law=LAWS, exponent=st.floats(-12, 4))
@example(law=Exponential(mean=1.0), exponent=-12.0)
@example(law=Uniform(low=0.0, high=0.125), exponent=4.0)
@example(law=Empirical(values=(0.0, 0.0, 8.0)), exponent=-1.0)
@example(law=PhaseType(alpha=(1.0, 0.0), T=((-1.0, 1.0), (0.0, -1.0))), exponent=0.0)
def test_transforms_to_the_last_digits(law: Distribution, exponent: float) -> None:
    """h to its rounding (l × 2^-52), 1 - h, l and delta relative to themselves."""
    s = 10.0**exponent
    mean, h = REFERENCES[type(law)](law, Decimal(s))
    if h < Decimal("1e-290"):
        return
    exponent_of = -h.ln()
    assert mean_time(law) == pytest.approx(float(mean), rel=1e-14)
    assert log_transform(law, s) == pytest.approx(float(exponent_of), rel=5e-15)
    assert transform(law, s) == pytest.approx(float(h), rel=1e-14 * (1 + float(exponent_of)))
    assert complement(law, s) == pytest.approx(float(1 - h), rel=5e-15)
    delta = float(Decimal(s) * mean - exponent_of)
    if isinstance(law, Deterministic) or len(set(getattr(law, "values", None) or (0, 1))) == 1:
        assert excess(law, s) == pytest.approx(0.0, abs=1e-14 * (s * float(mean)))
    else:
        assert excess(law, s) == pytest.approx(delta, rel=1e-12)


def test_nothing_happens_at_rate_zero_and_arrays_go_through() -> None:
    for law in (Exponential(mean=2.0), Uniform(low=0.0, high=1.0), Empirical(values=(1.0, 2.0))):
        assert transform(law, 0.0) == 1.0
        assert excess(law, 0.0) == 0.0
        many = excess(law, [[0.0, 1e-3], [1.0, 1e3]])
        assert many.shape == (2, 2)
        assert many[1, 0] == excess(law, 1.0)


@given(st.floats(-1 + 1e-9, 1e6))
def test_excess_of_the_logarithm(x: float) -> None:
    exact = Decimal(x) - (1 + Decimal(x)).ln()
    assert x_minus_log1p(x) == pytest.approx(float(exact), rel=2e-15)


@given(st.floats(-20.0, 700.0))
def test_excess_of_the_exponential(t: float) -> None:
    exact = Decimal(t) - 1 + (-Decimal(t)).exp()
    assert exc(t) == pytest.approx(float(exact), rel=2e-15)


def test_a_stiff_chain_keeps_small_probabilities_and_its_mass() -> None:
    """Rates 1e9 and 1e-9, in a time of 1 and of 1e12; e^-30 to 13 digits."""
    stiff = np.array([[-1e9, 1e9], [0.0, -1e-9]])
    law = Deterministic(value=1.0)
    assert matrix_transform(law, stiff)[0] == pytest.approx([0.0, 1 - 1e-9], rel=1e-12)
    assert matrix_transform(Deterministic(value=1e12), stiff)[0] == pytest.approx(
        [0, 0], abs=1e-300
    )
    assert matrix_transform(law, np.array([[-30.0]])) == pytest.approx(math.exp(-30.0), rel=1e-13)


T = np.array([[-2.0, 1.5, 0.0], [0.1, -0.7, 0.5], [0.0, 0.0, -3.0]])
PHASES = PhaseType(alpha=(0.5, 0.5), T=((-2.0, 1.0), (0.5, -1.5)))


def density(law: Distribution, t: float) -> float:
    if isinstance(law, Uniform):
        return 1 / (law.high - law.low)
    if isinstance(law, Gamma):
        return float(gamma.pdf(t, law.shape, scale=law.mean / law.shape))
    assert isinstance(law, PhaseType)
    generator = np.array(law.T)
    return float(np.array(law.alpha) @ expm(generator * t) @ -generator.sum(axis=1))


@pytest.mark.by_day(besides=("gamma", "phase-type"))
@pytest.mark.parametrize(
    ("law", "low", "high"),
    [
        (Uniform(low=0.5, high=2.0), 0.5, 2.0),
        (Gamma(shape=2.5, mean=1.2), 0.0, 60.0),
        (PHASES, 0.0, 80.0),
    ],
    ids=["uniform", "gamma", "phase-type"],
)
def test_matrix_transform_against_quadrature(law: Distribution, low: float, high: float) -> None:
    value, _ = quad_vec(lambda t: expm(T * t) * density(law, t), low, high, epsabs=1e-12)
    assert matrix_transform(law, T) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "alike"),
    [
        (Erlang(shape=2, mean=1.5), PhaseType(alpha=(1, 0), T=((-4 / 3, 4 / 3), (0, -4 / 3)))),
        (Exponential(mean=0.5), PhaseType(alpha=(1.0,), T=((-2.0,),))),
        (Erlang(shape=2, mean=1.0), Gamma(shape=2.0, mean=1.0)),
        (Deterministic(value=0.7), Empirical(values=(0.7, 0.7))),
    ],
)
def test_two_ways_to_write_a_law_give_one_matrix(law: Distribution, alike: Distribution) -> None:
    assert matrix_transform(law, T) == pytest.approx(matrix_transform(alike, T), rel=1e-12)


@given(law=LAWS, s=st.floats(1e-6, 30.0))
def test_a_matrix_of_order_one_is_the_transform(law: Distribution, s: float) -> None:
    expected = float(transform(law, s))
    assert matrix_transform(law, np.array([[-s]]))[0, 0] == pytest.approx(expected, rel=1e-9)


def test_a_generator_keeps_its_probability() -> None:
    generator = T - np.diag(T.sum(axis=1))
    for law in (Uniform(low=0.5, high=2.0), Gamma(shape=0.4, mean=1.2), PHASES):
        assert matrix_transform(law, generator).sum(axis=1) == pytest.approx(np.ones(3))
    assert math.isclose(matrix_transform(PHASES, np.zeros((1, 1)))[0, 0], 1.0)
