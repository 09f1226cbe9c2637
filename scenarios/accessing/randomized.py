"""Independent random choices."""

from __future__ import annotations

from typing import Literal

from scenarios.accessing.policy import Frequencies, Policy

__all__ = ["Randomized"]


class Randomized(Policy):
    """Each access draws its page by `frequencies`, independently (coffman1998, section 4)."""

    policy: Literal["randomized"]
    frequencies: Frequencies = "uniform"
