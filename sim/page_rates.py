"""Change rates and weights of the pages, as the scenario's words give them."""

from __future__ import annotations

import numpy as np

from scenarios.columns import Column
from scenarios.sections import Pages, Zipf

__all__ = ["change_rates", "page_weights"]


def change_rates(pages: Pages) -> list[float]:
    """Change rate of each page."""
    given = pages.change_rates
    if isinstance(given, Column):
        return list(given.numbers)
    if isinstance(given, Zipf):
        law = given.root
        shares = np.arange(1.0, law.pages + 1) ** -law.exponent
        rates: list[float] = (law.total * shares / shares.sum()).tolist()
        return rates
    return list(given)


def page_weights(pages: Pages) -> list[float]:
    """Weight of each page in the cost and among the queries."""
    if pages.weights == "change-rate":
        return change_rates(pages)
    if pages.weights == "uniform":
        return [1.0] * pages.count
    return list(pages.weights.numbers if isinstance(pages.weights, Column) else pages.weights)
