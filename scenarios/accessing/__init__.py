"""Which page next: one file per accessing policy, and its name here."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from scenarios.accessing.policy import Policy
from scenarios.base import QUOTE, keys_of, listed, nearest, one_of
from scenarios.errors import MISSING, refused

__all__ = ["POLICIES", "Accessing", "Policy"]

_NAMES = (
    "cyclic",
    "round-robin",
    "randomized",
    "golden-ratio",
    "dyadic",
    "balanced",
    "billiard",
    "deadline",
    "deficit",
    "whittle",
    "crawl-value",
    "on-signal",
    "due",
)
"""All policies; each stands in the file of its name."""


def _policy_in(file: str) -> type[Policy]:
    module = import_module(f"{__name__}.{file}")
    classes = [each for each in vars(module).values() if isinstance(each, type)]
    (policy,) = [each for each in classes if each.__module__ == module.__name__]
    assert issubclass(policy, Policy)
    return policy


POLICIES: dict[str, type[Policy]] = {name: _policy_in(name.replace("-", "_")) for name in _NAMES}
"""By name; those of plugins come last (`scenarios.plugins`)."""


def _known(value: Any) -> Any:
    if isinstance(value, Policy):
        return value
    if not isinstance(value, dict):
        named = isinstance(value, str) and value in POLICIES
        hint = f"; write {{ policy = {QUOTE}{value}{QUOTE} }}" if named else ""
        raise refused(f"must be a table with the key policy{hint}")
    name = value.get("policy", MISSING)
    if isinstance(name, dict) and len(name) == 1 and set(name) <= set(POLICIES):
        ((word, parameters),) = name.items()
        if not isinstance(parameters, dict):
            raise refused("must be a table", key=f"policy.{word}", value=parameters)
        return _known({"policy": word, **parameters} | {**value, "policy": word})
    for key in value:
        _check_key(key, value[key], name)
    if not isinstance(name, str) or name not in POLICIES:
        missing = "is missing; " if name is MISSING else ""
        allowed = f"{missing}must be {one_of(name, POLICIES, QUOTE)}"
        raise refused(allowed, key="policy", value=name)
    return value


def _check_key(key: str, value: Any, name: Any) -> None:
    """Refuse a key that no policy has, or that only policies other than `name` have."""
    owners = [owner for owner, policy in POLICIES.items() if key in keys_of(policy)]
    if not owners:
        if key in POLICIES:
            table = f"{{ {key} = {{ … }} }}" if isinstance(value, dict) else f"{QUOTE}{key}{QUOTE}"
            raise refused(f"unknown key; write policy = {table}", key=key, value=value)
        known = {key: None for policy in POLICIES.values() for key in keys_of(policy)}
        raise refused(f"unknown key{nearest(key, known)}", key=key, value=value)
    if isinstance(name, str) and name in POLICIES and name not in owners:
        allowed = f'unknown key for policy = "{name}"; it goes with {_quoted(owners)}'
        raise refused(allowed, key=key, value=value)


def _quoted(names: Iterable[str]) -> str:
    return listed(f"{QUOTE}{name}{QUOTE}" for name in names)


def _tag(value: Any) -> str:
    name = value["policy"] if isinstance(value, dict) else value.policy
    return f"<{name}>"


class _AnyOf:
    """Annotation of a policy: it is one of `POLICIES`, as they are when the first is checked."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        tagged = tuple(Annotated[policy, Tag(f"<{name}>")] for name, policy in POLICIES.items())
        union = Union[tagged]  # type: ignore[valid-type]  # noqa: UP007  # made of a tuple
        choice = Annotated[union, Discriminator(_tag), BeforeValidator(_known)]
        return handler.generate_schema(choice)


if TYPE_CHECKING:
    Accessing = Policy
else:
    _OURS = Union[tuple(POLICIES.values())]  # noqa: UP007  # made of a tuple
    Accessing = Annotated[_OURS, _AnyOf()]
"""Any accessing policy, recognised by its key `policy`."""
