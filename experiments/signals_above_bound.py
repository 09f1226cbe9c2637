"""How far one robot that takes the greatest crawl value is above the bound, by the pages.

``python -m experiments.signals_above_bound [--pages N ...]`` simulates pages with exponential rates
and weights (quantiles, the weights in another order), and prints the excess of the stale share in
per cent, with its standard error.
"""

from __future__ import annotations

import argparse

import numpy as np

import sim
from analytic import predict
from scenarios import Scenario, scenario_from

_CASES = ((0.3, 0.2, 0.5), (0.3, 0.8, 0.8), (1.0, 0.2, 0.5), (1.0, 0.8, 0.8))
"""Changes per access, precision, recall."""

_ACCESSES = 400_000


def system(pages: int, changes: float, precision: float, recall: float) -> Scenario:
    """So many pages that change once per unit time in the mean, and one robot."""
    rates = -np.log1p(-(np.arange(pages) + 0.5) / pages)
    rates /= rates.mean()
    access = changes / pages
    return scenario_from(
        {
            "name": "signals",
            "pages": {
                "change_rates": rates.tolist(),
                "weights": np.random.default_rng(5).permutation(rates).tolist(),
                "signals": {"recall": recall, "precision": precision},
            },
            "robots": {
                "available": 1,
                "access_time": {"deterministic": {"value": access}},
                "accessing": {"policy": "crawl-value"},
            },
            "run": {"horizon": 200.0 + _ACCESSES * access, "warmup": 200.0, "replications": 4},
        }
    )


def excess(scenario: Scenario) -> tuple[float, float]:
    """By how much the stale share is above the bound, relatively, and the standard error."""
    (bound,) = [each.value for each in predict(scenario)[0]]
    found = sim.run(scenario).find("weighted_obsolescence")
    return found.estimate / bound - 1.0, found.standard_error / bound


def main() -> None:
    """Simulate, and print a row for each number of pages and case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[10, 20, 50, 100, 500])
    for pages in parser.parse_args().pages:
        for changes, precision, recall in _CASES:
            above, error = excess(system(pages, changes, precision, recall))
            case = f"{changes:g} changes per access, p {precision:g}, r {recall:g}"
            print(f"{pages} pages, {case}: {100 * above:.1f} +- {100 * error:.1f} %")


if __name__ == "__main__":
    main()
