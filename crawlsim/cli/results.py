"""What is written about a run: records for JSON, CSV files, provenance, the report."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from crawlsim.cli.files import PROGRAM, PROVENANCE, Text, own_folder, place_of, write_files
from crawlsim.cli.loading import RunOptions, effect_of_doubling
from crawlsim.cli.output import csv_chunks, csv_text
from scenarios import Results, Scenario, dumps

if TYPE_CHECKING:
    from analytic import Comparison, LawComparison, NotApplicable, Prediction

_ESTIMATE = ("measure", "subject", "estimate", "standard_error", "low", "high")
_COMPARISON = (
    *("measure", "subject", "predicted", "estimated", "standard_error", "z", "verdict"),
    *("detectable", "kind", "source", "replications_needed"),
    *("settled", "window_too_short", "warmup_too_short"),
)
_POINT = ("at", "predicted", "estimated", "standard_error")
_PACKAGES = ("crawlsim", "simpy", "numpy", "scipy", "pydantic")


Solved = Sequence[tuple[Sequence["Prediction"], Sequence["NotApplicable"]]]
Checked = Sequence[tuple[Scenario, Sequence["Comparison"]]]

ComparedLaws = Mapping[str, Sequence["LawComparison"]]
"""By the name of the scenario."""


def estimate_records(results: Results) -> Iterator[dict[str, Any]]:
    """The estimates for JSON; with control variates also what they gained."""
    ratios = results.variance_ratios
    for row in results.estimates:
        record = {name: getattr(row, name) for name in _ESTIMATE}
        if ratios:
            record["variance_ratio"] = ratios.get((row.measure, row.subject))
        yield record


def comparison_record(row: Comparison) -> dict[str, Any]:
    """One comparison for JSON."""
    return {name: getattr(row, name) for name in _COMPARISON}


def comparisons_csv(checked: Checked) -> str:
    """All comparisons as CSV."""
    rows = [
        (scenario.name, *(getattr(row, name) for name in _COMPARISON))
        for scenario, comparisons in checked
        for row in comparisons
    ]
    return csv_text(("scenario", *_COMPARISON), rows)


def distributions_entry(laws: ComparedLaws, name: str) -> dict[str, Any]:
    """The entry of a scenario in the JSON document; none where it was not asked for."""
    if not laws:
        return {}
    records = [
        {
            "measure": row.law.measure,
            "subject": row.law.subject,
            "statistic": row.statistic,
            "p_value": row.p_value,
            "verdict": row.verdict,
            "detectable": row.detectable,
            "replications_needed": row.replications_needed,
            "warmup_too_short": row.warmup_too_short,
            "source": row.source or None,
            "reason": row.reason,
            "points": [{name: getattr(point, name) for name in _POINT} for point in row.points],
        }
        for row in laws[name]
    ]
    return {"distributions": records}


def distributions_csv(laws: ComparedLaws) -> str:
    """Every point of every distribution as CSV."""
    rows = []
    for scenario, compared in laws.items():
        for row in compared:
            for point in row.points:
                numbers = (getattr(point, name) for name in _POINT)
                rows.append((scenario, row.law.measure, row.law.subject, *numbers, row.verdict))
    return csv_text(("scenario", "measure", "subject", *_POINT, "verdict"), rows)


def result_files(simulated: Sequence[tuple[Scenario, Results]], folder: str) -> dict[str, Text]:
    """Files about a simulation: estimates, replications, and the scenarios."""
    estimates = (
        (results.scenario, *(getattr(row, name) for name in _ESTIMATE))
        for _, results in simulated
        for row in results.estimates
    )
    replications = (
        (results.scenario, replication, measure, subject, value)
        for _, results in simulated
        for (measure, subject), values in results.replications.items()
        for replication, value in enumerate(values)
    )
    columns = ("scenario", "replication", "measure", "subject", "value")
    files: dict[str, Text] = {
        "estimates.csv": csv_chunks(("scenario", *_ESTIMATE), estimates),
        "replications.csv": csv_chunks(columns, replications),
    }
    for scenario, _ in simulated:
        files[f"{scenario.name}.toml"] = dumps(scenario, folder)
    return files


def package_versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {name: version(name) for name in _PACKAGES}


def file_names(scenarios: Sequence[Scenario], *others: str) -> list[str]:
    """What will be written: the scenarios, the provenance, and other files."""
    return [*others, *(f"{scenario.name}.toml" for scenario in scenarios), PROVENANCE]


def run_record(results: Results) -> dict[str, Any]:
    """What repeats the simulation of one scenario."""
    return {
        "scenario": results.scenario,
        "engine": results.engine,
        "seed": results.seed,
        "replications": results.count,
    }


def provenance(
    runs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], digests: Mapping[str, str]
) -> str:
    """What made the files of a folder: versions, options, seeds; with a digest of each file."""
    import json
    from datetime import UTC, datetime

    document = {
        "program": PROGRAM,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": package_versions(),
        "options": options,
        "files": dict(digests),
        "runs": runs,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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
    solved: Solved = (),
    checked: Checked = (),
    laws: ComparedLaws = MappingProxyType({}),
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
    write_files(folder, files, partial(provenance, runs, options.record()))
    shown = Path(options.out)
    click.echo(f"written to {shown}; the report: {shown / 'report.html'}", err=True)


def report_page(
    simulated: Sequence[tuple[Scenario, Results]],
    options: RunOptions,
    solved: Solved = (),
    checked: Checked = (),
    laws: ComparedLaws = MappingProxyType({}),
) -> str:
    """The report of a run, or of a check with its predictions and comparisons.

    It holds no clock time and nothing of the workers: the same seed gives the same text.
    """
    from crawlsim.report import Entry, html

    entries = []
    for place, (scenario, results) in enumerate(simulated):
        entry = Entry(scenario, results, doubled=effect_of_doubling(scenario, results, options))
        if checked:
            predictions, others = solved[place]
            entry = replace(
                entry,
                predictions=predictions,
                comparisons=checked[place][1],
                not_applicable=others,
                laws=laws.get(scenario.name, ()),
            )
        entries.append(entry)
    versions = package_versions() | {"Python": platform.python_version()}
    if options.precision is not None:
        versions["precision"] = f"{options.precision:g}"
    return html(entries, provenance=versions, folder=options.out or ".")
