"""The commands."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from crawlsim.alarms import rulings_of
from crawlsim.cli.alarms import ALARMS, Case, alarm_record, alarms_asked, require_something
from crawlsim.cli.loading import decided, load_scenarios, with_warmup
from crawlsim.cli.options import (
    JSON,
    QUANTILES,
    RUN,
    SCENARIOS,
    SET,
    RunOptions,
    command,
    option,
    quantile_change,
    takes,
)
from crawlsim.cli.output import (
    LESS_OF_FORMULAS,
    LESS_OVER_TIME,
    OPTIONAL_COLUMNS,
    comparison_table,
    course_tables,
    estimate_table,
    estimated_course_table,
    infinite_record,
    measured_errors,
    prediction_table,
    progress_bar,
    quantile_lines,
    reason_lines,
    show_course_verdicts,
    show_distributions,
    solution_record,
    summary_lines,
    titled,
)
from crawlsim.cli.results import (
    Answer,
    claim_folder,
    course_estimates_record,
    estimate_records,
    run_record,
    write_results,
)
from crawlsim.cli.simulating import simulate_all
from crawlsim.cli.study import in_a_study
from crawlsim.cli.tables import (
    Rows,
    print_json,
    show_table,
)
from crawlsim.summary import opening_lines
from scenarios import Results, Scenario, ScenarioError
from scenarios.infinite import tail_lines
from scenarios.text import number

EVERY_ROW = option("--all", "Show every row that is kept: all levels, all pages.", "every")


@command(
    example="crawlsim run my.toml --set robots.available=12 --out results",
    then="crawlsim check my.toml, whether the formulas say the same",
)
@takes(
    SCENARIOS,
    *RUN,
    in_a_study,
    option("--trace FILE", "Write every event of one scenario as CSV."),
    option("--pages FILE", "Write the rows of all pages of one scenario: a .parquet file."),
    option("--control-variates", "Reduce the variance of estimates by quantities of known mean."),
    *ALARMS,
    EVERY_ROW,
)
def run(
    sources: tuple[str, ...],
    trace: str | None,
    pages: str | None,
    fail_if: tuple[str, ...],
    junit: str | None,
    every: bool,
    **given: Any,
) -> int:
    """Simulate scenarios: estimates with 95 % intervals."""
    options = RunOptions(**given).checked()
    alarms = alarms_asked(fail_if, junit, force=options.force, beside=trace)
    require_something(alarms, judged=False, others="--fail-if")
    scenarios = _resolved(sources, options)
    claim_folder(options, scenarios, checked=False)
    for scenario in scenarios:
        alarms.require(scenario)
    if pages is not None:
        simulated = _with_page_table(scenarios, options, pages, trace)
    elif trace is None:
        simulated = simulate_all(scenarios, options)
    else:
        simulated = [_traced(scenarios, options, trace)]
    rulings = {each[0].name: rulings_of(alarms.bounds, *each) for each in simulated}
    write_results([Answer(*each) for each in simulated], options)
    every_ruling = [each for own in rulings.values() for each in own]
    if options.as_json:
        print_json(
            [
                run_record(results)
                | {"estimates": Rows(partial(estimate_records, results))}
                | course_estimates_record(results)
                | infinite_record(scenario)
                | alarm_record(rulings[scenario.name])
                for scenario, results in simulated
            ]
        )
        return alarms.concluded("run", every_ruling, quiet=True)
    for scenario, results in simulated:
        table = estimate_table(results, scenario, options.changes, every)
        show_table(table, OPTIONAL_COLUMNS, opening_lines(scenario, results))
        for line in tail_lines(scenario):
            click.echo(f"  {line}")
        if len(results.course):
            show_table(estimated_course_table(scenario, results, every), LESS_OVER_TIME)
    return alarms.concluded("run", every_ruling, quiet=False)


@command(
    example="crawlsim solve my.toml --set buffer.waiting_places=20",
    then="crawlsim check my.toml, whether a simulation says the same",
)
@takes(
    SCENARIOS,
    SET,
    QUANTILES,
    option(
        "--all", "Show each formula that applies, and why each of the others does not.", "every"
    ),
    JSON,
)
def solve(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    quantiles: str | None,
    as_json: bool,
    every: bool,
) -> None:
    """Evaluate every formula that applies, and say why the others do not.

    Each number once, by the best formula: exact before bounds and approximations, then that of the
    most special queue; those that give the same are counted. What differs has a row of its own.
    """
    from analytic import accuracy_of, course_of, predict, window_from_empty

    changes = (*changes, *quantile_change(quantiles))
    scenarios = [decided(each) for each in load_scenarios(sources, changes)]
    solved = [
        (s, *predict(s), accuracy_of(s), course_of(s), window_from_empty(s)) for s in scenarios
    ]
    if as_json:
        print_json([solution_record(*each) for each in solved])
        return
    for scenario, predictions, others, accuracy, course, window in solved:
        if predictions:
            words = "in the long run" if window else ""
            table = prediction_table(scenario, predictions, every, changes, words)
            show_table(table, LESS_OF_FORMULAS)
        else:
            click.echo(f"{titled(scenario, changes)}: no formula applies")
        if accuracy is not None:
            click.echo(f"  {accuracy}")
        for line in measured_errors(predictions):
            click.echo(f"  {line}")
        if window:
            words = f"the window from empty, 0 to {number(scenario.run.horizon)}"
            table = prediction_table(scenario, window, every, changes, words)
            show_table(table, LESS_OF_FORMULAS)
        for table in course_tables(scenario, course):
            show_table(table, LESS_OVER_TIME)
        for line in (*tail_lines(scenario), *quantile_lines(scenario, predictions, others)):
            click.echo(f"  {line}")
        for line in reason_lines((*course.not_applicable, *others), every):
            click.echo(f"  {line}")


@command(
    example="crawlsim check my.toml --out results",
    then="crawlsim sweep my.toml --vary robots.available=2..5, what if there were more or fewer",
)
@takes(
    SCENARIOS,
    *RUN,
    in_a_study,
    option(
        "--negligible X",
        "Difference in a share, or in a rate per arrival, that never refutes a formula.",
    ),
    option(
        "--distributions",
        "Compare whole distributions too: sojourn times, levels at arrivals, busy cycles.",
    ),
    *ALARMS,
    EVERY_ROW,
)
def check(
    sources: tuple[str, ...],
    negligible: str | None,
    distributions: bool,
    fail_if: tuple[str, ...],
    junit: str | None,
    every: bool,
    **given: Any,
) -> int:
    """Simulate and solve scenarios, and say whether the two agree."""
    from analytic import exact_laws, points_of
    from crawlsim.api import judged

    if negligible is not None:
        given["changes"] = (*given["changes"], f"check.negligible={negligible}")
    options = RunOptions(**given).checked()
    alarms = alarms_asked(fail_if, junit, force=options.force)
    scenarios = _resolved(sources, options)
    claim_folder(options, scenarios, checked=True, laws=distributions)
    for scenario in scenarios:
        alarms.require(scenario)
    exact = {s.name: exact_laws(s) for s in scenarios} if distributions else {}
    points = {name: points_of(each) for name, each in exact.items()}
    answers = []
    for scenario, results in simulate_all(scenarios, options, points):
        found = judged(scenario, results, exact.get(scenario.name))
        predictions, others = found.solution
        said = (found.comparisons, found.laws, found.verdict, found.course)
        answers.append(Answer(scenario, results, predictions, others, *said))
    write_results(answers, options)
    rulings = {
        each.scenario.name: rulings_of(alarms.bounds, each.scenario, each.results)
        for each in answers
    }
    if options.as_json:
        print_json([each.record() | alarm_record(rulings[each.scenario.name]) for each in answers])
    else:
        _show_verdicts(answers, options.changes, every)
    every_ruling = [each for own in rulings.values() for each in own]
    cases = [_case_of(each) for each in answers]
    return alarms.concluded("check", every_ruling, cases, quiet=options.as_json)


def _case_of(answer: Answer) -> Case:
    """Whether a scenario disagrees with its formulas, as a test case."""
    problem = {"disagrees": "failure", "agrees": ""}.get(answer.verdict, "skipped")
    name = answer.scenario.name
    return Case(name, "agrees with the formulas", problem, f"{name}: {answer.verdict}")


def _show_verdicts(answers: list[Answer], changes: tuple[str, ...], every: bool) -> None:
    from analytic import scope_of

    for each in answers:
        scenario = each.scenario
        rows = each.comparisons or ()
        if rows:
            table = comparison_table(
                scenario, rows, each.verdict, scope_of(rows, each.results), changes, every
            )
        else:
            table = estimate_table(each.results, scenario, changes, every, each.verdict)
        show_table(table, OPTIONAL_COLUMNS, opening_lines(scenario, each.results))
        for line in summary_lines(scenario, rows, each.results):
            click.echo(f"  {line}")
        for line in quantile_lines(scenario, each.predictions, each.not_applicable):
            click.echo(f"  {line}")
        if each.course:
            show_course_verdicts(scenario, each.course)
        if each.laws is not None:
            show_distributions(scenario, each.laws)
    if len(answers) > 1:
        click.echo()
        for each in answers:
            click.echo(f"  {each.verdict:12} {each.scenario.name}")


def _resolved(sources: tuple[str, ...], options: RunOptions) -> list[Scenario]:
    loaded = load_scenarios(sources, options.changes, options.seed, options.replications)
    return [with_warmup(decided(each), options.warmup) for each in loaded]


def _with_page_table(
    scenarios: list[Scenario], options: RunOptions, path: str, trace: str | None
) -> list[tuple[Scenario, Results]]:
    from crawlsim.page_tables import claim_table, table_of_pages

    if trace is not None:
        raise ScenarioError("--pages", path, "does not go with --trace")
    if len(scenarios) > 1:
        raise ScenarioError("--pages", path, "needs a single scenario")
    claim_table(path, scenarios[0], force=options.force)
    with table_of_pages(path, scenarios[0], force=options.force) as spool:
        simulated = simulate_all(scenarios, options, spool=spool)
    click.echo(f"written to {path}", err=True)
    return simulated


def _traced(scenarios: list[Scenario], options: RunOptions, trace: str) -> tuple[Scenario, Results]:
    from crawlsim.event_files import event_log
    from sim.replicate import run

    if len(scenarios) > 1:
        raise ScenarioError("--trace", trace, "needs a single scenario")
    if options.precision is not None:
        raise ScenarioError("--trace", trace, "does not go with --precision")
    if options.control_variates:
        raise ScenarioError("--trace", trace, "does not go with --control-variates")
    (scenario,) = scenarios
    with (
        event_log(trace, force=options.force) as log,
        progress_bar(scenario.name, options.as_json) as progress,
    ):
        return scenario, run(scenario, engine=options.engine, progress=progress, log=log)
