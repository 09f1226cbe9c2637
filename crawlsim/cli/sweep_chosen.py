"""What a sweep says about the cell that it chose within an indifference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawlsim.cli.output import number
from crawlsim.cli.sweep_answers import Goal, Key, name_of_key, some_cells
from sim.estimates.choosing import Choice, Indifference
from sim.sweep import Cell, label_of

CHOICE = ("measure", "subject", "estimate", "replications", "better_by_at_most", "role")
"""Columns of the table of a choice, after the varied entries."""

_METHOD = "sequential elimination, indifference zone"


@dataclass(frozen=True, slots=True)
class ChosenCell:
    """The chosen cell, and what is known of the others.

    Attributes
    ----------
    goal : Goal
    key : (measure, subject)
    rule : Indifference
        What was asked for.
    choice : Choice
        Among the cells whose measure is defined.
    places : tuple of int
        The numbers of these cells.
    first : int
        Replications of the first stage.
    solved : int or None
        The best cell by the predicted values, where formulas cover every cell.
    """

    goal: Goal
    key: Key
    rule: Indifference
    choice: Choice
    places: tuple[int, ...]
    first: int
    solved: int | None

    @property
    def index(self) -> int:
        """The chosen cell."""
        return self.places[self.choice.index]

    @property
    def estimate(self) -> float:
        """The measure there, over all its replications."""
        return self.goal.sign * self.choice.estimates[self.choice.index]

    @property
    def better_by(self) -> float:
        """By how much another cell may be better, as far as the promise goes."""
        return self.rule.size if self.choice.is_settled else self.choice.margin

    @property
    def shortfall(self) -> str:
        """How the choice falls short of what was asked for."""
        return (
            f"{_name(self)}: not settled within {number(self.rule.size)} by --max-replications "
            f"{self.rule.most}: another cell may be better by {number(self.better_by)}"
        )

    @property
    def within(self) -> list[int]:
        """The other cells whose estimates are no further from the chosen one's than the size."""
        best = self.choice.estimates[self.choice.index]
        near = [each - best <= self.rule.size for each in self.choice.estimates]
        return [
            n for n, is_near in zip(self.places, near, strict=True) if is_near and n != self.index
        ]

    @property
    def rivals(self) -> list[int]:
        """The other cells that may be the best."""
        return [self.places[n] for n in self.choice.rivals]

    def _dropped(self) -> dict[tuple[bool, int], list[int]]:
        """The other cells by whether they were dropped, and after how many replications."""
        found: dict[tuple[bool, int], list[int]] = {}
        choice = self.choice
        for n, count, margin in zip(self.places, choice.counts, choice.margins, strict=True):
            if n != self.index:
                found.setdefault((margin > self.rule.size, count), []).append(n)
        return dict(sorted(found.items()))

    def sentence(self, grid: Sequence[Cell]) -> str:
        """The chosen cell in words."""
        parts = [self._promise(grid)]
        if self.within:
            near = some_cells(grid, self.within)
            parts.append(f"within {number(self.rule.size)} of it by the estimates: {near}")
        for (is_left, count), places in self._dropped().items():
            words = "still undecided after" if is_left else "dropped after"
            parts.append(f"{words} {count} replications: {some_cells(grid, places)}")
        if self.solved is not None:
            same = self.solved == self.index
            parts.append(f"by the formulas {'too' if same else label_of(grid[self.solved])}")
        return "; ".join(parts)

    def _promise(self, grid: Sequence[Cell]) -> str:
        """The cell, its estimate, and what holds with the confidence."""
        count = self.choice.counts[self.choice.index]
        what = "no other cell is better"
        if self.rivals:
            what += f" by more than {number(self.better_by)}"
        words = (
            f"{_name(self)}: {label_of(grid[self.index])}, with {number(self.estimate)} in {count} "
            f"replications; with a probability of at least {100 * self.rule.confidence:g} % {what}"
        )
        if self.choice.is_settled:
            return words
        return f"{words} (--max-replications came before {number(self.rule.size)})"

    def record(self, grid: Sequence[Cell]) -> dict[str, Any]:
        """The choice for JSON."""
        return {
            "measure": self.key[0],
            "subject": self.key[1],
            "cell": dict(grid[self.index].varied),
            "estimate": self.estimate,
            "method": _METHOD,
            "confidence": self.rule.confidence,
            "indifference": self.rule.size,
            "settled": self.choice.is_settled,
            "better_by_at_most": self.choice.margin,
            "first_replications": self.first,
            "solved_cell": None if self.solved is None else dict(grid[self.solved].varied),
            "not_told_apart": [dict(grid[n].varied) for n in self.rivals],
            "within": [dict(grid[n].varied) for n in self.within],
            "cells": [
                {
                    "cell": dict(grid[n].varied),
                    **dict(zip(CHOICE[2:], row[-len(CHOICE[2:]) :], strict=True)),
                }
                for n, row in zip(self.places, self.rows(grid), strict=True)
            ],
        }

    def rows(self, grid: Sequence[Cell]) -> list[tuple[Any, ...]]:
        """Of each cell with a value the varied entries and `CHOICE`."""
        rows = []
        choice = self.choice
        found = zip(choice.estimates, choice.counts, choice.margins, strict=True)
        for place, (value, count, margin) in zip(self.places, found, strict=True):
            better_by = None if place == self.index else max(margin, 0.0)
            numbers = (self.goal.sign * value, count, better_by, self._role(place))
            rows.append((*grid[place].varied.values(), *self.key, *numbers))
        return rows

    def _role(self, place: int) -> str:
        if place == self.index:
            return "best"
        if place in self.rivals:
            return "may be best"
        return "worse"


def _name(chosen: ChosenCell) -> str:
    return f"{chosen.goal.extreme} {name_of_key(chosen.key)}"
