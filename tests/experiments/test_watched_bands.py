"""Who watches never sees a wrong formula called right, however rare what it predicts is."""

from __future__ import annotations

import numpy as np
import pytest

from crawlsim.explore.lesson import library
from experiments.watched_bands import watch, with_assumed, wrong_formulas

FEW_LOSSES = {"robots.access_time": {"exponential": {"rate": 0.5}}, "buffer.waiting_places": 10}
CONSTANT = {"buffer.service": {"deterministic": {"value": 1.0}}}
LESSONS = {each.key: each for each in library()}


def test_a_small_share_that_is_wrong_by_a_factor_of_two_hundred_is_never_called_right() -> None:
    """A band of 0.001 to each side, as was enough once, is four times what the formula says."""
    lesson = with_assumed(LESSONS["break-exponential"], FEW_LOSSES)
    seen = watch(lesson, CONSTANT, streams=2, replications=110)
    assert np.isinf(seen.agreed).all()
    assert (seen.own <= 110).all()


def test_a_formula_that_is_right_is_called_so_once_the_band_is_narrow() -> None:
    seen = watch(LESSONS["more-robots"], {}, streams=1, replications=110)
    assert np.isinf(seen.own).all()
    assert np.isfinite(seen.agreed).all()


@pytest.mark.nightly
def test_of_a_thousand_wrong_formulas_none_is_called_right() -> None:
    """Each is wrong by more than the tolerance to both sides of the band."""
    found = wrong_formulas(1000, replications=60)
    assert sum(np.isfinite(agreed) for _, _, agreed in found) == 0
    assert np.mean([np.isfinite(left) for _, left, _ in found]) > 0.9
