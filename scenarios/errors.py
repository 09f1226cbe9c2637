"""Refusals: one bad entry, said in at most three lines (file, key and value, what is allowed)."""

from __future__ import annotations

import reprlib
from typing import Any

from pydantic_core import PydanticCustomError

__all__ = ["MISSING", "ScenarioError", "brief", "refused"]

MISSING = object()
"""Stands for the value of a key that is not there."""

_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxstring = 3, 8, 60


def brief(value: object) -> str:
    """One short line that shows a value as a scenario file would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + _SHORT.repr(value)[1:-1] + '"'
    text = _SHORT.repr(list(value) if isinstance(value, tuple) else value)
    return " ".join(text.split())


class ScenarioError(ValueError):
    """A scenario, a file or an option that is refused.

    Parameters
    ----------
    key : str
        Dotted path of the entry, as in the file (``buffer.waiting_places``); empty when the
        whole file is at fault.
    value : object
        What was found there, or `MISSING`.
    allowed : str
        What is allowed instead.
    file : str, optional
        The file, once it is known.
    """

    def __init__(self, key: str, value: object, allowed: str, file: str | None = None) -> None:
        super().__init__(key, value, allowed)
        self.key, self.value, self.allowed, self.file = key, value, allowed, file

    def __str__(self) -> str:
        entry = self.key
        if self.value is not MISSING:
            shown = brief(self.value)
            entry = f"{entry} = {shown}" if entry else shown
        lines = [self.file, entry, self.allowed]
        return "\n".join(" ".join(line.split()) for line in lines if line)


def refused(allowed: str, *, key: str = "", value: object = MISSING) -> PydanticCustomError:
    """The error that a validator raises; `key` is relative to the place of the validator."""
    return PydanticCustomError("refused", "{allowed}", _context(allowed, key, value))


def _context(allowed: str, key: str, value: object) -> dict[str, Any]:
    context: dict[str, Any] = {"allowed": allowed, "key": key}
    if value is not MISSING:
        context["value"] = value
    return context
