"""The best combination of some entries of a file: what to buy, of robots, indexers and places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analytic import Optimum, exact_values, resolve
from analytic.index.formula import Formula
from analytic.index.optimum import NoOptimumError, NoRuleError
from analytic.index.predictions import NotApplicable, all_formulas, predict
from analytic.machinery.progress import followed
from crawlsim.bounds import WrittenBound
from scenarios import Scenario, ScenarioError
from scenarios.arrays import but_for_rounding
from scenarios.text import counted, number
from sim.sweep import Cell, cells, label_of

_COST = "control_cost"
_QUANTITIES = ("control cost", "obsolescence rates")
"""What formulas are of that give it, of queues and of pages alone."""

Over = Mapping[str, Sequence[Any]]
"""Entries of a file, and the values that each may have."""


def designs_of(scenario: Scenario, over: Over) -> list[Cell]:
    """All combinations, each a scenario that is valid.

    Raises
    ------
    ScenarioError
        If one is not, there are too many, or nothing has a price.
    """
    if not over:
        allowed = "needs --over KEY=V1,V2,…: what may be chosen, such as --over buffer.servers=1..6"
        raise ScenarioError("--target", "design", allowed, scenario.name)
    if not scenario.costs.model_fields_set:
        allowed = "needs [costs]: what is bought, and what goes wrong, has a price"
        raise ScenarioError("--target", "design", allowed, scenario.name)
    return cells(scenario, over, "--over")


def solved_design(
    scenario: Scenario, grid: Sequence[Cell], kind: str, bounds: Sequence[WrittenBound]
) -> Optimum:
    """The design that costs least by the formulas, of all that keep the bounds.

    Parameters
    ----------
    scenario : Scenario
    grid : sequence of Cell
        Of `designs_of`.
    kind : {"exact", "approximation"}
        Of the formula of the cost.
    bounds : sequence of WrittenBound
        On measures that have exact values.

    Raises
    ------
    NoAnswerError
        If a design has no such cost, or none keeps the bounds.
    """
    if kind != "exact" and bounds:
        raise NoOptimumError("bounds are kept by exact values")
    costs = _Costs(kind)
    found = []
    doing = f"{scenario.name}: designs"
    for cell in followed(grid, doing, len(grid)):
        design = Cell(cell.varied, resolve(cell.scenario))
        found.append(_Solved(cell, costs.of(design), _values(bounds, design.scenario)))
    kept = [each for each in found if each.keeps(bounds)]
    if not kept:
        raise NoRuleError(_nothing_kept(found, bounds))
    best = kept[int(np.argmin(but_for_rounding([each.cost for each in kept])))]
    names = [each.name for each in bounds]
    table = [
        {**each.cell.varied, "cost": each.cost, **dict(zip(names, each.values, strict=True))}
        for each in kept
    ]
    over = {key: [cell.varied[key] for cell in grid] for key in best.cell.varied}
    notes = [_summary(found, kept, bounds), *at_the_ends(over, best.cell.varied)]
    return Optimum(
        target="design",
        cost=best.cost,
        decision=dict(best.cell.varied),
        changes=dict(best.cell.varied),
        table=table,
        notes=notes,
        proved=True if kind == "exact" else None,
        gap=0.0 if kind == "exact" else None,
        kind=kind,
    )


class _Solved(NamedTuple):
    """A design, its cost, and the measures that have bounds."""

    cell: Cell
    cost: float
    values: list[float]

    def keeps(self, bounds: Sequence[WrittenBound]) -> bool:
        """Whether every bound holds; of a measure without a value none does."""
        return all(bound.holds(value) for bound, value in zip(bounds, self.values, strict=True))


class _Costs:
    """The costs of scenarios that are much alike: the formula of the last one is tried first."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._last: list[Formula] = []

    def of(self, cell: Cell) -> float:
        """The cost of a decided design.

        Raises
        ------
        NoOptimumError
            If no formula of this kind gives it.
        """
        scenario = cell.scenario
        for formula in self._last:
            if scenario.model.commits is None and formula.reason_against(scenario) is None:
                for prediction in formula.predict(scenario):
                    if prediction.measure == _COST:
                        return prediction.value
        predictions, others = predict(scenario)
        found = (row for row in predictions if (row.measure, row.kind) == (_COST, self._kind))
        row = next(found, None)
        if row is None:
            raise NoOptimumError(f"with {label_of(cell)}: {_why_not(others, self._kind)}")
        self._last = [each for each in all_formulas() if each.source == row.source]
        return row.value


def _why_not(others: Sequence[NotApplicable], kind: str) -> str:
    """What stands against the formula of the cost that lacks least."""
    of_kind = {each.source for each in all_formulas() if each.kind == kind}
    of_costs = [each for each in others if each.quantity.startswith(_QUANTITIES)]
    known = [each for each in of_costs if each.source in of_kind and not each.other_subject]
    # Formulas of other prices than the file's say nothing of the system.
    known.sort(key=lambda each: any(one.startswith("[costs]") for one in each.reasons))
    return next((each.reason for each in known), "it has no cost")


def _values(bounds: Sequence[WrittenBound], scenario: Scenario) -> list[float]:
    """The exact values of the measures that have bounds."""
    exact = exact_values(scenario) if bounds else {}
    values = []
    for bound in bounds:
        key = next((each for each in bound.keys if each in exact), None)
        if key is None:
            raise NoOptimumError(f"{bound.name} has no exact value")
        values.append(exact[key][0])
    return values


def _nothing_kept(found: Sequence[_Solved], bounds: Sequence[WrittenBound]) -> str:
    """That no design keeps the bounds, and how near each of them comes."""
    near = []
    for bound, values in zip(
        bounds, zip(*(each.values for each in found), strict=True), strict=True
    ):
        value = min(values) if bound.relation.startswith("<") else max(values)
        where = label_of(found[values.index(value)].cell)
        near.append(f"{bound.name} is {number(value)} with {where}")
    all_of_them = " and ".join(map(str, bounds))
    return f"no design keeps {all_of_them}; at best {'; '.join(near)}"


def _summary(
    found: Sequence[_Solved], kept: Sequence[_Solved], bounds: Sequence[WrittenBound]
) -> str:
    if not bounds:
        return f"all {counted(len(found), 'design')} solved: none costs less"
    keep = "keeps" if len(kept) == 1 else "keep"
    those = f"{len(kept):,} of {counted(len(found), 'design')}"
    return (
        f"{those} {keep} {' and '.join(map(str, bounds))}: none of them costs less; "
        "the others are not shown"
    )


def at_the_ends(over: Over, best: Mapping[str, Any]) -> Iterator[str]:
    """What is said of each entry that is best at an end of its range of numbers.

    Not of one indexer, or of nothing, where there is no less.
    """
    for key, values in over.items():
        if not all(isinstance(each, int | float) for each in values):
            continue
        least = 1 if all(isinstance(each, int) for each in values) else 0
        if min(values) < best[key] == max(values):
            yield f"{key} = {best[key]} is the largest that was asked for; more may be better"
        if least < best[key] == min(values) < max(values):
            yield f"{key} = {best[key]} is the smallest that was asked for; less may be better"
