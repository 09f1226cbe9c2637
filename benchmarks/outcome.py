"""What one turn of a contestant gave."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Outcome"]


class Outcome(NamedTuple):
    """Pages delivered, how many of them ended in which way, and the CPU seconds it took."""

    pages: int
    lost: int
    obsolete: int
    served: int
    seconds: float
