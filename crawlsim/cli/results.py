"""What is written to files about a run: records for JSON, CSV, provenance, the report.

The tables on the terminal are in `crawlsim.cli.output`.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crawlsim.cli.figures import claim_figures, write_figures
from crawlsim.cli.files import (
    PROVENANCE,
    Text,
    own_folder,
    package_versions,
    place_of,
    provenance,
    write_files,
)
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import csv_chunks, infinite_record, plugins_record, refusal_records
from crawlsim.cli.tables import Rows
from crawlsim.summary import page_of
from scenarios import Results, Scenario, dumps
from scenarios.measures import Subject
from sim.estimates import t_quantile

if TYPE_CHECKING:
    from analytic import Comparison, LawComparison, NotApplicable, Prediction
    from crawlsim.report import Doubled, Entry
    from crawlsim.report.drawing import Drawing

_ESTIMATE = ("measure", "subject", "estimate", "standard_error", "low", "high")
_COURSE = ("time", *_ESTIMATE, "band_low", "band_high")
_COMPARISON = (
    *("measure", "subject", "predicted", "estimated", "standard_error", "z", "verdict"),
    *("detectable", "kind", "source", "replications_needed"),
    *("settled", "window_too_short", "warmup_too_short", "too_rare"),
)
_LAW = (
    *("statistic", "p_value", "verdict", "detectable"),
    *("replications_needed", "warmup_too_short", "too_rare"),
)
_POINT = ("at", "predicted", "estimated", "standard_error")
_MOST_DOUBLED = 10
"""Replications that are run again with twice the warm-up."""

_ROUNDING = 1e-12
"""Part of an estimate up to which a change is an error of rounding."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out of one scenario of a run, or of a check with its predictions and verdicts.

    `comparisons` is None for a run, and `laws` where no distributions were asked for; `course` are
    the comparisons of the course.
    """

    scenario: Scenario
    results: Results
    predictions: Sequence[Prediction] = ()
    not_applicable: Sequence[NotApplicable] = ()
    comparisons: Sequence[Comparison] | None = None
    laws: Sequence[LawComparison] | None = None
    verdict: str = ""
    course: Sequence[Comparison] = ()

    def entry(self) -> Entry:
        """What a report shows of it."""
        from crawlsim.report import Entry

        return Entry(
            self.scenario,
            self.results,
            self.predictions,
            self.comparisons or (),
            self.not_applicable,
            laws=self.laws or (),
            course=self.course,
        )

    def record(self) -> dict[str, Any]:
        """The verdict for JSON, and what it rests on."""
        comparisons = [_comparison_record(row) for row in self.comparisons or ()]
        record: dict[str, Any] = {"scenario": self.scenario.name, "comparisons": comparisons}
        record |= plugins_record(self.results.plugins)
        if self.comparisons is not None and not comparisons:
            record["estimates"] = list(estimate_records(self.results))
            record["not_applicable"] = refusal_records(self.not_applicable)
        if self.scenario.run.observe is not None:
            record["course"] = [{"time": row.time} | _comparison_record(row) for row in self.course]
        if self.laws is not None:
            record["distributions"] = [
                {
                    "measure": row.law.measure,
                    "subject": row.law.subject,
                    **{name: getattr(row, name) for name in _LAW},
                    "source": row.source or None,
                    "reason": row.reason,
                    "points": [{name: getattr(at, name) for name in _POINT} for at in row.points],
                }
                for row in self.laws
            ]
        return record | infinite_record(self.scenario) | {"verdict": self.verdict}


def _comparison_record(row: Comparison) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COMPARISON}


def estimate_records(results: Results) -> Iterator[dict[str, Any]]:
    """The estimates for JSON; with control variates also what they gained."""
    ratios = results.variance_ratios
    for row in results.estimates:
        record = {name: getattr(row, name) for name in _ESTIMATE}
        if ratios:
            record["variance_ratio"] = ratios.get((row.measure, row.subject))
        yield record


def course_estimates_record(results: Results) -> dict[str, Any]:
    """The estimates of the course for JSON, where there is one."""
    if not len(results.course):
        return {}
    return {"course": Rows(partial(_course_records, results))}


def _course_records(results: Results) -> Iterator[dict[str, Any]]:
    for each in results.course:
        yield {name: getattr(each, name) for name in _COURSE}


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
    } | plugins_record(results.plugins)


def claim_folder(
    options: RunOptions, scenarios: Sequence[Scenario], *, checked: bool, laws: bool = False
) -> None:
    """Refuse a folder in which the results would replace what is not ours, before any work."""
    if options.out is not None:
        names = ["estimates.csv", "replications.csv", "report.html"]
        names += ["course.csv"] * any(each.run.observe is not None for each in scenarios)
        names += ["comparisons.csv"] * checked + ["distributions.csv"] * laws
        own_folder(options.out, file_names(scenarios, *names), force=options.force)
    claim_figures(options.figures, options.drawn_as, force=options.force, beside=options.out)


def write_results(answers: Sequence[Answer], options: RunOptions) -> None:
    """The files that ``--out`` asks for, and ``--figures``."""
    runs = [run_record(each.results) for each in answers]
    if options.out is not None:
        _write_folder(answers, options, options.out, runs)
    write_figures(
        options.figures,
        options.drawn_as,
        lambda: _drawn(answers),
        runs,
        force=options.force,
    )


def _drawn(answers: Sequence[Answer]) -> Iterator[tuple[str, Drawing]]:
    from crawlsim.report.pages import drawings_of
    from crawlsim.report.run_figures import ROWS_OF_A_SLIDE

    for each in answers:
        for drawing in drawings_of(each.entry(), ROWS_OF_A_SLIDE):
            yield each.scenario.name, drawing


def _write_folder(
    answers: Sequence[Answer], options: RunOptions, out: str, runs: Sequence[Mapping[str, Any]]
) -> None:
    """CSV tables, the scenarios, the report."""
    named = {each.scenario.name: page_of(each.scenario) for each in answers}
    last = ("page",) if any(named.values()) else ()  # only where pages have names

    def page(scenario: str, measure: str, subject: Subject) -> tuple[str, ...]:
        """The cell of the last column: what the page of a row is called."""
        name = named[scenario]
        return (name(measure, subject) if name else "",) if last else ()

    def table(of: Callable[[Answer], Iterable[Any]], names: Sequence[str]) -> Iterator[str]:
        """CSV text of some attributes of what each answer has, below its scenario's name."""
        rows = ((each.scenario.name, row) for each in answers for row in of(each))
        cells = (
            (scenario, *attrgetter(*names)(row), *page(scenario, row.measure, row.subject))
            for scenario, row in rows
        )
        return csv_chunks(("scenario", *names, *last), cells)

    replications = (
        (
            *(each.scenario.name, replication, measure, subject, value),
            *page(each.scenario.name, measure, subject),
        )
        for each in answers
        for (measure, subject), values in each.results.replications.items()
        for replication, value in enumerate(values)
    )
    columns = ("scenario", "replication", "measure", "subject", "value", *last)
    files: dict[str, Text] = {
        "estimates.csv": table(lambda each: each.results.estimates, _ESTIMATE),
        "replications.csv": csv_chunks(columns, replications),
    }
    if any(len(each.results.course) for each in answers):
        files["course.csv"] = table(lambda each: each.results.course, _COURSE)
    for each in answers:
        files[f"{each.scenario.name}.toml"] = dumps(each.scenario, out)
    if any(each.comparisons is not None for each in answers):
        files["comparisons.csv"] = table(lambda each: each.comparisons or (), _COMPARISON)
    if any(each.laws is not None for each in answers):
        of_point = attrgetter(*_POINT)
        points = (
            (each.scenario.name, row.law.measure, row.law.subject, *of_point(point), row.verdict)
            for each in answers
            for row in each.laws or ()
            for point in row.points
        )
        header = ("scenario", "measure", "subject", *_POINT, "verdict")
        files["distributions.csv"] = csv_chunks(header, points)
    files["report.html"] = _report(answers, options)
    record = partial(provenance, runs, options.record())
    write_files(place_of(out), files, record, force=options.force)
    shown = Path(out)
    click.echo(f"written to {shown}; the report: {shown / 'report.html'}", err=True)


