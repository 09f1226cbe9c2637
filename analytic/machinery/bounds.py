"""Lower bounds beside the costs that they are bounds of."""

from __future__ import annotations

_RELATIVE = 1e-6
_ABSOLUTE = 1e-9
"""More than rounding puts a bound above a cost, of the cost and in its unit: both together."""


class BrokenBoundError(ArithmeticError):
    """A lower bound was above a cost by more than rounding: a defect, never bad input."""


def at_most(cost: float, bound: float) -> float:
    """A lower bound of a cost; the cost itself where rounding has put the bound above it.

    Raises
    ------
    BrokenBoundError
        If it is above by more than that: it is no bound then, and nothing is proved by it.
    """
    if bound - cost > _RELATIVE * abs(cost) + _ABSOLUTE:
        raise BrokenBoundError(f"a lower bound of {bound!r} above a cost of {cost!r}")
    return min(bound, cost)
