"""The files of a run or a check, and the report beside them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crawlsim.cli.distributions import ComparedLaws, distributions_csv
from crawlsim.cli.folder import own_folder, place_of, write_files
from crawlsim.cli.options import RunOptions
from crawlsim.cli.results import (
    comparisons_csv,
    file_names,
    package_versions,
    provenance,
    result_files,
    run_record,
)
from crawlsim.cli.warmups import effect_of_doubling
from scenarios import Results, Scenario

if TYPE_CHECKING:
    from analytic import Comparison, NotApplicable, Prediction


Solved = Sequence[tuple[Sequence["Prediction"], Sequence["NotApplicable"]]]
Checked = Sequence[tuple[Scenario, Sequence["Comparison"]]]


def claim_folder(
    options: RunOptions, scenarios: Sequence[Scenario], *, checked: bool, laws: bool = False
) -> None:
    """Refuse a folder in which the results would replace what is not ours, before any work."""
    if options.out is not None:
        names = ["estimates.csv", "replications.csv", "report.html"]
        names += ["comparisons.csv"] * checked + ["distributions.csv"] * laws
        own_folder(options.out, file_names(scenarios, *names))


def write_results(
    simulated: Sequence[tuple[Scenario, Results]],
    options: RunOptions,
    changes: Sequence[str],
    solved: Solved = (),
    checked: Checked = (),
    laws: ComparedLaws | None = None,
) -> None:
    """The files that ``--out`` asks for, if it does."""
    if options.out is None:
        return
    files = result_files(simulated, options.out)
    if checked:
        files["comparisons.csv"] = comparisons_csv(checked)
    if laws:
        files["distributions.csv"] = distributions_csv(laws)
    files["report.html"] = report_page(simulated, options, solved, checked, laws)
    folder = place_of(options.out)
    runs = [run_record(results) for _, results in simulated]
    write_files(folder, files, partial(provenance, runs, options.record(changes)))
    shown = Path(options.out)
    click.echo(f"written to {shown}; the report: {shown / 'report.html'}", err=True)


def report_page(
    simulated: Sequence[tuple[Scenario, Results]],
    options: RunOptions,
    solved: Solved = (),
    checked: Checked = (),
    laws: ComparedLaws | None = None,
) -> str:
    """The report of a run, or of a check with its predictions and comparisons.

    It holds no clock time and nothing of the workers: the same seed gives the same text.
    """
    from crawlsim.report import Entry, html

    doubled = [effect_of_doubling(scenario, results, options) for scenario, results in simulated]
    entries = [Entry(*each, doubled=rows) for each, rows in zip(simulated, doubled, strict=True)]
    of_laws = laws or {}
    if checked:
        answers = zip(simulated, solved, checked, doubled, strict=True)
        entries = [
            Entry(
                scenario, results, predictions, rows, others, twice, of_laws.get(scenario.name, ())
            )
            for (scenario, results), (predictions, others), (_, rows), twice in answers
        ]
    versions = package_versions() | {"Python": platform.python_version()}
    if options.precision is not None:
        versions["precision"] = f"{options.precision:g}"
    return html(entries, provenance=versions, folder=options.out or ".")
