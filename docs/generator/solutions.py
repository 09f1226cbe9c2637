"""Solutions fold out under their exercises; a fold needs no script, and is printed open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

Cell = dict[str, Any]

_HEADING = "## Exercises\n"
_SOLUTION = re.compile(r"^## \d\. (.+)\n", re.MULTILINE)
_EXERCISE = re.compile(r"^\d\. .*\n(?:[ ]+.*\n?)*", re.MULTILINE)


def with_solutions(cells: Sequence[Cell], solved: Sequence[Cell]) -> list[Cell]:
    """The cells of a notebook, each of its exercises followed by its solution.

    Parameters
    ----------
    cells : sequence of dict
        The last one ends with the exercises, numbered.
    solved : sequence of dict
        Of the notebook with the solutions: a title, what all of them need, and for each exercise a
        heading with its number.
    """
    before, heading, after = "".join(cells[-1]["source"]).partition(_HEADING)
    exercises = _EXERCISE.findall(f"{after}\n")
    (_, needed), *parts = _parts(solved)
    found = [*cells[:-1], _words(f"{before}{heading}")]
    found += _folded("What the solutions need", needed[1:])
    for exercise, (title, part) in zip(exercises, parts, strict=True):
        found += [_words(exercise), *_folded(f"Solution: {title}", part)]
    found.append(_words(_EXERCISE.sub("", after)))
    return [cell | {"id": f"cell-{number}"} for number, cell in enumerate(found, 1)]


def _parts(solved: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """The cells before the first solution, then those of each, with its title."""
    parts: list[tuple[str, list[Cell]]] = [("", [])]
    for cell in solved:
        if cell["cell_type"] != "markdown":
            parts[-1][1].append(cell)
            continue
        text, *pairs = _SOLUTION.split("".join(cell["source"]) + "\n")
        parts[-1][1].append(_words(text))
        for title, words in zip(pairs[::2], pairs[1::2], strict=True):
            parts.append((title, [_words(words)]))
    return parts


def _folded(title: str, cells: Sequence[Cell]) -> Iterator[Cell]:
    yield _words(f"<details>\n<summary>{escape(title)}</summary>")
    yield from cells
    yield _words("</details>")


def _words(text: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
