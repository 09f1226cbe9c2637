"""A fit of delivery timestamps: the batches of all robots together and their process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crawlsim.fitting.batches import Batches, batches_of
from crawlsim.fitting.clocks import clock_step
from crawlsim.fitting.deliveries import (
    INDEPENDENT,
    MOST_GAPS,
    DeliveryFit,
    batch_process,
    fit_deliveries,
)
from crawlsim.fitting.fit import Fit, Options
from crawlsim.fitting.order_two import correlation_bound, gap_moments
from crawlsim.fitting.poisson_words import duration
from crawlsim.fitting.trace import Trace
from crawlsim.fitting.words import counted
from scenarios import ScenarioError

PROCESSES = ("poisson", "renewal", "map", "mmpp")

_EQUAL = 1e-6
_RARE = 0.02
_DEVIATIONS = 3.0
_PLACES = 10
_LOAD = 0.5
_HORIZON = 800_000.0


def fit_of_deliveries(trace: Trace, options: Options) -> Fit:
    """Batches, and a Markovian process for them; fewer robots deliver a share of the batches.

    Raises
    ------
    ScenarioError
        If there are too few batches, or no process of the wanted kind.
    """
    try:
        batches = batches_of(trace.values, options.batch_gap, options.longest_gap)
        _require_random(batches)
        found = fit_deliveries(batches, options.process)
        process = batch_process(found.process, batches.sizes)
    except ValueError as error:
        said = counted(trace.rows, "row") + " of deliveries"
        raise ScenarioError("trace", said, str(error)) from None
    keep = [robots / options.robots for robots in range(1, options.robots + 1)]
    deliveries = {"thinned": {"process": process, "keep": keep}}
    step = clock_step(trace.values, trace.time_unit)
    summary = _summary(found, step)
    return Fit(
        kind="deliveries",
        section="deliveries",
        trace=trace,
        parameters=found.parameters,
        summary=summary,
        notes=(*_clock_note(trace, found.batches, step), *_notes(found)),
        changes={"robots.deliveries": deliveries},
        system=_around(deliveries, summary["pages_per_time"], options.robots),
        details=found,
    )


def _require_random(batches: Batches) -> None:
    """Raise `ValueError` where all gaps are one: no Markovian process has these."""
    mean = float(batches.gaps.mean())
    if batches.gaps.std() <= _EQUAL * mean:
        raise ValueError(
            f"all gaps between batches are {mean:.6g}; regular deliveries are no process of "
            f"arrivals: say robots.access_time = {{ deterministic = {{ value = {mean:.6g} }} }}"
        )


def _summary(found: DeliveryFit, step: float) -> dict[str, Any]:
    batches = found.batches
    gaps = found.batches.gaps
    variation = float(gaps.var() / gaps.mean() ** 2)
    return {
        "batches": len(batches.sizes),
        "batch_gap": batches.threshold,
        "joined_batches": batches.joined,
        "stops": batches.stops,
        "pages_per_time": float(batches.sizes.mean() / gaps.mean()),
        "lag_correlations": found.correlations.tolist(),
        "largest_correlation_of_order_two": correlation_bound(variation),
        "process": found.chosen,
        "clock_step": step,
        "log_likelihoods": {name: each.log_likelihood for name, each in found.tried.items()},
        "criteria": {name: each.criterion(len(gaps)) for name, each in found.tried.items()},
    }


def _around(deliveries: dict[str, Any], rate: float, robots: int) -> dict[str, Any]:
    """A smallest scenario: an indexing engine that is busy half of the time."""
    return {
        "robots": {"available": robots, "deliveries": deliveries},
        "buffer": {
            "waiting_places": _PLACES,
            "service": {"exponential": {"mean": _LOAD / rate}},
        },
        "run": {"horizon": _HORIZON / rate, "warmup": 0.005 * _HORIZON / rate},
    }


def _clock_note(trace: Trace, batches: Batches, step: float) -> list[str]:
    """Pages at one time that the clock, and no batch, has brought together."""
    times = np.sort(trace.values)
    tied = int((np.diff(times) == 0).sum())
    if step == 0.0 or tied == 0:
        return []
    steps = 1.0 + (times[-1] - times[0]) / step
    expected = len(times) - steps * -np.expm1(-len(times) / steps)
    if batches.threshold >= step or expected < _RARE * tied:
        return []
    text = (
        f"Times are multiples of {duration(step, trace.time_unit)}, and {tied} pages come at the "
        f"time of the one before; of pages that come one by one {expected:.3g} would"
    )
    if tied < expected + _DEVIATIONS * np.sqrt(expected):
        return [f"{text}: these batches are the clock's, and a finer clock would show none."]
    return [f"{text}: some of these batches are the clock's, and sizes are too large."]


def _notes(found: DeliveryFit) -> list[str]:
    batches = found.batches
    notes = []
    if batches.stops:
        are = "is a stop" if batches.stops == 1 else "are stops"
        notes.append(f"{counted(batches.stops, 'longer gap')} {are} of the crawler and left out.")
    if batches.sizes.max() > 1 and batches.threshold == 0:
        notes.append(
            "No gap tells batches apart: only pages at the same time are one batch: "
            f"{counted(len(batches.sizes), 'batch')}, {batches.sizes.mean():.4g} pages each."
        )
    elif batches.sizes.max() > 1:
        notes.append(
            f"Pages not more than {batches.threshold:.4g} apart are one batch: "
            f"{counted(len(batches.sizes), 'batch')}, {batches.sizes.mean():.4g} pages each. About "
            f"{batches.joined:.2g} of the batches begin so soon after the one before, if they come "
            "independently, and are joined to it."
        )
    else:
        notes.append("No gap tells batches apart: every page is taken for itself.")
    notes += [batches.sureness] * bool(batches.sureness)
    notes += [f"{_sentence(note)}." for note in found.notes]
    if len(batches.gaps) > MOST_GAPS:
        notes.append(f"The MMPP is fitted to {MOST_GAPS} of the gaps, in twenty stretches.")
    return [*notes, *_correlation_note(found), _choice(found)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _correlation_note(found: DeliveryFit) -> Sequence[str]:
    """What the process makes of correlations that are more than chance."""
    gaps = found.batches.gaps
    seen = found.correlations
    if abs(seen[0]) < 3 / np.sqrt(len(gaps)):
        if found.chosen in INDEPENDENT:
            return []
        return [
            f"The lag correlation of the gaps, {seen[0]:.2g}, is within chance; {found.chosen} is "
            "taken for what it makes of their lengths, and --process renewal is without any."
        ]
    wanted = ", ".join(f"{each:.2g}" for each in seen)
    text = f"Correlations of gaps 1 to {len(seen)} apart are {wanted}"
    if found.chosen in INDEPENDENT:
        others = " or ".join(f"--process {name}" for name in ("map", "mmpp") if name in found.tried)
        wrong = "too small" if seen[0] > 0 else "too large"
        return [
            f"{text}, more than chance; the process {found.chosen} has none, so that computed "
            f"losses and waits will be {wrong}. To keep what order two can, give {others}."
        ]
    _, variation, _, first = gap_moments(found.process)
    decay = 2 * variation * first / (variation - 1) if abs(variation - 1) > 1e-9 else 0.0
    return [
        f"{text}; the process {found.chosen} has {first:.2g} for the first, and from each to the "
        f"next the factor {decay:.2g}; seen is {seen[1] / seen[0]:.2g}."
    ]


def _choice(found: DeliveryFit) -> str:
    number = len(found.batches.gaps)
    values = ", ".join(
        f"{name} {each.criterion(number):.6g}"
        for name, each in sorted(found.tried.items(), key=lambda item: item[1].criterion(number))
    )
    return f"Process of the batches: {found.chosen}. BIC, less is better: {values}."
