"""Laws without a closed transform: against SciPy's laws by a finer quadrature, and their draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analytic.machinery.phase_type import as_phase_type, phase_count
from analytic.machinery.transforms import (
    complement,
    excess,
    log_transform,
    matrix_transform,
    mean_time,
    moments,
    survival,
    time_weighted_transform,
)
from scenarios.laws import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Mixture,
    Pareto,
    PhaseType,
    Uniform,
    Weibull,
)
from sim.laws import draws_and_mean, how_to_draw

MIXTURE = Mixture(
    probabilities=(0.25, 0.75), of=(Lognormal(mean=3.0, sd=4.0), Weibull(mean=0.5, shape=2.0))
)
LAWS: dict[str, Distribution] = {
    "lognormal": Lognormal(mean=2.0, sd=1.0),
    "lognormal, narrow": Lognormal(mean=1.0, sd=0.02),
    "lognormal, wide": Lognormal(mean=1.0, sd=8.0),
    "weibull": Weibull(mean=0.5, shape=0.4),
    "weibull by sd": Weibull(mean=3.0, sd=0.5),
    "pareto": Pareto(mean=1.0, shape=1.2),
    "pareto by sd": Pareto(mean=2.0, sd=5.0),
    "mixture": MIXTURE,
}
T = np.array([[-2.0, 1.5, 0.0], [0.1, -0.7, 0.5], [0.0, 0.0, -3.0]])


def scipys(law: Any) -> Any:
    """SciPy's law with the parameters of the literature."""
    if isinstance(law, Lognormal):
        spread = math.log(1 + (law.sd / law.mean) ** 2)
        return stats.lognorm(math.sqrt(spread), scale=law.mean * math.exp(-spread / 2))
    if isinstance(law, Pareto):
        shape = law.shape or 1 + math.sqrt(1 + (law.mean / law.sd) ** 2)
        return stats.pareto(shape, scale=law.mean * (shape - 1) / shape)
    shape = law.shape or law.shape_parameter
    return stats.weibull_min(shape, scale=law.mean / math.gamma(1 + 1 / shape))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(100)


