"""Pipelines of every kind that has an exact result: pages, robots and the buffer joined."""

from __future__ import annotations

from typing import Any

from scenarios import Scenario, scenario_from

__all__ = ["BASE", "PIPELINES", "pipeline"]

BASE: dict[str, Any] = {
    "name": "pipeline",
    "pages": {"change_rates": [0.05, 0.1, 0.2, 0.4, 0.0]},
    "robots": {
        "available": 3,
        "access_time": {"exponential": {"mean": 2.5}},
        "accessing": {"policy": "randomized", "frequencies": [0.1, 0.2, 0.25, 0.25, 0.2]},
    },
    "buffer": {"waiting_places": 5, "service": {"exponential": {"mean": 1.0}}},
    "clients": {"query_rate": 0.5},
    "run": {"horizon": 150_000.0, "warmup": 500.0, "replications": 16, "seed": 12},
}

BURSTS = {"D0": [[-4.0, 0.2], [0.1, -0.4]], "D1": [[3.8, 0.0], [0.0, 0.3]]}
SLOW_PAIRS = {"bmap": {"D": [[[-0.9]], [[0.5]], [[0.4]]]}}
HYPER = {"hyperexponential": {"probabilities": [0.8, 0.2], "rates": [2.0, 1 / 3]}}
TWO_KINDS = {
    "pages.change_rates": [0.2, 0.2, 0.05, 0.05, 0.05],
    "robots.accessing.frequencies": [0.26, 0.26, 0.16, 0.16, 0.16],
}
ROUND = {"robots.accessing": {"policy": "round-robin"}}
LISTED = {"robots.accessing": {"policy": "cyclic", "template": [3, 2, 3, 1, 3, 2, 0]}}
ONE = {"robots.available": 1, "robots.access_time": {"exponential": {"mean": 0.9}}}
PUSH_OUT = {"buffer.when_full": "push-out"}
LIFO = {"buffer.discipline": "lifo"}
TIMED = {"buffer.obsolescence": {"exponential": {"mean": 2.0}}}

PIPELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "static": ("random pages", {}),
    "no waiting place": ("random pages", {"buffer.waiting_places": 0}),
    "threshold": ("random pages", {"activation": {"threshold": {"robots": [3, 1], "at": [2]}}}),
    "switching": (
        "random pages",
        {"robots.available": 5, "activation": {"switching": {"targets": [5, 5, 4, 3, 2, 1, 1]}}},
    ),
    "switching by phase": (
        "random pages",
        {
            "robots.available": 4,
            "buffer.waiting_places": 2,
            "buffer.service": {
                "phase-type": {"alpha": [0.7, 0.3], "T": [[-2.0, 0.5], [0.0, -0.5]]}
            },
            "activation": {"switching": {"targets": [[4, 3, 2, 1], [4, 2, 1, 1]]}},
        },
    ),
    "MAP deliveries": (
        "random pages",
        {"robots.available": 1, "robots.access_time": {"map": BURSTS}},
    ),
    "Erlang accesses": (
        "random pages",
        {"robots.access_time": {"erlang": {"shape": 2, "mean": 2.5}}},
    ),
    "batches": (
        "random pages",
        {
            "robots.available": 1,
            "robots.access_time": None,
            "robots.deliveries.modes": [SLOW_PAIRS],
        },
    ),
    "batches, complete": (
        "random pages",
        {
            "robots.available": 1,
            "robots.access_time": None,
            "robots.deliveries.modes": [SLOW_PAIRS],
            "buffer.admission": "complete",
            "buffer.waiting_places": 2,
        },
    ),
    "hyperexponential service": ("random pages", {"buffer.service": HYPER}),
    "exponential timers": ("timers, LIFO or push-out", TIMED),
    "timers, batches, Erlang service": (
        "timers, LIFO or push-out",
        TIMED
        | {
            "robots.available": 1,
            "robots.access_time": None,
            "robots.deliveries.modes": [SLOW_PAIRS],
            "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
        },
    ),
    "LIFO": ("timers, LIFO or push-out", LIFO | {"buffer.service": HYPER}),
    "LIFO, exponential": ("timers, LIFO or push-out", LIFO),
    "push-out": ("timers, LIFO or push-out", PUSH_OUT),
    "LIFO, push-out, timers, MAP": (
        "timers, LIFO or push-out",
        LIFO | PUSH_OUT | TIMED | {"robots.available": 1, "robots.access_time": {"map": BURSTS}},
    ),
    "LIFO, switching": (
        "timers, LIFO or push-out",
        LIFO
        | {"robots.available": 5, "activation": {"switching": {"targets": [5, 5, 4, 3, 2, 1, 1]}}},
    ),
    "Erlang timers": (
        "phase-type timers",
        {"buffer.waiting_places": 4, "buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.5}}},
    ),
    "hyperexponential timers, threshold": (
        "phase-type timers",
        {
            "buffer.waiting_places": 3,
            "buffer.obsolescence": HYPER,
            "activation": {"threshold": {"robots": [3, 1], "at": [2]}},
        },
    ),
    "page-change": (
        "dropping and replacement",
        TWO_KINDS | {"buffer.waiting_places": 4, "buffer.obsolescence": "page-change"},
    ),
    "replacement": ("dropping and replacement", TWO_KINDS | {"buffer.replace_older_copy": True}),
    "replacement, page-change, LIFO, push-out": (
        "dropping and replacement",
        TWO_KINDS
        | LIFO
        | PUSH_OUT
        | {
            "buffer.waiting_places": 3,
            "buffer.replace_older_copy": True,
            "buffer.obsolescence": "page-change",
            "run.horizon": 400_000.0,
        },
    ),
    "several robots on one list": ("shared list", LISTED),
    "round robin, four robots": ("shared list", ROUND | {"robots.available": 4}),
    "cyclic, constant": (
        "one robot",
        LISTED | ONE | {"robots.access_time": {"deterministic": {"value": 0.9}}},
    ),
    "cyclic, gamma": (
        "one robot",
        LISTED | ONE | {"robots.access_time": {"gamma": {"shape": 0.5, "mean": 0.9}}},
    ),
    "golden ratio, uniform accesses, Erlang service": (
        "one robot",
        ONE
        | {
            "robots.accessing": {
                "policy": "golden-ratio",
                "frequencies": [0.1, 0.2, 0.25, 0.25, 0.2],
                "cycle": 21,
            },
            "robots.access_time": {"uniform": {"low": 0.2, "high": 1.4}},
            "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
        },
    ),
    "cyclic, gamma, heard up to a level": (
        "one robot",
        LISTED
        | ONE
        | {
            "robots.access_time": {"gamma": {"shape": 0.5, "mean": 0.5}},
            "activation": {"threshold": {"robots": [1, 0], "at": [1]}},
        },
    ),
    "cyclic, exponential, heard up to a level": (
        "one robot",
        LISTED | ONE | {"activation": {"threshold": {"robots": [1, 0], "at": [1]}}},
    ),
    "cyclic, uniform accesses, timers": (
        "one robot, timers",
        LISTED | ONE | TIMED | {"robots.access_time": {"uniform": {"low": 0.2, "high": 1.4}}},
    ),
    "random, constant, phase-type timers": (
        "one robot, timers",
        ONE
        | {
            "robots.access_time": {"deterministic": {"value": 0.7}},
            "buffer.waiting_places": 3,
            "buffer.obsolescence": HYPER,
        },
    ),
    "cyclic, gamma, Erlang service and timers, heard up to a level": (
        "one robot, timers",
        LISTED
        | ONE
        | {
            "robots.access_time": {"gamma": {"shape": 0.5, "mean": 0.5}},
            "buffer.waiting_places": 3,
            "buffer.service": {"erlang": {"shape": 2, "mean": 1.0}},
            "buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.5}},
            "activation": {"threshold": {"robots": [1, 0], "at": [2]}},
        },
    ),
    "several robots on one list, timers": ("shared list, timers", LISTED | TIMED),
    "round robin, four robots, timers": (
        "shared list, timers",
        ROUND | TIMED | {"robots.available": 4},
    ),
    "two robots on one list, Erlang timers": (
        "shared list, timers",
        LISTED
        | {
            "robots.available": 2,
            "robots.access_time": {"exponential": {"mean": 1.4}},
            "buffer.waiting_places": 3,
            "buffer.obsolescence": {"erlang": {"shape": 2, "mean": 1.5}},
        },
    ),
    "random, constant, heard up to a level": (
        "one robot",
        ONE
        | {
            "robots.access_time": {"deterministic": {"value": 0.4}},
            "activation": {"threshold": {"robots": [1, 0], "at": [2]}},
        },
    ),
    "random, constant": (
        "one robot",
        ONE | {"robots.access_time": {"deterministic": {"value": 0.9}}},
    ),
}
"""By name: the exact method, and what differs from `BASE`."""


def pipeline(name: str) -> Scenario:
    return scenario_from(BASE).with_(PIPELINES[name][1])
