"""The commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import rich
from rich.table import Table

from scenarios import Results, Scenario, ScenarioError, library_names, load, schema
from scenarios.base import listed
from scenarios.files import library_text
from scenarios.measures import MEASURES
from sim.cli.options import RunOptions, load_scenarios, run_options, scenario_options
from sim.cli.output import (
    add_columns,
    number,
    print_json,
    progress_bar,
    show_table,
    warn,
    writable_folder,
    write_files,
)
from sim.cli.results import (
    comparison_record,
    comparison_table,
    comparisons_csv,
    condition_marks,
    estimate_record,
    estimate_table,
    formula_table,
    result_files,
)
from sim.cli.workers import workers

if TYPE_CHECKING:
    from analytic import Comparison
    from sim.cli.report import Checked, Solved
    from sim.event_log import EventLog

__all__ = ["check", "formulas", "list_scenarios", "print_schema", "run", "solve"]


@click.command("scenarios")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--names", is_flag=True, help="Names only, for scripts.")
def list_scenarios(name: str | None, as_json: bool, names: bool) -> None:
    """List the ready scenarios, or print the file of one."""
    if names:
        click.echo("\n".join(library_names()))
        return
    if name is not None:
        if name not in library_names():
            raise ScenarioError("scenario", name, f"must be one of {listed(library_names())}")
        text = library_text(name)
        if as_json:
            print_json(load(name).as_file())
        else:
            click.echo(text, nl=False)
        return
    ready = [load(each) for each in library_names()]
    if as_json:
        print_json([{"name": s.name, "title": s.title, "paper": s.paper} for s in ready])
        return
    table = Table(box=rich.box.SIMPLE)
    add_columns(table, ["name", "title", "paper"])
    for scenario in ready:
        table.add_row(scenario.name, scenario.title, scenario.paper)
    show_table(table)


@click.command()
@scenario_options
@run_options
@click.option("--trace", metavar="FILE", help="Write every event of one scenario as CSV.")
def run(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    trace: str | None,
    **options: Any,
) -> None:
    """Simulate scenarios: estimates with 95 % intervals."""
    chosen = _options(options)
    scenarios = _resolved(sources, changes, seed, replications)
    if trace is not None:
        _run_traced(scenarios, chosen, as_json, trace)
        return
    simulated = _simulate_all(scenarios, chosen, as_json)
    _write(simulated, chosen)
    _show_estimates(simulated, as_json)


@click.command()
@scenario_options
def solve(sources: tuple[str, ...], changes: tuple[str, ...], as_json: bool) -> None:
    """Evaluate every formula that applies, and say why the others do not."""
    from analytic import predict

    solved = [(s, *predict(s)) for s in _resolved(sources, changes)]
    if as_json:
        print_json(
            [
                {
                    "scenario": scenario.name,
                    "predictions": [
                        {
                            "measure": p.measure,
                            "subject": p.subject,
                            "value": p.value,
                            "kind": p.kind,
                            "source": p.source,
                        }
                        for p in predictions
                    ],
                    "not_applicable": [
                        {"source": other.source, "reason": other.reason} for other in others
                    ],
                }
                for scenario, predictions, others in solved
            ]
        )
        return
    for scenario, predictions, others in solved:
        table = Table(title=scenario.name, box=rich.box.SIMPLE, title_justify="left")
        add_columns(table, ["measure"], ["value"])
        add_columns(table, ["kind", "source"])
        for p in predictions:
            name = p.measure if p.subject is None else f"{p.measure} {p.subject}"
            table.add_row(name, number(p.value), p.kind, p.source)
        show_table(table)
        for other in others:
            click.echo(f"  not applicable: {other.source}: {other.reason}")


@click.command()
@scenario_options
@run_options
def check(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    replications: int | None,
    **options: Any,
) -> int:
    """Simulate and solve scenarios, and say whether the two agree."""
    from analytic import compare, overall, predict

    chosen = _options(options)
    scenarios = _resolved(sources, changes, seed, replications)
    simulated = _simulate_all(scenarios, chosen, as_json)
    solved = [predict(scenario) for scenario, _ in simulated]
    checked = [
        (s, compare(predictions, results, s.judged, _weights(s)))
        for (s, results), (predictions, _) in zip(simulated, solved, strict=True)
    ]
    _write(simulated, chosen, solved, checked)
    verdicts = {scenario.name: overall(rows) for scenario, rows in checked}
    _show_verdicts(checked, verdicts, as_json)
    return 1 if "disagrees" in verdicts.values() else 0


@click.command()
@click.argument("paper", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def formulas(paper: str | None, as_json: bool) -> None:
    """The index of formulas: paper, number, quantity, function, kind, conditions."""
    from analytic import FORMULAS
    from analytic.bibliography import REFERENCES

    papers = sorted({formula.paper for formula in FORMULAS})
    if paper is not None and paper not in papers:
        raise ScenarioError("paper", paper, f"must be {listed(papers)}")
    rows: list[dict[str, Any]] = [
        {
            "paper": f.paper,
            "number": f.number,
            "quantity": f.quantity,
            "function": f"{f.function.__module__}.{f.function.__name__}",
            "kind": f.kind,
            "conditions": [(c.__doc__ or "").split("\n")[0] for c in f.conditions],
        }
        for f in FORMULAS
        if paper in (None, f.paper)
    ]
    if as_json:
        print_json(rows)
        return
    show_table(formula_table(rows))
    for words, number_of in condition_marks(rows).items():
        click.echo(f"  {number_of:>3}  {words}")
    click.echo()
    for key in sorted({row["paper"] for row in rows}):
        click.echo(f"  {key}: {REFERENCES[str(key)]}")


@click.command("schema")
def print_schema() -> None:
    """JSON Schema of the scenario file, for editors."""
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))


def _weights(scenario: Scenario) -> list[float] | None:
    from scenarios.page_data import page_weights

    return None if scenario.pages is None else page_weights(scenario.pages).tolist()


def _options(given: dict[str, Any]) -> RunOptions:
    chosen = RunOptions(**given)
    for name in chosen.measures:
        if name not in MEASURES:
            raise ScenarioError("--measure", name, f"must be a measure: {listed(MEASURES)}")
    if chosen.measures and chosen.precision is None:
        raise ScenarioError("--measure", chosen.measures[0], "goes with --precision")
    if chosen.out is not None:
        writable_folder(chosen.out)
    return chosen


def _resolved(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    seed: int | None = None,
    replications: int | None = None,
) -> list[Scenario]:
    from analytic import resolve

    return [resolve(each) for each in load_scenarios(sources, changes, seed, replications)]


def _simulate_all(
    scenarios: list[Scenario], options: RunOptions, quiet: bool
) -> list[tuple[Scenario, Results]]:
    from sim.replicate import engine_for

    for scenario in scenarios:
        engine_for(scenario, options.engine)
        _warn_of_short_warmup(scenario)
    with workers(options.jobs) as executor:
        return [(s, _simulate(s, options, executor, quiet)) for s in scenarios]


def _simulate(scenario: Scenario, options: RunOptions, executor: Any, quiet: bool) -> Results:
    from sim.replicate import Precision, run, run_to_precision

    with progress_bar(scenario.name, quiet) as progress:
        how: dict[str, Any] = {
            "engine": options.engine,
            "executor": executor,
            "progress": progress,
        }
        if options.precision is None:
            return run(scenario, **how)
        precision = Precision(options.precision, options.measures, options.max_replications)
        return run_to_precision(scenario, precision, **how)


def _warn_of_short_warmup(scenario: Scenario) -> None:
    from analytic import relaxation_time_of

    relaxation = relaxation_time_of(scenario)
    if relaxation is not None and scenario.run.warmup < relaxation:
        unit = scenario.time_unit
        warn(
            f"{scenario.name}: the warm-up ({scenario.run.warmup:g} {unit}) is shorter than the "
            f"relaxation time of the queue ({relaxation:.3g} {unit})"
        )


def _run_traced(scenarios: list[Scenario], options: RunOptions, quiet: bool, trace: str) -> None:
    from sim.event_log import log_to_file
    from sim.replicate import run

    if len(scenarios) > 1:
        raise ScenarioError("--trace", trace, "needs a single scenario")
    if options.precision is not None:
        raise ScenarioError("--trace", trace, "does not go with --precision")
    scenario = scenarios[0]

    def simulate(log: EventLog) -> Results:
        with progress_bar(scenario.name, quiet) as progress:
            return run(scenario, engine=options.engine, progress=progress, log=log)

    simulated = [(scenario, log_to_file(trace, simulate))]
    _write(simulated, options)
    _show_estimates(simulated, quiet)


def _write(
    simulated: list[tuple[Scenario, Results]],
    options: RunOptions,
    solved: Solved = (),
    checked: Checked = (),
) -> None:
    if options.out is None:
        return
    from sim.cli.report import report_page

    folder = writable_folder(options.out)
    given = {"engine": options.engine, "jobs": options.jobs, "precision": options.precision}
    files = result_files(simulated, options.out, given)
    if checked:
        files["comparisons.csv"] = comparisons_csv(checked)
    files["report.html"] = report_page(simulated, options, solved, checked)
    write_files(folder, files)
    click.echo(f"written to {folder}; the report: {folder / 'report.html'}", err=True)


def _show_estimates(simulated: list[tuple[Scenario, Results]], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "scenario": results.scenario,
                    "engine": results.engine,
                    "seed": results.seed,
                    "replications": results.count,
                    "estimates": [estimate_record(row) for row in results.estimates],
                }
                for _, results in simulated
            ]
        )
        return
    for scenario, results in simulated:
        show_table(estimate_table(results, scenario.time_unit))


def _show_verdicts(
    checked: list[tuple[Scenario, list[Comparison]]], verdicts: Mapping[str, str], as_json: bool
) -> None:
    if as_json:
        print_json(
            [
                {
                    "scenario": scenario.name,
                    "comparisons": [comparison_record(row) for row in rows],
                    "verdict": verdicts[scenario.name],
                }
                for scenario, rows in checked
            ]
        )
        return
    for scenario, rows in checked:
        show_table(comparison_table(scenario, rows, verdicts[scenario.name]))
    if len(checked) > 1:
        for name, verdict in verdicts.items():
            click.echo(f"  {verdict:12} {name}")
