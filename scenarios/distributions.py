"""Distributions of a time: parameters and their validity only."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from scenarios.base import Count, Matrix, NonNegative, OneKey, Positive, Section, Vector
from scenarios.columns import read_numbers, resolve_path
from scenarios.errors import refused
from scenarios.validity import (
    check_every_phase_reaches,
    check_probabilities,
    check_square,
    check_subgenerator,
    exits,
)


class Deterministic(Section):
    """Always the same time."""

    key: ClassVar[str] = "deterministic"
    value: Positive


class Exponential(Section):
    """Exponential time, by its mean or its rate."""

    key: ClassVar[str] = "exponential"
    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("mean", "rate"),)
    mean: Positive | None = None
    rate: Positive | None = None

    @model_validator(mode="after")
    def _one_parameter(self) -> Exponential:
        if (self.mean is None) == (self.rate is None):
            raise refused("must have exactly one of the keys mean or rate")
        return self


class Erlang(Section):
    """Sum of `shape` independent exponential times of equal mean; `mean` is that of the sum."""

    key: ClassVar[str] = "erlang"
    shape: Annotated[Count, Field(ge=1)]
    mean: Positive


class Gamma(Section):
    """Gamma time with any positive shape."""

    key: ClassVar[str] = "gamma"
    shape: Annotated[Positive, Field(ge=1e-3, le=1e6)]
    mean: Positive


class Uniform(Section):
    """Uniform time between `low` and `high`."""

    key: ClassVar[str] = "uniform"
    low: NonNegative
    high: Positive

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.high <= self.low:
            raise refused(f"must be > low ({self.low!r})", key="high", value=self.high)
        return self


class Hyperexponential(Section):
    """Exponential time whose rate is drawn first."""

    key: ClassVar[str] = "hyperexponential"
    probabilities: Vector
    rates: tuple[Positive, ...]

    @model_validator(mode="after")
    def _valid(self) -> Hyperexponential:
        check_probabilities("probabilities", self.probabilities)
        if len(self.rates) != len(self.probabilities):
            allowed = f"must have {len(self.probabilities)} entries, one per probability"
            raise refused(allowed, key="rates", value=self.rates)
        return self


class PhaseType(Section):
    """Time to absorption of a Markov chain with start vector `alpha` and sub-generator `T`."""

    key: ClassVar[str] = "phase-type"
    alpha: Vector
    T: Matrix

    @model_validator(mode="after")
    def _valid(self) -> PhaseType:
        check_probabilities("alpha", self.alpha)
        check_square("T", self.T, len(self.alpha))
        check_subgenerator("T", self.T)
        check_every_phase_reaches("T", self.T, exits(self.T), "absorption")
        return self


class Empirical(Section):
    """Resampled observations: `values`, or the first column of a CSV `file`."""

    key: ClassVar[str] = "empirical"
    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("values", "file"),)
    values: tuple[NonNegative, ...] | None = None
    file: str | None = None
    _read: tuple[float, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _valid(self, info: ValidationInfo) -> Empirical:
        if (self.values is None) == (self.file is None):
            raise refused("must have exactly one of the keys values or file")
        if self.file is not None:
            object.__setattr__(self, "file", resolve_path(self.file, info))
            self._read = read_numbers(self.file, None)
        key = "values" if self.file is None else "file"
        if not any(value > 0 for value in self.observations):
            raise refused("needs at least one positive observation", key=key)
        return self

    @property
    def observations(self) -> tuple[float, ...]:
        """The times to resample, wherever they come from."""
        return self._read if self.values is None else self.values


Distribution = Annotated[
    Deterministic
    | Exponential
    | Erlang
    | Gamma
    | Uniform
    | Hyperexponential
    | PhaseType
    | Empirical,
    OneKey(),
]
"""Any distribution, written as a table with one key."""
