"""The index of formulas and algorithms: what is computed, what is chosen, what is estimated."""

from __future__ import annotations

from typing import Any

from analytic import FORMULAS, STATEMENTS, Formula, Statement
from analytic.index.names import NAMES, Name
from analytic.index.predictions import all_formulas
from analytic.index.proofs import PROOFS
from crawlsim.logs.fit.statements import ESTIMATES

INDEX: tuple[Formula | Statement, ...] = (*FORMULAS, *STATEMENTS, *ESTIMATES)
"""What is ours."""


def records() -> list[dict[str, Any]]:
    """The index for JSON, with the formulas of plugins, by paper."""
    added = all_formulas()[len(FORMULAS) :]
    return [_record(each) for each in sorted((*INDEX, *added), key=lambda each: each.paper)]


def _record(each: Formula | Statement) -> dict[str, Any]:
    called = NAMES.get(each.source) or Name(each.source, (), {}, len(NAMES))
    return {
        "name": called.name,
        "paper": each.paper,
        "number": each.number,
        "quantity": each.quantity,
        "kendall": called.kendall,
        "questions": called.answers(each.quantity),
        "latex": each.latex,
        "symbols": each.symbols,
        "function": f"{each.function.__module__}.{each.function.__name__}",
        "proof": PROOFS.get(each.source),
        "kind": each.kind,
        "origin": each.origin,
        "conditions": [(c.__doc__ or "").split("\n")[0] for c in each.conditions],
    }
