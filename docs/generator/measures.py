"""The page of the measures: definition, unit, and what predicts each."""

from __future__ import annotations

from generator.markdown import code, heading, page, plain
from scenarios import MEASURES
from scenarios.measures import Measure

PLACE = "reference/measures"


def measure_pages() -> dict[str, str]:
    """The page by its place."""
    lead = (
        "Every number that crawlsim prints is a measure of a subject: an index (page, level or "
        "server, from 0), a word, or nothing. How they are counted, estimated and written to files "
        "is told in [](/reference/measuring.md)."
    )
    parts = [part for each in MEASURES.values() for part in _parts(each)]
    return {PLACE: page("# Measures", lead, *parts)}


def _parts(measure: Measure) -> list[str]:
    unit = plain(measure.unit_in("time"))
    definition = plain(measure.definition)
    subject = f"one number per {plain(measure.subject)}" if measure.subject else "one number"
    return [
        heading(f"measure-{measure.name}", code(measure.name), 2),
        f"{definition[0].upper()}{definition[1:]}\\.",
        f"- Unit: {unit}\n- Subject: {subject}",
    ]
