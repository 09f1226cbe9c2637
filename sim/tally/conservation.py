"""What a replication must satisfy whatever the scenario."""

from __future__ import annotations

RELATIVE = 1e-9
"""Sums of times may be off by this share."""

ROUNDING = 2.0**-50
"""Rounding of one time, relative to the horizon."""


class ConservationError(AssertionError):
    """A replication whose counts do not add up: an error in an engine, never in a scenario."""


def require(holds: bool, message: str) -> None:
    """Raise `ConservationError` with the message unless it holds."""
    if not holds:
        raise ConservationError(message)
