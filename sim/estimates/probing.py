"""Measures of a probed source as functions of totals."""

from __future__ import annotations

from scenarios import Scenario
from sim.estimates.totals import Totals, Values, single

__all__ = ["probing_measures"]


def probing_measures(totals: Totals, scenario: Scenario) -> Values:
    """Cost of the updates of one path; the windows of all paths have the length of the horizon."""
    assert scenario.probing is not None
    paths = totals.own["window"] / scenario.probing.horizon
    return {"obsolescence_cost": single(totals.parts["probing"]["cost"] / paths)}
