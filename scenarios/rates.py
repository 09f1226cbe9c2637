"""Rates that change with time, periodically: in steps, along straight lines, or as a sine.

The models are solved and simulated for steps alone. Lines and sines are taken in steps, each at the
mean of the rate over it, so that what is expected up to the end of a step is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Protocol

import numpy as np
from pydantic import Field, model_validator

from scenarios.arrays import Array
from scenarios.base import NonNegative, OneKey, Positive, Section
from scenarios.errors import refused
from scenarios.validity import check_length

_LEAST_POINTS = 2
_NUMBERS = 2


class PiecewiseConstant(Protocol):
    """A rate as the models take it."""

    @property
    def breaks(self) -> Sequence[float]:
        """Where its steps begin: 0 first, all below the period."""

    @property
    def values(self) -> Sequence[float]:
        """The rate from each break to the next."""

    @property
    def period(self) -> float:
        """It repeats with this."""

    @property
    def most_off(self) -> float:
        """Most by which its integral up to any time differs from that of the rate of the file."""


class Rate(Section):
    """Piecewise-constant function of time, repeated with `period`."""

    key: ClassVar[str] = "values"
    whole: ClassVar[bool] = True
    breaks: tuple[NonNegative, ...]
    values: tuple[NonNegative, ...]
    period: Positive

    @model_validator(mode="after")
    def _valid(self) -> Rate:
        if not self.breaks or self.breaks[0] != 0:
            raise refused("must begin with 0", key="breaks", value=self.breaks)
        _check_increasing("breaks", self.breaks, self.period)
        check_length("values", self.values, len(self.breaks), "break")
        if not any(self.values):
            raise refused("must have a positive entry", key="values", value=self.values)
        return self

    @property
    def most_off(self) -> float:
        """0: the rate is what the models take."""
        return 0.0


class _Smooth(Section):
    """A continuous rate, taken in steps of equal length, each at its mean over the step."""

    period: Positive
    steps: Annotated[int, Field(strict=True, ge=1, le=100_000)]

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the steps begin."""
        return tuple(self._edges[:-1].tolist())

    @cached_property
    def values(self) -> tuple[float, ...]:
        """Mean of the rate over each step."""
        means = np.diff(self._integral(self._edges)) * self.steps / self.period
        return tuple(np.maximum(means, 0.0).tolist())

    @property
    def most_off(self) -> float:
        """Most by which what is expected up to any time differs from that of the steps.

        The two agree at the ends of a step of length h; between them the integral of a rate that
        changes by at most s per unit of time is at most ``s h**2 / 8`` from its chord.
        """
        return self._steepest * (self.period / self.steps) ** 2 / 8

    @property
    def _edges(self) -> Array:
        return np.arange(self.steps + 1) * (self.period / self.steps)

    def _integral(self, times: Array) -> Array:
        """The integral of the rate up to these times, but for a constant."""
        raise NotImplementedError

    @property
    def _steepest(self) -> float:
        """Most by which the rate changes per unit of time."""
        raise NotImplementedError


class Lines(_Smooth):
    """Straight lines from each point to the next, and from the last one to the first of the next
    period.
    """

    key: ClassVar[str] = "points"
    whole: ClassVar[bool] = True
    points: tuple[tuple[NonNegative, ...], ...]

    @model_validator(mode="after")
    def _valid(self) -> Lines:
        if len(self.points) < _LEAST_POINTS:
            raise refused("must have two points or more", key="points", value=self.points)
        for index, point in enumerate(self.points):
            if len(point) != _NUMBERS:
                raise refused("must be [time, rate]", key=f"points[{index}]", value=point)
        _check_increasing("points", [time for time, _ in self.points], self.period)
        if not any(value for _, value in self.points):
            raise refused("must have a positive value", key="points", value=self.points)
        return self

    def _integral(self, times: Array) -> Array:
        corners, rates = self._corners
        grown = np.append(0.0, np.cumsum(np.diff(corners) * (rates[1:] + rates[:-1]) / 2))
        line = np.clip(np.searchsorted(corners, times, "right") - 1, 0, len(corners) - 2)
        since = times - corners[line]
        slopes = np.diff(rates) / np.diff(corners)
        return np.asarray(grown[line] + since * (rates[line] + slopes[line] * since / 2))

    @property
    def _steepest(self) -> float:
        corners, rates = self._corners
        return float(np.abs(np.diff(rates) / np.diff(corners)).max())

    @property
    def _corners(self) -> tuple[Array, Array]:
        """Times from at most 0 to at least the period, and the rate there."""
        points = np.array(self.points)
        times = np.concatenate(
            [points[-1:, 0] - self.period, points[:, 0], points[:1, 0] + self.period]
        )
        return times, np.concatenate([points[-1:, 1], points[:, 1], points[:1, 1]])


class Sine(_Smooth):
    """A mean rate and a swing of one period: ``mean + amplitude cos(2 pi (t - peak) / period)``."""

    key: ClassVar[str] = "amplitude"
    whole: ClassVar[bool] = True
    mean: Positive
    amplitude: NonNegative
    peak: NonNegative = 0.0

    @model_validator(mode="after")
    def _valid(self) -> Sine:
        if self.amplitude > self.mean:
            allowed = f"must be at most mean ({self.mean!r}): a rate is not negative"
            raise refused(allowed, key="amplitude", value=self.amplitude)
        if self.peak >= self.period:
            raise refused(f"must be below period ({self.period!r})", key="peak", value=self.peak)
        return self

    def _integral(self, times: Array) -> Array:
        angular = 2 * math.pi / self.period
        swing = np.sin(angular * (times - self.peak)) / angular
        return np.asarray(self.mean * times + self.amplitude * swing)

    @property
    def _steepest(self) -> float:
        return 2 * math.pi * self.amplitude / self.period


RateForm = Annotated[Rate | Lines | Sine, OneKey()]
"""A rate as a scenario file gives it."""


def _check_increasing(key: str, times: Sequence[float], period: float) -> None:
    """Refuse times that do not increase, or reach the period."""
    for index, (start, end) in enumerate(zip(times, [*times[1:], period], strict=True)):
        if end <= start:
            allowed = f"must increase and stay below period ({period!r})"
            raise refused(allowed, key=f"{key}[{index}]", value=start)
