"""Texts of the package as MyST Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest

from generator.places import place_of

PAGE = re.compile(r"`*(docs/(?:[\w-]+/)?[\w-]+\.md)`*")
"""A page of the repository as docstrings and notes name it."""

LONG = 5
"""Rows of a table that is not folded."""

_TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+\-.!|$^~:@&])")


def plain(text: str) -> str:
    """Text of which no letter is a mark."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))


def linked(text: str) -> str:
    """Text of which no letter is a mark; pages of the repository that it names are links."""
    parts = PAGE.split(text)
    named = (f"[](/{place_of(each)}.md)" for each in parts[1::2])
    return "".join(map("".join, zip_longest(map(plain, parts[::2]), named, fillvalue="")))


def code(text: str) -> str:
    """Text as code within a line."""
    text = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def prose(text: str) -> str:
    """Text of a docstring: `` `names` `` and ``` ``code`` ``` stay code, nothing else is a mark."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", PAGE.sub(r"\1", text.strip()))
    return "".join(
        code(part.strip("`")) if part.startswith("`") else linked(part) for part in parts
    )


def block(text: str, language: str = "text") -> str:
    """Lines as a block of code."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}\n"


def slug(text: str) -> str:
    """Small letters; every run of characters other than a-z, 0-9 is a hyphen, none at the ends."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def heading(label: str, title: str, level: int = 1) -> str:
    """A heading with a label of its own; the title is Markdown."""
    return f"({label})=\n{'#' * level} {title}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown within a line."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cell(each) for each in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def fold(title: str, text: str) -> str:
    """Text without headings that folds out under its title; it needs no script, is printed open."""
    return f"<details>\n<summary>{escape(title)}</summary>\n\n{text.strip()}\n\n</details>\n"


def with_long_tables_folded(text: str) -> str:
    """A page whose tables of many rows fold out."""

    def folded(found: re.Match[str]) -> str:
        head, _, *rows = found[0].splitlines()
        columns = ", ".join(cell.strip(" `*") for cell in head.strip("|").split("|"))
        return fold(f"{len(rows)} rows: {columns}", found[0]) if len(rows) > LONG else found[0]

    return _TABLE.sub(folded, text)


def toctree(pages: Iterable[str], *options: str) -> str:
    """The pages below this one; an option is its name, or its name and value: ``maxdepth: 1``."""
    lines = [f":{option}" if ": " in option else f":{option}:" for option in options]
    return "```{toctree}\n" + "\n".join([*lines, "", *pages]) + "\n```\n"


def page(*parts: str) -> str:
    """Parts of a page with an empty line between two of them."""
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)
