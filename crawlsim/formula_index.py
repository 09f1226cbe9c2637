"""The index of formulas and algorithms: what is computed, what is chosen, what is estimated."""

from __future__ import annotations

from analytic import FORMULAS, STATEMENTS, Formula, Statement
from crawlsim.fitting.statements import ESTIMATES

INDEX: tuple[Formula | Statement, ...] = (*FORMULAS, *STATEMENTS, *ESTIMATES)
