"""Figures of a course: simulated numbers over time with their band, theory, interventions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analytic.transient.answers import OverTime, course_of
from analytic.verdicts.crosscheck import Comparison
from crawlsim.report.drawing import SIMULATED, THEORY, legend_above, panel, plain
from crawlsim.report.words import with_unit
from scenarios import Results, Scenario
from scenarios.model import present
from scenarios.timeline import Piece

SHOWN = (
    "mean_in_system",
    "frontier_length",
    "busy_robots",
    "throughput",
    "loss_rate",
    "starvation_probability",
    "weighted_obsolescence",
    "stale_answer_probability",
)
"""Measures whose course a report shows."""

_OVER_INTERVALS = ("throughput", "loss_rate", "stale_answer_probability")
"""Those that are about the interval that ends at a time, not about the time itself."""

_MOST_POINTS = 60
_CLOSE = 200
"""Times at which a theory is drawn, at least."""
_CHANGED = "#e9e2d0"
_WORDS = {
    "robots": "robots",
    "indexers": "indexers",
    "robot_speed": "robots' speed ×",
    "service_speed": "indexer's speed ×",
    "change_factor": "changes ×",
    "query_factor": "queries ×",
}


def plot_course(
    results: Results,
    scenario: Scenario,
    measure: str,
    course: Sequence[Comparison] = (),
    ax: Axes | None = None,
    theory: OverTime | None = None,
) -> Axes:
    """A measure over time: theory as a line, simulation as points with intervals and a band.

    Stretches of time in which an intervention is in force are shaded.

    Parameters
    ----------
    results : Results
        With a course (`run.observe`).
    scenario : Scenario
    measure : str
        One without subjects.
    course : sequence of Comparison
        Of `analytic.check_course`; what they predict is the line.
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    theory : OverTime, optional
        The exact course at closer times (`theory_between`), for a smooth line.

    Raises
    ------
    ValueError
        If the results have no course of the measure.
    """
    values = results.course.columns.get((measure, None))
    if values is None:
        raise ValueError(f"the results of {results.scenario} have no course of {measure}")
    ax = panel(
        ax, f"time ({plain(scenario.time_unit)})", with_unit(measure, None, scenario.time_unit)
    )
    for piece in _changed(scenario):
        ax.axvspan(piece.begin, piece.end, color=_CHANGED, lw=0, zorder=0)
    times = results.course.times
    estimate, _, low, high, band_low, band_high = values[:6]
    ax.fill_between(
        times, band_low, band_high, color=SIMULATED, alpha=0.15, lw=0, label="95 % band"
    )
    rows = [row for row in course if row.measure == measure and row.subject is None]
    if rows:
        at = np.array([row.time for row in rows], dtype=float)
        line = np.array([row.predicted for row in rows])
        style: Any = {"color": THEORY, "lw": 1.2, "label": "theory"}
        if measure in _OVER_INTERVALS:
            ax.step(np.append(0.0, at), np.append(line[0], line), where="pre", **style)
        elif theory is not None and (measure, None) in theory.columns:
            ax.plot(theory.times, theory.columns[measure, None], **style)
        else:  # of very many pages fewer times are known
            ax.plot(at, line, **style)
    some = slice(None, None, -(-len(times) // _MOST_POINTS))
    widths = np.nan_to_num(np.array([estimate - low, high - estimate])[:, some])
    ax.errorbar(
        times[some],
        estimate[some],
        np.maximum(widths, 0.0),
        fmt="o",
        ms=2.5,
        lw=0.8,
        color=SIMULATED,
        label="simulated, 95 %",
    )
    ax.set_xlim(0.0, scenario.run.horizon)
    ax.set_ylim(bottom=0.0)
    legend_above(ax, columns=3)
    return ax


def theory_between(scenario: Scenario) -> OverTime:
    """The exact course at closer times than those that were observed.

    Parameters
    ----------
    scenario : Scenario
        With `run.observe`.
    """
    observe = present(scenario.run.observe)
    closer = max(1, round(_CLOSE * observe / scenario.run.horizon))
    return course_of(scenario.with_("run.observe", observe / closer)).course


def interventions_in_words(scenario: Scenario) -> str:
    """What is changed, and when."""
    unit = scenario.time_unit
    words = []
    for each in scenario.interventions:
        effects = ", ".join(f"{_WORDS[name]} {value:g}" for name, value in each.given().items())
        until = "for good" if each.until is None else f"to {each.until:g}"
        every = "" if each.every is None else f", every {each.every:g}"
        words.append(f"from {each.at:g} {until}{every} ({unit}): {effects}")
    return "; ".join(words)


def _changed(scenario: Scenario) -> Iterator[Piece]:
    """Stretches in which an intervention is in force."""
    for piece in scenario.model.timeline.pieces:
        if not Piece(piece.begin, piece.end).continued_by(piece):
            yield piece
