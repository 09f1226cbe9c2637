"""Small systems that several tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scenarios import Scenario, scenario_from
from scenarios.signals import SignalRates
from sim.tally import PagesTally

__all__ = ["EVERY_KIND", "pages_counted", "queue", "signals_with"]

PHASES = {"phase-type": {"alpha": [0.6, 0.4], "T": [[-3.0, 1.0], [0.0, -0.8]]}}
BATCHES = {
    "bmap": {
        "D": [
            [[-1.1, 0.1], [0.05, -0.35]],
            [[0.5, 0.0], [0.05, 0.1]],
            [[0.3, 0.0], [0.0, 0.05]],
            [[0.15, 0.05], [0.0, 0.1]],
        ]
    }
}


def signals_with(change_rates: ArrayLike, precision: ArrayLike, recall: ArrayLike) -> SignalRates:
    """Pages with signals, by what is said of these."""
    d, p, r = np.broadcast_arrays(*np.atleast_1d(change_rates, precision, recall))
    true = r * d
    return SignalRates(d - true, true, np.where(true > 0, true * (1 - p) / p, 0.0))


def pages_counted(deliveries: Any, stale_time: Any) -> PagesTally:
    """What was counted of pages in which no change became searchable."""
    none = np.zeros(len(stale_time))
    return PagesTally(deliveries, stale_time, none.astype(np.int64), none)


def queue(changes: dict[str, Any] | None = None) -> Scenario:
    """Three robots with exponential trips, a threshold, three waiting places, stale pages."""
    base = scenario_from(
        {
            "name": "queue",
            "robots": {"available": 3, "access_time": {"exponential": {"rate": 0.7}}},
            "activation": {"threshold": {"robots": [3, 1], "at": [2]}},
            "buffer": {
                "waiting_places": 3,
                "service": {"exponential": {"rate": 1.0}},
                "obsolescence": {"exponential": {"mean": 4.0}},
            },
            "run": {"horizon": 400.0, "warmup": 50.0, "replications": 4},
        }
    )
    return base.with_(changes) if changes else base


EVERY_KIND: dict[str, Scenario] = {
    name: queue(changes)
    for name, changes in {
        "threshold": {},
        "static": {"activation.static": 2},
        "nothing-active": {"activation.static": 0},
        "switching": {"activation.switching.targets": [3, 3, 2, 1, 0]},
        "switching-by-phase": {
            "activation.switching.targets": [[3, 3, 2, 1, 0], [3, 2, 2, 1, 1]],
            "buffer.service": PHASES,
        },
        "no-places": {"buffer.waiting_places": 0},
        "never-obsolete": {"buffer.obsolescence": "never"},
        "phase-timers": {"buffer.obsolescence": PHASES},
        "lifo": {"buffer.discipline": "lifo", "buffer.obsolescence": PHASES},
        "push-out": {"buffer.when_full": "push-out", "activation.static": 3},
        "lifo-push-out": {
            "buffer.when_full": "push-out",
            "buffer.discipline": "lifo",
            "activation.static": 3,
        },
        "push-out-no-places": {"buffer.when_full": "push-out", "buffer.waiting_places": 0},
        "deterministic": {
            "robots.access_time.deterministic.value": 2.0,
            "buffer.service.deterministic.value": 1.0,
            "buffer.obsolescence.deterministic.value": 1.0,
        },
        "erlang": {"robots.access_time.erlang": {"shape": 3, "mean": 1.5}},
        "gamma": {"buffer.service.gamma": {"shape": 0.4, "mean": 1.0}},
        "uniform": {"buffer.service.uniform": {"low": 0.0, "high": 2.0}},
        "uniform-by-sd": {"buffer.service.uniform": {"mean": 1.0, "sd": 0.5}},
        "lognormal": {"buffer.service.lognormal": {"mean": 1.0, "sd": 2.0}},
        "weibull": {"robots.access_time.weibull": {"mean": 1.4, "shape": 0.7}},
        "pareto": {"buffer.service.pareto": {"mean": 1.0, "shape": 1.6}},
        "mixture": {
            "buffer.service.mixture": {
                "probabilities": [0.6, 0.3, 0.1],
                "of": [
                    {"pareto": {"mean": 0.5, "sd": 1.0}},
                    PHASES,
                    {"empirical": {"values": [0.2, 4.0]}},
                ],
            }
        },
        "hyperexponential": {
            "buffer.service.hyperexponential": {"probabilities": [0.9, 0.1], "rates": [2.0, 0.2]}
        },
        "empirical": {"buffer.service.empirical.values": [0.1, 0.5, 3.0]},
        "renewal": {"robots.access_time.renewal.uniform": {"low": 0.5, "high": 1.5}},
        "poisson": {"robots.access_time.poisson.rate": 0.7},
        "mmpp": {"robots.access_time.mmpp": {"Q": [[-0.1, 0.1], [0.3, -0.3]], "rates": [0, 2]}},
        "map": {
            "robots.access_time.map": {
                "D0": [[-1.5, 0.1], [0.2, -0.6]],
                "D1": [[1.4, 0.0], [0.0, 0.4]],
            }
        },
        "modes": {
            "robots.deliveries.modes": [
                {"poisson": {"rate": 0.5}},
                {"poisson": {"rate": 1.0}},
                {"bmap": {"D": [[[-1.5]], [[1.0]], [[0.5]]]}},
            ]
        },
        "independent": {
            "robots.deliveries.independent": [
                BATCHES,
                {"poisson": {"rate": 0.5}},
                {"mmpp": {"Q": [[-0.1, 0.1], [0.3, -0.3]], "rates": [0.0, 2.0]}},
            ]
        },
        "thinned": {"robots.deliveries.thinned": {"process": BATCHES, "keep": [0.3, 0.6, 1.0]}},
        "marked": {
            "robots.deliveries.marked": {
                "D0": [[-1.0, 0.2], [0.1, -0.6]],
                "robots": [
                    [[[0.3, 0.0], [0.0, 0.1]]],
                    [[[0.2, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.1, 0.0]]],
                    [[[0.2, 0.0], [0.0, 0.2]]],
                ],
            }
        },
        "rejected": {
            "robots.deliveries.thinned": {"process": BATCHES, "keep": [0.3, 0.6, 1.0]},
            "buffer.admission": "reject",
        },
        "complete": {
            "robots.deliveries.thinned": {"process": BATCHES, "keep": [0.3, 0.6, 1.0]},
            "buffer.admission": "complete",
        },
    }.items()
}
"""One scenario for each part of the robots / activation / buffer model."""

SIMULATED_ONLY = ("back-off", "outage-and-catch-up")
"""Scenarios of the library that no exact formula covers."""
