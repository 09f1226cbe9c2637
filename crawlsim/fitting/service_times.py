"""Laws of sizes or service times: every simple one by maximum likelihood, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from crawlsim.fitting.erlang_shapes import criterion, likely_laws, numbers_in
from crawlsim.fitting.fit_quality import Quality, quality_of, quality_words
from crawlsim.fitting.hyper_erlang import HyperErlang, three_moments, two_moments
from crawlsim.fitting.intervals import NORMAL_95, Parameter, mean_of_exponentials
from crawlsim.fitting.mixture_likelihood import Sample, information, log_likelihood, sample_of
from crawlsim.fitting.stretches import skewed_mean
from scenarios.arrays import Array

MOST_PHASES = 60
"""Of a fitted law: the matrices of a solver grow with its square."""

_FLAT = 5.0
_EQUAL = 1e-6

FEWEST = 200
"""Observations from which on their mean has an interval."""


@dataclass(frozen=True)
class Candidate:
    """A law that was tried.

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
        words = [quality_words(self.quality, MOST_PHASES)]
        if self.sample.count < FEWEST:
            words.append(
                f"The mean has no interval of its own: fewer than {FEWEST} observations do not "
                "tell how skewed they are. Those of the law hold if it is the right one."
            )
        return words

    @property
    def best(self) -> Candidate:
        """The candidate with the least criterion."""
        return self.candidates[0]


def fit_sizes(values: Array) -> SizeFit:
    """Laws for positive observations: exponential, Erlang, hyperexponential and mixtures.

    Parameters
    ----------
    values : ndarray
        At least three, not all equal to a millionth.

    Raises
    ------
    ValueError
        If they are fewer, or all equal.
    """
    if len(values) < 3 or values.std() <= _EQUAL * values.mean():
        raise ValueError("needs at least three observations that are not all equal")
    sample = sample_of(values)
    found = [
        _candidate(sample, law, "maximum likelihood", value)
        for law, value in likely_laws(sample, MOST_PHASES)
    ]
    found += _by_moments(sample)
    return SizeFit(sample, tuple(sorted(found, key=lambda each: each.criterion)))


def _by_moments(sample: Sample) -> list[Candidate]:
    """The laws with the moments of the sample, as far as there are any."""
    found = []
    first, second, third = sample.moments
    for how, make in (
        ("two moments", partial(two_moments, first, sample.variation)),
        ("three moments", partial(three_moments, first, second, third, MOST_PHASES // 2)),
    ):
        try:
            law = make()
        except ValueError:
            continue
        if sum(law.shapes) > MOST_PHASES:
            continue
        found.append(_candidate(sample, law, how, log_likelihood(sample, law)))
    return found


def _candidate(sample: Sample, law: HyperErlang, how: str, value: float) -> Candidate:
    return Candidate(law.name, how, law, value, numbers_in(law), criterion(sample, law, value))


def mean_of(values: Array) -> Parameter:
    """Mean of independent observations, of whatever law; with an interval from 200 on.

    Notes
    -----
    Hall's interval (`skewed_mean`). Below, and for a large size that comes seldom, most samples
    hold none of it and nothing in them says so.
    """
    if len(values) < FEWEST:
        return Parameter("mean", None, float(values.mean()), np.nan, np.nan)
    found = skewed_mean(values)
    return Parameter("mean", None, found.value, found.low, found.high, found.error)


def law_parameters(sample: Sample, law: HyperErlang) -> list[Parameter]:
    """Mean and probability of each branch of a law fitted by maximum likelihood.

    Parameters
    ----------
    sample : Sample
    law : HyperErlang

    Notes
    -----
    Normal intervals of ln mean and of the log-odds of a branch, from the Fisher information; exact
    for a single branch. An empty list where the information is singular, or so nearly that a
    standard error is above a factor of e^5.
    """
    if len(law.shapes) == 1:
        mean, low, high = mean_of_exponentials_in(sample, law.shapes[0])
        error = mean / np.sqrt(sample.count * law.shapes[0])
        return [Parameter("branch_mean", 0, mean, low, high, float(error))]
    try:
        covariance: Array = np.linalg.inv(information(sample, law)).astype(np.float64)
    except np.linalg.LinAlgError:
        return []
    variances = np.diag(covariance)
    if not ((variances > 0) & (variances < _FLAT**2)).all():
        return []
    errors = np.sqrt(variances)
    branches = len(law.shapes)
    means = [
        Parameter("branch_mean", branch, mean, *_around(mean, error), float(mean * error))
        for branch, (mean, error) in enumerate(zip(law.means.tolist(), errors, strict=False))
    ]
    return means + _shares(law, covariance[branches:, branches:])


def mean_of_exponentials_in(sample: Sample, shape: int) -> tuple[float, float, float]:
    """Mean of Erlang observations with its exact interval."""
    unit, low, high = mean_of_exponentials(np.ones(1), shape * round(sample.count))
    mean = sample.moments[0]
    return mean, mean * low / unit, mean * high / unit


def _around(value: float, error: float) -> tuple[float, float]:
    reach = float(np.exp(NORMAL_95 * error))
    return value / reach, value * reach


def _shares(law: HyperErlang, covariance: Array) -> list[Parameter]:
    """Probabilities of the branches, from the covariance of their log-ratios to the last one."""
    share = np.array(law.probabilities)
    jacobian = (np.diag(share) - np.outer(share, share))[:, :-1]
    errors = np.sqrt(np.maximum(np.diag(jacobian @ covariance @ jacobian.T), 0.0))
    found = []
    for branch, (p, error) in enumerate(zip(share.tolist(), errors.tolist(), strict=True)):
        odds = np.log(p / (1 - p))
        reach = NORMAL_95 * error / (p * (1 - p))
        low, high = (float(1 / (1 + np.exp(-odds - side * reach))) for side in (-1, 1))
        found.append(Parameter("branch_probability", branch, p, low, high, error))
    return found
