"""Uniform times."""

from __future__ import annotations

from typing import Any

from scenarios.laws import Uniform


def parameters(law: Uniform) -> tuple[float, float]:
    """The least time, and the width."""
    low, high = law.ends
    return low, high - low


def draw(stream: Any, low: float, width: float) -> float:
    """A uniform time in [low, low + width)."""
    return low + width * stream.random()


def draws_and_mean(law: Uniform) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    low, width = parameters(law)
    return 1.0, low + width / 2
