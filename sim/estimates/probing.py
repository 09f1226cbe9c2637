"""Measures of a probed source as functions of totals."""

from __future__ import annotations

from scenarios import Scenario
from sim.estimates.totals import Totals, Values, single


def probing_measures(totals: Totals, scenario: Scenario) -> Values:
    """Per path: cost of the updates, fresh time; all windows have the length of the horizon."""
    assert scenario.probing is not None
    window = totals.own["window"]
    sums = totals.parts["probing"]
    return {
        "obsolescence_cost": single(sums["cost"] / (window / scenario.probing.horizon)),
        "source_freshness": single(sums["fresh_time"] / window),
    }
