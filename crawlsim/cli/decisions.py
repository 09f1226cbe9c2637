"""Scenarios with every "optimal" decided, and which decision was taken, in words."""

from __future__ import annotations

import click

from scenarios import Scenario
from scenarios.activation import Optimal, These
from scenarios.files import value_text
from scenarios.sections import Period, Times

_FEW = 8


def decided(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" resolved; a line on stderr says what was decided.

    Raises
    ------
    ScenarioError
        As `analytic.resolve`.
    """
    from analytic import resolve

    resolved = resolve(scenario)
    if decision := decision_of(scenario, resolved):
        click.echo(f"{scenario.name}: {_asked(scenario)} is {decision}", err=True)
    return resolved


def is_to_decide(scenario: Scenario) -> bool:
    """Whether an activation or a routing is sought that `decision_of` puts into words."""
    seeks_routing = scenario.servers is not None and scenario.servers.routing == "optimal"
    return seeks_routing or _seeks_probes(scenario) or isinstance(scenario.activation, Optimal)


def _seeks_probes(scenario: Scenario) -> bool:
    return scenario.probing is not None and scenario.probing.policy == "optimal"


def _asked(scenario: Scenario) -> str:
    """The entry of the file that asks for a decision."""
    if isinstance(scenario.activation, Optimal):
        return f'activation.optimal = "{scenario.activation.family}"'
    return f'{"probing.policy" if _seeks_probes(scenario) else "servers.routing"} = "optimal"'


def decision_of(scenario: Scenario, resolved: Scenario) -> str | None:
    """What was found, as a file would write it, a long list shortened; None: nothing was sought."""
    if _seeks_probes(scenario):
        assert resolved.probing is not None
        assert isinstance(resolved.probing.policy, Times)
        times = resolved.probing.policy.root
        more = f", … {len(times)} in all" if len(times) > _FEW else ""
        return f"times = [{', '.join(f'{time:.6g}' for time in times[:_FEW])}{more}]"
    if scenario.servers is not None and scenario.servers.routing == "optimal":
        assert resolved.servers is not None
        assert isinstance(resolved.servers.routing, Period)
        return f"period = {value_text(list(resolved.servers.routing.root))}"
    if not isinstance(scenario.activation, Optimal) or resolved.activation is None:
        return None
    rule = resolved.activation.model_dump()
    name = "these" if isinstance(resolved.activation, These) else "robots"
    entries = rule if isinstance(rule, dict) else {name: rule}
    return ", ".join(f"{key} = {value_text(value)}" for key, value in entries.items())
