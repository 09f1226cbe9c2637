"""Scenarios as a command asks for them: loaded, changed, decided, with their warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from crawlsim.cli.options import ASKED_QUANTILES
from crawlsim.cli.tables import warn
from scenarios import Scenario, ScenarioError, load
from scenarios.activation import Free, Levels, These, Threshold
from scenarios.base import most_like
from scenarios.files import parse_value, value_text
from scenarios.sections import Period, Times
from scenarios.text import quantity, shortened, units

_FEW = 8
"""Probes, or sources, that a line names."""

_LONGEST_DECISION = 300
"""Letters of a decision on stderr."""


def load_scenarios(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    seed: int | None = None,
    replications: int | None = None,
) -> list[Scenario]:
    """The scenarios, changed as asked; each name once, since answers are keyed by it."""
    given: dict[str, Any] = {}
    for change in changes:
        key, sign, text = change.partition("=")
        key = key.strip()
        if not sign or not key:
            raise ScenarioError("--set", change, "must be KEY=VALUE")
        if key in given:
            raise ScenarioError(f"--set {key}", text, "is set twice")
        given[key] = parse_value(text)
    for key, value in (("run.seed", seed), ("run.replications", replications)):
        if value is not None:
            given[key] = value
    quantiles = given.pop(ASKED_QUANTILES, None)
    scenarios = [load(source, given) for source in sources]
    if quantiles is not None:
        scenarios = [_with_quantiles(each, quantiles) for each in scenarios]
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError("name", name, "appears twice; each scenario needs its own name")
    return scenarios


def _with_quantiles(scenario: Scenario, shares: Any) -> Scenario:
    """The scenario that asks for these quantiles of whatever times it has."""
    keys = {
        "buffer.sojourn_quantiles": scenario.model.queue,
        "robots.accessing.delay_quantiles": scenario.model.frontier,
        "pages.refresh_quantiles": scenario.pages,
    }
    asked = {key: shares for key, part in keys.items() if part is not None}
    if not asked:
        reason = "there are neither [pages] nor a [buffer]"
        warn(f"{scenario.name}: {ASKED_QUANTILES}: {reason}")
    return scenario.with_(asked) if asked else scenario


def decided(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" resolved; a line on stderr says what was decided.

    A frontier is told when the robots have caught up.

    Raises
    ------
    ScenarioError
        As `analytic.resolve`.
    """
    run = scenario.run
    if run.observe is not None and run.observe > run.horizon:
        warn(f"{scenario.name}: run.observe is above run.horizon: there is no course")
    if not scenario.unresolved and scenario.model.frontier is None:
        return scenario
    from analytic import resolve

    resolved = resolve(scenario)
    if decision := decision_of(scenario, resolved):
        (key, value), *_ = _to_decide(scenario).items()
        said = shortened(decision, _LONGEST_DECISION)
        click.echo(f'{scenario.name}: {key} = "{value}" is {said}', err=True)
    return resolved


def _to_decide(scenario: Scenario) -> dict[str, str]:
    """The keys of what is sought and `decision_of` puts into words, and their values."""
    return {
        key: value
        for key, value in scenario.unresolved.items()
        if key == "activation.optimal" or (value == "optimal" and not key.startswith("robots."))
    }


def is_to_decide(scenario: Scenario) -> bool:
    """Whether an activation, a routing or probes are sought that `decision_of` puts into words."""
    return bool(_to_decide(scenario))


def decision_of(scenario: Scenario, resolved: Scenario) -> str | None:
    """What was found, as a file would write it, a long list shortened; None: nothing was sought."""
    if not is_to_decide(scenario):
        return None
    probes = resolved.probing.policy if resolved.probing else None
    if isinstance(probes, Times) and resolved.sources is not None:
        split = [f"{len(times)}" for times in probes.of_each]
        return quantity(_shortened(split), "probe")
    if isinstance(probes, Times):
        return f"times = {_shortened([f'{time:.6g}' for time in probes.of_one])}"
    routing = resolved.servers.routing if resolved.servers else None
    if isinstance(routing, Period):
        return f"period = {value_text(list(routing.root))}"
    if resolved.activation is None:
        return None
    decided = resolved.activation
    decided_rule = decided.threshold if isinstance(decided, Threshold) else decided
    rule = decided_rule.model_dump(exclude_none=True)
    listed = isinstance(resolved.activation, These | Levels | Free)
    name = resolved.activation.key if listed else "robots"
    entries = rule if isinstance(rule, dict) else {name: rule}
    return ", ".join(f"{key} = {value_text(value)}" for key, value in entries.items())


def _shortened(entries: Sequence[str]) -> str:
    """A list of which only the first entries are named, where it is long."""
    more = f", … {len(entries)} in all" if len(entries) > _FEW else ""
    return f"[{', '.join(entries[:_FEW])}{more}]"


def with_warmup(scenario: Scenario, asked: str | None, quiet: bool = False) -> Scenario:
    """The scenario with the warm-up of ``--warmup``: a time, or "auto" for a suggested one.

    Raises
    ------
    ScenarioError
        If it is neither, or not shorter than the horizon.
    """
    if asked is None:
        return scenario
    time = None
    if asked != "auto":
        try:
            time = float(asked)
        except ValueError:
            hint = ", did you mean auto?" if most_like(asked, ["auto"]) else ""
            allowed = f'must be a time or "auto"{hint}'
            raise ScenarioError("--warmup", asked, allowed) from None
    if scenario.probing is not None:
        raise ScenarioError("--warmup", asked, "does not go with [probing], which has none")
    if time is not None:
        return scenario.with_("run.warmup", time)
    from analytic import suggested_warmup

    warmup, rule = suggested_warmup(scenario)
    if not quiet:
        unit = units(scenario.time_unit, warmup)
        click.echo(f"{scenario.name}: the warm-up is {warmup:.6g} {unit}: {rule}", err=True)
    return scenario.with_("run.warmup", warmup)
