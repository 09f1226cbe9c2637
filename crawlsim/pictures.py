"""Pictures in one line, of a run and of a sweep, where a notebook or a script shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analytic import Prediction, check_course
from analytic.transient.answers import OverTime
from crawlsim.ranking import formulas_between, name_of_key
from crawlsim.report import plot_course, plot_levels, plot_obsolescence_rates
from crawlsim.report.sweep_figures import plot_sweep
from scenarios import MEASURES, Results, Scenario
from scenarios.measures import Subject
from scenarios.results import absent
from sim.sweep import COLUMNS, Cell, rows_of, shown

_BY_INDEX = {"level_probability": plot_levels, "obsolescence_rate": plot_obsolescence_rates}
"""Measures with a figure of their own, of the subjects that are numbers."""


def in_pyplot(draw: Callable[[Axes | None], Axes], ax: Axes | None) -> Axes:
    """Draw on the axes given, or on a new figure of pyplot, of the size that the drawing takes."""
    if ax is None:
        figure = draw(None).figure
        assert isinstance(figure, Figure)
        ax = plt.figure(figsize=figure.get_size_inches(), layout="constrained").add_subplot()
    return draw(ax)


def plot_measure(
    results: Results,
    system: Scenario,
    predictions: Sequence[Prediction],
    course: OverTime,
    measure: str,
    ax: Axes | None = None,
) -> Axes:
    """A measure of all its subjects, or over time: estimates with intervals, and exact values.

    Parameters
    ----------
    results : Results
    system : Scenario
    predictions : sequence of Prediction
    course : OverTime
        What the formulas say over time.
    measure : str
    ax : Axes, optional
        Where to draw; a new figure otherwise.

    Raises
    ------
    LookupError
        If there are no such estimates, with what there is.
    """
    if (measure, None) in results.course.columns:
        return plot_course(results, system, measure, check_course(system, course, results), ax)
    subjects = [row.subject for row in results.rows.of_measure(measure)]
    if not subjects:
        results.find(measure)
    if measure in _BY_INDEX and all(isinstance(each, int) for each in subjects):
        return _BY_INDEX[measure](results, predictions, ax)
    exact = {
        (each.measure, each.subject): (each.value, each.source)
        for each in predictions
        if each.kind == "exact"
    }
    numbered = any(isinstance(each, int) for each in subjects)
    across = (MEASURES[measure].subject or "").partition(",")[0] if numbered else ""
    whole = "all" if numbered else results.scenario
    rows = [
        row._asdict() | {"subject": None, across: whole if row.subject is None else row.subject}
        for row in rows_of(results, exact)
        if row.measure == measure
    ]
    return plot_sweep(rows, measure, [across], ax, system.time_unit)


class Sweep(pd.DataFrame):  # type: ignore[misc]  # pandas has no types
    """The rows of a sweep: a data frame whose `plot` knows measures.

    Its `best` says which cell is best, where that was asked for. What is made of it is a plain data
    frame, and so is ``pandas.DataFrame(sweep)``.

    Parameters
    ----------
    data, index, columns, dtype, copy
        As of a data frame.
    """

    _metadata = ["varied", "shown", "unit", "grid", "best"]  # noqa: RUF012  # as pandas has it

    def plot(
        self, y: str | Sequence[str] = (), x: str | None = None, *, ax: Axes | None = None
    ) -> Axes:
        """Measures over a varied entry, with intervals and exact values; the others make curves.

        Parameters
        ----------
        y : str or sequence of str
            A measure, with its subject where it has several, such as ``"sojourn_time served"``, or
            some of one unit; default: the most important one.
        x : str, optional
            Default: the first entry.
        ax : Axes, optional
            Where to draw; a new figure otherwise.

        Raises
        ------
        LookupError
            If there is no such measure or entry, with what there is.
        ValueError
            If measures have different units.
        """
        across = x or self.varied[0]
        if across not in self.varied:
            raise LookupError(f"{across!r} was not varied, but {', '.join(self.varied)}")
        subjects = [None if pd.isna(each) else each for each in self["subject"]]
        every = list(zip(self["measure"], subjects, strict=True))
        names = [name_of_key(key) for key in every]
        keys_of = dict(zip(names, every, strict=True))
        measures = {name: measure for name, (measure, _) in keys_of.items()}
        wanted = list(y if isinstance(y, list | tuple) else [y]) or [name_of_key(self.shown[0])]
        for name in wanted:
            if name not in measures:
                raise LookupError(self._absent(name))
        units = list(dict.fromkeys(MEASURES[measures[n]].unit_in(self.unit) for n in wanted))
        if len(units) > 1:
            raise ValueError(f"{', '.join(wanted)} have different units: {', '.join(units)}")
        rows = [
            row | {"subject": subject}
            for each in wanted
            for name, subject, row in zip(names, subjects, self.to_dict("records"), strict=True)
            if name == each
        ]
        if across == self.varied[0] and any(pd.notna(row["predicted"]) for row in rows):
            rows += formulas_between(self.grid, [keys_of[name] for name in wanted])
        rows = [
            row
            | {
                "": name_of_key((row["measure"], row["subject"])).replace("_", " "),
                "measure": measures[wanted[0]],
                "subject": None,
            }
            for row in rows
        ]
        keys = [across, ""] if len(wanted) > 1 else [across]
        keys += [key for key in self.varied if key != across]
        alone = f"{wanted[0].replace('_', ' ')} ({units[0]})"
        drawn = rows, measures[wanted[0]], keys
        label = alone if len(wanted) == 1 else units[0]
        return in_pyplot(lambda axes: plot_sweep(*drawn, axes, self.unit, label=label), ax)

    def _absent(self, name: str) -> str:
        """That there is no such measure, and which there are."""
        known: dict[str, list[Subject]] = {}
        for measure, some in self.drop_duplicates(["measure", "subject"]).groupby(
            "measure", sort=False
        ):
            known[measure] = [None if pd.isna(each) else each for each in some["subject"]]
        measure, _, subject = str(name).partition(" ")
        return absent("the sweep", "estimate", measure, subject or None, known)


def sweep_of(grid: list[Cell], records: list[dict[str, Any]]) -> Sweep:
    """A row for each cell, measure and subject."""
    rows = [
        (*cell.varied.values(), *row)
        for cell, record in zip(grid, records, strict=True)
        for row in record["rows"]
    ]
    first: Scenario = grid[0].scenario
    frame = Sweep(rows, columns=[*grid[0].varied, *COLUMNS])
    frame.varied = [*grid[0].varied]
    frame.shown = shown(first, ((row.measure, row.subject) for row in records[0]["rows"]))
    frame.unit = first.time_unit
    frame.grid = grid
    return frame
