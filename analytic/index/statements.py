"""The rows of the index of formulas that predict no measure: identities, bounds, algorithms."""

from __future__ import annotations

from analytic import probing, routing
from analytic.index.formula import Statement
from analytic.rules import statements as rules

STATEMENTS: tuple[Statement, ...] = (
    *rules.STATEMENTS,
    *routing.STATEMENTS,
    *probing.STATEMENTS,
)
