"""What all accessing policies share."""

from __future__ import annotations

from typing import Annotated, Literal

from scenarios.base import ByType, Section, Vector

__all__ = ["Frequencies", "Policy"]

Frequencies = Annotated[Literal["uniform", "optimal", "change-rate"] | Vector, ByType()]
"""Shares of the accesses: a word, or a list that sums to 1."""


class Policy(Section):
    """An accessing policy; subclasses set `policy` to their name in the file."""

    policy: str
