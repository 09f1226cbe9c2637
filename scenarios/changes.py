"""Changing entries of a parsed scenario file, one-of tables included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from scenarios.accessing import POLICIES
from scenarios.activation import Activation, SwitchingRule
from scenarios.base import Section, keys_of, members_of
from scenarios.deliveries import Deliveries
from scenarios.errors import MISSING, ScenarioError
from scenarios.laws import ADDED, LAWS, Law
from scenarios.processes import ArrivalProcess, Markovian
from scenarios.sections import PageSize, Period, Random, Robots, Servers

_OTHERS = (
    (PageSize, *members_of(ArrivalProcess), *members_of(Markovian)),
    members_of(Activation),
    members_of(Deliveries),
    (Period, Random),
)
"""Classes that stand in a table by their keys, of which it has one; laws stand with the first."""


@cache
def _groups(laws: tuple[type[Law], ...]) -> tuple[frozenset[str], ...]:
    """Keys that exclude one another within a table."""
    times, *others = _OTHERS
    sections: tuple[type[Section], ...] = (*laws, Robots, Servers, SwitchingRule)
    return (
        *(frozenset(each.key for each in classes) for classes in ((*laws, *times), *others)),
        frozenset({"zipf", "file"}),
        frozenset({"zipf", "column"}),
        *(frozenset(group) for section in sections for group in section.one_of),
    )


_REPLACED = {"classes": {"available"}}
"""Pairs of keys: the first removes the second; the second beside the first is refused."""

_LISTS_OF_TABLES = ("interventions", "classes", "sources")
"""Keys of tables in double brackets, whose entries are changed by number."""


def with_changes(entries: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `entries` with every dotted key of `changes` set."""
    if not isinstance(changes, Mapping):
        allowed = 'must be a key with its value, or keys and values: {"buffer.waiting_places": 3}'
        raise ScenarioError("changes", changes, allowed)
    try:
        changed: dict[str, Any] = plain(entries)
        for path, value in changes.items():
            _set(changed, path, path.split("."), value)
        for path, value in changes.items():
            if value is not None and not _stands(changed, path.split(".")):
                raise ScenarioError(path, value, "contradicts another of the changes")
    except RecursionError:
        raise ScenarioError("", MISSING, "is nested too deeply") from None
    return changed


def _stands(table: Any, keys: list[str]) -> bool:
    """Whether an entry is still there after all changes."""
    for key in keys:
        if isinstance(table, list) and key.isdecimal() and int(key) < len(table):
            table = table[int(key)]
        elif isinstance(table, Mapping) and key in table:
            table = table[key]
        else:
            return False
    return True


def plain(value: Any) -> Any:
    """A copy in plain Python values: numbers and arrays of numpy are taken for what they hold."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _set(table: dict[str, Any], path: str, keys: list[str], value: Any) -> None:
    key, *rest = keys
    if not key:
        raise ScenarioError(path, value, "is not a key; write section.key")
    if value is None and not rest:
        table.pop(key, None)
        return
    for other in _excluded_by(key, table):
        del table[other]
    if not rest:
        _forget_parameters(table, key, value)
        table[key] = plain(value)
        return
    inner = table.get(key)
    if key in _LISTS_OF_TABLES and isinstance(table.setdefault(key, []), list):
        _set_in_list(table[key], path, rest, value)
        return
    if isinstance(inner, list | tuple):
        raise ScenarioError(path, value, f"{key} is a list; give the whole list")
    if not isinstance(inner, dict):
        inner = table[key] = {}
    _set(inner, path, rest, value)


def _set_in_list(tables: list[Any], path: str, keys: list[str], value: Any) -> None:
    """Change one of several tables, by its number; the number after the last one adds one."""
    number, *rest = keys
    if not number.isdecimal() or int(number) > len(tables):
        raise ScenarioError(path, value, f"{number} must be a number from 0 to {len(tables)}")
    if value is None and not rest:
        del tables[int(number) : int(number) + 1]
        return
    if int(number) == len(tables):
        tables.append({})
    if rest:
        _set(tables[int(number)], path, rest, value)
    else:
        tables[int(number)] = plain(value)


def _excluded_by(key: str, table: Mapping[str, Any]) -> Iterator[str]:
    groups = _groups((*LAWS, *ADDED))
    others = {other for group in groups if key in group for other in group} - {key}
    others |= _REPLACED.get(key, set())
    return iter([other for other in table if other in others])


def _forget_parameters(table: dict[str, Any], key: str, value: Any) -> None:
    """A new accessing policy keeps those parameters of the old one that it knows."""
    if key == "policy" and isinstance(value, str) and value in POLICIES:
        known = keys_of(POLICIES[value])
        for other in [other for other in table if other not in known]:
            del table[other]