def expected(law: Any, function: Callable[[Any], Any]) -> float:
    """The mean of a function of the time: panels of a hundred points over its logarithm."""
    if isinstance(law, Mixture):
        parts = zip(law.probabilities, law.of, strict=True)
        return sum(p * expected(each, function) for p, each in parts)
    heavy = isinstance(law, Pareto)
    least, panels = (scipys(law).support()[0], 400) if heavy else (1e-35, 240)
    x = np.exp(math.log(least) + 0.5 * (np.arange(panels)[:, None] + (NODES + 1) / 2))
    return float((function(x) * scipys(law).pdf(x) * x).sum(axis=0) @ WEIGHTS / 4)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_transforms_against_a_finer_quadrature(law: Distribution) -> None:
    """Beside the transform its excess, ``ln E e^{-s (X - m)}``, without cancellation."""
    mean = mean_time(law)
    for s in (1e-4 / mean, 0.3 / mean, 3.0 / mean):
        missed = expected(law, lambda x, s=s: -np.expm1(-s * x))  # type: ignore[misc]  # s bound now
        assert complement(law, s) == pytest.approx(missed, rel=1e-11)
        assert log_transform(law, s) == pytest.approx(-math.log1p(-missed), rel=1e-10)
    s = 0.3 / mean
    centred = expected(law, lambda x: np.expm1(s * (mean - x)) - s * (mean - x))
    assert excess(law, s) == pytest.approx(math.log1p(centred), rel=1e-10)
    assert mean == pytest.approx(expected(law, lambda x: x), rel=1e-10)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_matrix_transforms_against_a_finer_quadrature(law: Distribution) -> None:
    """By the eigenvalues of T, which are real."""
    values, vectors = np.linalg.eig(T)
    plain = [expected(law, lambda x, s=s: np.exp(s * x)) for s in values]  # type: ignore[misc]  # s bound now
    weighted = [expected(law, lambda x, s=s: x * np.exp(s * x)) for s in values]  # type: ignore[misc]  # as above
    for found, given in ((matrix_transform, plain), (time_weighted_transform, weighted)):
        wanted = (vectors * given) @ np.linalg.inv(vectors)
        assert found(law, T) == pytest.approx(wanted, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_moments_and_survival(law: Any) -> None:
    parts = [(1.0, law)] if law is not MIXTURE else zip(law.probabilities, law.of, strict=True)
    known = [(p, scipys(each)) for p, each in parts]
    at = np.array([0.1, 0.5, 1.0, 2.0, 10.0]) * mean_time(law)
    assert survival(law, at) == pytest.approx(sum(p * each.sf(at) for p, each in known), rel=1e-12)
    second = sum(p * (each.var() + each.mean() ** 2) for p, each in known)
    assert moments(law)[1] == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize(
    ("law", "sd"),
    [
        (Gamma(mean=2.0, sd=3.0), 3.0),
        (Uniform(mean=2.0, sd=1.0), 1.0),
        (Weibull(mean=2.0, sd=0.01), 0.01),
        (Weibull(mean=2.0, sd=40.0), 40.0),
        (Pareto(mean=2.0, sd=0.5), 0.5),
        (Lognormal(mean=2.0, sd=3.0), 3.0),
    ],
)
def test_a_law_has_the_standard_deviation_that_it_is_given_by(law: Distribution, sd: float) -> None:
    mean, second = moments(law)
    assert mean == pytest.approx(2.0, rel=1e-14)
    assert second - mean**2 == pytest.approx(sd**2, rel=1e-8)


def test_up_to_shape_two_a_pareto_law_has_no_variance() -> None:
    assert moments(Pareto(mean=1.0, shape=2.0))[1] == math.inf
    assert math.isfinite(moments(Pareto(mean=1.0, shape=2.001))[1])


def test_a_mixture_of_laws_with_phases_has_them_too() -> None:
    mixture = Mixture(
        probabilities=(0.25, 0.75), of=(Exponential(mean=2.0), Erlang(shape=3, mean=2.0))
    )
    assert phase_count(mixture) == 4
    form = as_phase_type(mixture)
    assert form is not None
    alpha = tuple(form.start.tolist())
    alike = PhaseType(alpha=alpha, T=tuple(map(tuple, form.generator.tolist())))
    for s in (1e-6, 0.4, 50.0):
        assert log_transform(mixture, s) == pytest.approx(float(log_transform(alike, s)), rel=1e-13)
        assert excess(mixture, s) == pytest.approx(float(excess(alike, s)), rel=1e-12)
    assert matrix_transform(mixture, T) == pytest.approx(matrix_transform(alike, T), rel=1e-12)
    assert as_phase_type(MIXTURE) is None


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_have_the_law(law: Distribution) -> None:
    """Kolmogorov-Smirnov with 20,000 draws (seed 23): a false alarm in 10,000 for each law.

    A distance of 0.03 is seen nearly always; that of a Lomax law of the same shape would be 0.4.
    """
    draw, given = how_to_draw(law)
    rng = np.random.default_rng(23)
    times = np.sort([draw(rng, *given) for _ in range(20_000)])
    assert stats.kstest(times, lambda t: 1 - survival(law, t)).pvalue > 1e-4
    assert draws_and_mean(law)[1] == pytest.approx(mean_time(law), rel=1e-13)


@pytest.mark.parametrize("impossible", [Pareto(mean=2.0, shape=1.3), Exponential(mean=1e-9)])
def test_a_law_that_is_never_drawn_changes_nothing(impossible: Distribution) -> None:
    law = Erlang(shape=2, mean=1.0)
    mixture = Mixture(probabilities=(0.0, 1.0), of=(impossible, law))
    rates = np.array([0.5, 900.0])
    assert moments(mixture) == pytest.approx(moments(law), rel=1e-14)
    assert log_transform(mixture, rates) == pytest.approx(log_transform(law, rates), rel=1e-12)
    assert excess(mixture, rates) == pytest.approx(excess(law, rates), rel=1e-12)
    assert phase_count(mixture) == phase_count(law)


def in_other_units(law: Distribution, unit: float) -> Distribution:
    """The same times, counted in a unit that is so many times shorter."""
    given = law.model_dump(exclude_none=True)
    for key in ("mean", "sd", "value", "low", "high", "minimum"):
        if key in given:
            given[key] *= unit
    if "values" in given:
        given["values"] = tuple(unit * value for value in given["values"])
    if "rates" in given:
        given["rates"] = tuple(rate / unit for rate in given["rates"])
    if "T" in given:
        given["T"] = tuple(tuple(rate / unit for rate in row) for row in given["T"])
    if isinstance(law, Mixture):
        given["of"] = tuple(in_other_units(each, unit) for each in law.of)
    return type(law)(**given)


OTHERS: dict[str, Distribution] = {
    "deterministic": Deterministic(value=2.0),
    "exponential": Exponential(mean=0.5),
    "erlang": Erlang(shape=3, mean=2.0),
    "gamma": Gamma(shape=0.7, mean=2.0),
    "uniform": Uniform(low=0.5, high=3.0),
    "empirical": Empirical(values=(0.25, 1.0, 4.0)),
    "hyperexponential": Hyperexponential(probabilities=(0.25, 0.75), rates=(0.5, 4.0)),
    "phase-type": PhaseType(alpha=(0.25, 0.75), T=((-2.0, 1.0), (0.5, -1.5))),
}


@pytest.mark.parametrize("unit", [1e-6, 1e3, 2.0**20])
@pytest.mark.parametrize("law", [*LAWS.values(), *OTHERS.values()], ids=[*LAWS, *OTHERS])
def test_the_unit_of_time_does_not_matter(law: Distribution, unit: float) -> None:
    """What holds of means near one holds of microseconds and of years."""
    other = in_other_units(law, unit)
    s = np.array([1e-4, 0.3, 1.0, 20.0])
    times = np.array([0.1, 0.7, 1.3, 5.0])
    assert mean_time(other) == pytest.approx(unit * mean_time(law), rel=1e-9)
    assert moments(other)[1] == pytest.approx(unit**2 * moments(law)[1], rel=1e-8)
    for found, expected in (
        (log_transform(other, s / unit), log_transform(law, s)),
        (complement(other, s / unit), complement(law, s)),
        (survival(other, unit * times), survival(law, times)),
        (matrix_transform(other, T / unit), matrix_transform(law, T)),
        (time_weighted_transform(other, T / unit) / unit, time_weighted_transform(law, T)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(excess(other, s / unit), excess(law, s), rtol=1e-6, atol=1e-12)
