"""What a scenario file is made of: frozen sections, checked numbers, one-of tables."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    RootModel,
)
from pydantic_core import CoreSchema, core_schema

from scenarios.errors import refused

LARGEST = 1e100
"""Numbers of a scenario stay where products and quotients of a few of them cannot overflow."""

SMALLEST = 1 / LARGEST
"""The same for positive numbers and underflow."""

QUOTE = '"'
"""Around words, as a scenario file has them."""

_LONGEST_GUESSED = 100
"""Characters of a name up to which it is guessed what was meant."""

_ONE_SLIP_IN = 3
"""Letters of a name among which one may be wrong for it to be guessed."""

_LEAST_BEGINNING = 3
"""Characters that the beginning of a name needs to stand for it."""

NonNegative = Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=SMALLEST, le=LARGEST, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


def _increasing(values: tuple[float, ...]) -> tuple[float, ...]:
    if list(values) != sorted(set(values)):
        raise refused("must increase", value=values)
    return values


Shares = Annotated[tuple[Annotated[Number, Field(gt=0, lt=1)], ...], AfterValidator(_increasing)]
"""Shares of which quantiles are asked for."""

Vector = tuple[Number, ...]
Matrix = tuple[tuple[Number, ...], ...]

Content = TypeVar("Content")


def listed(names: typing.Iterable[str]) -> str:
    """The names as an English list: ``a, b or c``."""
    *head, last = names
    return f"{', '.join(head)} or {last}" if head else last


def most_like(given: object, known: typing.Iterable[str]) -> str | None:
    """The known name that begins with the one given, or looks most like it; None: none does.

    Parameters
    ----------
    given : object
    known : iterable of str
    """
    if not isinstance(given, str) or len(given) > _LONGEST_GUESSED:
        return None
    names = {name.lower(): name for name in known}
    asked = given.lower()
    begun = [name for name in names if name.startswith(asked)]
    if begun and len(asked) >= _LEAST_BEGINNING:
        return names[min(begun, key=len)]
    near = get_close_matches(asked, names, n=len(names) or 1)
    return next((names[name] for name in near if _is_close(asked, name)), None)


def _is_close(asked: str, name: str) -> bool:
    """Whether two thirds of what is asked for are the beginning of a name, or it has a few slips.

    Words may have much in common and be others: vacation, activation.
    """
    beginning = asked[: -(-2 * len(asked) // 3)]
    slips = max(len(asked) // _ONE_SLIP_IN, 1)
    return name.startswith(beginning) or _slips(asked, name) <= slips


def _slips(asked: str, name: str) -> int:
    """Letters to change, add, leave out or swap with the next that lead from one to the other."""
    before, row = list[int](), list(range(len(name) + 1))
    for place, letter in enumerate(asked):
        earlier, before, row = before, row, [place + 1]
        for other, expected in enumerate(name):
            least = min(before[other] + (letter != expected), before[other + 1] + 1, row[other] + 1)
            if place and other and (letter, asked[place - 1]) == (name[other - 1], expected):
                least = min(least, earlier[other - 1] + 1)
            row.append(least)
    return row[-1]


def nearest(given: object, known: typing.Iterable[str], quote: str = "") -> str:
    """A hint at the known name that looks most like the one given, or nothing."""
    name = most_like(given, known)
    return "" if name is None else f" (did you mean {quote}{name}{quote}?)"


def one_of(given: object, names: typing.Iterable[str], quote: str = "") -> str:
    """The names as an English list, with a hint at the one that was meant.

    Parameters
    ----------
    given : object
        What stands there instead.
    names : iterable of str
        What is allowed.
    quote : str
        Around each name.
    """
    known = list(names)
    return listed(f"{quote}{name}{quote}" for name in known) + nearest(given, known, quote)


class Section(BaseModel):
    """A frozen table of the scenario file; keys that it does not know are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of keys that exclude one another; setting one removes the others."""

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """Build it from the names of its own module.

        CPython 3.13.0 ends in a segmentation fault where pydantic looks at those of callers, too,
        while another section is being checked.
        """
        return super().model_rebuild(**{"_types_namespace": {}, **how})


def keys_of(section: type[BaseModel]) -> list[str]:
    """The keys of a section as the file has them: one of them is a word of Python's."""
    return [field.alias or name for name, field in section.model_fields.items()]


def example_of(section: type[BaseModel], given: object) -> str:
    """An inline table with the keys that a section needs; a number that was given is the first.

    Empty where it needs none, or is not a table of its own.
    """
    if not issubclass(section, Section):
        return ""
    fields = section.model_fields
    needed = [name for name, field in fields.items() if field.is_required()]
    needed += [group[0] for group in section.one_of if not set(group) & set(needed)]
    values = [f"{given:g}" if _is_number(given) else "…", *["…"] * len(needed)]
    names = dict.fromkeys(needed)
    keys = [f"{name} = {value}" for name, value in zip(names, values, strict=False)]
    return f"{{ {', '.join(keys)} }}" if keys else ""


