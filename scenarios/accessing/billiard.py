"""Each page at evenly spaced times of its own, all merged into one sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares

_BLOCK = 1024
_GOLDEN = (5**0.5 - 1) / 2


class Billiard(Planned):
    """Page i is due at the times (k + start) / share, and pages are taken in the order of these.

    The walls that a billiard ball crosses. The starts are the multiples of the golden ratio, so
    that pages of equal shares do not come in bursts; ties go to the lower page.
    """

    policy: Literal["billiard"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """The pages that are due in one stretch of time after the other."""
        pages = np.flatnonzero(shares > 0)
        share = shares[pages]
        start = (np.arange(len(pages)) + 0.5) * _GOLDEN % 1.0
        length = max(_BLOCK, len(pages))
        done = np.zeros(len(pages), dtype=np.intp)
        turn = 0
        while True:
            turn += 1
            until = np.maximum(np.ceil(share * (turn * length) - start).astype(np.intp), done)
            accesses = until - done
            which = np.repeat(np.arange(len(pages)), accesses)
            number = np.arange(len(which)) - np.repeat(np.cumsum(accesses) - accesses, accesses)
            due = (number + done[which] + start[which]) / share[which]
            done = until
            yield pages[which[np.argsort(due, kind="stable")]]
