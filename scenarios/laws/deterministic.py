"""Constant times."""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.base import Positive
from scenarios.laws.law import Law, written


class Deterministic(Law):
    """Always the same time."""

    key = "deterministic"
    value: Positive

    @classmethod
    def translated(cls, given: Mapping[str, float]) -> str | None:
        """From a mean."""
        if set(given) != {"mean"}:
            return super().translated(given)
        return f"write {written(cls.key, value=given['mean'])}"
