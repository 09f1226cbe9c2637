"""Refusals: one bad entry, said in at most three lines (file, key and value, what is allowed)."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scenarios.text import shortened, visible

if TYPE_CHECKING:
    from pydantic_core import PydanticCustomError

MISSING: Any = ...
"""Stands for the value of a key that is not there (and is still itself after pickling)."""

LONGEST_LINE = 2000
"""Characters of a line of a refusal; the middle of a longer one is left out."""

_LONGEST_KEY = 500
_LONGEST_TEXT = 60


class _Short(reprlib.Repr):
    """Values as TOML writes them; `reprlib` finds the method by the name of the type."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = 8
        self.maxstring = _LONGEST_TEXT

    def repr_bool(self, value: bool, _level: int) -> str:
        """Write ``true`` or ``false``."""
        return str(value).lower()

    def repr_str(self, x: str, level: int) -> str:
        """Write a string in double quotes."""
        return '"' + super().repr_str(x, level)[1:-1] + '"'

    def repr_int(self, x: int, level: int) -> str:
        """Write a number, of one that Python does not write out only how long it is."""
        try:
            return super().repr_int(x, level)
        except ValueError:
            return f"a number of {x.bit_length()} bits"

    def repr_tuple(self, x: tuple[Any, ...], level: int) -> str:
        """Write a list, which a checked section holds as a tuple."""
        return self.repr_list(list(x), level)

    def repr_dict(self, x: Mapping[str, Any], level: int) -> str:
        """Write an inline table."""
        shown = list(x)[: self.maxdict if level else 0]
        items = [
            f"{shortened(str(key), _LONGEST_TEXT)} = {self.repr1(x[key], level - 1)}"
            for key in shown
        ]
        items += ["..."] * (len(x) > len(shown))
        return f"{{ {', '.join(items)} }}" if items else "{}"

    def repr_ByName(self, x: Any, level: int) -> str:  # noqa: N802 - named after the type
        """Write numbers of robots by class as the inline table that they are."""
        return self.repr_dict(x.root, level)


def brief(value: object) -> str:
    """One short line that shows a value as a scenario file would write it."""
    return " ".join(_Short().repr(value).split())


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
        self.key = key
        self.value = value
        self.allowed = allowed
        self.file = file

    def __str__(self) -> str:
        entry = _on_one_line(self.key, _LONGEST_KEY)
        if self.value is not MISSING:
            shown = brief(self.value)
            entry = f"{entry} = {shown}" if entry else shown
        lines = [_on_one_line(self.file or "", _LONGEST_KEY), entry, self.allowed]
        return "\n".join(_on_one_line(line, LONGEST_LINE) for line in lines if line)


def _on_one_line(text: str, most: int) -> str:
    return shortened(visible(" ".join(text.split())), most)


def refused(allowed: str, *, key: str = "", value: object = MISSING) -> PydanticCustomError:
    """The error that a validator raises; `key` is relative to the place of the validator."""
    from pydantic_core import PydanticCustomError  # takes a while to load

    return PydanticCustomError("refused", "{allowed}", _context(allowed, key, value))


def _context(allowed: str, key: str, value: object) -> dict[str, Any]:
    """What pydantic keeps with an error; it cannot take halves of surrogate pairs in a text."""
    context: dict[str, Any] = {"allowed": visible(allowed), "key": visible(key)}
    if value is not MISSING:
        context["value"] = value
    if isinstance(value, str):
        context["value"] = value.encode(errors="replace").decode()
    return context
