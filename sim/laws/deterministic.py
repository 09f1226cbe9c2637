"""Constant times."""

from __future__ import annotations

from typing import Any

from scenarios.laws import Deterministic


def parameters(law: Deterministic) -> tuple[float]:
    """The time."""
    return (law.value,)


def draw(stream: Any, value: float) -> float:  # noqa: ARG001  # same call as its siblings
    """Always the same time; nothing is drawn."""
    return value


def draws_and_mean(law: Deterministic) -> tuple[float, float]:
    """Numbers drawn for one time, and its mean."""
    return 1.0, law.value
