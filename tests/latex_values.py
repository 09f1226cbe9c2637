"""Reads the statements of the index of formulas, and computes what they say: slow and literal.

Enough of LaTeX for closed forms: sums, products, fractions, powers, cases, matrices, functions. A
product of two matrices is theirs; a minimum or maximum over something is the value at the point
that is given. Names stand for themselves: what is given as ``d``, a sequence, is read at ``d_j``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Value = Any
Names = Mapping[str, Value]
Node = Callable[[Names], Value]

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+\.?\d*|[^\s]")
_NOISE = re.compile(r"\\(?:,| |(?:left|right|limits)(?![a-z])|(?:begin|end)\{split\})")
_RELATIONS = frozenset({"=", r"\ge", r"\le", r"\approx", r"\to"})
_BETWEEN = frozenset({r"\qquad", r"\quad", r"\\", ";"})
_NAMED = (r"\mathbb", r"\mathbf", r"\mathrm", r"\operatorname", r"\bar", r"\tilde")
_ENDS = ("", "+", "-", ")", "]", "}", ",")

Tokens = tuple[str, ...]


class _Side(NamedTuple):
    """A side of a relation, with the names of its arguments where it defines a function."""

    tokens: Tokens
    arguments: Tokens = ()


def computed(latex: str, left: str, given: Names, side: int = -1) -> Value:
    """The right side of a relation of a statement; the other relations define what is not given.

    Parameters
    ----------
    latex : str
    left : str
        The left side of the relation.
    given : mapping
        Numbers, sequences, functions and matrices, by their LaTeX; the values of an index, for sums
        without limits; the number of the case, for cases in words.
    side : int
        Of several right sides.
    """
    relations = _relations(latex)
    names = {name: each for name, each in _definitions(relations).items() if name not in given}
    return _value(relations[_tokens(left)][side], {**names, **given})


def _tokens(latex: str) -> Tokens:
    cases = latex.replace(r"\begin{cases}", r"\cases{").replace(r"\end{cases}", "}")
    return tuple(_TOKEN.findall(_NOISE.sub(" ", cases)))


def _split(tokens: Tokens, marks: frozenset[str]) -> list[Tokens]:
    """The parts between marks that are in no braces."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if token in marks and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def _relations(latex: str) -> dict[Tokens, list[Tokens]]:
    """The right sides of all relations, by their left side."""
    found = {}
    for part in _split(_tokens(latex), _BETWEEN):
        aligned = sum(_split(part, frozenset("&")), ())
        left, *right = _split(aligned[:-1] if aligned[-1:] == (",",) else aligned, _RELATIONS)
        if right:
            found[left] = right
    return found


def _definitions(relations: Mapping[Tokens, list[Tokens]]) -> dict[str, _Side]:
    """What is defined: names, and functions of names."""
    names = {}
    for left, sides in relations.items():
        name, _, arguments = "".join(left).partition("(")
        inside = tuple(arguments[:-1].split(",")) if arguments else ()
        names[name] = _Side(sides[-1], inside)
    return names


def _value(tokens: Tokens, names: Names) -> Value:
    functions = {
        name
        for name, each in names.items()
        if callable(each) or (isinstance(each, _Side) and each.arguments)
    }
    reader = _Reader(tokens, functions)
    node = reader.expression()
    assert not reader.rest, f"{reader.rest[::-1]} is left of {tokens}"
    return node(names)


def _times(one: Value, other: Value) -> Value:
    return one * other if np.ndim(one) == 0 or np.ndim(other) == 0 else one @ other


def _power(base: Value, exponent: Value) -> Value:
    return np.linalg.matrix_power(base, int(exponent)) if np.ndim(base) == 2 else base**exponent


def _kronecker_sum(one: Value, other: Value) -> Value:
    return np.kron(one, np.eye(len(other))) + np.kron(np.eye(len(one)), other)


_OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "\\otimes": np.kron,
    "\\oplus": _kronecker_sum,
    "\\cdot": _times,
    "/": operator.truediv,
}


_SIGNS = {"+": operator.add, "-": operator.sub}


def _constant(number: float) -> Node:
    return lambda _: number


def _both(does: Callable[[Value, Value], Value], one: Node, other: Node) -> Node:
    return lambda names: does(one(names), other(names))


