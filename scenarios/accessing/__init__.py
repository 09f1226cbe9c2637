"""Which page next: one file per accessing policy, and one line here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from scenarios.accessing.balanced import Balanced
from scenarios.accessing.billiard import Billiard
from scenarios.accessing.crawl_value import CrawlValue
from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.deadline import Deadline
from scenarios.accessing.deficit import Deficit
from scenarios.accessing.dyadic import Dyadic
from scenarios.accessing.golden_ratio import GoldenRatio
from scenarios.accessing.policy import Policy
from scenarios.accessing.randomized import Randomized
from scenarios.accessing.round_robin import RoundRobin
from scenarios.accessing.whittle import Whittle
from scenarios.base import QUOTE, listed, nearest, one_of
from scenarios.errors import MISSING, refused

__all__ = [
    "POLICIES",
    "Accessing",
    "Balanced",
    "Billiard",
    "CrawlValue",
    "Cyclic",
    "Deadline",
    "Deficit",
    "Dyadic",
    "GoldenRatio",
    "Policy",
    "Randomized",
    "RoundRobin",
    "Whittle",
]

POLICIES: dict[str, type[Policy]] = {
    "cyclic": Cyclic,
    "round-robin": RoundRobin,
    "randomized": Randomized,
    "golden-ratio": GoldenRatio,
    "dyadic": Dyadic,
    "balanced": Balanced,
    "billiard": Billiard,
    "deadline": Deadline,
    "deficit": Deficit,
    "whittle": Whittle,
    "crawl-value": CrawlValue,
}


def _known(value: Any) -> Any:
    if isinstance(value, Policy):
        return value
    if not isinstance(value, dict):
        raise refused("must be a table with the key policy")
    name = value.get("policy", MISSING)
    for key in value:
        _check_key(key, value[key], name)
    if not isinstance(name, str) or name not in POLICIES:
        missing = "is missing; " if name is MISSING else ""
        allowed = f"{missing}must be {one_of(name, POLICIES, QUOTE)}"
        raise refused(allowed, key="policy", value=name)
    return value


def _check_key(key: str, value: Any, name: Any) -> None:
    """Refuse a key that no policy has, or that only policies other than `name` have."""
    owners = [owner for owner, policy in POLICIES.items() if key in policy.model_fields]
    if not owners:
        known = {key: None for policy in POLICIES.values() for key in policy.model_fields}
        raise refused(f"unknown key{nearest(key, known)}", key=key, value=value)
    if isinstance(name, str) and name in POLICIES and name not in owners:
        allowed = f'unknown key for policy = "{name}"; it goes with {_quoted(owners)}'
        raise refused(allowed, key=key, value=value)


def _quoted(names: Iterable[str]) -> str:
    return listed(f"{QUOTE}{name}{QUOTE}" for name in names)


def _tag(value: Any) -> str:
    name = value["policy"] if isinstance(value, dict) else value.policy
    return f"<{name}>"


Accessing = Annotated[
    Annotated[Cyclic, Tag("<cyclic>")]
    | Annotated[RoundRobin, Tag("<round-robin>")]
    | Annotated[Randomized, Tag("<randomized>")]
    | Annotated[GoldenRatio, Tag("<golden-ratio>")]
    | Annotated[Dyadic, Tag("<dyadic>")]
    | Annotated[Balanced, Tag("<balanced>")]
    | Annotated[Billiard, Tag("<billiard>")]
    | Annotated[Deadline, Tag("<deadline>")]
    | Annotated[Deficit, Tag("<deficit>")]
    | Annotated[Whittle, Tag("<whittle>")]
    | Annotated[CrawlValue, Tag("<crawl-value>")],
    Discriminator(_tag),
    BeforeValidator(_known),
]
"""Any accessing policy, recognised by its key `policy`."""
