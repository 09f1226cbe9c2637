"""Any scenario as a lesson: its first measure, its numbers as knobs, its laws to be broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crawlsim.explore.lesson import (
    LAWS,
    NOT_SHOWN,
    Assumption,
    Choice,
    Knob,
    Lesson,
    Opened,
    lesson_from,
)
from crawlsim.explore.simulated_and_assumed import value_at
from crawlsim.report.words import value_in_words
from scenarios import Scenario, load
from scenarios.activation import Free, Levels
from scenarios.files import read_entries
from scenarios.laws import Law
from scenarios.measures import MEASURES
from sim.event_rate import expected_events
from sim.laws import draws_and_mean

_EVENTS = 4000
"""Events of a replication that an engine written in Python simulates in a moment."""

_USUAL = {
    "probing": "obsolescence_cost",
    "servers": "preemption_probability",
    "buffer": "loss_probability",
    "pages": "weighted_obsolescence",
    "page_set": "fresh_share",
}
"""What is shown first where a file judges nothing, by the section that it has."""

_OF_PACKETS = ("preemption_probability", "routing_cost")
"""Measures with a number for each server, and one for all, which is shown."""

_COUNTS = {
    "robots.available": ("robots", 1),
    "activation.static": ("active robots", 0),
    "buffer.waiting_places": ("waiting places", 0),
    "buffer.servers": ("indexers", 1),
    "probing.probes": ("probes", 1),
}
"""Whole numbers, what the page calls them, and the least."""

_LABELS = {
    "robots.access_time": "time of an access",
    "buffer.service": "time to index a page",
    "buffer.obsolescence": "patience of a waiting page",
    "servers.arrivals": "time between packets",
    "servers.service": "time to serve a packet",
    "page_set.lifetime": "lifetime of a page",
    "page_set.discovery": "time until a page is known",
}

_SHORTER = (
    "Each replication is shorter than the file asks for, so that many are seen soon: up to the "
    "time {horizon:g} instead of {own:g}."
)


def opened(source: str) -> Opened:
    """A lesson's or a scenario's file, or a scenario of the library, as a lesson.

    Raises
    ------
    ScenarioError
        If it cannot be read, or is neither.
    """
    entries, folder, shown = read_entries(source)
    if "question" in entries:
        return Opened(Path(shown).stem, lesson_from(entries, shown), folder)
    scenario = load(source)
    return Opened(scenario.name, lesson_of(scenario, source), folder)


def lesson_of(scenario: Scenario, source: str) -> Lesson:
    """A lesson on a scenario.

    Parameters
    ----------
    scenario : Scenario
    source : str
        Its file, or its name in the library.
    """
    usual = (_USUAL[section] for section in _USUAL if getattr(scenario, section) is not None)
    measure = next(each for each in (*scenario.judged, *usual) if each not in NOT_SHOWN)
    horizon = _horizon(scenario)
    own = scenario.run.horizon
    return Lesson(
        title=scenario.title or scenario.name,
        question=f"How large is this: {MEASURES[measure].definition}?",
        text=_SHORTER.format(horizon=horizon, own=own) if horizon < own else "",
        scenario=source,
        set={"run.horizon": horizon} if horizon < own else {},
        measure=measure,
        subject="all" if measure in _OF_PACKETS else None,
        knobs=tuple(_knobs(scenario)),
        assumptions=tuple(_assumptions(scenario)),
    )


def _horizon(scenario: Scenario) -> float:
    """Short enough for the readable engine, where a shorter window means the same system."""
    run = scenario.run
    if scenario.interventions or scenario.probing is not None:
        return run.horizon
    window = _EVENTS * run.horizon / max(expected_events(scenario), 1.0)
    return min(run.horizon, float(f"{run.warmup + window:.2g}"))


def _knobs(scenario: Scenario) -> Iterator[Knob]:
    fixed = _fixed_by_rule(scenario)
    for key, (label, least) in _COUNTS.items():
        count = value_at(scenario, key)
        if isinstance(count, int) and key not in fixed:
            yield Knob(key=key, label=label, min=least, max=max(2 * count, least + 5), step=1)
    for key, law in _laws(scenario):
        label = _LABELS.get(key, key)
        ((name, parameters),) = value_at(scenario, key).items()
        for each in ("mean", "rate", "value"):
            if isinstance(parameters.get(each), int | float):
                number = parameters[each]
                yield Knob(
                    key=f"{key}.{name}.{each}",
                    label=f"{label}: {each}",
                    min=number / 4,
                    max=number * 4,
                    step=number / 20,
                )
        if key not in fixed:
            yield Knob(key=key, label=label, choices=tuple(_choices({name: parameters}, law)))


def _fixed_by_rule(scenario: Scenario) -> tuple[str, ...]:
    """Keys that a rule with a number for each level, or for each state, leaves no choice of."""
    if isinstance(scenario.activation, Free):
        return ("buffer.waiting_places", "buffer.servers", "buffer.service")
    if isinstance(scenario.activation, Levels):
        return ("buffer.waiting_places", "buffer.servers")
    return ()


def _choices(own: Mapping[str, Any], law: Law) -> Iterator[Choice]:
    """The law itself, and others of the same mean."""
    mean = float(draws_and_mean(law)[1])
    others: tuple[tuple[str, dict[str, Any]], ...] = (
        ("exponential", {"exponential": {"mean": mean}}),
        ("constant", {"deterministic": {"value": mean}}),
        ("gamma, less variable", {"gamma": {"shape": 4.0, "mean": mean}}),
        ("gamma, more variable", {"gamma": {"shape": 0.5, "mean": mean}}),
        ("lognormal", {"lognormal": {"mean": mean, "sd": 2.0 * mean}}),
    )
    yield Choice(label=value_in_words(own), value=dict(own))
    for label, value in others:
        if not own.keys() & value.keys():
            yield Choice(label=label, value=value)


def _assumptions(scenario: Scenario) -> Iterator[Assumption]:
    for key, _ in _laws(scenario):
        law = value_in_words(value_at(scenario, key))
        yield Assumption(key=key, text=f"{_LABELS.get(key, key)}: {law}")


def _laws(scenario: Scenario) -> Iterator[tuple[str, Law]]:
    """The keys at which there is one law, and the law."""
    for key in LAWS:
        section, _, name = key.partition(".")
        value = getattr(getattr(scenario, section), name, None)
        if isinstance(value, Law):
            yield key, value
