"""A measure: how many pages wait, those that are being indexed not counted."""

from __future__ import annotations

from scenarios import Measure

MEASURES = (
    Measure(
        name="mean_waiting",
        subject=None,
        unit="pages",
        definition="time average of the pages that wait for the only server",
        values={"buffer": lambda b: b.level_shares @ (b.levels - 1.0).clip(0.0)},
    ),
)
