"""Simulating scenarios as the options of a command ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

import click

from crawlsim.cli.foresight import say_how_long, say_in_advance
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar, warn
from crawlsim.cli.workers import workers
from scenarios import Results, Scenario
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.law_points import LawPoints
from scenarios.page_data import access_shares

_MOST = 1000
"""Replications at which a precision is given up, unless told otherwise."""


def simulate_all(
    scenarios: list[Scenario],
    options: RunOptions,
    quiet: bool,
    points: Mapping[str, LawPoints] | None = None,
) -> list[tuple[Scenario, Results]]:
    """The results of all scenarios; each is checked before the first one runs.

    Parameters
    ----------
    scenarios : list of Scenario
    options : RunOptions
    quiet : bool
    points : mapping name of the scenario -> LawPoints, optional
        Where distributions are to be compared.
    """
    from sim.replicate import engine_for

    engines = [engine_for(scenario, options.engine) for scenario in scenarios]
    for scenario in scenarios:
        _warn_of_short_warmup(scenario)
        _warn_of_unvisited_pages(scenario)
    say_how_long(scenarios, options, ", ".join(each.name for each in scenarios))
    with workers(options, engines) as executor:
        return [
            (s, simulate_one(s, options, executor, quiet, (points or {}).get(s.name)))
            for s in scenarios
        ]


def simulate_one(
    scenario: Scenario,
    options: RunOptions,
    executor: Executor | None,
    quiet: bool,
    points: LawPoints | None = None,
) -> Results:
    """The results of one scenario, with more replications where a precision is asked for."""
    results, shortfall = simulate_as_asked(
        scenario, options, executor, scenario.name, quiet, points
    )
    if shortfall:
        warn(f"{scenario.name}: {shortfall}")
    return results


def simulate_as_asked(
    scenario: Scenario,
    options: RunOptions,
    executor: Executor | None,
    label: str,
    quiet: bool,
    points: LawPoints | None = None,
) -> tuple[Results, str | None]:
    """The results, and in words how they fall short of the precision asked for, if they do.

    Parameters
    ----------
    scenario : Scenario
    options : RunOptions
    executor : Executor or None
    label : str
        What messages call it.
    quiet : bool
    points : LawPoints, optional
        Where distributions are to be compared.
    """
    from sim.estimates import controlled
    from sim.replicate import Precision, run, run_to_precision

    with progress_bar(label, quiet) as progress:
        how: dict[str, Any] = {
            "engine": options.engine,
            "executor": executor,
            "progress": progress,
            "points": points,
        }
        if options.precision is None:
            results = run(scenario, **how)
            return (_corrected(results) if options.control_variates else results), None
        most = options.max_replications or max(_MOST, scenario.run.replications)
        precision = Precision(options.precision, options.measures, most)
        say_in_advance(scenario, precision, options, label)
        refine = controlled if options.control_variates else None
        results = run_to_precision(scenario, precision, refine=refine, **how)
    shortfall = precision.shortfall(results, scenario)
    if shortfall is None and not quiet:
        _say_it_is_reached(label, precision, results, scenario)
    return results, shortfall


def _corrected(results: Results) -> Results:
    """The results with control variates; a warning where there are none."""
    from sim.estimates import controlled
    from sim.estimates.controlled import LEAST_REPLICATIONS

    corrected = controlled(results)
    if not corrected.variance_ratios:
        reason = "nothing is counted here whose mean is known"
        if results.controls:
            reason = f"it takes {LEAST_REPLICATIONS} replications and one for each of them"
        warn(f"{results.scenario}: no control variates: {reason}")
    return corrected


def _say_it_is_reached(label: str, precision: Any, results: Results, scenario: Scenario) -> None:
    """With how many replications, of which measures, and what was never seen."""
    names, unseen = precision.concerns(results, scenario)
    words = f"a precision of {100 * precision.relative:g} % is reached for {', '.join(names)}"
    words += f" with {results.count} replications"
    if unseen:
        words += f"; never above 0: {', '.join(unseen)}"
    click.echo(f"{label}: {words}", err=True)


def _warn_of_short_warmup(scenario: Scenario) -> None:
    from analytic.start_up import remembered_starts

    warmup = scenario.run.warmup
    unit = scenario.time_unit
    for each in remembered_starts(scenario):
        warn(
            f"{scenario.name}: the warm-up ({warmup:g} {unit}) is shorter than {each.needed:.3g} "
            f"times {each.name} ({each.time:.6g} {unit}); it may bias "
            f"{', '.join(each.measures) or 'every estimate'}"
        )


def _warn_of_unvisited_pages(scenario: Scenario) -> None:
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.pages is None or not isinstance(policy, GoldenRatio):
        return
    if count := policy.unvisited(access_shares(policy, scenario.pages)):
        warn(
            f"{scenario.name}: the golden cycle of length {policy.cycle} never visits {count} "
            f"page{'s' * (count != 1)} with a positive frequency"
        )
