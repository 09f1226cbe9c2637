"""What the page says of a lesson, and the knobs, for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crawlsim.explore.asking import Asked
from crawlsim.explore.simulated_and_assumed import value_at
from crawlsim.explore.typeset import formula_record
from scenarios.files import value_text
from scenarios.measures import MEASURES


def lesson_record(asked: Asked) -> dict[str, Any]:
    """The texts of a lesson, its formula without numbers, and which assumptions are kept."""
    lesson = asked.opened.lesson
    broken = {each.key for each in asked.sides.broken}
    texts = {name: getattr(lesson, name) for name in ("title", "question", "text", "after")}
    formula = lesson.formula
    assumed = asked.sides.assumed
    return {
        "key": asked.opened.key,
        **texts,
        "measure": lesson.measure,
        "subject": lesson.subject,
        "definition": MEASURES[lesson.measure].definition,
        "unit": MEASURES[lesson.measure].unit_in(asked.opened.scenario.time_unit),
        "narrow": lesson.narrow,
        "speed": lesson.speed,
        "seed": asked.sides.simulated.run.seed,
        "guess": None if lesson.guess is None else lesson.guess.model_dump(),
        "formula": formula and formula_record(formula, assumed, None, asked.own),
        "assumptions": [
            {"key": each.key, "text": each.text, "kept": each.key not in broken}
            for each in lesson.assumptions
        ],
        "knobs": list(knob_records(asked)),
    }


def knob_records(asked: Asked) -> Iterator[dict[str, Any]]:
    """The knobs; values are texts as `set` takes them, null where a key is not there."""
    for knob in asked.opened.lesson.knobs:
        value = value_at(asked.sides.simulated, knob.key)
        choice = knob.choice_of(value)
        chosen = choice.value if choice else value
        yield {
            **knob.model_dump(exclude={"choices"}),
            "choices": [
                {"label": each.label, "value": value_text(each.value)} for each in knob.choices
            ],
            "value": None if chosen is None else value_text(chosen),
        }


def settings_in_words(asked: Asked) -> str:
    """Where each knob is."""
    words = []
    for knob in knob_records(asked):
        chosen = (each["label"] for each in knob["choices"] if each["value"] == knob["value"])
        words.append(f"{knob['label']}: {next(chosen, knob['value'] or '–')}")
    return "; ".join(words)
