"""A list of pages, repeated for ever."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from scenarios.accessing.policy import Policy
from scenarios.base import Count

__all__ = ["Cyclic"]


class Cyclic(Policy):
    """The pages of `template` in this order, again and again; a page may be absent."""

    policy: Literal["cyclic"]
    template: Annotated[tuple[Count, ...], Field(min_length=1)]
