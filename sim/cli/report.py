"""The report that lies beside the other files of a run."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarios import Results, Scenario
from sim.cli.options import RunOptions
from sim.cli.results import package_versions

if TYPE_CHECKING:
    from analytic import Comparison, NotApplicable, Prediction

__all__ = ["report_page"]

Solved = Sequence[tuple[Sequence["Prediction"], Sequence["NotApplicable"]]]
Checked = Sequence[tuple[Scenario, Sequence["Comparison"]]]


def report_page(
    simulated: Sequence[tuple[Scenario, Results]],
    options: RunOptions,
    solved: Solved = (),
    checked: Checked = (),
) -> str:
    """The report of a run, or of a check with its predictions and comparisons.

    It holds no clock time and nothing of the workers: the same seed gives the same text.
    """
    from analytic.report import Entry, html

    entries = [Entry(scenario, results) for scenario, results in simulated]
    if checked:
        answers = zip(simulated, solved, checked, strict=True)
        entries = [
            Entry(scenario, results, predictions, rows, others)
            for (scenario, results), (predictions, others), (_, rows) in answers
        ]
    provenance = package_versions() | {"Python": platform.python_version()}
    if options.precision is not None:
        provenance["precision"] = f"{options.precision:g}"
    return html(entries, provenance=provenance, folder=options.out or ".")
