"""Simulating scenarios as the options of a command ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar
from crawlsim.cli.run_time import say_how_long, say_in_advance
from crawlsim.cli.tables import warn
from crawlsim.cli.workers import workers
from crawlsim.short_warm_ups import short_warm_ups
from scenarios import Results, Scenario
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.law_points import LawPoints
from scenarios.page_data import access_shares
from scenarios.text import counted
from sim.event_rate import expected_events

if TYPE_CHECKING:
    from sim.page_spool import PageSpool

_MOST = 1000
"""Replications at which a precision is given up, unless told otherwise."""

_SHORT = 1.5e6
"""Events in all that SimPy gets through in less time than the other engine takes to compile."""


def simulate_all(
    scenarios: list[Scenario],
    options: RunOptions,
    points: Mapping[str, LawPoints] | None = None,
    spool: PageSpool | None = None,
) -> list[tuple[Scenario, Results]]:
    """The results of all scenarios; each is checked before the first one runs.

    Parameters
    ----------
    scenarios : list of Scenario
    options : RunOptions
    points : mapping name of the scenario -> LawPoints, optional
        Where distributions are to be compared.
    spool : PageSpool, optional
        Receives what each replication of a single scenario has of each page.
    """
    from sim.compiled_engine.prepared import keeps_code, note_prepared

    engines = _engines_now(scenarios, options, bool(points))
    for scenario in scenarios:
        for each in short_warm_ups(scenario):
            warn(f"{scenario.name}: {each.words}")
        _warn_of_pages_left_out(scenario)
    say_how_long(scenarios, options, ", ".join(each.name for each in scenarios))
    simulated = []
    compiled = [s for s, engine in zip(scenarios, engines, strict=True) if engine == "compiled"]
    with workers(options, engines, compiled) as executor:
        for scenario, engine in zip(scenarios, engines, strict=True):
            name = scenario.name
            counted = points.get(name) if points else None
            how = replace(options, engine=engine)
            results, shortfall = simulate_as_asked(
                scenario, how, executor, name, options.as_json, counted, spool
            )
            if shortfall:
                warn(f"{name}: {shortfall}")
            simulated.append((scenario, results))
            if engine == "compiled" and keeps_code():
                note_prepared(scenario)
    return simulated


def _engines_now(
    scenarios: Sequence[Scenario], options: RunOptions, laws_compared: bool
) -> list[str]:
    """The engine that each scenario is simulated by: SimPy, where the other would first compile.

    Of a short run SimPy gives the same numbers before the other engine is compiled; that goes on in
    the background meanwhile.
    """
    from sim.compiled_engine.prepared import (
        compile_time,
        is_prepared,
        may_compile_behind,
        prepare_behind,
    )
    from sim.replicate import engine_for

    engines = [engine_for(scenario, options.engine) for scenario in scenarios]
    chosen = options.engine is not None or options.cluster is not None
    if chosen or laws_compared or options.precision is not None or not may_compile_behind():
        return engines
    waiting = [
        scenario
        for scenario, engine in zip(scenarios, engines, strict=True)
        if engine == "compiled"
        and scenario.run.replications * expected_events(scenario) <= _SHORT
        and not is_prepared(scenario)
    ]
    if not waiting or not prepare_behind(waiting):
        return engines
    click.echo(
        f"crawlsim: {', '.join(each.name for each in waiting)}: SimPy answers, with the same "
        "numbers, while the faster engine is compiled in the background: once, "
        f"{compile_time()}",
        err=True,
    )
    answered = {each.name for each in waiting}
    return [
        "simpy" if scenario.name in answered else engine
        for scenario, engine in zip(scenarios, engines, strict=True)
    ]


def simulate_as_asked(
    scenario: Scenario,
    options: RunOptions,
    executor: Executor | None,
    label: str,
    quiet: bool,
    points: LawPoints | None = None,
    spool: PageSpool | None = None,
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
    spool : PageSpool, optional
        Receives what each replication has of each page.
    """
    from sim.estimates import controlled
    from sim.replicate import Precision, run, run_to_precision

    with progress_bar(label, quiet) as progress:
        how: dict[str, Any] = {
            "engine": options.engine,
            "executor": executor,
            "progress": progress,
            "points": points,
            "spool": spool,
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
        names, unseen = precision.concerns(results, scenario)
        words = f"a precision of {100 * precision.relative:g} % is reached for {', '.join(names)}"
        words += f" with {counted(results.count, 'replication')}"
        if unseen:
            words += f"; never above 0: {', '.join(unseen)}"
        click.echo(f"{label}: {words}", err=True)
    return results, shortfall


def _corrected(results: Results) -> Results:
    """The results with control variates; a warning where there are none."""
    from sim.estimates import controlled
    from sim.estimates.controls import LEAST_REPLICATIONS

    corrected = controlled(results)
    if not corrected.variance_ratios:
        reason = "no quantity with a known mean is counted here"
        if results.controls:
            needed = f"at least {LEAST_REPLICATIONS} replications are needed"
            reason = f"{needed}, and one more for each of them"
        warn(f"{results.scenario}: no control variates: {reason}")
    return corrected


def _warn_of_pages_left_out(scenario: Scenario) -> None:
    policy = scenario.model.accessing
    if scenario.model.pages is None or not isinstance(policy, GoldenRatio):
        return
    if count := policy.without_slot(access_shares(policy, scenario.model.pages)):
        warn(
            f"{scenario.name}: the golden cycle of length {policy.cycle} never accesses "
            f"{counted(count, 'page')} with a positive frequency"
        )
