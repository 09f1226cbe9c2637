"""What the tests of a Poisson process say, in words."""

from __future__ import annotations

import numpy as np

from crawlsim.fitting.poisson_verdict import FEWEST, Burstiness
from crawlsim.fitting.trace import UNITS
from scenarios.arrays import Array

_NEARLY = 0.05
_MATTERS = 0.2


def duration(time: float, unit: str) -> str:
    """A time in words: "a day", "4 weeks", "12.5 time units"."""
    if unit in UNITS:
        for name in ("week", "day", "hour", "minute", "second"):
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
    if burstiness.within is not None:
        within = burstiness.within
        parts.append(
            f"coefficient of variation of gaps within pages {within.variation:.3g}, 1 if Poisson"
        )
    return "; ".join([*parts, f"least {_p(burstiness.smallest_p)}"])


def _open_verdict(burstiness: Burstiness, unit: str) -> list[str]:
    """What is said where nothing speaks against Poisson, or nothing can; empty else."""
    clock = burstiness.clock
    seen = _seen(burstiness, unit)
    if burstiness.verdict == "too few":
        return [
            f"{clock.seen} changes are too few to tell whether they are Poisson; "
            f"at least {FEWEST} are needed."
        ]
    if burstiness.verdict == "too coarse":
        step = f"The clock, with steps of {duration(clock.step, unit)}, is too coarse to tell"
        if clock.finer:
            return [
                f"{step} whether changes are Poisson with such pieces of the rate: they are no "
                "whole steps of the clock, and what is seen in them is the clock. Give fewer "
                "--pieces, or --breaks, of whole steps."
            ]
        return [
            f"{step} whether changes are Poisson: a step has {clock.expected:.2g} changes, and of "
            "several at once one is seen."
        ]
    if burstiness.verdict == "nearly poisson":
        return [
            f"Not exactly Poisson: {seen}. With so many changes this is no chance, but so small "
            "that it does nothing to the answer that is worth speaking of: errors of rates are "
            "those that their intervals say, and formulas for Poisson changes hold."
        ]
    if burstiness.verdict == "poisson":
        return [f"Nothing speaks against Poisson changes: {seen}."]
    return []


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
        f"In a step of the clock, {duration(clock.step, unit)}, of several changes one is seen, "
        f"and {clock.expected:.2g} are expected in one"
    )
    if corrected:
        return [f"{text}: rates are those of all changes, -log(1 - share of steps) per step."]
    return [
        f"{text}: rates are those of distinct times, too low by about {clock.expected / 2:.2g} of "
        "their value; the estimators of crawl logs are for such data."
    ]


def _errors(burstiness: Burstiness, of: str) -> str:
    """What counts that are no Poisson counts do to the errors of rates."""
    factor = burstiness.factor
    if factor > 1 + _NEARLY:
        return (
            "errors of rates are larger than their intervals say, which are those of Poisson "
            f"counts, {of}by a factor of about {factor:.2g}"
        )
    if factor < 1 - _NEARLY:
        return (
            "errors of rates are smaller than their intervals say, which are those of Poisson "
            f"counts and too wide, {of}by a factor of about {1 / factor:.2g}"
        )
    return f"errors of rates are {of}about those that their intervals say, but gaps are others"


def _regularity(burstiness: Burstiness) -> list[str]:
    """What gaps within pages that are not those of Poisson changes do to each of them."""
    if not burstiness.rejects_gaps or burstiness.within is None:
        return []
    variation = burstiness.within.variation
    if abs(variation - 1.0) < _NEARLY:
        return []
    kind, than = ("regular", "smaller") if variation < 1 else ("bursty", "larger")
    factor = max(variation, 1.0 / max(variation, 1e-3))
    return [
        f"Pages by themselves are more {kind} than Poisson ones: the error of the rate of a single "
        f"page is {than} than its interval says, by a factor of about {factor:.2g} if its gaps are "
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
        return _open_verdict(burstiness, unit)
    notes = [
        f"Not Poisson: {_seen(burstiness, unit)}.",
        f"What it does: {_errors(burstiness, 'for all pages together ')}.",
        *_regularity(burstiness),
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
    if burstiness.verdict != "not poisson" or not np.isfinite(seen):
        return []
    text = (
        "What it does: visited once per mean time between its changes, a page of this trace is out "
        f"of date for {seen:.1%} of the time; Poisson changes, as many, would give {poisson:.1%}"
    )
    if abs(seen - poisson) < _NEARLY * poisson:
        return [f"{text}: to freshness it does little, and the formulas are nearly right."]
    return [f"{text}: the formulas are too {'pessimistic' if seen < poisson else 'optimistic'}."]


def source_verdict(burstiness: Burstiness, unit: str) -> list[str]:
    """Whether Poisson is wrong, and what that does to the cost of probing."""
    if burstiness.verdict != "not poisson":
        return _open_verdict(burstiness, unit)
    errors = _errors(burstiness, "")
    return [
        f"Not Poisson: {_seen(burstiness, unit)}.",
        "What it does: the expected cost of given probes needs the rate alone (eckstein2005 (5)) "
        f"and stays right; the spread of the actual cost is about {burstiness.factor:.2g} times "
        f"the computed one; {errors}.",
    ]
