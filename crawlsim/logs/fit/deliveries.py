"""Deliveries of a crawler from their timestamps: batches, and the process of the batches.

The steps are those of avrachenkov2011, section 7: gaps; stops left out; short gaps join pages to
batches; sizes of the batches; mean, variance and correlations of the gaps between batches; a
process of order two. Sizes are then drawn independently of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.batches import Batches, batches_of
from crawlsim.logs.fit.clocks import clock_step
from crawlsim.logs.fit.intervals import (
    NORMAL_95,
    Parameter,
    correlation_jackknife,
    parameters_of,
    positive_jackknife,
    shares_by_mid_p,
)
from crawlsim.logs.fit.order_two import (
    Process,
    correlation_bound,
    fit_modulated,
    gap_moments,
    likelihood_of,
    map_of_order_two,
)
from crawlsim.logs.fit.poisson_verdict import duration
from crawlsim.logs.fit.result import Fit, Options
from crawlsim.logs.fit.sizes import FEWEST, fit_sizes, quality_words
from crawlsim.logs.fit.trace import Trace
from scenarios.arrays import Array
from scenarios.text import counted

INDEPENDENT = ("poisson", "renewal")
"""Processes whose gaps do not depend on one another."""

PROCESSES = (*INDEPENDENT, "map", "mmpp")

FEWEST_GAPS = 1000
"""Gaps from which on their moments have intervals."""

MOST_GAPS = 200_000
"""Gaps to which an MMPP is fitted."""

_MOMENTS = ("mean_gap", "squared_coefficient_of_variation_of_gaps", "lag_correlation")
_LAGS = 6
_BLOCKS = 10
_MET = 1e-6
_NEARER = tuple(0.5**halving for halving in range(1, 11))
_LARGEST_BATCH = 200
_CLEARLY = 10.0  # "very strong" evidence: Kass and Raftery (1995)
_HEAVY = 0.3
_EQUAL = 1e-6
_RARE = 0.02
_DEVIATIONS = 3.0
_PLACES = 10
_LOAD = 0.5
_HORIZON = 800_000.0


def lag_correlations(gaps: Array, lags: int = _LAGS) -> Array:
    """Correlations of gaps 1, 2, … apart, shape (lags,)."""
    centred = gaps - gaps.mean()
    variance = centred @ centred
    return np.array([centred[lag:] @ centred[:-lag] / variance for lag in range(1, lags + 1)])


def gap_parameters(gaps: Array) -> list[Parameter]:
    """Mean, variation and lag correlation of the gaps; intervals from a thousand gaps on.

    Notes
    -----
    Below, phases that last for twenty gaps make intervals from the gaps alone cover as little as
    0.7, and nothing in the gaps says so.
    """
    mean = float(gaps.mean())
    now = gaps[:-1] / mean
    then = gaps[1:] / mean
    averaged = (now, then, now**2, now * then)

    def variation(m: Array) -> float:
        return float(m[2] / m[0] ** 2 - 1.0)

    def correlation(m: Array) -> float:
        return float((m[3] - m[0] * m[1]) / (m[2] - m[0] ** 2))

    if len(gaps) < FEWEST_GAPS:
        means = np.array([each.mean() for each in averaged])
        values = (mean, variation(means), correlation(means))
        return [Parameter(name, None, value) for name, value in zip(_MOMENTS, values, strict=True)]
    estimates = (
        positive_jackknife((gaps,), lambda m: float(m[0]), _BLOCKS),
        positive_jackknife(averaged, variation, _BLOCKS),
        correlation_jackknife(averaged, correlation, 2 * _BLOCKS),
    )
    return [Parameter(name, None, *each) for name, each in zip(_MOMENTS, estimates, strict=True)]


def is_chance(moments: Sequence[Parameter], gaps: int) -> bool:
    """Whether the lag correlation's interval holds 0; of few gaps, that of independent ones."""
    lag = next(each for each in moments if each.name == "lag_correlation")
    if np.isnan(lag.low):
        return bool(abs(lag.estimate) < NORMAL_95 / np.sqrt(gaps))
    return bool(lag.low <= 0.0 <= lag.high)


@dataclass(frozen=True)
class Tried:
    """A process that was fitted to the gaps.

    Attributes
    ----------
    process : Process
    log_likelihood : float
        Of the gaps in their order.
    parameters : int
        Numbers that were chosen.
    """

    process: Process
    log_likelihood: float
    parameters: int

    def criterion(self, gaps: int) -> float:
        """BIC, ``parameters ln n - 2 log-likelihood``; less is better."""
        return float(self.parameters * np.log(gaps) - 2 * self.log_likelihood)


