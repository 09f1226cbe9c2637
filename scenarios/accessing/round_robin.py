"""All pages in turn."""

from __future__ import annotations

from typing import Literal

from scenarios.accessing.policy import Policy

__all__ = ["RoundRobin"]


class RoundRobin(Policy):
    """Pages 0, 1, 2, … in turn."""

    policy: Literal["round-robin"]
