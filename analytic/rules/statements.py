"""What is chosen for a queue, for the index of formulas."""

from __future__ import annotations

from functools import partial

from analytic.index.formula import Statement
from analytic.rules.free_process import best_free_rule
from analytic.rules.levels import best_levels
from analytic.rules.thresholds import best_thresholds

_statement = partial(Statement, paper="avrachenkov2011", kind="algorithm")

STATEMENTS: tuple[Statement, ...] = (
    _statement(
        number="section 4, best thresholds",
        quantity="numbers of robots and thresholds between them of the least control cost",
        latex=r"\min\limits_{r,\,N}J,\qquad r_n=r(i)\quad\text{for }N_{i-1}<n\le N_i",
        function=best_thresholds,
        origin="re-derived",
    ),
    _statement(
        number="section 4, best levels",
        quantity="robots at each level, in any order, of the least control cost",
        latex=r"\min\limits_{r_n,\,n\ge0}J",
        function=best_levels,
        origin="own",
    ),
    _statement(
        number="section 7, best rule",
        quantity="robots by level and phases of the least control cost, below which no rule comes",
        latex=r"J^*=\min\limits_r\left\{c_s(r)+\sum_{s'}Q_{s,s'}(r)\,w_{s'}\right\}"
        r"\quad\text{at every state }s",
        function=best_free_rule,
        origin="own",
    ),
)
