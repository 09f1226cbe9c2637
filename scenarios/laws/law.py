"""What all laws share."""

from __future__ import annotations

from typing import ClassVar

from scenarios.base import Section


class Law(Section):
    """The law of a time: its parameters and their checks."""

    key: ClassVar[str]
    """Its name in a scenario file."""
