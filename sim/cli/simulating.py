"""Simulating scenarios as the options of a command ask for it."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import click

from scenarios import Results, Scenario
from scenarios.accessing import GoldenRatio
from scenarios.page_data import access_shares
from sim.cli.foresight import say_in_advance
from sim.cli.options import RunOptions
from sim.cli.output import progress_bar, warn
from sim.cli.workers import workers

__all__ = ["simulate_all", "simulate_one"]


def simulate_all(
    scenarios: list[Scenario], options: RunOptions, quiet: bool
) -> list[tuple[Scenario, Results]]:
    """The results of all scenarios; each is checked before the first one runs."""
    from sim.replicate import engine_for

    engines = [engine_for(scenario, options.engine) for scenario in scenarios]
    for scenario in scenarios:
        _warn_of_short_warmup(scenario)
        _warn_of_unvisited_pages(scenario)
    with workers(options, engines) as executor:
        return [(s, simulate_one(s, options, executor, quiet)) for s in scenarios]


def simulate_one(
    scenario: Scenario, options: RunOptions, executor: Executor | None, quiet: bool
) -> Results:
    """The results of one scenario, with more replications where a precision is asked for."""
    from sim.estimates import controlled
    from sim.replicate import Precision, run, run_to_precision

    with progress_bar(scenario.name, quiet) as progress:
        how: dict[str, Any] = {
            "engine": options.engine,
            "executor": executor,
            "progress": progress,
        }
        if options.precision is None:
            results = run(scenario, **how)
            return _corrected(results) if options.control_variates else results
        precision = Precision(options.precision, options.measures, options.max_replications)
        say_in_advance(scenario, precision, options)
        refine = controlled if options.control_variates else None
        results = run_to_precision(scenario, precision, refine=refine, **how)
    _say_whether_precise(scenario, precision, results, quiet)
    return results


def _corrected(results: Results) -> Results:
    """The results with control variates; a warning where there are none."""
    from sim.estimates import controlled
    from sim.estimates.controlled import LEAST_REPLICATIONS

    corrected = controlled(results)
    if not corrected.variance_ratios:
        reason = f"it takes {LEAST_REPLICATIONS} replications and one for each of them"
        if not results.controls:
            reason = "nothing is counted here whose mean is known"
        warn(f"{results.scenario}: no control variates: {reason}")
    return corrected


def _say_whether_precise(scenario: Scenario, precision: Any, results: Results, quiet: bool) -> None:
    needed = precision.needed(results, scenario)
    name = f"{scenario.name}: after {results.count} replications the precision is not reached"
    if needed is None:
        warn(f"{name}, and how many it takes cannot be told: some measure was never above 0")
    elif needed > results.count:
        warn(f"{name}; about {needed} would be needed")
    elif not quiet:
        reached = f"a precision of {100 * precision.relative:g} % is reached"
        click.echo(f"{scenario.name}: {reached} with {results.count} replications", err=True)


def _warn_of_short_warmup(scenario: Scenario) -> None:
    from analytic import start_up_times

    warmup, unit = scenario.run.warmup, scenario.time_unit
    for name, time in start_up_times(scenario):
        if warmup <= time:
            warn(
                f"{scenario.name}: the warm-up ({warmup:g} {unit}) is not longer than {name} "
                f"({time:.6g} {unit})"
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
