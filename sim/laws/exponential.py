"""Exponential times."""

from __future__ import annotations

from typing import Any

from scenarios.laws import Exponential
from sim import rules


def parameters(law: Exponential) -> tuple[float]:
    """The mean."""
    return (law.expected,)


def draw(stream: Any, mean: float) -> float:
    """An exponential time."""
    return rules.draw_exponential(stream, mean)


def draws_and_mean(law: Exponential) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.expected
