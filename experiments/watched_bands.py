"""How often who watches a right formula sees it called wrong, and how soon a wrong one.

Each stream is a run of a lesson with a seed of its own, looked at after every replication, as the
live page does. `python -m experiments.watched_bands` prints the table of docs/how-to/explore.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import Prediction, exact_values, resolve
from analytic.verdicts.crosscheck import look_at_predictions
from crawlsim.explore.lesson import Opened, library
from crawlsim.explore.live import ends_count, look_at, simulate_some
from crawlsim.explore.simulated_and_assumed import sides_of
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
    """What was seen of some streams: after how many replications, infinite for never.

    Attributes
    ----------
    pointwise, own, of_any : ndarray, shape (streams,)
        When the theory first lay outside of the 95 % interval, of the always-valid band, and that
        of any measure outside of its own.
    agreed : ndarray, shape (streams,)
        When it was first called right.
    """

    pointwise: Array
    own: Array
    of_any: Array
    agreed: Array

    @property
    def record(self) -> list[float]:
        """The shares of the streams in which it ever was so."""
        each = (self.pointwise, self.own, self.of_any, self.agreed)
        return [float(np.mean(np.isfinite(when))) for when in each]


def watch(
    opened: Opened,
    changes: Mapping[str, Any],
    streams: int,
    replications: int,
    factor: float = 1.0,
    seed: int = 1,
) -> Watch:
    """Watch a lesson with each of some seeds, after every replication.

    Parameters
    ----------
    opened : Opened
    changes : mapping
        Of what is simulated.
    streams, replications : int
    factor : float
        What the formulas are wrong by.
    seed : int
        The first.
    """
    sides = sides_of(opened, changes)
    exact = {
        key: Prediction(*key, factor * value, "exact", source)
        for key, (value, source) in exact_values(resolve(sides.assumed)).items()
    }
    scenario = resolve(sides.simulated)
    own = opened.lesson.measure, opened.lesson.subject
    ends = ends_count(scenario)
    first = np.full((4, streams), np.inf)
    for stream in range(streams):
        tallies = simulate_some(scenario, seed + stream, range(replications))
        totals = Totals.of([with_page_sums(tally, scenario) for tally in tallies])
        for n in range(2, replications + 1):
            look = look_at(totals.first(n), scenario, own, ends)
            keys = [key for key in look.keys if key in exact]
            sights = look_at_predictions(
                [exact[key] for key in keys],
                look.results,
                [look.reaches[key] for key in keys],
                opened.lesson.narrow,
            )
            low, high = look.values[1:3, 0]
            now = [
                not low <= exact[own].value <= high,
                sights[0].refutes,
                any(each.refutes for each in sights),
                sights[0].settles and not np.isfinite(first[1, stream]) and not sights[0].refutes,
            ]
            first[:, stream] = np.minimum(first[:, stream], np.where(now, n, np.inf))
    return Watch(*first)


def wrong_formulas(count: int, replications: int) -> list[tuple[float, float, float]]:
    """Factors by which formulas of lessons are wrong, and when they were caught and called right.

    The factors are from 1/300 to 300, none nearer to 1 than twice the tolerance; lessons take
    turns, as does what is simulated: what the formula assumes, or few losses in ten places.
    """
    rng = np.random.default_rng(1000)
    lessons = [each for each in library() if _has_own_formula(each)]
    rare = {"robots.access_time": {"exponential": {"rate": 0.5}}, "buffer.waiting_places": 10}
    found = []
    for number in range(count):
        opened = lessons[number % len(lessons)]
        size = np.exp(rng.uniform(np.log(1 + 2 * opened.lesson.narrow), np.log(300)))
        factor = float(size if rng.random() < 0.5 else 1 / size)
        few = opened.key in ("one-queue", "break-exponential") and number % 2 == 0
        changed = with_assumed(opened, rare) if few else opened
        seen = watch(changed, {}, 1, replications, factor, seed=number + 1)
        found.append((factor, float(seen.own[0]), float(seen.agreed[0])))
    return found


def with_assumed(opened: Opened, changes: Mapping[str, Any]) -> Opened:
    """A lesson with other entries on both sides."""
    changed = copy(opened)
    changed.scenario = opened.scenario.with_(changes)
    return changed


def _has_own_formula(opened: Opened) -> bool:
    own = opened.lesson.measure, opened.lesson.subject
    return own in exact_values(resolve(opened.scenario))


def main() -> None:
    """Print the tables."""
    print("lesson, simulated | interval left | band left | any band left | agreed | median n")
    lessons = {each.key: each for each in library()}
    names = sys.argv[1:] or list(lessons)
    for name in names:
        _print(name, watch(lessons[name], {}, STREAMS, REPLICATIONS))
    for words, changes in WRONG.items():
        _print(words, watch(lessons["break-exponential"], changes, 20, REPLICATIONS))
    found = wrong_formulas(1000, REPLICATIONS)
    caught = sum(np.isfinite(left) for _, left, _ in found)
    print(f"wrong formulas: {len(found)}, caught {caught}", end=", ")
    print(f"called right {sum(np.isfinite(agreed) for *_, agreed in found)}")


def _print(name: str, seen: Watch) -> None:
    shares = " | ".join(f"{share:.3f}" for share in seen.record)
    print(f"{name} | {shares} | {np.median(seen.own):.0f}", flush=True)


if __name__ == "__main__":
    main()
