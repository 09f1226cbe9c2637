"""Where the survival of a law begins to fall, and where it leaps or bends; its quantiles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from analytic.laws.geometric_sum import GeometricSum
from analytic.laws.mixture import jumps as jumps_of_mixture
from analytic.machinery.phase_type import MOST_PHASES, as_phase_type
from analytic.machinery.transforms import jumps, moments, shortest, survival, time_quantile
from scenarios.laws import Deterministic, Distribution, Erlang, Exponential

UNIFORM = {"uniform": {"low": 0.5, "high": 3.0}}
PARETO = {"pareto": {"mean": 3.0, "shape": 1.5}}
SEEN = {"empirical": {"values": [4.0, 0.75, 2.0, 0.75]}}
LAWS: dict[str, tuple[dict[str, Any], float, list[float]]] = {
    "uniform": (UNIFORM, 0.5, [0.5, 3.0]),
    "pareto": (PARETO, 1.0, [1.0]),
    "empirical": (SEEN, 0.75, [0.75, 2.0, 4.0]),
    "deterministic": ({"deterministic": {"value": 2.5}}, 2.5, [2.5]),
    "mixture": (
        {"mixture": {"probabilities": [0.2, 0.3, 0.5], "of": [PARETO, SEEN, UNIFORM]}},
        0.5,
        [0.5, 0.75, 1.0, 2.0, 3.0, 4.0],
    ),
    "exponential": ({"exponential": {"mean": 2.0}}, 0.0, []),
}


def law(name: str) -> Distribution:
    made: Distribution = TypeAdapter(Distribution).validate_python(LAWS[name][0])
    return made


@pytest.mark.parametrize("name", LAWS)
def test_no_time_is_below_the_shortest(name: str) -> None:
    _, least, where = LAWS[name]
    assert shortest(law(name)) == pytest.approx(least, rel=1e-14)
    assert jumps(law(name)) == pytest.approx(where, rel=1e-14)
    before, after = survival(law(name), [least * (1 - 1e-9), least + 1e-3])
    assert before == 1.0
    assert after < 1.0


@pytest.mark.parametrize("name", LAWS)
def test_between_its_jumps_a_survival_is_smooth(name: str) -> None:
    """Second differences are small there, and large across each of them."""
    places = [0.0, *LAWS[name][2], 6.0]
    step = 1e-4
    for low, high in pairwise(places):
        middle = (low + high) / 2
        bend = float(np.diff(survival(law(name), middle + step * np.arange(-1, 2)), 2)[0])
        assert abs(bend) < 1e-7
    for place in places[1:-1]:
        bend = float(np.diff(survival(law(name), place + step * np.arange(-1, 2)), 2)[0])
        assert abs(bend) > 1e-6


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.99])
def test_a_quantile_is_the_least_time_with_its_share(name: str, share: float) -> None:
    found = time_quantile(law(name), share)
    assert float(survival(law(name), found)) <= 1.0 - share
    if share == 0.0:
        assert found == 0.0
        return
    assert float(survival(law(name), found * (1 - 1e-12))) >= (1.0 - share) * (1 - 1e-9)


def test_equal_jumps_of_the_laws_of_a_mixture_are_one() -> None:
    twice = {"mixture": {"probabilities": [0.5, 0.5], "of": [UNIFORM, UNIFORM]}}
    assert jumps_of_mixture(TypeAdapter(Distribution).validate_python(twice)) == [0.5, 3.0]


def test_an_erlang_law_of_too_many_phases_has_no_matrix() -> None:
    assert as_phase_type(Erlang(shape=MOST_PHASES + 1, mean=1.0)) is None
    few = as_phase_type(Erlang(shape=3, mean=1.5))
    assert few is not None
    assert few.generator == pytest.approx(2.0 * (np.diag([1.0, 1.0], 1) - np.eye(3)))


def test_accesses_that_are_repeated_until_one_succeeds_are_called_so() -> None:
    """A geometric sum of constant times: 1 / (1 - q) of them, with variance q / (1 - q)²."""
    repeated: Any = GeometricSum(Deterministic(value=2.0), 0.25)
    assert repeated.key == "repeated deterministic"
    mean, square = moments(repeated)
    assert mean == pytest.approx(2.0 / 0.75, rel=1e-9)
    assert square - mean**2 == pytest.approx(4.0 * 0.25 / 0.75**2, rel=1e-4)
    exponential: Any = GeometricSum(Exponential(mean=2.0), 0.25)
    mean, square = moments(exponential)
    assert square == pytest.approx(2 * mean**2, rel=1e-4)
