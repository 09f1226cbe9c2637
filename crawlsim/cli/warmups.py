"""The warm-up that is asked for, and what twice as long a one would change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from crawlsim.cli.options import RunOptions
from scenarios import Results, Scenario, ScenarioError
from scenarios.base import most_like
from sim.estimates import t_quantile

if TYPE_CHECKING:
    from crawlsim.report import Doubled


_MOST = 10
"""Replications that are run again with the longer warm-up."""

_AUTO = "auto"


def with_warmup(scenario: Scenario, asked: str | None, quiet: bool = False) -> Scenario:
    """The scenario with the warm-up of ``--warmup``: a time, or "auto" for a suggested one.

    Raises
    ------
    ScenarioError
        If it is neither, or not shorter than the horizon.
    """
    if asked is None:
        return scenario
    time = None if asked == _AUTO else _time_of(asked)
    if scenario.probing is not None:
        raise ScenarioError("--warmup", asked, "does not go with [probing], which has none")
    if time is not None:
        return scenario.with_("run.warmup", time)
    from analytic import suggested_warmup

    warmup, rule = suggested_warmup(scenario)
    if not quiet:
        unit = scenario.time_unit
        click.echo(f"{scenario.name}: the warm-up is {warmup:.6g} {unit}: {rule}", err=True)
    return scenario.with_("run.warmup", warmup)


def _time_of(asked: str) -> float:
    try:
        return float(asked)
    except ValueError:
        hint = f", did you mean {_AUTO}?" if most_like(asked, [_AUTO]) else ""
        allowed = f'must be a time or "auto"{hint}'
        raise ScenarioError("--warmup", asked, allowed) from None


def effect_of_doubling(
    scenario: Scenario, results: Results, options: RunOptions
) -> Sequence[Doubled]:
    """How the estimates change with twice the warm-up: paired, over at most ten replications.

    The replications with the longer warm-up follow the same paths; only what is counted differs.
    Empty where there is nothing to double, or no room for it.

    Parameters
    ----------
    scenario : Scenario
    results : Results
        With the scenario's own warm-up.
    options : RunOptions
    """
    from crawlsim.report import Doubled
    from sim.replicate import run

    run_ = scenario.run
    count = min(results.count, _MOST)
    if scenario.probing is not None or count < 2 or not 0 < 2 * run_.warmup < run_.horizon:
        return ()
    longer = run(
        scenario.with_("run.warmup", 2 * run_.warmup), replications=count, engine=options.engine
    )
    quantile = t_quantile(0.975, count - 1)
    rows = []
    for (measure, subject), values in longer.replications.items():
        if subject not in (None, "all"):
            continue
        before = results.replications[measure, subject][:count]
        changes = [one - other for one, other in zip(values, before, strict=True)]
        mean = sum(changes) / count
        if not math.isnan(mean):
            spread = sum((change - mean) ** 2 for change in changes) / (count - 1)
            half = quantile * math.sqrt(spread / count)
            rows.append(Doubled(measure, subject, sum(before) / count, mean, half))
    return rows
