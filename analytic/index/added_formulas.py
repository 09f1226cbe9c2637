"""Formulas of plugins, and what they say of their papers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any

from analytic.index.bibliography import REFERENCES
from analytic.index.formula import Formula, Prediction
from analytic.index.names import NAMES, names_of
from analytic.index.notation import NOTATION
from scenarios import Scenario
from scenarios.errors import ScenarioError
from scenarios.plugins import Plugin, modules_with, owner_named

_SYMBOLS = dict(NOTATION)
"""Those of ours."""

_SAID: dict[ModuleType, list[tuple[dict[str, Any], str, Any]]] = {}
"""What modules said of symbols, papers and names: the table, the key, and what stood there."""


def added_formulas(ours: tuple[Formula, ...], sources: Iterable[str]) -> tuple[Formula, ...]:
    """The rows of the tables `FORMULAS` of all plugins.

    Parameters
    ----------
    ours : tuple of Formula
    sources : iterable of str
        Papers and numbers that are taken besides.

    Raises
    ------
    ScenarioError
        If a table is no tuple of formulas, or a paper and number is taken.
    """
    modules = modules_with("formulas")
    for module in [each for each in _SAID if each not in modules]:
        for table, key, before in reversed(_SAID.pop(module)):
            if before is None:
                del table[key]
            else:
                table[key] = before
    if not modules:
        return ()
    taken = dict.fromkeys((*(row.source for row in ours), *sources), "crawlsim")
    found: list[Formula] = []
    for module, plugin in modules.items():
        rows = _rows_of(module, plugin)
        for row in rows:
            if row.source in taken:
                allowed = f"adds the formula {row.source!r}, which {taken[row.source]} has already"
                raise ScenarioError("plugin", plugin.name, allowed)
        taken |= dict.fromkeys((row.source for row in rows), f"the plugin {plugin.name}")
        found += rows
    return tuple(found)


class _Added(Formula):
    """A formula whose plugin is named where its numbers are none."""

    __slots__ = ()

    def predict(self, scenario: Scenario) -> list[Prediction]:
        """The predictions."""
        with owner_named(self.evaluate):
            return Formula.predict(self, scenario)


@cache
def _rows_of(module: ModuleType, plugin: Plugin) -> tuple[Formula, ...]:
    """The formulas of a module; what it says of symbols, papers and names is known from now on."""
    given = vars(module)
    rows = given["FORMULAS"]
    if not isinstance(rows, tuple | list) or not all(isinstance(row, Formula) for row in rows):
        allowed = f"FORMULAS in {module.__name__} must be a tuple of analytic.Formula"
        raise ScenarioError("plugin", plugin.name, allowed)
    said = _SAID.setdefault(module, [])

    def say(table: dict[str, Any], key: str, value: Any) -> None:
        said.append((table, key, table.get(key)))
        table[key] = value

    for row in rows:
        symbols = given.get("NOTATION", {}).get(row.paper, {})
        say(NOTATION, row.paper, {**symbols, **_SYMBOLS.get(row.paper, {})})
        reference = given.get("REFERENCES", {}).get(row.paper, plugin.name)
        say(REFERENCES, row.paper, REFERENCES.get(row.paper, reference))
    for source, name in names_of(given.get("FAMILIES", ()), len(NAMES)).items():
        say(NAMES, source, NAMES.get(source, name))
    names = [each.name for each in fields(Formula)]
    return tuple(_Added(**{name: getattr(row, name) for name in names}) for row in rows)
