"""Simulating scenarios as the options of a command ask for, and how long that will take."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar
from crawlsim.cli.tables import number, warn
from crawlsim.cli.workers import workers
from scenarios import Results, Scenario, ScenarioError
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.law_points import LawPoints
from scenarios.page_data import access_shares
from scenarios.text import counted, told, units
from sim.pace import expected_events

if TYPE_CHECKING:
    from sim.page_spool import PageSpool

_QUANTILE = 1.96

_COUNTED = {
    "loss_rate": "loss_probability",
    "loss_probability": "loss_probability",
    "obsolescence_probability": "obsolescence_probability",
}
"""Measures that count pages, and the share of all pages that tells how many there will be."""

_RARE = 0.02
"""Above this share pages are not rare, and their counts vary less than independent events do."""

_MOST = 1000
"""Replications at which a precision is given up, unless told otherwise."""

_LONG = 1800.0
"""Seconds from which on it is said in advance how long a command will take."""

_QUICK = 1e7
"""Events in all that take a few seconds at the usual pace, and seconds at most if they are slow."""

_SHORT = 1.5e6
"""Events in all that SimPy gets through in less time than the other engine takes to compile."""

_TRIALS = (1e3, 1e4, 1e5)
_LONG_ENOUGH = 0.2
"""Events of short replications that tell the pace, and seconds after which it is known."""

_MOST_TRIED = 1_000_000
"""Pages that are set up in a second, four times over."""


class Trial(NamedTuple):
    """Events of a short replication, and seconds that it took."""

    events: float
    seconds: float


def say_how_long(scenarios: Sequence[Scenario], options: RunOptions, label: str) -> None:
    """Warn where simulating will take half an hour or more, by the pace of a short replication.

    Parameters
    ----------
    scenarios : sequence of Scenario
        All that will be simulated, the cells of a sweep for example.
    options : RunOptions
    label : str
        What messages call them.
    """
    events = [each.run.replications * expected_events(each) for each in scenarios]
    if sum(events) < _QUICK:
        return
    largest = scenarios[events.index(max(events))]
    pace = seconds_per_event(largest, options.engine)
    if pace is None:
        return
    seconds = sum(events) * pace / options.jobs
    if seconds < _LONG:
        return
    where = "on one core of the cluster" if options.cluster else f"with --jobs {options.jobs}"
    least = " at least" if options.precision is not None else ""
    warn(
        f"{label}: about {sum(events):.2g} events, {1.0 / pace:.2g} a second in a short trial: "
        f"some {_duration(seconds)}{least} {where}; a shorter run.horizon or fewer replications "
        "take less"
    )


def seconds_per_event(scenario: Scenario, engine: str | None) -> float | None:
    """Seconds that an event takes, by short replications, each ten times longer than the last.

    What a longer one takes beyond a shorter one: setting up is not counted. None where the scenario
    has none so short, or takes long to set up; probed sources have a horizon of their own.
    """
    from sim.replicate import run

    pages = 0 if scenario.pages is None else scenario.pages.count
    if scenario.probing is not None or pages > _MOST_TRIED:
        return None
    whole = expected_events(scenario)
    pace = None
    before = Trial(0.0, 0.0)
    for events in _TRIALS:
        horizon = scenario.run.horizon * events / whole
        try:
            short = scenario.with_({"run.warmup": 0.0, "run.horizon": horizon})
            if pace is None:
                run(short, replications=1, engine=engine)  # compiles
            start = time.perf_counter()
            run(short, replications=1, engine=engine)
        except ScenarioError:
            return pace
        spent = time.perf_counter() - start
        pace = max(spent - before.seconds, 0.0) / (events - before.events)
        if pace * events > _LONG_ENOUGH:
            break
        before = Trial(events, spent)
    return pace


def events_needed(relative: float) -> float:
    """Independent events that it takes for a 95 % interval of this relative half-width."""
    return (_QUANTILE / relative) ** 2


def say_in_advance(scenario: Scenario, precision: Any, options: RunOptions, label: str) -> None:
    """Warn where the pages to be counted are so rare that the precision is out of reach.

    By the formulas, where they cover the scenario: the expected number in a replication, how many
    replications that makes, and how long they would take at the pace of the first one. Rare pages
    come in bursts, so that it takes more rather than less; of pages that are not rare nothing is
    said.

    Parameters
    ----------
    scenario : Scenario
    precision : sim.Precision
    options : RunOptions
    label : str
        What messages call the scenario.
    """
    pace: float | None = None
    for name in precision.measures or scenario.judged:
        expected = _expected(scenario, name)
        if expected == 0:
            warn(f"{label}: {name} is 0 by formula; no number of replications makes it precise")
        if not expected:
            continue
        needed = math.ceil(events_needed(precision.relative) / expected)
        if needed > precision.most:
            pace = pace or _seconds_of_one(scenario, options)
            warn(
                f"{label}: {name} counts {number(expected)} pages in a replication, by "
                f"formula; a precision of {100 * precision.relative:g} % takes at least "
                f"{number(float(needed))} replications, some {_duration(needed * pace)} on one "
                f"core; --max-replications {precision.most} stops first; a longer run.horizon "
                "counts more"
            )


def _expected(scenario: Scenario, name: str) -> float | None:
    """Pages counted in the window of a replication, where a formula says so and they are rare."""
    from analytic import predict

    if name not in _COUNTED or scenario.buffer is None:
        return None
    values = {row.measure: row.value for row in predict(scenario)[0] if row.kind == "exact"}
    share = values.get(_COUNTED[name])
    arrivals = values.get("arrival_rate")
    if share is None or arrivals is None or share > _RARE:
        return None
    return share * arrivals * (scenario.run.horizon - scenario.run.warmup)


def _seconds_of_one(scenario: Scenario, options: RunOptions) -> float:
    """CPU time of a replication, the second one, when everything is compiled."""
    from sim.replicate import run

    run(scenario, replications=1, engine=options.engine)
    start = time.process_time()
    run(scenario, replications=1, engine=options.engine)
    return time.process_time() - start


def _duration(seconds: float) -> str:
    """A time for people."""
    units = (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60))
    for name, length in units:
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {name}"
    return told(f"{seconds:.2g}", "second")


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
        _warn_of_short_warmup(scenario)
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
    from sim.compiled_engine.prepared import is_prepared, may_compile_behind, prepare_behind
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
        "numbers, while the faster engine is compiled in the background: once, up to half a minute",
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
    from sim.estimates.controlled import LEAST_REPLICATIONS

    corrected = controlled(results)
    if not corrected.variance_ratios:
        reason = "no quantity with a known mean is counted here"
        if results.controls:
            needed = f"at least {LEAST_REPLICATIONS} replications are needed"
            reason = f"{needed}, and one more for each of them"
        warn(f"{results.scenario}: no control variates: {reason}")
    return corrected


def _warn_of_short_warmup(scenario: Scenario) -> None:
    from analytic.start_up import remembered_starts

    warmup = scenario.run.warmup
    unit = scenario.time_unit
    for each in remembered_starts(scenario):
        if math.isinf(each.time):
            warn(f"{scenario.name}: {each.name}")
            continue
        warn(
            f"{scenario.name}: the warm-up ({warmup:g} {units(unit, warmup)}) is shorter than "
            f"{each.rule} ({each.time:.6g} {units(unit, each.time)}); it may bias "
            f"{', '.join(each.measures) or 'every estimate'}"
        )


def _warn_of_pages_left_out(scenario: Scenario) -> None:
    policy = scenario.robots.accessing if scenario.robots else None
    if scenario.pages is None or not isinstance(policy, GoldenRatio):
        return
    if count := policy.without_slot(access_shares(policy, scenario.pages)):
        warn(
            f"{scenario.name}: the golden cycle of length {policy.cycle} never accesses "
            f"{counted(count, 'page')} with a positive frequency"
        )
