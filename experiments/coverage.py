"""How often intervals hold the truth, and how often a correct system is called wrong.

    python -m experiments.coverage intervals      Markdown table of intervals
    python -m experiments.coverage verdicts 700   verdicts on so many random correct systems
    python -m experiments.coverage hard 1000      the same of hard ones: heavy tails, …

Every table states its runs and seeds; docs/verdicts.md has the last ones.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import sim
from analytic import (
    check_course,
    check_scenario,
    course_of,
    overall,
    predict,
    resolve,
    suggested_warmup,
)
from experiments.correct_systems import correct_system
from scenarios import Scenario, ScenarioError, scenario_from
from sim import compiled_engine
from sim.estimates import results_from

POISSON = {"access_time": {"exponential": {"rate": 0.442}}}
BURSTS = {
    "deliveries": {
        "modes": [{"mmpp": {"Q": [[-0.02, 0.02], [0.1, -0.1]], "rates": [0.3, 1.3]}}],
    }
}

LONG_BURSTS = {
    "deliveries": {
        "modes": [{"mmpp": {"Q": [[-0.002, 0.002], [0.02, -0.02]], "rates": [0.2, 1.5]}}],
    }
}
"""Fifty pages and more are lost in one burst."""


def queue(robots: dict[str, Any], places: int, window: float) -> Scenario:
    """One robot, exponential service of mean 1, and a window of a given length."""
    return scenario_from(
        {
            "name": "coverage",
            "robots": {"available": 1, **robots},
            "buffer": {"waiting_places": places, "service": {"exponential": {"mean": 1.0}}},
            "run": {"horizon": 200.0 + window, "warmup": 200.0, "replications": 2, "seed": 2},
        }
    )


class Coverage(NamedTuple):
    """Share of intervals that hold the truth, and their mean width over that of the ideal ones."""

    covered: float
    width: float
    empty: int


def exact_values(scenario: Scenario) -> dict[str, float]:
    """The exact predictions of measures of the whole system."""
    rows = (p for p in predict(scenario)[0] if p.kind == "exact" and p.subject is None)
    return {row.measure: row.value for row in rows}


def coverage(
    scenario: Scenario, replications: int, runs: int, measures: Sequence[str]
) -> dict[str, Coverage]:
    """Coverage of the 95 % intervals of independent runs with so many replications each.

    The ideal interval is ± 1.96 standard deviations of the estimates over all runs.

    Parameters
    ----------
    scenario : Scenario
    replications, runs : int
    measures : sequence of str
        Of the whole system, with exact predictions.
    """
    truth = exact_values(scenario)
    ends: dict[str, list[tuple[float, float, float]]] = {name: [] for name in measures}
    for run in range(runs):
        tallies = [
            compiled_engine.simulate(scenario, run * replications + each, scenario.run.seed)
            for each in range(replications)
        ]
        found = results_from(tallies, scenario, "compiled", scenario.run.seed)
        for name in measures:
            row = found.find(name)
            ends[name].append((row.low, row.estimate, row.high))
    answers = {}
    for name, rows in ends.items():
        low, estimate, high = np.array(rows).T
        ideal = 2 * 1.96 * estimate.std()
        covered = (low <= truth[name]) & (truth[name] <= high)
        empty = int(np.sum(high <= low))
        answers[name] = Coverage(float(covered.mean()), float((high - low).mean() / ideal), empty)
    return answers


def interval_table(runs: int = 400) -> Iterator[str]:
    """Rows of a Markdown table: systems with few losses and many, n replications each."""
    measures = ("loss_probability", "success_probability", "loss_rate", "starvation_probability")
    yield "| system | losses due in a run | n | " + " | ".join(measures) + " |"
    yield "|---|---|---|" + "---|" * len(measures)
    for name, robots, places in (
        ("Poisson", POISSON, 9),
        ("bursts", BURSTS, 29),
        ("long bursts", LONG_BURSTS, 120),
        ("Poisson, often", {"access_time": {"exponential": {"rate": 0.8}}}, 8),
    ):
        rates = exact_values(queue(robots, places, 1.0))
        for due in (3.0, 30.0):
            for count in (2, 5, 40):
                window = due / (count * rates["loss_rate"])
                found = coverage(queue(robots, places, window), count, runs, measures)
                cells = (f"{each.covered:.3f}, {each.width:.2f}" for each in found.values())
                share = f"{name}, {rates['loss_probability']:.1e}"
                yield f"| {share} | {due:g} | {count} | {' | '.join(cells)} |"


@dataclass
class Verdicts:
    """Verdicts on random correct systems: how many of each, and what was called wrong."""

    counts: Counter[str]
    wrong: list[str]


def verdicts(systems: range, *, hard: bool = False) -> Verdicts:
    """The verdicts on the random systems of these numbers; all are right, so none disagrees.

    Hard ones are checked with the warm-up that they have, long enough or not.
    """
    counts: Counter[str] = Counter()
    wrong = []
    for number in systems:
        scenario = correct_system(number, hard=True) if hard else _ready(correct_system(number))
        if scenario is None:
            counts["refused"] += 1
            continue
        predictions, _ = predict(scenario)
        results = sim.run(scenario)
        rows = check_scenario(scenario, predictions, results)
        rows += check_course(scenario, course_of(scenario).course, results)
        counts[overall(rows)] += 1
        for row in rows:
            if row.verdict == "disagrees":
                wrong.append(
                    f"{number}: {row.measure} {row.subject} predicted {row.predicted:.6g} "
                    f"({row.source}), estimated {row.estimated:.6g}, z = {row.z:.2f}"
                )
    return Verdicts(counts, wrong)


def _ready(scenario: Scenario) -> Scenario | None:
    """With everything optimal resolved and the suggested warm-up; None where that is refused."""
    try:
        scenario = resolve(scenario)
        if scenario.probing is not None:
            return scenario
        warmup, _ = suggested_warmup(scenario)
        window = scenario.run.horizon - scenario.run.warmup
        return scenario.with_({"run.warmup": warmup, "run.horizon": warmup + window})
    except ScenarioError:
        return None


def main(arguments: Sequence[str]) -> None:
    """What the module's docstring says."""
    what = arguments[0] if arguments else "intervals"
    if what == "intervals":
        for line in interval_table():
            print(line, flush=True)
    elif what in ("verdicts", "hard"):
        count = int(arguments[1]) if len(arguments) > 1 else 700
        start = int(arguments[2]) if len(arguments) > 2 else 0
        found = verdicts(range(start, start + count), hard=what == "hard")
        print(dict(found.counts))
        print("\n".join(found.wrong))
    else:
        raise SystemExit(f"{what!r} must be intervals, verdicts or hard")


if __name__ == "__main__":
    main(sys.argv[1:])
