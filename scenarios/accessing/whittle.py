"""Whittle's index: what an access gains against waiting one slot more."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from scenarios.accessing.index import NEAR, IndexPolicy, Numbers, second_order


class Whittle(IndexPolicy):
    """The page with the greatest ``w [1 - h^a - a (h^a - h^(a+1))]`` next, a its age in slots.

    h = e^-l, l in `exponents`; w, in `values`, is the weight over the change rate. Needs no
    frequencies and no cycle, and follows the optimum of coffman1998 (7) for any weights.
    """

    policy: Literal["whittle"]
    urgency = "whittle"
    uses_transform = True

    def columns(self, exponents: Numbers, values: Numbers) -> tuple[Numbers, ...]:
        """l, w, 1 - h, and ``l - (1 - h)``."""
        missed = -np.expm1(-exponents)
        beyond = np.where(
            exponents < NEAR, second_order(-np.minimum(exponents, NEAR)), exponents - missed
        )
        return exponents, values, missed, beyond

    def index(self, columns: tuple[Numbers, ...], age: Any) -> Numbers:
        """``w e^{-la} [e^{la} - 1 - la + a (l - 1 + h)]`` where la is small, else as above."""
        exponent, value, missed, beyond = columns
        past = exponent * age
        decay = np.exp(-past)
        small = decay * (second_order(np.minimum(past, NEAR)) + age * beyond)
        return value * np.where(past < NEAR, small, 1.0 - decay * (1.0 + age * missed))
