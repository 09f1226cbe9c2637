"""Accesses spread over a Fibonacci number of slots by the golden ratio."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from scenarios.accessing.policy import Frequencies, Policy
from scenarios.base import Count
from scenarios.errors import refused

__all__ = ["GoldenRatio"]


def _is_fibonacci(slots: int) -> int:
    low, high = 1, 2
    while high < slots:
        low, high = high, low + high
    if slots not in (low, high):
        raise refused(f"must be a Fibonacci number; the nearest are {low} and {high}")
    return slots


class GoldenRatio(Policy):
    """Page i is accessed in its share of `cycle` slots, spread by the golden ratio.

    coffman1998, section 5.
    """

    policy: Literal["golden-ratio"]
    frequencies: Frequencies = "uniform"
    cycle: Annotated[Count, AfterValidator(_is_fibonacci)] | None = None
