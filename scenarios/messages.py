"""From the list of a validation's errors to the one that helps most, in the file's own words."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scenarios.base import QUOTE, SMALLEST, Section, example_of, listed, most_like, nearest
from scenarios.errors import MISSING, ScenarioError

_WORDS = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "string_pattern_mismatch": "must consist of letters, digits, - and _",
    "too_short": "must not be empty",
}

_SYNONYMS = {
    "K": "waiting_places",
    "capacity": "waiting_places",
    "indexers": "servers",
    "patience": "obsolescence",
    "quantiles": "sojourn_quantiles",
    "weights": "probabilities",
}
"""Keys that are meant by others, where these are not known."""

_COUNTED_OTHERWISE = dict.fromkeys(("K", "capacity"), " those in service are not counted there")
"""Where the value that was meant is another one, too."""

_BOUNDS = {
    "greater_than_equal": ("ge", ">="),
    "greater_than": ("gt", ">"),
    "less_than_equal": ("le", "<="),
    "less_than": ("lt", "<"),
}


def first_error(error: ValidationError, model: type[BaseModel]) -> ScenarioError:
    """The error to show: unknown keys first, then wrong values, then missing keys."""
    details = min(error.errors(include_url=False), key=_rank)
    key = _path(details["loc"])
    if details["type"] == "extra_forbidden":
        *parents, strange = details["loc"]
        key = _below(_path(tuple(parents)), str(strange))
        hint = _suggestion(key, model)
        return ScenarioError(key, details["input"], f"unknown key{hint}")
    if details["type"] == "missing":
        return ScenarioError(key, MISSING, "is missing")
    if details["type"] == "refused":
        return _own(key, details)
    return ScenarioError(key, details["input"], _allowed(details))


def _rank(details: ErrorDetails) -> int:
    unknown = details["msg"].startswith("unknown key")
    if details["type"] == "extra_forbidden" or unknown:
        return 0
    if details["type"] == "default_factory_not_called":  # since another key is wrong
        return 3
    return 2 if details["type"] == "missing" else 1


def _path(location: tuple[int | str, ...]) -> str:
    """Dotted path; list places in brackets, tags of branches (``<…>``) left out."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith("<") and not part.startswith("tuple["):
            path = _below(path, part)
    return path


def _below(path: str, key: str) -> str:
    """The path of a key in the table at a path."""
    name = key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key)
    return f"{path}.{name}" if path else name


def _own(key: str, details: ErrorDetails) -> ScenarioError:
    """An error raised by our own validators; its key is relative to the place it was found."""
    context = details["ctx"]
    inner = context["key"]
    joined = key + (inner if inner.startswith("[") or not key else f".{inner}" if inner else "")
    value = context.get("value", MISSING)
    if value is MISSING and key and not inner:
        value = details["input"]
    return ScenarioError(joined, value, context["allowed"])


def _allowed(details: ErrorDetails) -> str:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind in _BOUNDS:
        name, sign = _BOUNDS[kind]
        bound = context[name]
        given = details["input"]
        if bound == SMALLEST and given <= 0:
            is_constant = details["loc"][-1] == "sd" and given == 0
            instead = "; for a constant time write deterministic = { value = … }"
            return "must be > 0" + instead * is_constant
        is_share = bound == 1 and name in ("lt", "le") and details["loc"][-1] != "ratio"
        is_percentage = is_share and given <= 100
        instead = f"; {given:g} % is {given / 100:g}" if is_percentage and given > 1 else ""
        return f"must be {sign} {bound:g}{instead}"
    if kind == "literal_error":
        expected = context["expected"].replace("'", '"')
        return f"must be {expected}{nearest(details['input'], _quoted_in(expected), QUOTE)}"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    if kind == "value_error":
        return str(context["error"])
    if kind == "model_type":
        example = _example(context["class_name"], details["input"])
        return "must be a table" + f", such as {example}" * bool(example)
    return _WORDS.get(kind, re.sub(r"^\w+ should ", "must ", details["msg"]))


def _example(name: str, given: object) -> str:
    """What stands in the section with a name, with what was given as its first number."""
    found = next((each for each in _subclasses(Section) if each.__name__ == name), None)
    return example_of(found, given) if found else ""


def _subclasses(section: type[Section]) -> Iterator[type[Section]]:
    for each in section.__subclasses__():
        yield each
        yield from _subclasses(each)


def _quoted_in(text: str) -> list[str]:
    return re.findall('"([^"]*)"', text)


def _suggestion(path: str, model: type[BaseModel]) -> str:
    """The nearest known key and its section, as an addition to the message."""
    *parents, key = path.split(".")
    section = re.sub(r"\[\d+\]", "", ".".join(parents))
    places: dict[str, list[str]] = {}
    for place, name in _known_keys(model, ""):
        places.setdefault(name, []).append(place)
    here = [name for name, where in places.items() if section in where]
    meant = _SYNONYMS.get(key, key)
    near = most_like(meant if meant in here else key, here) or (key if key in places else None)
    if near is None:
        return f"; known here: {listed(sorted(here))}" if here else ""
    place = section if section in places[near] else places[near][0]
    if (place, near) == (section, key):
        return "; it does not go with the other keys that are given"
    note = _COUNTED_OTHERWISE.get(key, "") if near == meant else ""
    return f"; did you mean {near} {f'in [{place}]' if place else 'at the top of the file'}?{note}"


def _known_keys(model: type[BaseModel], section: str) -> Iterator[tuple[str, str]]:
    """Pairs (section, key) of a model and of the models inside it."""
    for name, field in model.model_fields.items():
        inner_section = section if name == "root" else f"{section}.{name}".lstrip(".")
        if name != "root":
            yield section, field.alias or name
        for inner in _models_in(field.annotation):
            key = getattr(inner, "key", None)
            whole = getattr(inner, "whole", False)
            if key and not whole:
                yield inner_section, key
            place = f"{inner_section}.{key}" if key and not whole else inner_section
            yield from _known_keys(inner, place)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in typing.get_args(annotation):
        yield from _models_in(part)
