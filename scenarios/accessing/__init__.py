"""Which page next: one file per accessing policy, and one line here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.accessing.policy import Policy
from scenarios.accessing.randomized import Randomized
from scenarios.accessing.round_robin import RoundRobin
from scenarios.base import listed
from scenarios.errors import MISSING, refused

__all__ = ["POLICIES", "Accessing", "Cyclic", "GoldenRatio", "Policy", "Randomized", "RoundRobin"]

POLICIES: dict[str, type[Policy]] = {
    "cyclic": Cyclic,
    "round-robin": RoundRobin,
    "randomized": Randomized,
    "golden-ratio": GoldenRatio,
}


def _known(value: Any) -> Any:
    if isinstance(value, Policy):
        return value
    if not isinstance(value, dict):
        raise refused("must be a table with the key policy")
    name = value.get("policy", MISSING)
    if not isinstance(name, str) or name not in POLICIES:
        names = [f'"{known}"' for known in POLICIES]
        raise refused(f"must be {listed(names)}", key="policy", value=name)
    return value


def _tag(value: Any) -> str:
    name = value["policy"] if isinstance(value, dict) else value.policy
    return f"<{name}>"


Accessing = Annotated[
    Annotated[Cyclic, Tag("<cyclic>")]
    | Annotated[RoundRobin, Tag("<round-robin>")]
    | Annotated[Randomized, Tag("<randomized>")]
    | Annotated[GoldenRatio, Tag("<golden-ratio>")],
    Discriminator(_tag),
    BeforeValidator(_known),
]
"""Any accessing policy, recognised by its key `policy`."""
