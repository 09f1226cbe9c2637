"""Constant times."""

from __future__ import annotations

from scenarios.base import Positive
from scenarios.laws.law import Law


class Deterministic(Law):
    """Always the same time."""

    key = "deterministic"
    value: Positive
