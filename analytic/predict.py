"""Everything that the formulas say of a scenario, and why the others do not apply."""

from __future__ import annotations

from dataclasses import dataclass

from analytic import indexing_queue, page_refresh, pipeline, probing, robot_control, routing
from analytic.active_robots import require_decided
from analytic.formula import Formula, Prediction
from scenarios import Scenario
from scenarios.scenario import require_scenario

__all__ = ["FORMULAS", "NotApplicable", "predict"]

FORMULAS: tuple[Formula, ...] = (
    *page_refresh.FORMULAS,
    *robot_control.FORMULAS,
    *indexing_queue.FORMULAS,
    *routing.FORMULAS,
    *pipeline.FORMULAS,
    *probing.FORMULAS,
)
"""The whole index, subject by subject."""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A formula that does not cover the scenario, and the reason."""

    source: str
    reason: str


def predict(scenario: Scenario) -> tuple[list[Prediction], list[NotApplicable]]:
    """The predictions of all formulas that cover the scenario, and the reasons of the others.

    Raises
    ------
    ScenarioError
        If the activation is still to be optimised (`analytic.resolve` decides it).
    """
    require_scenario(scenario)
    require_decided(scenario)
    predictions: list[Prediction] = []
    others: list[NotApplicable] = []
    for formula in FORMULAS:
        reason = formula.reason_against(scenario)
        if reason is None:
            predictions += formula.predict(scenario)
        else:
            others.append(NotApplicable(formula.source, reason))
    return predictions, others
