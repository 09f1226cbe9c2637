"""Laws of sizes that are hard to fit: atoms, nearly equal ones, likelihoods with several hills."""

from __future__ import annotations

import numpy as np
import pytest

from crawlsim.logs.fit.hyper_erlang import (
    HyperErlang,
    log_likelihood,
    maximum_likelihood,
    sample_of,
)
from crawlsim.logs.fit.sizes import fit_sizes, quality_of


@pytest.mark.parametrize("number", [4000, 6000])
def test_half_ones_and_half_tens_are_no_mixture_of_erlang_laws(number: int) -> None:
    """At 1 the empirical law jumps by half: any continuous one is off by a quarter there."""
    found = fit_sizes(np.tile([1.0, 10.0], number // 2))
    assert found.quality.distance > 0.25
    assert found.quality.poor
    assert found.notes()[0].startswith("The fit is poor")


def test_equal_observations_are_one_step() -> None:
    """By hand: three quarters at ln 2, where an exponential law has one half below."""
    law = HyperErlang((1.0,), (1,), (1.0,))
    tied = np.log([2.0, 2.0, 2.0, 8.0])
    assert quality_of(tied, law).distance == pytest.approx(0.5)  # from before the first step
    late = np.log([8.0, 8.0, 8.0, 16.0])
    assert quality_of(late, law).distance == pytest.approx(7 / 8)
    early = np.log([8 / 7, 8 / 7, 8 / 7, 2.0])
    assert quality_of(early, law).distance == pytest.approx(3 / 4 - 1 / 8)


@pytest.mark.parametrize("spread", [1e-2, 1e-4, 1e-5])
def test_nearly_equal_sizes_are_fitted(spread: float) -> None:
    values = 1000.0 * (1.0 + spread * np.random.default_rng(61).random(6000))
    assert len(sample_of(values).values) > 3000
    found = fit_sizes(values)
    assert found.best.law.moment(1) == pytest.approx(values.mean(), rel=1e-3)
    assert found.quality.poor


MIXTURES = {
    "narrow, then exponential": ((0.85, 6, 5.0), (0.15, 1, 500.0)),
    "exponential inside of a peak": ((0.5, 8, 1.0), (0.5, 1, 5.0)),
    "exponential, then narrow": ((0.3, 1, 1.0), (0.7, 5, 4.0)),
    "two shapes": ((0.8, 10, 0.5), (0.2, 2, 20.0)),
}


@pytest.mark.parametrize("case", MIXTURES)
def test_no_law_is_far_behind_the_one_that_made_the_sample(case: str) -> None:
    """(share, shape, mean of a phase) of each branch; stuck on another hill it is 7 to 1300."""
    shares, shapes, phases = (tuple(each) for each in zip(*MIXTURES[case], strict=True))
    rng = np.random.default_rng(62)
    branch = rng.choice(2, 3000, p=shares)
    values = rng.gamma(np.array(shapes)[branch], np.array(phases)[branch])
    truth = HyperErlang(shares, shapes, tuple(1.0 / each for each in phases))
    found = fit_sizes(values)
    assert log_likelihood(found.sample, truth) < found.best.log_likelihood + 1.0
    assert not found.quality.poor


@pytest.mark.parametrize("shapes", [(1, 6), (2, 5), (1, 2, 5)])
def test_the_order_of_shapes_does_not_matter(shapes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(63)
    values = np.where(
        rng.random(2000) < 0.85, rng.gamma(6.0, 5.0, 2000), rng.exponential(500.0, 2000)
    )
    sample = sample_of(values)
    one, other = (maximum_likelihood(sample, each) for each in (shapes, shapes[::-1]))
    assert one[1] == pytest.approx(other[1], abs=1e-6)
    if shapes == (1, 6):
        assert one[0].shapes == (6, 1)
        assert one[0].means == pytest.approx([30.0, 500.0], rel=0.1)
