"""What the system is: scenario files, their checks, and the measures both sides speak of."""

from scenarios.errors import ScenarioError
from scenarios.files import dumps, library_names, load, schema
from scenarios.measures import MEASURES, Measure
from scenarios.results import Estimate, Results
from scenarios.scenario import Scenario, scenario_from

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
