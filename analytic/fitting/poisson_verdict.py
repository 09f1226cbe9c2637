"""The tests of a Poisson process together, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytic.fitting.burstiness import (
    Dispersion,
    Rescaling,
    dispersion,
    time_rescaling,
)
from analytic.fitting.reading import UNITS

__all__ = [
    "Burstiness",
    "against_calendar",
    "against_expected",
    "duration",
    "page_verdict",
    "scales",
    "source_verdict",
    "staleness_verdict",
]

Array = NDArray[np.float64]
Cumulative = Callable[[Array], Array]

_SURE = 1e-3
_WIDTHS = ("hour", "day", "week")
_FEW_WINDOWS = 20
_MANY_WINDOWS = 40
_NEARLY = 0.05


@dataclass(frozen=True)
class Burstiness:
    """How far distinct times of changes are from a Poisson process with the fitted rate.

    Attributes
    ----------
    times : ndarray
        Distinct times, increasing.
    rescaled : ndarray
        Expected changes until each of them: a Poisson process of rate 1, if all is right.
    scales : tuple of Dispersion
        Of counts in windows of several widths.
    rescaling : Rescaling or None
        None for fewer than three times.
    """

    times: Array
    rescaled: Array
    scales: tuple[Dispersion, ...]
    rescaling: Rescaling | None

    @property
    def is_poisson(self) -> bool:
        """Whether no test has a p-value below 0.001."""
        return self.smallest_p >= _SURE

    @property
    def smallest_p(self) -> float:
        """The least p-value of the tests."""
        tests = [each.p_value for each in self.scales]
        return min([*tests, 1.0 if self.rescaling is None else self.rescaling.p_value])

    @property
    def factor(self) -> float:
        """By how much errors exceed those of Poisson counts: root of the largest dispersion.

        Only scales with at least forty windows count; 1 where there are none, or less is seen.
        """
        many = [each.index for each in self.scales if each.windows >= _MANY_WINDOWS]
        return float(np.sqrt(max(1.0, *many))) if many else 1.0

    def summary(self) -> dict[str, Any]:
        """The entries for JSON."""
        rescaling = self.rescaling
        return {
            "poisson": self.is_poisson,
            "dispersion": [asdict(each) for each in self.scales],
            "time_rescaling": None if rescaling is None else rescaling._asdict(),
        }


def against_calendar(
    times: Array, window: tuple[float, float], expected: Cumulative, widths: Sequence[float]
) -> Burstiness:
    """The tests, with counts in whole multiples of some widths, such as calendar weeks.

    Parameters
    ----------
    times : ndarray
        Increasing.
    window : pair of float
    expected : callable
        Cumulative number of changes; periodic, and `widths` are multiples of the period.
    widths : sequence of float
    """
    found = [dispersion(times, window, width) for width in _often(window, widths)]
    rescaled = _rescaled(times, window, expected)
    return Burstiness(times, rescaled, tuple(found), _rescaling(rescaled))


def against_expected(
    times: Array, window: tuple[float, float], expected: Cumulative, widths: Sequence[float]
) -> Burstiness:
    """The tests, with counts in windows in which equally many changes are expected.

    Parameters
    ----------
    times : ndarray
        Increasing.
    window : pair of float
    expected : callable
        Cumulative number of changes, up to a factor: it is made to give the number seen.
    widths : sequence of float
        Windows of these widths on average.
    """
    number, rescaled = float(len(times)), _rescaled(times, window, expected)
    per_time = number / (window[1] - window[0])
    found = [
        replace(dispersion(rescaled, (0.0, number), width * per_time), width=width)
        for width in _often(window, widths)
    ]
    return Burstiness(times, rescaled, tuple(found), _rescaling(rescaled))


def _often(window: tuple[float, float], widths: Sequence[float]) -> list[float]:
    """The widths that fit into the window often enough."""
    return [width for width in widths if (window[1] - window[0]) / width >= _FEW_WINDOWS]


def _rescaled(times: Array, window: tuple[float, float], expected: Cumulative) -> Array:
    """Expected changes until each time, made to give the number seen in all."""
    start, end = expected(np.array(window))
    result: Array = (expected(times) - start) * (len(times) / (end - start))
    return result


def _rescaling(rescaled: Array) -> Rescaling | None:
    return time_rescaling(rescaled) if len(rescaled) > 2 else None


def scales(time_unit: str, mean_gap: float) -> list[float]:
    """Widths of windows: an hour, a day, a week, four weeks; or multiples of the mean gap."""
    if time_unit not in UNITS:
        return [mean_gap * factor for factor in (1.0, 10.0, 100.0, 1000.0)]
    unit = UNITS[time_unit]
    return [UNITS[name] / unit for name in _WIDTHS] + [4 * UNITS["week"] / unit]


def duration(time: float, unit: str) -> str:
    """A time in words: "a day", "4 weeks", "12.5 time units"."""
    if unit in UNITS:
        for name in ("week", "day", "hour"):
            number = time * UNITS[unit] / UNITS[name]
            if number >= 1 - 1e-9 and abs(number - round(number)) < 1e-6:
                article = "an" if name == "hour" else "a"
                return f"{article} {name}" if round(number) == 1 else f"{round(number)} {name}s"
    return f"{time:.4g} {unit}s"


def _p(value: float) -> str:
    return "p < 1e-6" if value < 1e-6 else f"p = {value:.2g}"


def _seen(burstiness: Burstiness, unit: str) -> str:
    """What the tests have seen."""
    parts = []
    if burstiness.scales:
        found = [f"{each.index:.3g} ({duration(each.width, unit)})" for each in burstiness.scales]
        parts.append(f"dispersion of counts {', '.join(found)}, 1 if Poisson")
    if burstiness.rescaling is not None:
        rescaling = burstiness.rescaling
        parts.append(
            f"coefficient of variation of rescaled gaps {rescaling.variation:.3g}, 1 if Poisson; "
            f"Kolmogorov-Smirnov distance {rescaling.distance:.3g}"
        )
    return "; ".join([*parts, f"least {_p(burstiness.smallest_p)}"])


def page_verdict(burstiness: Burstiness, variation: Array, unit: str) -> list[str]:
    """Whether Poisson is wrong, and what that does to the errors of rates.

    Parameters
    ----------
    burstiness : Burstiness
    variation : ndarray
        Coefficients of variation of the gaps of pages with many.
    unit : str
        Of time.
    """
    if burstiness.is_poisson:
        return [f"Nothing speaks against Poisson changes: {_seen(burstiness, unit)}."]
    notes = [
        f"Not Poisson: {_seen(burstiness, unit)}.",
        "What it does: errors of rates are larger than their intervals say, which are those of "
        f"Poisson counts, for all pages together by a factor of about {burstiness.factor:.2g}.",
    ]
    if len(variation):
        notes[0] += (
            " The gaps of single pages have the coefficient of variation "
            f"{np.median(variation):.2g}, by the median, 1 if Poisson."
        )
    return notes


def staleness_verdict(burstiness: Burstiness, seen: float, poisson: float) -> list[str]:
    """What it does to freshness if changes are no Poisson processes.

    Parameters
    ----------
    burstiness : Burstiness
    seen, poisson : float
        Share of time out of date at visits once per mean time between changes.
    """
    if burstiness.is_poisson or not np.isfinite(seen):
        return []
    text = (
        "What it does: visited once per mean time between its changes, a page of this trace is out "
        f"of date for {seen:.1%} of the time; Poisson changes, as many, would give {poisson:.1%}"
    )
    if abs(seen - poisson) < _NEARLY * poisson:
        return [f"{text}: the formulas are nearly right."]
    return [f"{text}: the formulas are too {'pessimistic' if seen < poisson else 'optimistic'}."]


def source_verdict(burstiness: Burstiness, unit: str) -> list[str]:
    """Whether Poisson is wrong, and what that does to the cost of probing."""
    if burstiness.is_poisson:
        return [f"Nothing speaks against Poisson changes: {_seen(burstiness, unit)}."]
    return [
        f"Not Poisson: {_seen(burstiness, unit)}.",
        "What it does: the expected cost of given probes needs the rate alone (eckstein2005 (5)) "
        f"and stays right; the spread of the actual cost is about {burstiness.factor:.2g} times "
        "the computed one, and the rates have errors that much larger than their intervals say.",
    ]
