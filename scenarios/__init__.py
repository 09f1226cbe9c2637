"""What the system is: scenario files, their checks, and the measures both sides speak of.

A part of crawlsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.errors import ScenarioError
    from scenarios.files import dumps, load, schema
    from scenarios.library import library_names
    from scenarios.measures import MEASURES, Measure
    from scenarios.results import Estimate, Results
    from scenarios.scenario import Scenario, scenario_from

_HOMES = {
    "MEASURES": "scenarios.measures",
    "Estimate": "scenarios.results",
    "Measure": "scenarios.measures",
    "Results": "scenarios.results",
    "Scenario": "scenarios.scenario",
    "ScenarioError": "scenarios.errors",
    "dumps": "scenarios.files",
    "library_names": "scenarios.library",
    "load": "scenarios.files",
    "scenario_from": "scenarios.scenario",
    "schema": "scenarios.files",
}

__all__ = [
    "MEASURES",
    "Estimate",
    "Measure",
    "Results",
    "Scenario",
    "ScenarioError",
    "dumps",
    "library_names",
    "load",
    "scenario_from",
    "schema",
]


def __getattr__(name: str) -> object:
    """Load a name when it is asked for: a command line that only helps needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
