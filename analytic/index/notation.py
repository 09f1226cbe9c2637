"""The symbols of the formulas, paper by paper: what each stands for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files


def _symbols() -> dict[str, dict[str, str]]:
    given = tomllib.loads(files("analytic.index").joinpath("notation.toml").read_text("utf-8"))
    found: dict[str, dict[str, str]] = given["papers"]
    for paper, groups in given["uses"].items():
        for group in groups:
            found[paper] |= given["shared"][group]
    return found


NOTATION: dict[str, Mapping[str, str]] = {**_symbols()}
"""What the symbols stand for: one meaning for each in all formulas of a paper, as LaTeX."""

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\s]")
_SPACES = frozenset({r"\,", r"\ ", r"\!", r"\;", r"\quad", r"\qquad", "&", r"\\"})
_WORDS = re.compile(r"\\(?:text|begin|end|operatorname\*?)\{[^{}]*\}")


def symbols_of(latex: str, paper: str) -> dict[str, str]:
    """What stands for what in a statement: symbols as LaTeX, in the order of their occurrence.

    Parameters
    ----------
    latex : str
    paper : str
        A key of `NOTATION`.
    """
    known = {tokens_of(symbol): symbol for symbol in NOTATION[paper]}
    longest = max(map(len, known), default=0)
    tokens = tokens_of(latex)
    found: dict[str, str] = {}
    place = 0
    while place < len(tokens):
        for length in range(min(longest, len(tokens) - place), 0, -1):
            symbol = known.get(tokens[place : place + length])
            if symbol is not None and tokens[place + length : place + length + 1] != ("_",):
                found[symbol] = NOTATION[paper][symbol]
                break
        else:
            length = 1
        place += length
    return found


def tokens_of(latex: str) -> tuple[str, ...]:
    """The commands and letters of LaTeX, without words, spaces and braces around one of them."""
    tokens: list[str] = []
    for token in _TOKEN.findall(_WORDS.sub(" ", latex)):
        if token in _SPACES:
            continue
        tokens.append(token)
        if token == "}" and len(tokens) > 2 and tokens[-3] == "{":
            tokens[-3:] = [tokens[-2]]
    return tuple(tokens)