def _report(answers: Sequence[Answer], options: RunOptions) -> str:
    """It holds no clock time and nothing of the workers: the same seed gives the same text."""
    from crawlsim.report import html

    entries = [
        replace(each.entry(), doubled=effect_of_doubling(each.scenario, each.results))
        for each in answers
    ]
    versions = package_versions() | {"Python": platform.python_version()}
    if options.versions_apart:
        versions = {}
        entries = [replace(each, results=replace(each.results, engine="")) for each in entries]
    if options.precision is not None:
        versions["precision"] = f"{options.precision:g}"
    return html(entries, provenance=versions, folder=options.out or ".")


def effect_of_doubling(scenario: Scenario, results: Results) -> Sequence[Doubled]:
    """How the estimates change with twice the warm-up: paired, over at most ten replications.

    The replications with the longer warm-up follow the same paths; only what is counted differs.
    Empty where there is nothing to double, or no room for it.

    Parameters
    ----------
    scenario : Scenario
    results : Results
        With the scenario's own warm-up.
    """
    from crawlsim.report import Doubled
    from sim.replicate import run

    run_ = scenario.run
    count = min(results.count, _MOST_DOUBLED)
    if scenario.probing is not None or count < 2 or not 0 < 2 * run_.warmup < run_.horizon:
        return ()
    longer = run(
        scenario.with_("run.warmup", 2 * run_.warmup), replications=count, engine=results.engine
    )
    quantile = t_quantile(count - 1)
    rows = []
    for (measure, subject), values in longer.replications.items():
        if subject not in (None, "all"):
            continue
        before = results.replications[measure, subject][:count]
        changes = [one - other for one, other in zip(values, before, strict=True)]
        mean = math.fsum(changes) / count
        if not math.isnan(mean):
            spread = math.fsum((change - mean) ** 2 for change in changes) / (count - 1)
            half = quantile * math.sqrt(spread / count)
            estimate = math.fsum(before) / count
            noise = _ROUNDING * abs(estimate)
            change, half = (0.0 if abs(each) < noise else each for each in (mean, half))
            rows.append(Doubled(measure, subject, estimate, change, half))
    return rows
