"""How often the intervals and bands of a simulated course hold the exact course.

`python -m experiments.course_coverage` prints the table of docs/courses.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import analytic
import sim
from scenarios import Scenario, load

OUTAGE: dict[str, Any] = {
    "run.horizon": 200.0,
    "run.warmup": 0.0,
    "run.observe": 5.0,
    "interventions": [{"at": 50.0, "until": 80.0, "service_speed": 0.25}],
}
_MEASURES = ("mean_in_system", "starvation_probability", "arrival_rate", "loss_rate")
_SIZES = (10, 40)
_RUNS = 400


class Coverage(NamedTuple):
    """Shares of the runs whose course was held: at each time on average, and as a whole."""

    measure: str
    replications: int
    interval: float
    intervals_everywhere: float
    band: float
    width: float


def coverage(scenario: Scenario, replications: int, runs: int) -> Iterator[Coverage]:
    """The coverage of intervals and bands, over seeds 0, 1 and so on.

    Parameters
    ----------
    scenario : Scenario
        Whose course is observed, and has a formula.
    replications : int
    runs : int

    Yields
    ------
    Coverage
        Its `width` is that of the bands divided by that of the intervals.
    """
    exact = analytic.course_of(scenario).course.columns
    held: dict[str, list[Any]] = {measure: [] for measure in _MEASURES}
    widths: dict[str, list[float]] = {measure: [] for measure in _MEASURES}
    for seed in range(runs):
        course = sim.run(scenario, seed=seed, replications=replications).course
        for measure in _MEASURES:
            _, _, low, high, band_low, band_high, _ = course.columns[measure, None]
            true = exact[measure, None]
            inside = [(low <= true) & (true <= high), (band_low <= true) & (true <= band_high)]
            held[measure].append(inside)
            widths[measure].append(float((band_high - band_low).sum() / (high - low).sum()))
    for measure, all_inside in held.items():
        inside = np.array(all_inside)
        everywhere = inside.all(axis=2).mean(axis=0)
        yield Coverage(
            measure,
            replications,
            float(inside[:, 0].mean()),
            *everywhere.tolist(),
            float(np.mean(widths[measure])),
        )


def main() -> None:
    """Print the table."""
    print("| measure | replications | interval, a time | intervals, all | band | width |")
    print("|---|---|---|---|---|---|")
    scenario = load("one-robot").with_(OUTAGE)
    for replications in _SIZES:
        for row in coverage(scenario, replications, _RUNS):
            shares = (row.interval, row.intervals_everywhere, row.band)
            cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
            print(f"| `{row.measure}` | {row.replications} | {cells} | {row.width:.2f} |")


if __name__ == "__main__":
    main()
