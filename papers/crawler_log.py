"""avrachenkov2011, section 7, end to end: from the log of a crawler to thresholds and their saving.

The log was never printed. This one has its printed statistics: more than 65,000 timestamps, gaps
between batches of mean 212.03 and variance 51352.38, 3.2634 pages in a batch. The printed
correlations no process of order two can have; the gaps are those of one that can. The moments of
the content sizes are the printed ones. The prices, the waiting places and the pace of two robots
and more are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from analytic.machinery.arrival_process import mean_rate
from analytic.rules.thresholds import ThresholdSearch, best_thresholds
from crawlsim.fitting import Fit, Options, Trace, fit
from crawlsim.logs.fit.hyper_erlang import HyperErlang, three_moments
from crawlsim.logs.fit.order_two import Process, correlation_bound, map_of_order_two
from crawlsim.logs.read.log import NumberLog
from papers.computed import Line, table_lines
from papers.threshold_tables import costs_against_threshold
from scenarios import Scenario, scenario_from
from scenarios.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 26
TIMESTAMPS = 65_000

MEAN_GAP = 212.03
VARIANCE_OF_GAPS = 51352.38
MEAN_BATCH = 3.263389905223716
DECAY = 0.7
"""Of the correlations of gaps, from each lag to the next, and of the first beside the largest that
there is: far enough from 1 that a sample has a process of order two."""

BATCHES = (0.33, 0.15, 0.13, 0.1, 0.085, 0.08, 0.06, 0.065)
"""Shares of batches of one page to eight, of ours: eight shares are lost, but for their mean."""

WITHIN = 0.05
"""Mean time between the pages of a batch."""

STOPS = 10
STOP = 40_000.0
"""Times at which the crawler stood still, and for how long."""

LONGEST_GAP = 5_000.0
"""Longer ones are left out, as the paper does."""

SIZES = (49207.0356, 2.0527e11, 2.5773e18)
"""Moments of the content sizes, in bytes, as printed."""

MEAN_SERVICE = 8.2
MEAN_PATIENCE = 2000.0

WAITING_PLACES = 10
COSTS = {"loss": 20_000.0, "obsolescence": 20_000.0, "starvation": 600.0, "response": 1.0}


def process_of_the_log() -> Process:
    """Of order two, with the printed mean and variance of the gaps."""
    variation = VARIANCE_OF_GAPS / MEAN_GAP**2
    return map_of_order_two(MEAN_GAP, variation, DECAY * correlation_bound(variation))


def timestamps() -> Array:
    """When pages are delivered, in batches with gaps of order two, shape (65000,)."""
    rng = np.random.default_rng(SEED)
    batches = rng.choice(np.arange(1, len(BATCHES) + 1), TIMESTAMPS, p=BATCHES)
    first = np.cumsum(batches) - batches  # its first page, counted from the first of all
    first = first[first < TIMESTAMPS]
    process = process_of_the_log()
    leaving = -np.diag(process.D0)  # no phase changes without a batch
    to_first = process.D1[:, 0] / leaving
    phases = np.zeros(len(first), dtype=int)
    for batch, draw in enumerate(rng.random(len(first) - 1)):
        phases[batch + 1] = 0 if draw < to_first[phases[batch]] else 1
    gaps = rng.exponential(1.0 / leaving[phases])
    gaps[rng.choice(len(gaps), STOPS, replace=False)] += STOP
    since = rng.exponential(WITHIN, TIMESTAMPS)
    since[first] = gaps
    return np.round(np.cumsum(since), 3)


@cache
def fitted() -> Fit:
    """Batches and a process of order two, from the timestamps alone."""
    trace = Trace(NumberLog(timestamps(), of_times=True), "second")
    return fit(trace, Options(longest_gap=LONGEST_GAP, process="map"))


def service() -> HyperErlang:
    """The law of two phases with the three moments of the sizes, worked off at a constant rate."""
    return three_moments(*SIZES).scaled(MEAN_SERVICE / SIZES[0])


def fitted_batches() -> Array:
    """D0, D1, … of the fitted process, shape (largest batch + 1, 2, 2)."""
    return np.array(fitted().changes["robots.deliveries"]["thinned"]["process"]["bmap"]["D"])


def true_batches() -> Array:
    """D0, D1, … of the process that made the log."""
    process = process_of_the_log()
    return np.array([process.D0, *(share * process.D1 for share in BATCHES)])


def system(batches: Array) -> Scenario:
    """The indexing engine behind one to four robots, each of which delivers as the log does."""
    modes = [{"bmap": {"D": (robots * batches).tolist()}} for robots in range(1, 5)]
    return scenario_from(
        {
            "name": "crawler-log",
            "time_unit": "second",
            "robots": {"available": len(modes), "deliveries": {"modes": modes}},
            "activation": {"optimal": "threshold"},
            "buffer": {
                "waiting_places": WAITING_PLACES,
                "service": service().entry(),
                "obsolescence": {"exponential": {"mean": MEAN_PATIENCE}},
            },
            "costs": COSTS,
        }
    )


@cache
def search() -> ThresholdSearch:
    """The cost of every threshold policy, by what was fitted."""
    return best_thresholds(system(fitted_batches()))


def last_table() -> list[Line]:
    """The best thresholds of every list of numbers, as the last table of the paper."""
    return [row._asdict() for row in search().table]


def figure() -> Figure:
    """Cost against the threshold between every two numbers of robots."""
    return costs_against_threshold(search())


def application() -> Iterator[str]:
    """All steps, with the printed statistics beside those of the log."""
    found = fitted()
    gap = found.find("mean_gap").estimate
    variation = found.find("squared_coefficient_of_variation_of_gaps").estimate
    correlations = found.summary["lag_correlations"]
    yield f"a generated log of {TIMESTAMPS:,} timestamps, seed {SEED}, in seconds:"
    yield from table_lines(
        [
            {"": "stops, left out", "log": found.summary["stops"], "printed": "–"},
            {"": "batches", "log": found.summary["batches"], "printed": "–"},
            {
                "": "mean batch",
                "log": found.find("mean_batch_size").estimate,
                "printed": f"{MEAN_BATCH:.5g}",
            },
            {"": "mean gap", "log": gap, "printed": MEAN_GAP},
            {"": "variance of gaps", "log": variation * gap**2, "printed": VARIANCE_OF_GAPS},
            {"": "lag correlation", "log": correlations[0], "printed": "0.622; at most 0.0623"},
        ],
        digits=5,
    )
    law = service()
    yield (
        f"content sizes as printed: service of mean {law.moment(1):.4g} and squared coefficient of "
        f"variation {law.variation:.5g}, "
        + ", ".join(
            f"with probability {p:.4g} of mean {1 / r:.4g}"
            for p, r in zip(law.probabilities, law.rates, strict=True)
        )
    )
    batches = fitted_batches()
    yield "process of the batches:"
    yield f"  D0 = {_rounded(batches[0])}"
    yield f"  D1 + D2 + … = {_rounded(batches[1:].sum(axis=0))}"
    rates = ", ".join(f"{robots * mean_rate(batches):.4g}" for robots in range(1, 5))
    yield f"one robot to four, each at the pace of the log: {rates} pages per second"
    yield f"{WAITING_PLACES} waiting places, obsolescence after {MEAN_PATIENCE:g} on average:"
    yield from table_lines(last_table(), 5)
    best = search().optimum
    numbers, levels = (", ".join(map(str, each)) for each in (best.robots, best.at))
    single = min(search().cost_of([robots], []) for robots in search().numbers)
    yield (
        f"best: {numbers} robots at {levels}: {best.cost:.5g} per second, {best.gain:.3g} % less "
        f"than the best fixed number, {single:.5g}; the paper saves 9.29 % with 4, 1 robots at 2"
    )
    truth = best_thresholds(system(true_batches()))
    paid = truth.cost_of(best.robots, best.at)
    yield (
        f"with the process that made the log they cost {paid:.5g}, "
        f"{100 * (paid / truth.optimum.cost - 1):.2g} % more than the best there"
    )


def _rounded(matrix: Array) -> str:
    """A matrix with four digits."""
    return "[" + ", ".join(f"[{', '.join(f'{x:.4g}' for x in row)}]" for row in matrix) + "]"
