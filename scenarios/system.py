"""The sections of a scenario, each checked by itself; `scenarios.scenario` checks them together."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from scenarios.activation import Activation
from scenarios.base import Section
from scenarios.errors import refused
from scenarios.sections import (
    Buffer,
    Check,
    Clients,
    Costs,
    Pages,
    Probing,
    Robots,
    Run,
    Servers,
    Source,
)
from scenarios.text import visible

Text = Annotated[str, Field(strict=True)]

_LONGEST = 1000
"""Characters of a name or a label."""


def _one_line(text: str) -> str:
    """Refuse what a page or a terminal cannot show as text on one line, and what nobody reads."""
    if len(text) > _LONGEST:
        raise refused(f"must have at most {_LONGEST} characters")
    if "\n" in text or "\t" in text or visible(text) != text:
        raise refused("must be one line without control characters")
    return text


Line = Annotated[Text, AfterValidator(_one_line)]


class System(Section):
    """The sections of a scenario file, which need not fit together yet."""

    name: Annotated[
        str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9_-]+$", max_length=_LONGEST)
    ]
    title: Line = ""
    paper: Line = ""
    time_unit: Line = "time unit"
    judged: tuple[Text, ...] = ()
    pages: Pages | None = None
    robots: Robots | None = None
    activation: Activation | None = None
    buffer: Buffer | None = None
    clients: Clients | None = None
    source: Source | None = None
    probing: Probing | None = None
    servers: Servers | None = None
    costs: Costs = Costs()
    check: Check = Check()
    run: Run = Run()
