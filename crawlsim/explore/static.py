"""Replays of the lessons, which need no server and no installation: a folder to upload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from crawlsim.explore.asking import asked_for
from crawlsim.explore.lesson import Knob, Opened, says
from crawlsim.explore.server import Explorer
from crawlsim.explore.simulated_and_assumed import value_at
from crawlsim.report.pages import rendered
from scenarios import ScenarioError
from scenarios.files import value_text

REPLICATIONS = 100
"""Of each replay: most bands have settled by then."""

SEEDS = 2
"""Replays of one setting, each by a seed of its own."""

_SEED = "run.seed"


class Replay(NamedTuple):
    """One page of the folder.

    Attributes
    ----------
    lesson : Opened
    setting : str
        What was turned, in words; empty for the lesson as it is.
    seed : int
    name, text : str
        Of the file; empty where there is none.
    refusal : str
        Why there is none.
    """

    lesson: Opened
    setting: str
    seed: int
    name: str
    text: str
    refusal: str = ""


async def replays(explorer: Explorer) -> AsyncIterator[Replay]:
    """Each lesson as it is and with each of its knobs turned, by some seeds.

    What cannot be simulated soon enough has the reason, and no page.
    """
    for opened in explorer.lessons.values():
        for number, (setting, changes) in enumerate(_settings(opened)):
            for seed in range(opened.scenario.run.seed, opened.scenario.run.seed + SEEDS):
                query = [("lesson", opened.key), ("seed", seed), ("until", REPLICATIONS)]
                query += [("set", f"{key}={value}") for key, value in changes.items()]
                try:
                    asked = asked_for(explorer.lessons, QueryParams(query))
                    text = await explorer.replay_of(asked)
                except (HTTPException, ScenarioError) as refusal:
                    yield Replay(opened, setting, seed, "", "", _reason(refusal))
                    break
                yield Replay(opened, setting, seed, f"{opened.key}-{number}-{seed}.html", text)


def at_most(explorer: Explorer) -> int:
    """How many replays there are, if all can be simulated."""
    return SEEDS * sum(len(list(_settings(each))) for each in explorer.lessons.values())


def _reason(refusal: HTTPException | ScenarioError) -> str:
    return refusal.detail if isinstance(refusal, HTTPException) else str(refusal)


def _settings(opened: Opened) -> Iterator[tuple[str, dict[str, str]]]:
    """The lesson as it is, and what its knobs can be turned to, one knob at a time."""
    yield "", {}
    for knob in opened.lesson.knobs:
        if knob.key == _SEED:
            continue
        now = value_at(opened.scenario, knob.key)
        for label, value in _positions(knob):
            if not says(value, now):
                yield f"{knob.label}: {label}", {knob.key: value_text(value)}


def _positions(knob: Knob) -> Iterator[tuple[str, Any]]:
    """Each choice; of a range what lies a quarter from its ends, on a step."""
    for choice in knob.choices:
        yield choice.label, choice.value
    if knob.min is None or knob.max is None or knob.choices:
        return
    for share in (0.25, 0.75):
        steps = round(share * (knob.max - knob.min) / (knob.step or 1.0))
        value = float(f"{knob.min + steps * (knob.step or 1.0):.10g}")
        yield f"{value:g}", int(value) if value.is_integer() and (knob.step or 0) >= 1 else value


def index_of(made: list[Replay]) -> str:
    """The page that leads to all others."""
    lessons: dict[str, Any] = {}
    for each in made:
        entry = lessons.setdefault(each.lesson.key, {"lesson": each.lesson.lesson, "settings": {}})
        entry["settings"].setdefault(each.setting, []).append(each)
    return rendered("replays.html", {}, lessons=list(lessons.values()), replications=REPLICATIONS)
