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
    "loss_rate": "loss_probability",
    "loss_probability": "loss_probability",
    "obsolescence_probability": "obsolescence_probability",
}
"""Measures that count pages, and the share of all pages that tells how many there will be."""

_RARE = 0.02
"""Above this share pages are not rare, and their counts vary less than independent events do."""


def events_needed(relative: float) -> float:
    """Independent events that it takes for a 95 % interval of this relative half-width."""
    return (_QUANTILE / relative) ** 2


def say_in_advance(scenario: Scenario, precision: Any, options: RunOptions, label: str) -> None:
    """Warn where the pages to be counted are so rare that the precision is out of reach.

    By the formulas, where they cover the scenario: the expected number in a replication, how many
    replications that makes, and how long they would take at the pace of the first one. Rare pages
    come in bursts, so that it takes more rather than less; of pages that are not rare nothing is
    said.

    Parameters
    ----------
    scenario : Scenario
    precision : sim.Precision
    options : RunOptions
    label : str
        What messages call the scenario.
    """
    pace: float | None = None
    for name in precision.measures or scenario.judged:
        expected = _expected(scenario, name)
        if expected == 0:
            warn(f"{label}: {name} is 0 by formula; no number of replications makes it precise")
        if not expected:
            continue
        needed = math.ceil(events_needed(precision.relative) / expected)
        if needed > precision.most:
            pace = pace or _seconds_of_one(scenario, options)
            warn(
                f"{label}: {name} counts {number(expected)} pages in a replication, by "
                f"formula; a precision of {100 * precision.relative:g} % takes at least "
                f"{number(float(needed))} replications, some {_duration(needed * pace)} on one "
                f"core; --max-replications {precision.most} stops first; a longer run.horizon "
                "counts more"
            )


def _expected(scenario: Scenario, name: str) -> float | None:
    """Pages counted in the window of a replication, where a formula says so and they are rare."""
    from analytic import predict

    if name not in _COUNTED or scenario.buffer is None:
        return None
    values = {row.measure: row.value for row in predict(scenario)[0] if row.kind == "exact"}
    share, arrivals = values.get(_COUNTED[name]), values.get("arrival_rate")
    if share is None or arrivals is None or share > _RARE:
        return None
    return share * arrivals * (scenario.run.horizon - scenario.run.warmup)


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
