"""Refusals of arguments in Python, in the words of all others: name, value, what is allowed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from scenarios.base import listed, nearest
from scenarios.errors import ScenarioError, brief

P = ParamSpec("P")
T = TypeVar("T")

_KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "a text"),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "Path": (PathLike, "a path"),
    "Sequence": (Sequence, "a list"),
    "None": (type(None), "None"),
}
"""What annotations stand for; other names are those of classes."""

_CLASSES = {
    "Executor": "an executor of concurrent.futures",
    "Precision": "a sim.Precision",
    "Trace": "what read_trace gives",
    "VisitLog": "a VisitLog",
    "ChangeLog": "a ChangeLog",
}


_OPTION = re.compile(r"(?<!\S)--([a-z-]+)")
_ARGUMENTS = {"min": "shortest", "max": "longest", "format": "out_format", "measure": "precision"}
"""What options of the commands are called here, where it is another name."""


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which refuses what it has no name for, and values of another kind.

    Where it names options of commands itself, the arguments stand in their place.

    Raises
    ------
    TypeError
        If an argument is unknown, or one is missing, with those that there are.
    ScenarioError
        If a value is none of what the annotation says, where that is plain.
    """
    signature = inspect.signature(function)
    name = function.__name__

    def argument(option: re.Match[str]) -> str:
        found = _ARGUMENTS.get(option[1], option[1].replace("-", "_"))
        return found if found in signature.parameters else option[0]

    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())

    @wraps(function)
    def asked(*args: P.args, **given: P.kwargs) -> T:
        known = [each for each in signature.parameters if each != "options"]
        for key, value in given.items():
            if key not in signature.parameters and not takes_any:
                hint = nearest(key, known)
                raise TypeError(
                    f"{key} = {brief(value)}: {name} has no such argument{hint}; "
                    f"it has {', '.join(known)}"
                )
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; it has {', '.join(known)}") from None
        for key, value in bound.arguments.items():
            allowed = _allowed(value, signature.parameters[key].annotation)
            if allowed:
                more = f"must be {allowed}; help(crawlsim.{name}) says more"
                raise ScenarioError(key, value, more)
        try:
            return function(*args, **given)
        except ScenarioError as error:
            key, allowed = (_OPTION.sub(argument, text) for text in (error.key, error.allowed))
            raise ScenarioError(key, error.value, allowed, error.file) from None

    return asked


def _allowed(value: object, annotation: str) -> str:
    """What a value is to be that is none of what the annotation names; else nothing.

    An annotation that names more than these kinds and classes allows everything.
    """
    names = [each.split(".")[-1] for each in re.sub(r"\[.*\]", "", annotation).split(" | ")]
    if not all(each in _KINDS or each in _CLASSES for each in names):
        return ""
    classes = {each.__name__ for each in type(value).__mro__}
    if any(isinstance(value, _KINDS[n][0]) if n in _KINDS else n in classes for n in names):
        return ""
    return listed(_KINDS[n][1] if n in _KINDS else _CLASSES[n] for n in names)
