"""Point processes: parameters and their validity only."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import model_validator

from scenarios.base import Keyed, Matrix, NonNegative, OneKey, Positive, Section
from scenarios.errors import refused
from scenarios.laws import Distribution, Exponential
from scenarios.validity import (
    check_batches,
    check_every_phase_reaches,
    check_generator,
    check_length,
)


class Poisson(Section):
    """Poisson process."""

    key: ClassVar[str] = "poisson"
    rate: Positive


class Renewal(Keyed[Distribution]):
    """Renewal process: independent gaps of one distribution."""

    key = "renewal"

    @property
    def gap(self) -> Distribution:
        """The distribution of one gap."""
        return self.root


class Mmpp(Section):
    """Poisson process whose rate is that of the phase of a Markov chain with generator `Q`."""

    key: ClassVar[str] = "mmpp"
    Q: Matrix
    rates: tuple[NonNegative, ...]

    @model_validator(mode="after")
    def _valid(self) -> Mmpp:
        check_generator("Q", self.Q)
        check_length("rates", self.rates, len(self.Q), "row of Q")
        if not any(self.rates):
            raise refused("must have a positive entry", key="rates", value=self.rates)
        arriving = {phase for phase, rate in enumerate(self.rates) if rate}
        check_every_phase_reaches("Q", self.Q, arriving, "an arrival")
        return self


class Map(Section):
    """Markovian arrival process: `D0` without, `D1` with an arrival."""

    key: ClassVar[str] = "map"
    D0: Matrix
    D1: Matrix

    @model_validator(mode="after")
    def _valid(self) -> Map:
        check_batches("D0", self.D0, [("D1", self.D1)])
        arriving = {phase for phase, rates in enumerate(self.D1) if any(rates)}
        check_every_phase_reaches("D0", self.D0, arriving, "an arrival")
        return self


class Bmap(Section):
    """Batch Markovian arrival process: ``D[k]`` holds the rates of arrivals of k pages at once."""

    key: ClassVar[str] = "bmap"
    D: tuple[Matrix, ...]

    @model_validator(mode="after")
    def _valid(self) -> Bmap:
        if len(self.D) < 2:
            allowed = "must have at least two matrices, D[0] and D[1]"
            raise refused(allowed, key="D", value=self.D)
        batches = [(f"D[{size}]", matrix) for size, matrix in enumerate(self.D) if size]
        check_batches("D[0]", self.D[0], batches)
        return self


ArrivalProcess = Annotated[Poisson | Renewal | Mmpp | Map, OneKey()]
"""Single arrivals, one after the other."""

Markovian = Annotated[Poisson | Mmpp | Map | Bmap, OneKey()]
"""A process with a Markov chain behind it; arrivals may come in batches."""


def gap_law(process: Distribution | ArrivalProcess) -> Distribution | None:
    """The law of the independent gaps of a process, or a law itself; None: gaps have a phase."""
    if isinstance(process, Mmpp | Map):
        return None
    if isinstance(process, Poisson):
        return Exponential(rate=process.rate)
    return process.gap if isinstance(process, Renewal) else process
