"""The keys of the scenario file that conditions of formulas are about."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from analytic.index.formula import Condition
from scenarios import Scenario

_CONDITIONS: dict[str, list[str]] = tomllib.loads(
    files("analytic.index").joinpath("keys.toml").read_text("utf-8")
)

KEYS: dict[str, tuple[str, ...]] = {
    name: tuple(key for key, conditions in _CONDITIONS.items() if name in conditions)
    for name in {each for conditions in _CONDITIONS.values() for each in conditions}
}
"""By the name of the condition."""


def keys_to_change(condition: Condition, scenario: Scenario) -> tuple[str, ...]:
    """The keys to change where a condition does not hold: those that the file sets, or the first.

    Parameters
    ----------
    condition : callable
    scenario : Scenario
    """
    keys = KEYS.get(condition.__name__, ())
    return tuple(key for key in keys if _is_set(scenario, key)) or keys[:1]


def _is_set(scenario: Scenario, key: str) -> bool:
    """Whether the file says something there, and not that there is none."""
    value: object = scenario
    for part in key.split("."):
        if part not in getattr(value, "model_fields_set", ()):
            return False
        value = getattr(value, part)
    return value is not None and value is not False
