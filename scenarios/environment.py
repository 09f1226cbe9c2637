"""The common environment of the robots: a random process that sets the speed of every access."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from scenarios.base import SMALLEST, Matrix, NonNegative, Section
from scenarios.errors import refused
from scenarios.validity import check_every_phase_reaches, check_generator, check_length

MOST_STATES = 100
"""States of an environment."""


class Environment(Section):
    """A Markov chain in continuous time, and how fast accesses run in each of its states.

    `seen`: whether the rule of switching may have targets for each of its states.
    """

    Q: Matrix
    speeds: tuple[NonNegative, ...]
    seen: Annotated[bool, Field(strict=True)] = True

    @model_validator(mode="after")
    def _valid(self) -> Environment:
        check_generator("Q", self.Q)
        for row, rates in enumerate(self.Q):
            for column, rate in enumerate(rates):
                if 0 < rate < SMALLEST:
                    allowed = f"must be 0 or at least {SMALLEST:g}"
                    raise refused(allowed, key=f"Q[{row}][{column}]", value=rate)
        if self.states > MOST_STATES:
            raise refused(f"has {self.states} rows; at most {MOST_STATES} are allowed", key="Q")
        for state in range(self.states):
            check_every_phase_reaches("Q", self.Q, {state}, f"state {state}")
        check_length("speeds", self.speeds, self.states, "row of Q")
        if not any(self.speeds):
            raise refused("must have a positive entry", key="speeds", value=self.speeds)
        return self

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.Q)
