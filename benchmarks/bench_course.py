"""The exact course of a large queue: CPU seconds, memory, and scipy's expm_multiply beside it.

Deliveries in four phases by two modes, Erlang services of five phases, a threshold, five
interventions, 100 times of observation; with and without timers. The peer follows the same pieces
over the first times only, by `expm_multiply` of the same generators.
"""

from __future__ import annotations

import argparse
import platform
import resource
import time
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from racing import compared, write
from scipy.sparse.linalg import expm_multiply

from analytic import course_of
from analytic.transient.formulas import queue_of
from scenarios import Scenario, scenario_from

_CHANGES = np.array([[0, 0.1, 0, 0], [0.1, 0, 0.1, 0], [0, 0.1, 0, 0.1], [0, 0, 0.2, 0]])
_DELIVERIES = np.diag([1.0, 1.9, 3.0, 4.0])
_COMPARED = 5
"""Times of observation over which the peer is timed."""

INTERVENTIONS = [
    {"at": 0.5, "until": 1.6, "robot_speed": 1.5},
    {"at": 1.0, "until": 1.2, "service_speed": 0.0},
    {"at": 20.0, "until": 30.5, "robots": 1},
    {"at": 48.0, "until": 50.0, "service_speed": 0.5},
    {"at": 70.0, "until": 72.0, "robots": 0},
]
"""Times in intervals of observation."""


def built(waiting: int, patience: float | None, observe: float) -> Scenario:
    """A scenario of 4 + 20 (waiting + 1) states."""
    modes = []
    for share in (0.5, 1.0):
        arrivals = share * _DELIVERIES
        hidden = _CHANGES - np.diag(_CHANGES.sum(axis=1) + arrivals.sum(axis=1))
        modes.append({"map": {"D0": hidden.tolist(), "D1": arrivals.tolist()}})
    buffer: dict[str, Any] = {
        "waiting_places": waiting,
        "service": {"erlang": {"shape": 5, "mean": 0.6}},
    }
    if patience is not None:
        buffer["obsolescence"] = {"exponential": {"mean": patience}}
    times = ("at", "until")
    changes = [
        {name: value * observe if name in times else value for name, value in each.items()}
        for each in INTERVENTIONS
    ]
    return scenario_from(
        {
            "name": "large",
            "robots": {"available": 2, "deliveries": {"modes": modes}},
            "activation": {"threshold": {"robots": [2, 1], "at": [1000]}},
            "buffer": buffer,
            "interventions": changes,
            "run": {"horizon": 100 * observe, "warmup": 0.0, "observe": observe},
        }
    )


def by_expm_multiply(scenario: Scenario, until: float) -> tuple[float, Any]:
    """CPU seconds of the peer until a time, and the distribution then."""
    queue = queue_of(scenario)
    observe = scenario.run.observe or until
    stops = np.arange(1, _COMPARED + 1) * observe
    row = queue.start()
    pieces = scenario.model.timeline.between(0.0, until)
    generators = [(piece, queue.chain_in(piece).generator) for piece in pieces]
    start = time.process_time()
    for piece, generator in generators:
        inside = [stop for stop in stops.tolist() if piece.begin < stop < piece.end]
        cuts = [piece.begin, *inside, piece.end]
        for begin, end in pairwise(cuts):
            row = expm_multiply(generator.T * (end - begin), row)
    return time.process_time() - start, row


def measured(waiting: int, patience: float | None, observe: float) -> dict[str, Any]:
    """Seconds of the whole course, and of both methods over the first times."""
    scenario = built(waiting, patience, observe)
    start = time.process_time()
    course_of(scenario)
    seconds = time.process_time() - start
    queue = queue_of(scenario)
    until = _COMPARED * observe
    stops = [observe * (place + 1) for place in range(_COMPARED)]
    start = time.process_time()
    *_, last = queue.follow(queue.start(), scenario.model.timeline.between(0.0, until), stops)
    ours = time.process_time() - start
    peer, row = by_expm_multiply(scenario, until)
    return {
        "states": len(row),
        "patience": patience,
        "observe": observe,
        "seconds": seconds,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "first_seconds": ours,
        "first_peer_seconds": peer,
        "difference": float(np.abs(last.after - row).max()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Follow a large queue under interventions.")
    parser.add_argument("--waiting", type=int, default=5000, help="places (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_course.json"))
    parsed = parser.parse_args(arguments)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    cases = [
        measured(parsed.waiting, patience, observe)
        for patience, observe in ((None, 10.0), (50.0, 10.0), (None, 1.0))
    ]
    columns = "states | timers | observe | seconds | MB | first 5 | expm_multiply | difference"
    print(f"| {columns} |\n|" + "--:|" * 8)
    for each in cases:
        cells = [
            f"{each['states']:,}",
            "none" if each["patience"] is None else f"{each['patience']:g}",
            f"{each['observe']:g}",
            f"{each['seconds']:.3g}",
            f"{each['memory_mb']:.0f}",
            f"{each['first_seconds']:.3g}",
            f"{each['first_peer_seconds']:.3g}",
            f"{each['difference']:.0e}",
        ]
        print("| " + " | ".join(cells) + " |")
    rows = [
        compared(
            f"course of a queue, timers {each['patience'] or 'none'}, "
            f"observed every {each['observe']:g}",
            each["first_seconds"],
            "scipy, expm_multiply",
            each["first_peer_seconds"],
            "CPU seconds",
            each["first_peer_seconds"] / each["first_seconds"],
            "",
        )
        for each in cases
    ]
    packages = {name: version(name) for name in ("crawlsim", "numpy", "scipy")}
    found = {"packages": packages, "cases": cases, "compared": rows}
    write(parsed.out, {"python": platform.python_version()} | found)


if __name__ == "__main__":
    main()
