"""What people read: text that others wrote, which never acts and is never too long; numbers."""

from __future__ import annotations

import math
import re

ACTING = re.compile(
    "["
    "\x00-\x08\x0b-\x1f"  # C0 without tab and newline, which programs of ours write too
    "\x7f-\x9f"  # DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # order of letters
    "\u2028\u2029"  # ends of lines and paragraphs
    "\ud800-\udfff"  # halves of pairs: bytes that are not UTF-8
    "]"
)
"""What does something rather than show."""


def visible(text: str) -> str:
    r"""The text with every character that would act rather than show as its code, ``\u001b``.

    Control characters but tab and newline, controls of the writing direction, separators of lines
    and paragraphs, and halves of surrogate pairs. Within JSON the code stands for the character
    itself, so that a document stays the same document.

    Examples
    --------
    >>> visible("\x1b[31mred")
    '\\u001b[31mred'
    """
    return ACTING.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def shortened(text: str, most: int) -> str:
    """The text, of a long one its beginning and its end.

    Parameters
    ----------
    text : str
    most : int
        Characters that it may have.
    """
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


_COUNTED = ("time unit", "second", "minute", "hour", "day", "week", "month", "year")


def units(time_unit: str, time: float) -> str:
    """A unit of time after a number: a word in the plural, unless it is one; all else as it is."""
    return time_unit + "s" * (time != 1 and time_unit.endswith(_COUNTED))


def things(number: float, thing: str) -> str:
    """The word for a number of things: "page" for one, else "pages", "batches", "entries"."""
    if number == 1:
        return thing
    if thing.endswith("y"):
        return f"{thing[:-1]}ies"
    return f"{thing}{'es' if thing.endswith(('s', 'ch', 'x')) else 's'}"


def counted(number: int, thing: str) -> str:
    """A number of things: "1 page", "3 pages", "1 batch", "2 batches"."""
    return quantity(str(number), thing)


def quantity(shown: str, thing: str) -> str:
    """A number as it is shown, and its things: "1 visit", "1.5 visits", "1,000 rules"."""
    return f"{shown} {things(1 if shown == '1' else 2, thing)}"


def number(value: float | None) -> str:
    """A number for people: six significant digits, a dash where it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value + 0.0:.6g}"  # 0, not -0


def half_width(estimate: float, half: float) -> str:
    """The half-width of an interval; what was never seen has an upper end only."""
    return "none seen" if estimate == 0 else number(half)
