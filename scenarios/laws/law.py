"""What all laws share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from scenarios.base import Positive, Section
from scenarios.errors import refused

ROUNDING = 1e-12
"""Parameters that differ by no more are equal: a shape from a standard deviation is rounded."""


class Law(Section):
    """The law of a time: its parameters and their checks."""

    key: ClassVar[str]
    """Its name in a scenario file."""

    @property
    def tail_index(self) -> float:
        """From which power on moments are infinite: ``P(X > t)`` falls like t to the minus that."""
        return math.inf

    @property
    def simplest(self) -> Law:
        """The same law by the simplest name that it has, where its parameters make it another."""
        return self

    @model_validator(mode="before")
    @classmethod
    def _in_our_words(cls, given: Any) -> Any:
        """Refuse parameters of other programs with the words that mean the same here."""
        if not isinstance(given, Mapping):
            return given
        strange = [key for key in given if key not in cls.model_fields]
        numbers = {
            key: float(value)
            for key, value in given.items()
            if isinstance(value, int | float) and (0 < value < math.inf or key == "mu")
        }
        meant = cls.translated(numbers) if strange and len(numbers) == len(given) else None
        if meant is not None:
            raise refused(f"unknown key; {meant}", key=str(strange[0]), value=given[strange[0]])
        return given

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """How to write what the parameters of another program mean; None: not known.

        Parameters
        ----------
        given : mapping
            Numbers by the names that they were given.
        """
        mean = given.get("mean")
        sd = sd_of(given)
        if mean is None or sd is None:
            return None
        if "sd" in cls.model_fields:
            return f"write {written(cls.key, mean=mean, sd=sd)}"
        return f"{cls.key} takes no mean and sd; {any_sd(mean, sd)}"


def home_of(law: type[Law], side: str) -> str:
    """The module with what one side knows of a law: it has the name of the law's own.

    A law in a module without `scenarios` in its name has all its parts there.

    Parameters
    ----------
    law : type
    side : str
        "sim" or "analytic".
    """
    return ".".join(side if each == "scenarios" else each for each in law.__module__.split("."))


class ByShapeOrSd(Section):
    """A mean, and either a shape or the standard deviation that it has to give."""

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "sd"),)
    shapes: ClassVar[tuple[float, float]]
    """The least and the largest shape that an `sd` may lead to."""

    mean: Positive
    shape: float | None = None
    sd: Positive | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> ByShapeOrSd:
        if (self.shape is None) == (self.sd is None):
            raise refused("must have exactly one of the keys shape or sd")
        least, largest = self.shapes
        shape = self.shape_parameter
        if self.sd is not None and not least <= shape <= largest:
            allowed = f"must be between {least:g} and {largest:g}; with this sd it is {shape:.4g}"
            raise refused(f"the shape {allowed}", key="sd", value=self.sd)
        return self

    @property
    def shape_parameter(self) -> float:
        """The shape, also where the standard deviation is given."""
        return float(self.shape or 0.0) if self.sd is None else self.shape_with(self.sd / self.mean)

    @staticmethod
    @abstractmethod
    def shape_with(variation: float) -> float:
        """The shape that gives a coefficient of variation."""


def sd_of(given: Mapping[str, float]) -> float | None:
    """The standard deviation, by whatever name it was given."""
    for name in ("sd", "std", "stddev", "sigma"):
        if name in given:
            return given[name]
    for name in ("variance", "var"):
        if name in given:
            return math.sqrt(given[name])
    mean = given.get("mean", math.nan)
    for name, power in (("cv", 1.0), ("scv", 0.5)):
        if name in given:
            return float(mean * given[name] ** power)
    return None


def written(key: str, **parameters: float | list[float]) -> str:
    """A law as a scenario file has it."""

    def text(value: float | list[float]) -> str:
        if isinstance(value, list):
            return f"[{', '.join(text(each) for each in value)}]"
        return f"{value:.12g}"

    inner = ", ".join(f"{name} = {text(value)}" for name, value in parameters.items())
    return f"{key} = {{ {inner} }}"


def any_sd(mean: float, sd: float) -> str:
    """A hint at the laws that have any mean and standard deviation."""
    return f"{written('gamma', mean=mean, sd=sd)} takes any, as do lognormal and weibull"
