"""What a precision will take, said before the first replication is run."""

from __future__ import annotations

import math
import time
from typing import Any

from scenarios import Scenario
from sim.cli.options import RunOptions
from sim.cli.output import number, warn

__all__ = ["events_needed", "say_in_advance"]

_QUANTILE = 1.96

_COUNTED = {
    "loss_rate": "loss_rate",
    "loss_probability": "loss_rate",
    "obsolescence_probability": "obsolescence_probability",
}
"""Measures that count rare pages, and the measure that tells how many there will be."""


def events_needed(relative: float) -> float:
    """Independent events that it takes for a 95 % interval of this relative half-width."""
    return (_QUANTILE / relative) ** 2


def say_in_advance(scenario: Scenario, precision: Any, options: RunOptions, label: str) -> None:
    """Warn where the pages to be counted are so rare that the precision is out of reach.

    By the formulas, where they cover the scenario: the expected number in a replication, how many
    replications that makes, and how long they would take at the pace of the first one. Losses come
    in bursts, so that it takes more rather than less.

    Parameters
    ----------
    scenario : Scenario
    precision : sim.Precision
    options : RunOptions
    label : str
        What messages call the scenario.
    """
    for name in precision.measures or scenario.judged:
        expected = _expected(scenario, name)
        if expected == 0:
            warn(f"{label}: {name} is 0 by formula; no number of replications makes it precise")
        if not expected:
            continue
        needed = math.ceil(events_needed(precision.relative) / expected)
        if needed > precision.most:
            seconds = needed * _seconds_of_one(scenario, options)
            warn(
                f"{label}: {name} counts {number(expected)} pages in a replication, by "
                f"formula; a precision of {100 * precision.relative:g} % takes at least "
                f"{number(float(needed))} replications, some {_duration(seconds)} on one core; "
                f"--max-replications {precision.most} stops first; a longer run.horizon counts more"
            )


def _expected(scenario: Scenario, name: str) -> float | None:
    """Pages counted in the window of a replication, where a formula says so."""
    from analytic import predict

    if name not in _COUNTED or scenario.buffer is None:
        return None
    values = {row.measure: row.value for row in predict(scenario)[0] if row.kind == "exact"}
    rate = values.get(_COUNTED[name])
    if name == "obsolescence_probability" and rate is not None:
        arrivals = values.get("arrival_rate")
        rate = None if arrivals is None else rate * arrivals
    window = scenario.run.horizon - scenario.run.warmup
    return None if rate is None else rate * window


def _seconds_of_one(scenario: Scenario, options: RunOptions) -> float:
    """CPU time of a replication, the second one, when everything is compiled."""
    from sim.replicate import run

    run(scenario, replications=1, engine=options.engine)
    start = time.process_time()
    run(scenario, replications=1, engine=options.engine)
    return time.process_time() - start


def _duration(seconds: float) -> str:
    """A time for people."""
    units = (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60))
    for name, length in units:
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {name}"
    return f"{seconds:.2g} seconds"
