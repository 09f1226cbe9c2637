"""Which formula the live page shows, and what it says; computed in a process of its own.

Of the formulas that hold for a scenario it is the most special exact one, else a bound. The page
asks for the assumed side (`sides_of` in `simulated_and_assumed.py` says what that is after a knob
was turned), and where the two sides differ also for the simulated one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analytic import Prediction, accuracy_of, course_of, predict, resolve
from analytic.index.names import place_of
from crawlsim.cli.output import solution_record
from scenarios import Scenario
from scenarios.measures import Subject

Key = tuple[str, Subject]

SIGNS = {"lower bound": "≥", "upper bound": "≤"}
"""How the bounds of a measure are told from its value."""

Known = Mapping[Key, Prediction]
"""By measure and subject the exact value, and the formula that gives it; or else a bound of it."""


@dataclass(frozen=True)
class Theory:
    """The document of `crawlsim solve --json`, and what is known, by the most special formulas."""

    record: Mapping[str, Any]
    known: Known

    def exact(self, own: Key) -> Prediction | None:
        """The exact value of a measure; None where there is none, but perhaps a bound."""
        known = self.known.get(own)
        return known if known is not None and known.kind == "exact" else None


def theory_of(scenario: Scenario) -> Theory:
    """What the formulas say of a scenario.

    Raises
    ------
    ScenarioError
        If something that is to be decided cannot be.
    """
    scenario = resolve(scenario)
    predictions, others = predict(scenario)
    record = solution_record(
        scenario, predictions, others, accuracy_of(scenario), course_of(scenario)
    )
    known: dict[Key, Prediction] = {}
    for each in sorted(predictions, key=lambda one: (one.kind != "exact", place_of(one.source))):
        if each.kind == "exact" or each.kind in SIGNS:
            known.setdefault((each.measure, each.subject), each)
    return Theory(record, known)
