"""The crawl value: what an access is worth now, by the time since the last one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from scenarios.accessing.index import NEAR, IndexPolicy, Numbers, second_order


class CrawlValue(IndexPolicy):
    """The page with the greatest ``w [1 - (1 + x) e^-x]`` next, x its expected changes since then.

    x is its age in slots by the number in `exponents`, the changes per mean access time; w, in
    `values`, is the weight over the change rate. The greedy rule of the literature on crawling,
    which for constant access times is Whittle's index in the limit of many pages.
    """

    policy: Literal["crawl-value"]
    urgency = "crawl-value"
    uses_transform = False

    def columns(self, exponents: Numbers, values: Numbers) -> tuple[Numbers, ...]:
        """The changes per access time, and w."""
        return exponents, values

    def index(self, columns: tuple[Numbers, ...], age: Any) -> Numbers:
        """``w e^{-x} (e^x - 1 - x)`` where x is small, else as above."""
        exponent, value = columns
        x = exponent * age
        decay = np.exp(-x)
        small = decay * second_order(np.minimum(x, NEAR))
        return value * np.where(x < NEAR, small, 1.0 - (1.0 + x) * decay)
