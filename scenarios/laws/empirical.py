"""Resampled times."""

from __future__ import annotations

from pydantic import PrivateAttr, ValidationInfo, model_validator

from scenarios.base import NonNegative
from scenarios.columns import read_numbers, resolve_path
from scenarios.errors import refused
from scenarios.laws.deterministic import Deterministic
from scenarios.laws.law import Law


class Empirical(Law):
    """Resampled observations: `values`, or the first column of a CSV `file`."""

    key = "empirical"
    one_of = (("values", "file"),)
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
    def simplest(self) -> Law:
        """Constant where all observations are equal."""
        first, *others = self.observations
        return Deterministic(value=first) if all(each == first for each in others) else self

    @property
    def observations(self) -> tuple[float, ...]:
        """The times to resample, wherever they come from."""
        return self._read if self.values is None else self.values
