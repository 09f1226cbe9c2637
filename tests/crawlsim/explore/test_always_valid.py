"""The band against its definition, and against normal values whose mean is known."""

import math

import numpy as np
import pytest

from crawlsim.explore.always_valid import FIRST, PRIOR, errors_to_each_side


def martingale(values: np.ndarray, mean: float) -> float:
    """Mean likelihood ratio of the t-test, by quadrature over the standardised mean's prior.

    With the scale integrated out by the right Haar measure, the ratio at a standardised mean d is
    that of the densities of the maximal invariant, (x_1 - mean, …) up to a positive factor.
    """
    x = values - mean
    n = len(x)
    total, square = x.sum(), (x**2).sum()
    steps = np.linspace(-8, 8, 4001) / math.sqrt(PRIOR)
    prior = np.sqrt(PRIOR / (2 * math.pi)) * np.exp(-PRIOR * steps**2 / 2)
    scales = np.exp(np.linspace(-8, 8, 4001)) * math.sqrt(square / n)
    # density of x at (d scale, scale), integrated over d scale / scale
    logs = -n * np.log(scales) - square / (2 * scales**2)
    shift = steps[:, None] * total / scales - n * steps[:, None] ** 2 / 2
    peak = logs.max()
    at_prior = np.exp(logs - peak + shift)
    over_scales = np.trapezoid(at_prior / scales, scales, axis=1)
    null = np.trapezoid(np.exp(logs - peak) / scales, scales)
    return float(np.trapezoid(prior * over_scales, steps) / null)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [FIRST, 40])
def test_the_band_ends_where_the_martingale_reaches_its_bound(count: int) -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, count)
    error = values.std(ddof=1) / math.sqrt(count)
    reach = errors_to_each_side(count, 0.05) * error
    assert martingale(values, values.mean() + reach) == pytest.approx(20.0, rel=1e-3)


def test_there_is_no_band_of_few_replications_and_it_narrows_like_a_root() -> None:
    assert errors_to_each_side(FIRST - 1, 0.05) == math.inf
    assert errors_to_each_side(FIRST, 1e-12) == math.inf
    widths = [errors_to_each_side(n, 0.05) / math.sqrt(n) for n in (10, 100, 1000, 10**6)]
    assert sorted(widths, reverse=True) == widths
    assert widths[-1] < 0.01


@pytest.mark.statistical
def test_normal_values_leave_the_band_as_seldom_as_it_says() -> None:
    """Of 4000 streams at most 5 % may be left: 247 would be seen by chance once in 1000 (seed 2).

    An interval of Student's t that is watched as long is left in more than 40 %.
    """
    counts = np.arange(1, 1001)
    values = np.random.default_rng(2).normal(size=(4000, len(counts)))
    means = values.cumsum(axis=1) / counts
    squares = (values**2).cumsum(axis=1) / counts - means**2
    errors = np.sqrt(squares[:, FIRST:] / (counts[FIRST:] - 1))
    reach = np.array([errors_to_each_side(n, 0.05) for n in counts[FIRST:].tolist()])
    left = (np.abs(means[:, FIRST:]) > reach * errors).any(axis=1)
    assert 20 < left.sum() < 247
    assert (np.abs(means[:, FIRST:]) > 1.96 * errors).any(axis=1).mean() > 0.4
