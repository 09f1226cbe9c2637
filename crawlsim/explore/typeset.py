"""Formulas as MathML, which browsers draw: as in the book, and with the numbers put in."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analytic import FORMULAS
from analytic.index.notation import symbols_of, tokens_of
from crawlsim.explore.lesson import PLACE, Formula
from crawlsim.explore.mathml import mathml
from crawlsim.explore.simulated_and_assumed import value_at
from crawlsim.explore.theory import Key, Theory
from scenarios import Scenario
from scenarios.measures import MEASURES, Subject

_OPERATIONS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


class UnknownNameError(LookupError):
    """A name in the numbers of a formula that stands for nothing here."""


def formula_record(
    formula: Formula, scenario: Scenario, theory: Theory | None, own: Key
) -> dict[str, Any]:
    """The formula for JSON; without numbers where they are not known, or another formula applies.

    Parameters
    ----------
    formula : Formula
    scenario : Scenario
        For which it is evaluated.
    theory : Theory or None
        Its predictions; None: they are not known yet.
    own : (measure, subject)
        What the formula gives.
    """
    record: dict[str, Any] = {
        "source": formula.source,
        "mathml": mathml(formula.latex),
        "mathml_numbers": None,
        "legend": list(_legend(formula, {})),
    }
    if theory is None:
        return record
    given = theory.known.get(own)
    applies = given is not None and given.source == formula.source
    record |= {"applies": applies}
    if given is None or not applies or not formula.numbers:
        return record
    try:
        known = _values(formula.symbols, scenario, theory)
        put_in = re.sub(PLACE, lambda name: _latex(known[name[1]]), formula.numbers)
    except (LookupError, ArithmeticError):
        return record
    return record | {
        "mathml_numbers": mathml(f"{put_in} = {_latex(given.value)}"),
        "legend": list(_legend(formula, known)),
    }


def _legend(formula: Formula, known: Mapping[str, float]) -> Iterator[dict[str, str]]:
    """What each symbol of a formula stands for, with its number where it is known."""
    numbers = {
        tokens_of(latex): value
        for name, value in known.items()
        for latex in (name, f"\\{name}")  # a letter, or the name of a Greek one
    }
    paper = next((row.paper for row in FORMULAS if row.source == formula.source), None)
    of_paper = {} if paper is None else symbols_of(formula.latex, paper)
    for symbol, words in (formula.legend or of_paper).items():
        value = numbers.get(tokens_of(symbol))
        shown = symbol if value is None else f"{symbol} = {_latex(value)}"
        yield {"mathml": mathml(shown), "words": words}


def _latex(number: float) -> str:
    """Four significant digits; tens to a power where the number is far from 1."""
    digits, sign, exponent = f"{number:.4g}".partition("e")
    return rf"{digits}\cdot10^{{{int(exponent)}}}" if sign else digits


def _values(symbols: Mapping[str, str], scenario: Scenario, theory: Theory) -> dict[str, float]:
    """The value of each symbol, with the symbols before it."""
    known: dict[str, float] = {}
    for name, expression in symbols.items():
        known[name] = _value(ast.parse(expression, mode="eval").body, known, scenario, theory)
    return known


def _value(node: ast.AST, known: Mapping[str, float], scenario: Scenario, theory: Theory) -> float:
    """Arithmetic with numbers, symbols, keys of the scenario file, and predicted measures."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in _OPERATIONS:
        operands = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        values = (_value(each, known, scenario, theory) for each in operands)
        return _OPERATIONS[type(node.op)](*values)
    name = ast.unparse(node)
    if name in known:
        return known[name]
    measure, _, about = name.partition(".")
    if measure in MEASURES:
        subject: Subject = int(about) if about.isdecimal() else about or None
        return theory.known[measure, subject].value
    value = value_at(scenario, name)
    if not isinstance(value, int | float):
        raise UnknownNameError(name)
    return value
