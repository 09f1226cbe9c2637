"""Gamma times."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scenarios.base import Positive
from scenarios.laws.law import Law


class Gamma(Law):
    """Gamma time with any positive shape."""

    key = "gamma"
    shape: Annotated[Positive, Field(ge=1e-3, le=1e6)]
    mean: Positive
