"""A lower bound above the cost: put down to rounding within limits, else a defect."""

from __future__ import annotations

import pytest

from analytic.machinery.bounds import BrokenBoundError, at_most


@pytest.mark.parametrize("cost", [3.0, -3.0, 2e-12])
def test_a_bound_that_rounding_has_raised_is_the_cost(cost: float) -> None:
    assert at_most(cost, cost - 0.5) == cost - 0.5
    assert at_most(cost, cost + 5e-7 * abs(cost)) == cost
    assert at_most(cost, cost) == cost


@pytest.mark.parametrize(("cost", "bound"), [(3.0, 3.00001), (-3.0, -2.99999), (0.0, 2e-9)])
def test_a_bound_above_the_cost_is_a_defect(cost: float, bound: float) -> None:
    with pytest.raises(BrokenBoundError, match=f"bound of {bound!r} above a cost of {cost!r}"):
        at_most(cost, bound)
