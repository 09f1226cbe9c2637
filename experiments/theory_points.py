"""Formulas beside simulations of the systems that the pages of results show.

The system of a page is solved and simulated seven times, with one of its numbers changed.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from generator.examples import example_of

import crawlsim
from analytic import Formula, Prediction, resolve
from analytic.machinery.refusal import NoAnswerError
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.options import quantile_change
from scenarios import Results, Scenario, ScenarioError
from scenarios.measures import Subject

FACTORS = (0.4, 0.55, 0.7, 0.85, 1.0, 1.25, 1.6)
REPLICATIONS = 10
SHORT_REPLICATIONS = 400
"""Of a system that is watched over a short window."""

TOO_LONG = ("pipeline decomposition", "pipeline end-to-end cost, approximately")
"""Sources whose chains take minutes for each point."""

PROBES = "probing.probes"

_MOVED = 0.01


class Point(NamedTuple):
    """One number by theory, and the interval of the simulation.

    ``changed`` is the key of the scenario file that has the value ``to``, or ends with `` times``
    where all numbers of a list are multiplied by it.
    """

    changed: str
    to: float
    measure: str
    subject: str
    kind: str
    theory: float
    simulated: float
    low: float
    high: float


class Knob(NamedTuple):
    """What is changed in a figure: its name, its values, and the scenario with each of them."""

    name: str
    values: Sequence[float]
    turned: Callable[[Scenario, float], Scenario]


def scenario_of(formula: Formula) -> Scenario:
    """The system of the command on the page of the formula.

    Parameters
    ----------
    formula : Formula

    Returns
    -------
    Scenario
        Decisions are still to be made.
    """
    words = shlex.split(example_of(formula))
    changes = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    if "--quantiles" in words:
        changes += quantile_change(words[words.index("--quantiles") + 1])
    (scenario,) = load_scenarios((words[2],), tuple(changes))
    return scenario


def points_of(formula: Formula) -> list[Point]:
    """The numbers of the figure of a formula, fewer where it does not hold for some values.

    Parameters
    ----------
    formula : Formula

    Returns
    -------
    list of Point
        None where nothing can be drawn: no number to change, or no measure that is simulated.
    """
    base = scenario_of(formula)
    knobs = list(knobs_of(base))
    if formula.source in TOO_LONG or not knobs:
        return []
    found = _simulated_predictions(formula, resolve(base))
    for knob in knobs:
        if moving := [each for each in found if _moves(formula, base, knob, each)]:
            shown = _of_one_measure(found, moving[0].measure)
            values = knob.values
            return [each for to in values for each in points_at(formula, base, knob, to, shown)]
    return []


def points_at(
    formula: Formula,
    base: Scenario,
    knob: Knob,
    value: float,
    shown: Sequence[tuple[str, Subject]],
) -> Iterator[Point]:
    """The points of one value of what is changed; none where the formula does not hold."""
    predicted = {
        (each.measure, each.subject): each for each in predicted_at(formula, base, knob, value)
    }
    if not predicted:
        return
    results = simulated(resolve(knob.turned(base, value)))
    for measure, subject in shown:
        row = results.rows.find(measure, subject)
        if row is not None and (measure, subject) in predicted:
            theory = predicted[measure, subject]
            name = "" if subject is None else str(subject)
            about = (knob.name, value, measure, name, theory.kind)
            yield Point(*about, theory.value, row.estimate, row.low, row.high)


def predicted_at(
    formula: Formula, base: Scenario, knob: Knob, value: float
) -> Sequence[Prediction]:
    """What the formula predicts at one value; nothing where it does not hold."""
    try:
        scenario = resolve(knob.turned(base, value))
        if formula.reason_against(scenario) is None:
            return list(formula.predict(scenario))
    except (NoAnswerError, ScenarioError):
        pass
    return ()


def knobs_of(scenario: Scenario) -> Iterator[Knob]:
    """Numbers of a system that can be changed: probes, gaps, times, change rates."""
    file = scenario.as_file()
    probes = file.get("probing", {}).get("probes")
    if probes is not None:
        yield Knob(PROBES, _whole(probes), _to_whole(PROBES))
    for section, key in (
        ("page_set", "lifetime"),
        ("servers", "arrivals"),
        ("buffer", "service"),
        ("robots", "access_time"),
        ("robots", "deliveries"),
    ):
        law = file.get(section, {}).get(key)
        for path, number in _times(f"{section}.{key}", law):
            values = [float(f"{number * factor:.4g}") for factor in FACTORS]
            yield Knob(path, values, _to(path))
    for path in (
        "servers.rates",
        "pages.change_rates",
        "servers.arrivals.mmpp.rates",
        "servers.weights",
    ):
        rates = _entry(file, path)
        if isinstance(rates, list):
            yield Knob(f"{path} times", FACTORS, _multiplied(path, rates))


def _entry(file: Any, path: str) -> Any:
    """The entry of a scenario's file; None where there is none."""
    for key in path.split("."):
        file = file.get(key) if isinstance(file, dict) else None
    return file


def _to(path: str) -> Callable[[Scenario, float], Scenario]:
    return lambda scenario, value: scenario.with_({path: value})


def _to_whole(path: str) -> Callable[[Scenario, float], Scenario]:
    return lambda scenario, value: scenario.with_({path: int(value)})


def _multiplied(path: str, rates: list[float]) -> Callable[[Scenario, float], Scenario]:
    return lambda scenario, factor: scenario.with_({path: [rate * factor for rate in rates]})


def _whole(number: int) -> list[float]:
    return sorted({float(max(1, round(number * factor))) for factor in FACTORS})


def _times(path: str, law: Any) -> Iterator[tuple[str, float]]:
    """Mean times and rates in the entry of a law: key and value."""
    if isinstance(law, dict):
        for key, inner in law.items():
            if key in ("mean", "value", "rate") and isinstance(inner, int | float):
                yield f"{path}.{key}", float(inner)
            else:
                yield from _times(f"{path}.{key}", inner)


@cache
def simulated(scenario: Scenario) -> Results:
    """A run of a few replications, of many where each is a short window."""
    short = scenario.interventions or scenario.probing is not None
    most = SHORT_REPLICATIONS if short else REPLICATIONS
    return crawlsim.run(scenario, replications=min(scenario.run.replications, most))


def _simulated_predictions(formula: Formula, scenario: Scenario) -> list[Prediction]:
    """What the formula predicts and a simulation estimates with an interval."""
    results = simulated(scenario)
    return [
        each
        for each in formula.predict(scenario)
        if (row := results.rows.find(each.measure, each.subject)) is not None
        and math.isfinite(row.low)
        and row.high > row.low
    ]


def _of_one_measure(found: Sequence[Prediction], measure: str) -> list[tuple[str, Subject]]:
    """Of the subjects that differ, the ends and the middle."""
    by_value = {f"{each.value:.4g}": each for each in found if each.measure == measure}
    mine = list(by_value.values())
    places = sorted({0, len(mine) // 2, len(mine) - 1})
    return [(mine[place].measure, mine[place].subject) for place in places]


def _moves(formula: Formula, base: Scenario, knob: Knob, here: Prediction) -> bool:
    """Whether a prediction is another one, by more than one in a hundred, at another value."""
    try:
        there = formula.predict(resolve(knob.turned(base, knob.values[-1])))
    except (NoAnswerError, ScenarioError):
        return False
    values = (
        each.value for each in there if (each.measure, each.subject) == (here.measure, here.subject)
    )
    return any(abs(value - here.value) > _MOVED * abs(here.value) for value in values)
