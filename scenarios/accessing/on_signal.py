"""Blind trust: pages of which a signal was heard come first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from scenarios.accessing.deadline import Deadline
from scenarios.accessing.policy import Frequencies, Indices, Planned, Shares


class OnSignal(Planned):
    """Pages of which a signal was heard since their last access, the first signal first.

    While there is none, the plan of the frequencies goes on, by the earliest deadline.
    """

    policy: Literal["on-signal"]
    frequencies: Frequencies = "uniform"

    def plan(self, shares: Shares) -> Iterator[Indices]:
        """What is accessed while no signal waits."""
        return Deadline(policy="deadline").plan(shares)
