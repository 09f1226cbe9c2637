"""Laws of sizes that are hard to fit: atoms, nearly equal ones, likelihoods with several hills."""

from __future__ import annotations

import numpy as np
import pytest

from analytic.fitting.fit_quality import quality_of
from analytic.fitting.hyper_erlang import HyperErlang, sample_of
from analytic.fitting.service_times import fit_sizes


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
