"""Bias of estimators of a change rate from crawls at equal gaps, by exact binomial sums."""

from __future__ import annotations

import numpy as np
from scipy import special

from crawlsim.logs.fit.crawl_logs import cho_garcia_molina
from scenarios.arrays import Array


def _bias(estimates: Array, x: float) -> float:
    """Relative bias of an estimator of rate × gap, given for each number of changes."""
    crawls = len(estimates) - 1
    changes = np.arange(crawls + 1)
    ways = special.gammaln(changes + 1) + special.gammaln(crawls - changes + 1)
    logs = special.gammaln(crawls + 1) - ways
    weights = np.exp(logs + changes * np.log(-np.expm1(-x)) - (crawls - changes) * x)
    return float(weights @ estimates / x - 1.0)


def bias_of_cho_garcia_molina(x: float, crawls: int) -> float:
    """Relative bias of `cho_garcia_molina` at rate × gap = x."""
    return _bias(cho_garcia_molina(np.arange(crawls + 1), crawls, 1.0), x)


def bias_of_naive(x: float, crawls: int) -> float:
    """Relative bias of the naive rate X / (n gap) at rate × gap = x."""
    return _bias(np.arange(crawls + 1) / crawls, x)
