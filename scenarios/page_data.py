"""What the words of [pages] and of an accessing policy stand for, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.accessing import Accessing, Cyclic
from scenarios.columns import Column
from scenarios.sections import Pages, Zipf

__all__ = ["access_shares", "change_rates", "page_weights"]

Array = NDArray[np.floating[Any]]


def change_rates(pages: Pages) -> Array:
    """Change rate of each page, shape (pages,)."""
    given = pages.change_rates
    if isinstance(given, Zipf):
        law = given.root
        shares = np.arange(1.0, law.pages + 1) ** -law.exponent
        rates: Array = law.total * shares / shares.sum()
        return rates
    return np.array(given.numbers if isinstance(given, Column) else given)


def page_weights(pages: Pages) -> Array:
    """Weight of each page in the cost and among the queries, shape (pages,)."""
    if pages.weights == "change-rate":
        return change_rates(pages)
    if pages.weights == "uniform":
        return np.ones(pages.count)
    return np.array(pages.weights.numbers if isinstance(pages.weights, Column) else pages.weights)


def access_shares(policy: Accessing, pages: Pages) -> Array:
    """Share of the accesses that the policy is to give each page, shape (pages,).

    Those of a template are what it holds; "optimal" must have been resolved to numbers before.
    """
    if isinstance(policy, Cyclic):
        counts = np.bincount(policy.template, minlength=pages.count)
        return counts / len(policy.template)
    frequencies = getattr(policy, "frequencies", "uniform")
    if frequencies == "change-rate":
        rates = change_rates(pages)
        shares: Array = rates / rates.sum()
        return shares
    if frequencies == "uniform":
        return np.full(pages.count, 1.0 / pages.count)
    return np.array(frequencies, dtype=float)
