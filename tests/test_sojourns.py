"""Sojourn times of the indexing queue where digits are easily lost.

Expected values are in fractions, in closed form, or follow from Little's law and the levels, which
come from an elimination without a subtraction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from analytic import predict
from scenarios import Scenario, scenario_from
from scenarios.measures import Subject


def queue(
    places: int,
    service: dict[str, Any],
    obsolescence: dict[str, Any] | None = None,
    rate: float = 1.0,
    **others: Any,
) -> Scenario:
    """One exponential robot, one server."""
    buffer = {"waiting_places": places, "service": service}
    if obsolescence is not None:
        buffer["obsolescence"] = obsolescence
    robots = {"available": 1, "access_time": exponential(rate)}
    return scenario_from({"name": "q", "robots": robots, "buffer": buffer} | others)


def exponential(rate: float) -> dict[str, Any]:
    return {"exponential": {"rate": rate}}


def phases(alpha: list[float], T: list[list[float]]) -> dict[str, Any]:
    return {"phase-type": {"alpha": alpha, "T": T}}


def exact(scenario: Scenario) -> dict[tuple[str, Subject], float]:
    found = predict(scenario)[0]
    assert {row.kind for row in found} == {"exact"}
    return {(row.measure, row.subject): row.value for row in found}


# -- nothing is subtracted -----------------------------------------------------------------------


def seldom_left(power: int) -> dict[str, Any]:
    """Two phases that go to and fro, and are left for a third one with rate 2^-power."""
    e = 2.0**-power
    return phases([1.0, 0.0, 0.0], [[-(1 + e), 1.0, e], [1.0, -1.0, 0.0], [0.0, 0.0, -1.0]])


@pytest.mark.parametrize("power", [20, 30, 40, 50])
def test_moments_of_a_service_that_hardly_ends(power: int) -> None:
    """No place to wait: moments from each phase by first steps, in fractions."""
    e = Fraction(1, 2**power)
    third = Fraction(1)
    first = (2 + e * third) / e
    second = 1 + first
    square = (2 * first + 2 * second + e * 2 * third) / e
    found = exact(queue(0, seldom_left(power)))
    assert found["sojourn_time", "served"] == pytest.approx(float(first), rel=1e-14)
    twice = found["sojourn_time_second_moment", "served"]
    assert twice == pytest.approx(float(square), rel=1e-14)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("power", [20, 30, 40, 50])
def test_timers_that_hardly_go_off_keep_littles_law(power: int, places: int) -> None:
    """Accepted pages: mean level over the rate at which they end."""
    rate = exponential(2.0**-power)
    found = exact(queue(places, rate, seldom_left(power), rate=2.0**-power))
    ended = found["success_probability", None] + found["obsolescence_probability", None]
    expected = found["mean_in_system", None] / (ended * found["arrival_rate", None])
    assert found["sojourn_time", "accepted"] == pytest.approx(expected, rel=1e-13)


def test_phases_that_are_left_with_rate_2_to_the_minus_60() -> None:
    """A service of mean 2^61 or so, in a matrix that is singular to rounding."""
    e = 2.0**-60
    law = phases([0.0, 1.0, 0.0], [[-1.0, 0.0, 0.0], [e, -1.0, 1.0], [0.0, 1.0, -1.0]])
    found = exact(queue(0, law))
    assert found["sojourn_time", "served"] == pytest.approx(2.0**61, rel=1e-14)
    assert found["sojourn_time_second_moment", "served"] == pytest.approx(2.0**123, rel=1e-14)


@pytest.mark.parametrize("rate", [1e3, 1e9, 1e15, 1e17])
def test_second_moments_of_all_pages_keep_their_digits_where_few_enter(rate: float) -> None:
    """M/M/1/1: one of 1 + rate pages enters, and is served with E S^2 = 2."""
    found = exact(queue(0, exponential(1.0), rate=rate))
    value = found["sojourn_time_second_moment", "all"]
    assert value == pytest.approx(2 / (1 + rate), rel=1e-14, abs=0)
