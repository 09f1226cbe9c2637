"""How often who watches a right formula sees it called wrong, and how soon a wrong one.

Each stream is a run of a lesson with a seed of its own, looked at after every replication, as the
live page does. `python -m experiments.watched_bands` prints the table of docs/explore.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import exact_values, resolve
from crawlsim.explore.lesson import Opened, library
from crawlsim.explore.live import ends_count, look_at, simulate_some
from crawlsim.explore.sides import sides_of
from scenarios.arrays import Array
from sim.estimates.totals import Totals
from sim.page_sums import with_page_sums

STREAMS = 400
REPLICATIONS = 300

WRONG: dict[str, dict[str, Any]] = {
    "services 5 % longer": {"buffer.service": {"erlang": {"shape": 1, "mean": 1.05}}},
    "services 5 % shorter": {"buffer.service": {"erlang": {"shape": 1, "mean": 0.95}}},
    "gamma services": {"buffer.service": {"gamma": {"shape": 0.8, "mean": 1.0}}},
    "lognormal services": {"buffer.service": {"lognormal": {"mean": 1.0, "sd": 1.0}}},
    "constant services": {"buffer.service": {"deterministic": {"value": 1.0}}},
}
"""What is simulated instead of exponential services of mean 1."""


@dataclass(frozen=True)
class Watch:
    """What was seen of some streams.

    Attributes
    ----------
    pointwise, always, any_always : ndarray, shape (streams,)
        The replications after which the theory first lay outside of the 95 % interval, of the
        always-valid band, and of that of any measure; infinite where it never did.
    """

    pointwise: Array
    always: Array
    any_always: Array

    @property
    def record(self) -> tuple[float, float, float]:
        """The shares of the streams that were left."""
        each = (self.pointwise, self.always, self.any_always)
        pointwise, always, any_always = (float(np.mean(np.isfinite(when))) for when in each)
        return pointwise, always, any_always


def watch(opened: Opened, changes: dict[str, Any], streams: int, replications: int) -> Watch:
    """Watch a lesson with each of the seeds 1, 2, …, after every replication.

    Parameters
    ----------
    opened : Opened
    changes : dict
        Of what is simulated.
    streams, replications : int
    """
    sides = sides_of(opened, changes)
    exact = exact_values(resolve(sides.assumed))
    scenario = resolve(sides.simulated)
    own = opened.lesson.measure, opened.lesson.subject
    ends = ends_count(scenario)
    left = np.full((3, streams), np.inf)
    for stream in range(streams):
        tallies = simulate_some(scenario, stream + 1, range(replications))
        totals = Totals.of([with_page_sums(tally, scenario) for tally in tallies])
        for n in range(2, replications + 1):
            look = look_at(totals.first(n), scenario, own, ends)
            theory = np.array([exact[key][0] if key in exact else np.nan for key in look.keys])
            _, low, high, always_low, always_high = look.values
            outside = (theory < low) | (theory > high)
            outside_always = (theory < always_low) | (theory > always_high)
            now = np.array([outside[0], outside_always[0], outside_always.any()])
            left[:, stream] = np.minimum(left[:, stream], np.where(now, n, np.inf))
    return Watch(*left)


def main() -> None:
    """Print the table."""
    print("lesson, simulated | interval left | band left | any band left | median n of the band")
    lessons = {each.key: each for each in library()}
    names = sys.argv[1:] or list(lessons)
    for name in names:
        _print(name, watch(lessons[name], {}, STREAMS, REPLICATIONS))
    for words, changes in WRONG.items():
        _print(words, watch(lessons["break-exponential"], changes, 20, REPLICATIONS))


def _print(name: str, seen: Watch) -> None:
    shares = " | ".join(f"{share:.3f}" for share in seen.record)
    print(f"{name} | {shares} | {np.median(seen.always):.0f}", flush=True)


if __name__ == "__main__":
    main()
