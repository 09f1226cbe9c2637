"""The tests of a Poisson process together, their verdict, and what it means, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from crawlsim.logs.fit.poisson_tests import (
    Dispersion,
    PageGaps,
    Rescaling,
    dispersion,
    time_rescaling,
)
from crawlsim.logs.fit.trace import UNITS
from scenarios.arrays import Array

Cumulative = Callable[[Array], Array]

_SURE = 1e-3
_WIDTHS = ("hour", "day", "week")
_FEW_WINDOWS = 20
_MANY_WINDOWS = 40
_STEPS = 5
_PAIRS = 25
_HIDDEN = 0.5
_SLIGHT_DISTANCE = 0.01
_SLIGHT_INDEX = 0.05
_NEARLY = 0.05
_MATTERS = 0.2

FEWEST = 20
"""Changes from which on a verdict is given."""

Verdict = Literal["poisson", "not poisson", "nearly poisson", "too coarse", "too few"]


class Clock(NamedTuple):
    """What is known of the clock of a trace.

    Attributes
    ----------
    step : float
        0 if there is none to be seen.
    expected : float
        Changes of the same page in one step, of which only one is seen.
    seen : int
        Changes that are seen.
    finer : bool
        Whether the rate has pieces that are not whole steps of the clock, and so show the clock
        itself.
    """

    step: float
    expected: float
    seen: int
    finer: bool = False


@dataclass(frozen=True)
class Burstiness:
    """How far times of changes are from a Poisson process with the fitted rate.

    Attributes
    ----------
    rescaled : ndarray
        Expected changes until each change, with those that the clock has hidden: a Poisson process
        of rate 1, if all is right.
    scales : tuple of Dispersion
        Of counts in windows of several widths.
    rescaling : Rescaling or None
        None for fewer than three times, or all at one.
    clock : Clock
    within : PageGaps or None
        None for a source, and where no page has enough changes.
    """

    rescaled: Array
    scales: tuple[Dispersion, ...]
    rescaling: Rescaling | None
    clock: Clock
    within: PageGaps | None = None

    @property
    def verdict(self) -> Verdict:
        """What the tests say, each at level 0.001.

        Where the clock hides half a change per step or more, only bursts count as evidence.
        """
        if self.clock.seen < FEWEST:
            return "too few"
        uneven = any(each.index > 1 for each in self._rejecting)
        if (self.clock.expected > _HIDDEN or self.clock.finer) and not uneven:
            return "too coarse"
        if self.smallest_p >= _SURE:
            return "poisson"
        return "nearly poisson" if self._slight else "not poisson"

    @property
    def is_poisson(self) -> bool | None:
        """Whether no test has a p-value below 0.001; None where the trace cannot tell."""
        return None if self.verdict.startswith("too") else self.verdict == "poisson"

    @property
    def smallest_p(self) -> float:
        """The least p-value of the tests."""
        tests = (*self.scales, self.rescaling, self.within)
        return min([1.0, *(each.p_value for each in tests if each is not None)])

    @property
    def rejecting_within(self) -> PageGaps | None:
        """The test of the gaps within pages where it rejects Poisson changes, else None."""
        return self.within if self.within is not None and self.within.p_value < _SURE else None

    @property
    def factor(self) -> float:
        """Errors over those of Poisson counts: root of the dispersion furthest from 1.

        Only scales with at least forty windows and a p-value below 0.001 count, and those above 1
        before those below; 1 where there are none.
        """
        many = [each.index for each in self._rejecting if each.windows >= _MANY_WINDOWS]
        if not many:
            return 1.0
        return float(np.sqrt(max(many) if max(many) > 1 else min(many)))

    @property
    def _slight(self) -> bool:
        """Whether all deviations are too small to change an answer."""
        near = all(abs(each.index - 1.0) < _SLIGHT_INDEX for each in self._rejecting)
        within = self.rejecting_within
        if within is not None:
            near = near and abs(within.coefficient_of_variation**2 - 1.0) < _SLIGHT_INDEX
        return near and self.rescaling is not None and self.rescaling.distance < _SLIGHT_DISTANCE

    @property
    def _rejecting(self) -> list[Dispersion]:
        return [each for each in self.scales if each.p_value < _SURE]

    def summary(self) -> dict[str, Any]:
        """The entries for JSON."""
        rescaling = self.rescaling
        within = self.within
        return {
            "poisson": self.is_poisson,
            "verdict": self.verdict,
            "clock_step": self.clock.step,
            "changes_per_step": self.clock.expected,
            "dispersion": [asdict(each) for each in self.scales],
            "time_rescaling": None if rescaling is None else rescaling._asdict(),
            "gaps_within_pages": None if within is None else within._asdict(),
        }


def burstiness_of(
    times: Array,
    window: tuple[float, float],
    expected: Cumulative,
    widths: Sequence[float],
    clock: Clock,
    *,
    by_calendar: bool,
) -> Burstiness:
    """The tests together.

    Parameters
    ----------
    times : ndarray
        Increasing, with those that the clock has hidden; of several pages at one time, several.
    window : pair of float
    expected : callable
        Cumulative number of changes, up to a factor: it is made to give the number seen.
    widths : sequence of float
        Of windows whose changes are counted. Those are left out that do not fit into `window` often
        enough, are hardly longer than a step of the clock, or hold so few pairs of changes that the
        dispersion index has no chi-square law.
    clock : Clock
    by_calendar : bool
        Whether the windows are whole multiples of the widths, such as calendar weeks, of which
        `expected` must be periodic; else equally many changes are expected in each, and the widths
        are those on average.
    """
    number = float(len(times))
    length = window[1] - window[0]
    start, end = expected(np.array(window))
    rescaled: Array = (expected(times) - start) * (number / (end - start))
    counts = []
    for width in widths:
        windows = length / width
        pairs = number**2 / (2 * windows)
        if windows < _FEW_WINDOWS or width < _STEPS * clock.step or pairs < _PAIRS:
            continue
        if by_calendar:
            counts.append(dispersion(times, window, width))
        else:
            count = dispersion(rescaled, (0.0, number), width * (number / length))
            counts.append(replace(count, width=width))
    enough = len(rescaled) >= 3 and rescaled[-1] > rescaled[0]
    rescaling = time_rescaling(rescaled) if enough else None
    return Burstiness(rescaled, tuple(counts), rescaling, clock)


def scales(time_unit: str, mean_gap: float) -> list[float]:
    """Widths of windows: an hour, a day, a week, four weeks; or multiples of the mean gap."""
    if time_unit not in UNITS:
        return [mean_gap * factor for factor in (1.0, 10.0, 100.0, 1000.0)]
    unit = UNITS[time_unit]
    return [UNITS[name] / unit for name in _WIDTHS] + [4 * UNITS["week"] / unit]


def duration(time: float, unit: str) -> str:
    """A time in words: "a day", "4 weeks", "12.5 time units"."""
    if unit in UNITS:
        for name in ("week", "day", "hour", "minute", "second"):
            number = time * UNITS[unit] / UNITS[name]
            if number >= 1 - 1e-9 and abs(number - round(number)) < 1e-6:
                article = "an" if name == "hour" else "a"
                return f"{article} {name}" if round(number) == 1 else f"{round(number)} {name}s"
    return f"{time:.4g} {unit}{'s' * (time != 1)}"


def _figures(burstiness: Burstiness, unit: str) -> str:
    """The figures of the tests."""
    parts = []
    if burstiness.scales:
        of = [f"{each.index:.3g} ({duration(each.width, unit)})" for each in burstiness.scales]
        parts.append(f"dispersion of counts {', '.join(of)}, 1 if Poisson")
    if burstiness.rescaling is not None:
        rescaling = burstiness.rescaling
        parts.append(
            f"coefficient of variation of rescaled gaps "
            f"{rescaling.coefficient_of_variation:.3g}, 1 if Poisson; "
            f"Kolmogorov-Smirnov distance {rescaling.distance:.3g}"
        )
    if burstiness.within is not None:
        variation = burstiness.within.coefficient_of_variation
        parts.append(f"coefficient of variation of gaps within pages {variation:.3g}, 1 if Poisson")
    least = burstiness.smallest_p
    parts.append("least p < 1e-6" if least < 1e-6 else f"least p = {least:.2g}")
    return "; ".join(parts)


def _no_objection(burstiness: Burstiness, unit: str) -> str:
    """What is said where nothing speaks against Poisson, or nothing can."""
    clock = burstiness.clock
    seen = _figures(burstiness, unit)
    why = f"a step has {clock.expected:.2g} changes, and of several at once only one is seen"
    pieces = ""
    if clock.finer:
        pieces = " with such pieces of the rate"
        why = (
            "they are not whole steps of the clock, and show the clock itself. Give fewer "
            "--pieces, or --breaks, of whole steps"
        )
    few = "1 change is" if clock.seen == 1 else f"{clock.seen} changes are"
    notes: Mapping[Verdict, str] = {
        "too few": f"{few} too few to tell whether changes are Poisson; at least {FEWEST} are "
        "needed.",
        "too coarse": f"The clock, with steps of {duration(clock.step, unit)}, is too coarse to "
        f"tell whether changes are Poisson{pieces}: {why}.",
        "nearly poisson": f"Not exactly Poisson: {seen}. With this many changes it is not chance, "
        "but the deviation is too small to matter: intervals of rates hold, and so do formulas for "
        "Poisson changes.",
        "poisson": f"Nothing speaks against Poisson changes: {seen}.",
    }
    return notes[burstiness.verdict]


def hidden_note(burstiness: Burstiness, unit: str, corrected: bool) -> list[str]:
    """What the clock does to rates, where that is not far below their errors.

    Parameters
    ----------
    burstiness : Burstiness
    unit : str
        Of time.
    corrected : bool
        Whether the rates are those of all changes, or of those that are seen.
    """
    clock = burstiness.clock
    if clock.expected * np.sqrt(clock.seen) < _MATTERS:
        return []
    text = (
        f"In a step of the clock, {duration(clock.step, unit)}, only one of several changes is "
        f"seen, and {clock.expected:.2g} are expected"
    )
    if corrected:
        return [f"{text}: rates are those of all changes, -log(1 - share of steps) per step."]
    return [
        f"{text}: rates are those of distinct times, too low by a fraction of about "
        f"{clock.expected / 2:.2g}; the estimators of crawl logs are for such data."
    ]


def _errors(burstiness: Burstiness, of: str) -> str:
    """What counts that are not Poisson do to the errors of rates."""
    factor = burstiness.factor
    if abs(factor - 1.0) <= _NEARLY:
        return f"errors of rates are {of}about what their intervals say, but the gaps differ"
    narrow, larger = ("narrow", "larger") if factor > 1 else ("wide", "smaller")
    return (
        f"intervals of rates, which are those of Poisson counts, are too {narrow}: errors are "
        f"{larger} {of}by a factor of about {max(factor, 1.0 / factor):.2g}"
    )


def _regularity(burstiness: Burstiness) -> list[str]:
    """What gaps within pages that are not those of Poisson changes do to each of them."""
    within = burstiness.rejecting_within
    if within is None or abs(within.coefficient_of_variation - 1.0) < _NEARLY:
        return []
    variation = within.coefficient_of_variation
    kind, than = ("regular", "smaller") if variation < 1 else ("bursty", "larger")
    factor = max(variation, 1.0 / max(variation, 1e-3))
    return [
        f"Single pages are more {kind} than Poisson ones: the error of the rate of one page is "
        f"{than} than its interval says, by a factor of about {factor:.2g} if its gaps are "
        "independent."
    ]


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
    if burstiness.verdict != "not poisson":
        return [_no_objection(burstiness, unit)]
    notes = [
        f"Not Poisson: {_figures(burstiness, unit)}.",
        f"Effect: {_errors(burstiness, 'for all pages together ')}.",
        *_regularity(burstiness),
    ]
    if len(variation):
        notes[0] += (
            " The gaps of single pages have the coefficient of variation "
            f"{np.median(variation):.2g}, by the median, 1 if Poisson."
        )
    return notes


def staleness_verdict(burstiness: Burstiness, seen: float, poisson: float) -> list[str]:
    """What it does to freshness if changes are not Poisson processes.

    Parameters
    ----------
    burstiness : Burstiness
    seen, poisson : float
        Share of time out of date of pages accessed once per mean time between changes.
    """
    if burstiness.verdict != "not poisson" or not np.isfinite(seen):
        return []
    text = (
        "Effect: accessed once per mean time between its changes, a page of this trace is out of "
        f"date for {seen:.1%} of the time; as many Poisson changes would give {poisson:.1%}"
    )
    if abs(seen - poisson) < _NEARLY * poisson:
        return [f"{text}: freshness is hardly affected, and the formulas are nearly right."]
    return [f"{text}: the formulas are too {'pessimistic' if seen < poisson else 'optimistic'}."]


def source_verdict(burstiness: Burstiness, unit: str) -> list[str]:
    """Whether Poisson is wrong, and what that does to the cost of probing."""
    if burstiness.verdict != "not poisson":
        return [_no_objection(burstiness, unit)]
    errors = _errors(burstiness, "")
    return [
        f"Not Poisson: {_figures(burstiness, unit)}.",
        "Effect: the expected cost of given probes needs the rate alone (Eckstein 2005, eq. 5) "
        f"and stays right; the spread of the actual cost is about {burstiness.factor:.2g} times "
        f"the computed one; {errors}.",
    ]
