"""Scenarios with every "optimal" decided, and which decision was taken, in words."""

from __future__ import annotations

import click

from scenarios import Scenario
from scenarios.activation import Optimal
from scenarios.files import value_text

__all__ = ["decided", "decision_of"]


def decided(scenario: Scenario) -> Scenario:
    """The scenario with every "optimal" resolved; a line on stderr says how robots are activated.

    Raises
    ------
    ScenarioError
        As `analytic.resolve`.
    """
    from analytic import resolve

    resolved = resolve(scenario)
    if decision := decision_of(scenario, resolved):
        assert isinstance(scenario.activation, Optimal)
        asked = f'activation.optimal = "{scenario.activation.family}"'
        click.echo(f"{scenario.name}: {asked} is {decision}", err=True)
    return resolved


def decision_of(scenario: Scenario, resolved: Scenario) -> str | None:
    """The activation that was found, as a file would write it; None where none was sought."""
    if not isinstance(scenario.activation, Optimal) or resolved.activation is None:
        return None
    rule = resolved.activation.model_dump()
    entries = rule if isinstance(rule, dict) else {"robots": rule}
    return ", ".join(f"{key} = {value_text(value)}" for key, value in entries.items())
