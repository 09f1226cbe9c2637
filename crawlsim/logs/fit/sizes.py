"""Laws of sizes or times: each simple one by maximum likelihood, and the best of them.

All are mixtures of Erlang laws, for which every formula has an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from crawlsim.logs.fit.hyper_erlang import (
    HyperErlang,
    Sample,
    criterion,
    information,
    likely_laws,
    log_likelihood,
    numbers_in,
    sample_of,
    three_moments,
    two_moments,
)
from crawlsim.logs.fit.intervals import NORMAL_95, Parameter, skewed_mean
from crawlsim.logs.fit.result import Fit, Options
from crawlsim.logs.fit.trace import Trace
from scenarios.arrays import Array

MOST_PHASES = 60
"""Of a fitted law: the matrices of a solver grow with its square."""

FEWEST = 200
"""Observations from which on their mean has an interval."""

_TAIL = 0.99
_REJECTED = 0.05
_SURE = 1e-3
_POOR = 0.05
_AT_ONCE = 1 << 20  # values: the law takes some numbers for each value and branch
_FLAT = 5.0
_EQUAL = 1e-6
_KEYS = {
    "service": "buffer.service",
    "obsolescence": "buffer.obsolescence",
    "access_time": "robots.access_time",
}


class Quality(NamedTuple):
    """Kolmogorov-Smirnov distance of a law to the observations, and its p-value.

    Attributes
    ----------
    distance : float
        Largest difference between the distribution functions.
    p_value : float
        Of a law given beforehand; for a fitted one it is somewhat too large: what it rejects is
        rejected.
    """

    distance: float
    p_value: float

    @property
    def poor(self) -> bool:
        """Whether the law is off by more than chance, and by so much that it matters."""
        return self.p_value < _SURE and self.distance > _POOR


def quality_of(observations: Array, law: HyperErlang) -> Quality:
    """The Kolmogorov-Smirnov test; equal observations are one step of their whole height."""
    values, counts = np.unique(observations, return_counts=True)
    until = np.cumsum(counts) / len(observations)
    before = until - counts / len(observations)
    parts = np.array_split(np.arange(len(values)), len(values) // _AT_ONCE + 1)
    under = 1.0 - np.concatenate([law.survival(values[part]) for part in parts])
    distance = float(max((until - under).max(), (under - before).max()))
    root = np.sqrt(len(observations))
    p_value = special.kolmogorov((root + 0.12 + 0.11 / root) * distance)
    return Quality(distance, float(p_value))


def quality_words(quality: Quality) -> str:
    """The figures, and a warning where the fit is poor."""
    seen = f"Kolmogorov-Smirnov distance {quality.distance:.2g}, p = {quality.p_value:.2g}"
    if quality.p_value >= _REJECTED:
        return f"The law goes with the observations: {seen}."
    if not quality.poor:
        return (
            f"The law is rejected, but never off by more than {100 * quality.distance:.1f} points: "
            f"{seen}. `empirical` draws the observations themselves."
        )
    return (
        f"The fit is poor: {seen}. No law of at most {MOST_PHASES} phases that was tried is close; "
        "its moments may still be right, but probabilities of single sizes are not. `empirical` "
        "draws the observations themselves."
    )


@dataclass(frozen=True)
class Candidate:
    """A law that was tried, and how well it does.

    Attributes
    ----------
    name : str
    how : str
        "maximum likelihood", "two moments" or "three moments".
    law : HyperErlang
    log_likelihood : float
    parameters : int
        Numbers that were chosen, shapes included.
    criterion : float
        BIC, ``parameters ln n - 2 log-likelihood``; less is better.
    """

    name: str
    how: str
    law: HyperErlang
    log_likelihood: float
    parameters: int
    criterion: float


@dataclass(frozen=True)
class SizeFit:
    """All candidates, the best first, and the sample that they were fitted to."""

    sample: Sample
    candidates: tuple[Candidate, ...]

    @cached_property
    def quality(self) -> Quality:
        """How well the best goes with the sample."""
        return quality_of(self.sample.observations, self.best.law)

    def notes(self) -> list[str]:
        """How well the best fits, and which intervals are not given."""
        notes = [quality_words(self.quality)]
        if self.sample.count < FEWEST:
            notes.append(
                f"The mean has no interval of its own: fewer than {FEWEST} observations do not "
                "tell how skewed they are. Those of the law hold if it is the right one."
            )
        return notes

    @property
    def best(self) -> Candidate:
        """The candidate with the least criterion."""
        return self.candidates[0]


def fit_sizes(values: Array) -> SizeFit:
    """Laws for positive observations: exponential, Erlang, hyperexponential and mixtures.

    Parameters
    ----------
    values : ndarray
        At least three, not all equal to within a millionth.

    Raises
    ------
    ValueError
        If they are fewer, or all equal.
    """
    if len(values) < 3 or values.std() <= _EQUAL * values.mean():
        raise ValueError("needs at least three observations that are not all equal")
    sample = sample_of(values)
    tried = [("maximum likelihood", *each) for each in likely_laws(sample, MOST_PHASES)]
    first, second, third = sample.moments
    for how, law_of in (
        ("two moments", partial(two_moments, first, sample.variation)),
        ("three moments", partial(three_moments, first, second, third, MOST_PHASES // 2)),
    ):
        try:
            law = law_of()
        except ValueError:
            continue
        if sum(law.shapes) <= MOST_PHASES:
            tried.append((how, law, log_likelihood(sample, law)))
    candidates = [
        Candidate(law.name, how, law, value, numbers_in(law), criterion(sample, law, value))
        for how, law, value in tried
    ]
    return SizeFit(sample, tuple(sorted(candidates, key=lambda each: each.criterion)))


def mean_of(values: Array) -> Parameter:
    """Mean of independent observations, of whatever law; with an interval from 200 on.

    Notes
    -----
    Hall's interval (`skewed_mean`). Fewer observations of a law with rare large sizes mostly
    contain none of these, and nothing in them says so.
    """
    if len(values) < FEWEST:
        return Parameter("mean", None, float(values.mean()))
    return Parameter("mean", None, *skewed_mean(values))


def law_parameters(sample: Sample, law: HyperErlang) -> list[Parameter]:
    """Mean and probability of each branch of a law fitted by maximum likelihood.

    Parameters
    ----------
    sample : Sample
    law : HyperErlang

    Notes
    -----
    For a single branch the exact interval: ``2 shape n mean / true mean`` is chi-square with
    ``2 shape n`` degrees of freedom. For several, normal intervals of ln mean and of the log-odds
    of a branch, from the Fisher information; an empty list where the information is singular, or
    so nearly that a standard error is above a factor of e^5.
    """
    if len(law.shapes) == 1:
        mean = sample.moments[0]
        phases = law.shapes[0] * round(sample.count)
        high, low = mean * (1.0 / (special.gammaincinv(phases, [0.025, 0.975]) / phases))
        error = mean / np.sqrt(sample.count * law.shapes[0])
        return [Parameter("branch_mean", 0, mean, float(low), float(high), float(error))]
    try:
        covariance: Array = np.linalg.inv(information(sample, law)).astype(np.float64)
    except np.linalg.LinAlgError:
        return []
    variances = np.diag(covariance)
    if not ((variances > 0) & (variances < _FLAT**2)).all():
        return []
    parameters = []
    for branch, (mean, error) in enumerate(
        zip(law.means.tolist(), np.sqrt(variances), strict=False)
    ):
        reach = float(np.exp(NORMAL_95 * error))
        parameters.append(
            Parameter("branch_mean", branch, mean, mean / reach, mean * reach, float(mean * error))
        )
    # The log-ratios of the probabilities to the last one have the rest of the covariance.
    share = np.array(law.probabilities)
    jacobian = (np.diag(share) - np.outer(share, share))[:, :-1]
    branches = len(share)
    inner = covariance[branches:, branches:]
    errors = np.sqrt(np.maximum(np.diag(jacobian @ inner @ jacobian.T), 0.0))
    for branch, (p, error) in enumerate(zip(share.tolist(), errors.tolist(), strict=True)):
        odds = np.log(p / (1 - p))
        reach = NORMAL_95 * error / (p * (1 - p))
        low, high = (float(1 / (1 + np.exp(-odds - side * reach))) for side in (-1, 1))
        parameters.append(Parameter("branch_probability", branch, p, low, high, error))
    return parameters


def fit_of_sizes(trace: Trace, options: Options) -> Fit:
    """The best law of the observations, scaled to times where this is asked for.

    Raises
    ------
    ValueError
        If there are fewer than three observations, or all are equal.
    """
    fitted = fit_sizes(trace.values)
    best = fitted.best
    sample = fitted.sample
    factor = 1.0 if options.rate is None else 1.0 / options.rate
    if options.mean is not None:
        factor = options.mean / sample.moments[0]
    section = options.section or "service"
    parameters = [mean_of(trace.values)]
    if best.how == "maximum likelihood":
        parameters += law_parameters(sample, best.law)
    notes = [
        f"{best.name} by {best.how}, the least BIC of {len(fitted.candidates)} candidates; mean "
        f"{best.law.moment(1):.4g}, squared coefficient of variation {best.law.variation:.4g}, "
        f"{_TAIL:.0%} below {best.law.quantile(_TAIL):.4g}; of the data {sample.moments[0]:.4g}, "
        f"{sample.variation:.4g} and {_tail_of(sample):.4g}.",
        *fitted.notes(),
    ]
    if abs(best.law.variation - sample.variation) > 0.2 * sample.variation:
        notes.append(
            "A queue depends on the variation more than on the likelihood: the candidates by two "
            "or three moments have that of the data (--json lists them)."
        )
    if factor != 1.0:
        notes.append(f"Sizes become times by the factor {factor:.6g}; the numbers above are sizes.")
    law = best.law.scaled(factor)
    return Fit(
        kind="sizes",
        section=section,
        trace=trace,
        parameters=tuple(parameters),
        summary={
            "observations": int(sample.count),
            "squared_coefficient_of_variation": sample.variation,
            "moments": list(sample.moments),
            "quantile_99": _tail_of(sample),
            "law": best.name,
            "how": best.how,
            "log_likelihood": best.log_likelihood,
            "kolmogorov_smirnov": fitted.quality._asdict(),
            "scaled_by": factor,
            "candidates": [
                {
                    "law": each.name,
                    "how": each.how,
                    "log_likelihood": each.log_likelihood,
                    "criterion": each.criterion,
                    "mean": each.law.moment(1),
                    "squared_coefficient_of_variation": each.law.variation,
                    "quantile_99": each.law.quantile(_TAIL),
                }
                for each in fitted.candidates
            ],
        },
        notes=tuple(notes),
        changes={_KEYS[section]: law.entry()},
        system=_around(section, law.entry(), law.moment(1)),
        details=fitted,
    )


def _tail_of(sample: Sample) -> float:
    """The size below which 99 % of the observations are."""
    return float(np.quantile(sample.observations, _TAIL))


def _around(section: str, entry: dict[str, Any], mean: float) -> dict[str, Any]:
    """The smallest possible scenario: the fitted law, and exponential laws around it."""
    service = mean / 2 if section == "access_time" else mean
    times = {
        "service": {"exponential": {"mean": service}},
        "obsolescence": {"exponential": {"mean": 5 * mean}},
        "access_time": {"exponential": {"mean": 2 * mean}},
        section: entry,
    }
    return {
        "robots": {"available": 1, "access_time": times["access_time"]},
        "buffer": {
            "waiting_places": 5,
            "service": times["service"],
            "obsolescence": times["obsolescence"],
        },
        "run": {"horizon": 600_000 * mean, "warmup": 1000 * mean},
    }