class Keyed(RootModel[Content]):
    """What stands in a table under its one key: a frozen value of any type."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    key: ClassVar[str]


class OneKey:
    """Annotation of a union: a table whose one key names the member and holds its content.

    Each member class has a class attribute `key`. A member with the class attribute
    `whole = True` is recognised by its key but keeps the whole table (``{ file, column }``).

    Parameters
    ----------
    elsewhere : mapping, optional
        Names that other programs use, and what to write here.
    usual : str, optional
        The key of the member that is shown where something else than a table is found.
    added : sequence of classes
        Further members, those that there are when the first value is checked.
    """

    def __init__(
        self,
        elsewhere: Mapping[str, str] | None = None,
        usual: str | None = None,
        added: Sequence[Any] = (),
    ) -> None:
        self._elsewhere = elsewhere or {}
        self._usual = usual
        self.added = added

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        members = {member.key: member for member in (*members_of(source), *self.added)}
        tags = {key: f"<{key}>" if _is_whole(each) else key for key, each in members.items()}
        choices = {tags[key]: _member_schema(each, handler) for key, each in members.items()}

        def tag_of(value: Any) -> str | None:
            if isinstance(value, dict):
                return next((tags[key] for key in members if key in value), None)
            return tags.get(getattr(type(value), "key", ""))

        union = core_schema.tagged_union_schema(choices, discriminator=tag_of)
        return core_schema.no_info_before_validator_function(
            partial(_check_one_key, members, self._elsewhere, self._usual), union
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        choices = typing.cast("dict[str, Any]", schema)["schema"]["choices"]
        return {"oneOf": [_member_json(key, choice, handler) for key, choice in choices.items()]}


def members_of(union: Any) -> list[Any]:
    """The classes of a union such as `Distribution`, those of unions inside it included."""
    if typing.get_origin(union) is Annotated:
        inside, *annotations = typing.get_args(union)
        added = (a.added for a in annotations if isinstance(a, OneKey))
        return [*members_of(inside), *(member for members in added for member in members)]
    inner = typing.get_args(union)
    return [each for part in inner for each in members_of(part)] if inner else [union]


def _is_whole(member: Any) -> bool:
    return getattr(member, "whole", False)


def _member_schema(member: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    whole = _is_whole(member)
    wrap = core_schema.wrap_serializer_function_ser_schema(
        partial(_wrap, None if whole else member.key)
    )
    return core_schema.no_info_before_validator_function(
        partial(_unwrap, None if whole else member.key),
        handler.generate_schema(member),
        serialization=wrap,
        metadata={"whole": whole},
    )


def _wrap(key: str | None, value: Any, serialise: Callable[[Any], Any]) -> Any:
    return serialise(value) if key is None else {key: serialise(value)}


def _unwrap(key: str | None, value: Any) -> Any:
    return value[key] if key is not None and isinstance(value, dict) else value


def _check_one_key(
    members: dict[str, Any], elsewhere: Mapping[str, str], usual: str | None, value: Any
) -> Any:
    """Refuse whatever is not exactly one of the known keys."""
    if isinstance(value, tuple(members.values())):
        return value
    wanted = "exactly one of the keys" if len(members) > 1 else "the key"
    allowed = f"must be a table with {wanted} {listed(members)}"
    if not isinstance(value, dict):
        name = value if isinstance(value, str) and value in members else usual
        if name is not None and (example := example_of(members[name], value)):
            allowed = f"write {{ {name} = {example} }}; {allowed}"
        raise refused(allowed)
    given = [key for key in members if key in value]
    if len(given) == 1 and _is_whole(members[given[0]]):
        return value
    strange = [key for key in value if key not in _keys_of(members)]
    if strange:
        known = elsewhere.get(str(strange[0]).lower())
        hint = nearest(strange[0], members) if known is None else f": {known}"
        raise refused(f"unknown key{hint}; {allowed}", key=strange[0], value=value[strange[0]])
    if len(given) != 1 or len(value) != 1:
        raise refused(allowed)
    return value


def _keys_of(members: dict[str, Any]) -> set[str]:
    """The keys that a table of these members can have, right or wrong together."""
    inside = (each.model_fields for each in members.values() if _is_whole(each))
    return {*members, *(key for fields in inside for key in fields)}


def _member_json(key: str, choice: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
    inner = handler(choice["schema"])
    if choice["metadata"]["whole"]:
        return inner
    return {
        "type": "object",
        "properties": {key: inner},
        "required": [key],
        "additionalProperties": False,
    }


class ByType:
    """Annotation of a union of a word, a number, a list and a table: the branch is chosen by type.

    A word is a ``Literal``, a number an annotated ``float``, a list a ``tuple``, true or false an
    annotated ``bool``; everything else is a table.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        branches = {_branch_of(member): member for member in typing.get_args(source)}
        choices = {name: handler.generate_schema(each) for name, each in branches.items()}
        union = core_schema.tagged_union_schema(choices, discriminator=_branch_by_value)
        check = partial(_check_branch, branches)
        return core_schema.no_info_before_validator_function(check, union)


def _branch_of(member: Any) -> str:
    origin = typing.get_origin(member)
    if origin is Annotated and typing.get_args(member)[0] in (float, int):
        return "<number>"
    if origin is Annotated and typing.get_args(member)[0] is bool:
        return "<truth>"
    return {Literal: "<word>", tuple: "<list>"}.get(origin, "<table>")


def _branch_by_value(value: Any) -> str:
    if isinstance(value, str):
        return "<word>"
    if _is_number(value):
        return "<number>"
    if isinstance(value, bool):
        return "<truth>"
    return "<list>" if isinstance(value, list | tuple) else "<table>"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_branch(branches: dict[str, Any], value: Any) -> Any:
    words = typing.get_args(branches.get("<word>", Literal[()]))
    if isinstance(value, str):
        known = value in words
    else:
        readable = isinstance(value, bool | int | float | dict | list | tuple | BaseModel)
        known = readable and _branch_by_value(value) in branches
    if known:
        return value
    names = [f'"{word}"' for word in words]
    names += ["true or false"] * ("<truth>" in branches)
    names += ["a number"] * ("<number>" in branches)
    names += ["a list"] * ("<list>" in branches) + ["a table"] * ("<table>" in branches)
    raise refused(f"must be {listed(names)}{nearest(value, words, QUOTE)}")