class _Reader:
    """Reads tokens from the first to the last, into functions of the names."""

    def __init__(self, tokens: Tokens, functions: set[str]) -> None:
        self.rest = list(tokens[::-1])
        self._functions = functions

    def _next(self) -> str:
        return self.rest[-1] if self.rest else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self.rest.pop()
        assert wanted in (None, token), f"{token} in place of {wanted}"
        return token

    def expression(self) -> Node:
        """Terms with + and - between them."""
        node = _constant(0.0) if self._next() in _SIGNS else self._term()
        while self._next() in _SIGNS:
            node = _both(_SIGNS[self._take()], node, self._term())
        return node

    def _term(self) -> Node:
        """Factors one beside the other; a sum reaches to the end of its term."""
        node = self._factor()
        while self._next() not in _ENDS:
            does = _OPERATIONS[self._take()] if self._next() in _OPERATIONS else _times
            node = _both(does, node, self._factor())
        return node

    def _factor(self) -> Node:
        node = self._base()
        while self._next() in ("^", "!"):
            if self._take() == "!":
                node = _both(lambda one, _: math.factorial(int(one)), node, node)
            else:
                node = _both(_power, node, self._argument())
        return node

    def _argument(self) -> Node:
        """What is in braces, or the next token alone."""
        return self._inside(self._group())

    def _inside(self, tokens: list[str]) -> Node:
        """An expression of its own."""
        reader = _Reader(tuple(tokens), self._functions)
        node = reader.expression()
        assert not reader.rest, f"{reader.rest[::-1]} is left of {tokens}"
        return node

    def _group(self) -> list[str]:
        """The tokens in braces, or the next one."""
        tokens = [self._take()]
        if tokens != ["{"]:
            return tokens
        depth = 1
        while depth:
            tokens.append(self._take())
            depth += (tokens[-1] == "{") - (tokens[-1] == "}")
        return tokens[1:-1]

    def _base(self) -> Node:
        token = self._take()
        if token[0].isdigit():
            return _constant(float(token))
        if token in ("(", "["):
            node = self.expression()
            self._take(")" if token == "(" else "]")
            return node
        if token in ("\\frac", "\\dfrac"):
            return _both(_OPERATIONS["/"], self._argument(), self._argument())
        if token in ("\\sqrt", "\\ln"):
            does = math.sqrt if token == "\\sqrt" else math.log
            inside = self._argument() if token == "\\sqrt" else self._base()
            return lambda names: does(inside(names))
        if token in ("\\sum", "\\prod"):
            return self._sum(sum if token == "\\sum" else math.prod)
        if token in ("\\min", "\\max"):
            return self._extreme(min if token == "\\min" else max)
        if token == "\\cases":
            return self._cases()
        return self._name(token)

    def _sum(self, does: Callable[[list[Value]], Value]) -> Node:
        self._take("_")
        index, *lower = self._group()
        upper = None
        if self._next() == "^":
            self._take()
            upper = self._argument()
        first = self._inside(lower[1:]) if upper else _constant(0.0)
        terms = self._term()

        def total(names: Names) -> Value:
            if upper is None:
                places = names[index + "s"]
            else:
                places = range(int(first(names)), int(upper(names)) + 1)
            return does([terms({**names, index: place}) for place in places])

        return total

    def _extreme(self, choose: Callable[[Value, Value], Value]) -> Node:
        """Of two numbers; or over something, at the point that is given."""
        if self._next() == "_":
            self._take()
            self._group()
            return self._term()
        self._take("(")
        one = self.expression()
        self._take(",")
        other = self.expression()
        self._take(")")
        return _both(choose, one, other)

    def _cases(self) -> Node:
        """The row whose condition holds; of conditions in words the one of that number."""
        rows = _split(tuple(self._group()), frozenset({r"\\"}))
        both = [_split(row, frozenset("&")) for row in rows]
        values = [self._inside(list(value)) for value, _ in both]
        conditions = [condition for _, condition in both]

        def chosen(names: Names) -> Value:
            for place, (left, relation, *right) in enumerate(conditions):
                holds = names.get("case") == place
                if relation in ("=", r"\ne"):
                    same = _value((left,), names) == float(right[0])
                    holds = same == (relation == "=")
                if holds:
                    return values[place](names)
            raise AssertionError("no case holds")

        return chosen

    def _name(self, token: str) -> Node:
        """A name, with what is below it, and with its arguments where it is a function."""
        if token in _NAMED:
            token += "{" + "".join(self._group()) + "}"
        if token == r"\mathbb{E}" or (token == r"\operatorname{Var}"):
            token += "".join(self._variable())
        full, below = token, None
        if self._next() == "_":
            self._take()
            tokens = self._group()
            inside = "".join(tokens)
            full += f"_{inside}" if len(tokens) == 1 else f"_{{{inside}}}"
            below = None if tokens[0] == r"\mathrm" else self._inside(tokens)
        arguments = self._arguments() if full in self._functions else []

        def value(names: Names) -> Value:
            if full == "e":
                return math.e
            found = names.get(full)
            if (found is None or isinstance(found, _Side)) and token in names and below:
                found = names[token][int(below(names))]
            if found is None:
                raise LookupError(full)
            return _called(found, [each(names) for each in arguments], names)

        return value

    def _variable(self) -> list[str]:
        """The random variable of an expectation, with its power."""
        tokens = [self._take()]
        while self._next() in ("_", "^"):
            tokens += [self._take(), "{", *self._group(), "}"]
        return tokens

    def _arguments(self) -> list[Node]:
        if self._next() != "(":
            return []
        self._take()
        arguments = [self.expression()]
        while self._next() == ",":
            self._take()
            arguments.append(self.expression())
        self._take(")")
        return arguments


def _called(found: Value, arguments: list[Value], names: Names) -> Value:
    """The value of a name, of a function at its arguments."""
    if isinstance(found, _Side):
        return _value(found.tokens, {**names, **dict(zip(found.arguments, arguments, strict=True))})
    return found(*arguments) if callable(found) else found