@dataclass(frozen=True)
class DeliveryFit:
    """Batches and the processes fitted to the gaps between them.

    Attributes
    ----------
    batches : Batches
    correlations : ndarray, shape (lags,)
    tried : mapping
        "poisson", "renewal", "map" and "mmpp", as far as there are such.
    chosen : str
        That with the least BIC, or the one that was asked for.
    parameters : tuple of Parameter
    notes : tuple of str
        What the process does not meet, and which intervals are missing.
    """

    batches: Batches
    correlations: Array
    tried: Mapping[str, Tried]
    chosen: str
    parameters: tuple[Parameter, ...]
    notes: tuple[str, ...]

    @property
    def process(self) -> Process:
        """The chosen process of the batches."""
        return self.tried[self.chosen].process

    @property
    def criteria(self) -> dict[str, float]:
        """BIC of each process that was tried."""
        return {name: each.criterion(len(self.batches.gaps)) for name, each in self.tried.items()}


def fit_deliveries(batches: Batches, wanted: str | None = None) -> DeliveryFit:
    """Processes for the gaps between batches: independent gaps, and two of order two.

    Parameters
    ----------
    batches : Batches
    wanted : {"poisson", "renewal", "map", "mmpp"}, optional
        Which one to take; default the one with the least BIC. A correlated one is taken for gaps
        without correlation only if its BIC is clearly less.

    Raises
    ------
    ValueError
        If there is no process of the wanted kind.
    """
    gaps = batches.gaps
    number = len(gaps)
    correlations = lag_correlations(gaps)
    some = gaps  # of very many gaps twenty blocks
    if number > MOST_GAPS:
        some = np.concatenate([part[: MOST_GAPS // 20] for part in np.array_split(gaps, 20)])
    modulated = fit_modulated(some)
    rate = 1.0 / float(gaps.mean())
    poisson = Process(np.array([[-rate]]), np.array([[rate]]))
    law = fit_sizes(gaps)
    alpha, steps = law.best.law.phases()
    renewal = Process(steps, np.outer(-steps.sum(axis=1), alpha))
    tried = {
        "poisson": Tried(poisson, number * (np.log(rate) - 1.0), 1),
        "renewal": Tried(renewal, law.best.log_likelihood, law.best.parameters),
    }
    by_moments, notes = _by_moments(gaps, float(correlations[0]))
    if by_moments is not None:
        tried["map"] = Tried(by_moments, likelihood_of(gaps, by_moments), 4)
    tried["mmpp"] = Tried(modulated.process, likelihood_of(gaps, modulated.process), 4)

    moments = gap_parameters(gaps)
    chosen = wanted
    if chosen is None:
        criteria = {name: each.criterion(number) for name, each in tried.items()}
        chosen = min(criteria, key=lambda name: criteria[name])
        independent = min(INDEPENDENT, key=lambda name: criteria[name])
        if is_chance(moments, number) and criteria[independent] < criteria[chosen] + _CLEARLY:
            chosen = independent
    if chosen not in tried:
        raise ValueError(f"there is no {chosen} with these gaps; {notes[0]}")
    if chosen != "map":
        notes = [f"of the MAP, which is not taken: {note}" for note in notes]
    parameters = (*moments, *batch_parameters(batches.sizes))
    parameters += modulated.parameters if chosen == "mmpp" else ()
    if chosen == "renewal" and law.quality.poor:
        notes.append(quality_words(law.quality).removesuffix("."))
    notes += _missing_intervals(batches, moments)
    return DeliveryFit(batches, correlations, tried, chosen, parameters, tuple(notes))


def _by_moments(gaps: Array, correlation: float) -> tuple[Process | None, list[str]]:
    """The MAP with the moments, or the nearest that there is, and notes on what is not met."""
    mean = float(gaps.mean())
    variation = float(gaps.var() / gaps.mean() ** 2)
    third = float((gaps**3).mean())
    notes = []

    def process_with(correlation: float) -> Process | None:
        try:
            return map_of_order_two(mean, variation, correlation, third)
        except ValueError as error:
            notes.append(str(error))
            return None

    process = process_with(correlation)
    if process is None:
        bound = correlation_bound(variation)
        nearest = float(np.clip(correlation, -bound, bound))
        share = 0.0
        for step in _NEARER:
            nearer = process_with((share + step) * nearest)
            if nearer is not None:
                process = nearer
                share += step
        met = f"the lag correlation {share * nearest:.4g}"
        if process is None:
            process = process_with(0.0)
            met = "no lag correlation"
        del notes[1:]
        if process is None:
            return None, notes
        notes.append(f"the MAP has {met} instead")
    own = gap_moments(process)[2]
    if abs(own / third - 1.0) > _MET:
        notes.append(
            f"the MAP has the third moment {own:.4g} instead of {third:.4g}, the nearest that goes "
            "with the others"
        )
    return process, notes


def batch_parameters(sizes: NDArray[np.int64]) -> list[Parameter]:
    """Mean size, with an interval from 200 batches on, and the probability of each size seen."""
    if sizes.max() == 1:
        return []
    values = sizes.astype(float)
    if len(sizes) < FEWEST or sizes.min() == sizes.max():
        parameters = [Parameter("mean_batch_size", None, float(values.mean()))]
    else:
        mean = positive_jackknife((values,), lambda m: float(m[0]), _BLOCKS)
        parameters = [Parameter("mean_batch_size", None, *mean)]
    counts = np.bincount(sizes)
    seen = np.flatnonzero(counts)
    ends = shares_by_mid_p(counts[seen], len(sizes))
    return [
        *parameters,
        *parameters_of("batch_size_probability", seen.tolist(), counts[seen] / len(sizes), *ends),
    ]


def _missing_intervals(batches: Batches, moments: Sequence[Parameter]) -> list[str]:
    """Why moments have no intervals, or which interval covers less than it says."""
    notes = []
    if len(batches.gaps) < FEWEST_GAPS:
        notes.append(
            f"mean, variation and lag correlation of the gaps have no intervals: fewer than "
            f"{FEWEST_GAPS} gaps do not tell how far apart they depend on one another"
        )
    if len(batches.sizes) < FEWEST and batches.sizes.max() > 1:
        notes.append(
            f"the mean batch size has no interval: fewer than {FEWEST} batches do not tell how "
            "skewed the sizes are"
        )
    variation = next(each for each in moments if each.name.startswith("squared"))
    share = float(batches.gaps.max() ** 4 / (batches.gaps**4).sum())
    if not np.isnan(variation.low) and share > _HEAVY:
        notes.append(
            f"one gap makes up {share:.0%} of the sum of fourth powers, on which the interval of "
            "the variation rests: with such gaps it covers about 0.9"
        )
    return notes


def batch_process(process: Process, sizes: NDArray[np.int64]) -> dict[str, Any]:
    """The process with its batches, as a scenario file has it.

    Parameters
    ----------
    process : Process
    sizes : ndarray of int
        Of the batches seen; D_k is the share of size k, times D1.

    Raises
    ------
    ValueError
        If a batch is larger than 200 pages: the matrices would not be usable.
    """
    largest = int(sizes.max())
    if largest > _LARGEST_BATCH:
        raise ValueError(
            f"a batch has {largest} pages, more than {_LARGEST_BATCH}; give a smaller --batch-gap"
        )
    if largest == 1:
        return process.entry()
    shares = np.bincount(sizes, minlength=largest + 1)[1:] / len(sizes)
    matrices = [process.D0, *(share * process.D1 for share in shares)]
    return {"bmap": {"D": [matrix.tolist() for matrix in matrices]}}


def fit_of_deliveries(trace: Trace, options: Options) -> Fit:
    """Batches, and a Markovian process for them; fewer robots deliver a share of the batches.

    Raises
    ------
    ValueError
        If there are too few batches, all gaps are equal, or no process is of the wanted kind.
    """
    batches = batches_of(trace.values, options.batch_gap, options.longest_gap)
    gaps = batches.gaps
    mean = float(gaps.mean())
    if gaps.std() <= _EQUAL * mean:
        raise ValueError(
            f"all gaps between batches are {mean:.6g}, which no Markovian process has: say "
            f"robots.access_time = {{ deterministic = {{ value = {mean:.6g} }} }}"
        )
    fitted = fit_deliveries(batches, options.process)
    keep = [robots / options.robots for robots in range(1, options.robots + 1)]
    process = batch_process(fitted.process, batches.sizes)
    deliveries = {"thinned": {"process": process, "keep": keep}}
    rate = float(batches.sizes.mean() / gaps.mean())
    step = clock_step(trace.values, trace.time_unit)
    return Fit(
        kind="deliveries",
        section="deliveries",
        trace=trace,
        parameters=fitted.parameters,
        summary={
            "batches": len(batches.sizes),
            "batch_gap": batches.threshold,
            "joined_batches": batches.joined,
            "stops": batches.stops,
            "pages_per_time": rate,
            "lag_correlations": fitted.correlations.tolist(),
            "largest_correlation_of_order_two": correlation_bound(
                float(gaps.var() / gaps.mean() ** 2)
            ),
            "process": fitted.chosen,
            "clock_step": step,
            "log_likelihoods": {name: each.log_likelihood for name, each in fitted.tried.items()},
            "criteria": fitted.criteria,
        },
        notes=(*_clock_note(trace, batches, step), *_notes(fitted)),
        changes={"robots.deliveries": deliveries},
        system={  # an indexing engine that is busy half of the time
            "robots": {"available": options.robots, "deliveries": deliveries},
            "buffer": {
                "waiting_places": _PLACES,
                "service": {"exponential": {"mean": _LOAD / rate}},
            },
            "run": {"horizon": _HORIZON / rate, "warmup": 0.005 * _HORIZON / rate},
        },
        details=fitted,
    )


def _clock_note(trace: Trace, batches: Batches, step: float) -> list[str]:
    """A note where pages have the same time by the rounding of the clock, and not as a batch."""
    times = np.sort(trace.values)
    tied = int((np.diff(times) == 0).sum())
    if step == 0.0 or tied == 0:
        return []
    steps = 1.0 + (times[-1] - times[0]) / step
    expected = len(times) - steps * -np.expm1(-len(times) / steps)
    if batches.threshold >= step or expected < _RARE * tied:
        return []
    have = "1 page has" if tied == 1 else f"{tied} pages have"
    text = (
        f"Times are multiples of {duration(step, trace.time_unit)}, and {have} the time "
        f"of the one before; of pages that come one by one {expected:.3g} would"
    )
    if tied < expected + _DEVIATIONS * np.sqrt(expected):
        return [f"{text}: these batches are made by the clock, a finer one would show none."]
    return [f"{text}: some of these batches are made by the clock, and sizes are too large."]


def _notes(fitted: DeliveryFit) -> list[str]:
    """How batches were separated, what was left out, and why this process was chosen."""
    batches = fitted.batches
    notes = []
    if batches.stops:
        are = "is a stop" if batches.stops == 1 else "are stops"
        notes.append(f"{counted(batches.stops, 'longer gap')} {are} of the crawler and left out.")
    means = f"{counted(len(batches.sizes), 'batch')}, {batches.sizes.mean():.4g} pages each"
    if batches.sizes.max() == 1:
        notes.append("No gap separates batches: every page is a batch of its own.")
    elif batches.threshold == 0:
        notes.append(
            f"No gap separates batches: only pages at the same time are one batch: {means}."
        )
    else:
        notes.append(
            f"Pages not more than {batches.threshold:.4g} apart are one batch: {means}. About "
            f"{batches.joined:.2g} of the batches begin so soon after the one before, if they come "
            "independently, and are joined to it."
        )
    if batches.sureness:
        notes.append(batches.sureness)
    notes += [f"{note[:1].upper()}{note[1:]}." for note in fitted.notes]
    if len(batches.gaps) > MOST_GAPS:
        notes.append(f"The MMPP is fitted to {MOST_GAPS} of the gaps, in twenty blocks.")
    notes += _correlation_note(fitted)
    ordered = sorted(fitted.criteria.items(), key=lambda item: item[1])
    values = ", ".join(f"{name} {value:.6g}" for name, value in ordered)
    notes.append(f"Process of the batches: {fitted.chosen}. BIC, less is better: {values}.")
    return notes


def _correlation_note(fitted: DeliveryFit) -> list[str]:
    """What the process makes of correlations that are more than chance."""
    seen = fitted.correlations
    if abs(seen[0]) < 3 / np.sqrt(len(fitted.batches.gaps)):
        if fitted.chosen in INDEPENDENT:
            return []
        return [
            f"The lag correlation of the gaps, {seen[0]:.2g}, is within chance; {fitted.chosen} is "
            "taken for how it fits their lengths, and --process renewal is without correlation."
        ]
    values = ", ".join(f"{each:.2g}" for each in seen)
    text = f"Correlations of gaps 1 to {len(seen)} apart are {values}"
    if fitted.chosen in INDEPENDENT:
        others = " or ".join(
            f"--process {name}" for name in ("map", "mmpp") if name in fitted.tried
        )
        wrong = "too small" if seen[0] > 0 else "too large"
        return [
            f"{text}, more than chance; the process {fitted.chosen} has none, so that computed "
            f"losses and waits will be {wrong}. To keep what order two can, give {others}."
        ]
    _, variation, _, first = gap_moments(fitted.process)
    decay = 2 * variation * first / (variation - 1) if abs(variation - 1) > 1e-9 else 0.0
    return [
        f"{text}; the process {fitted.chosen} has {first:.2g} for the first, and from each to the "
        f"next the factor {decay:.2g}; the data have {seen[1] / seen[0]:.2g}."
    ]
