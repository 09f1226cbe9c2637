"""The rows of the index of formulas that predict no measure: identities, bounds, algorithms."""

from __future__ import annotations

from analytic import probing, routing
from analytic.formula import Statement
from analytic.indexing_queue import statements as indexing_queue

STATEMENTS: tuple[Statement, ...] = (
    *indexing_queue.STATEMENTS,
    *routing.STATEMENTS,
    *probing.STATEMENTS,
)
