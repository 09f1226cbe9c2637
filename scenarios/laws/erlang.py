"""Sums of exponential times."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scenarios.base import Count, Positive
from scenarios.laws.law import Law


class Erlang(Law):
    """Sum of `shape` independent exponential times of equal mean; `mean` is that of the sum."""

    key = "erlang"
    shape: Annotated[Count, Field(ge=1)]
    mean: Positive
