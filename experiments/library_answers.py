"""All that the program answers of its library, as files that can be compared byte by byte.

    python -m experiments.library_answers DIR [--against DIR] [--jobs 2] [NAME …]

For each library scenario a file of JSON: what the formulas say and why others do not apply, the
check at the scenario's own settings, and the best decision of every target, exactly or by the
approximation, or why there is none. Numbers are written with all their digits. With --against,
what differs from the files of an earlier run is listed number by number, and the exit code is 1:
what was rebuilt without a change of any answer leaves every byte as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import crawlsim
from analytic import resolve
from analytic.index.targets import TARGETS
from scenarios import Scenario, ScenarioError, load
from scenarios.library import library_names

_NOT_WRITTEN = ("search", "changes")
"""Of an optimum: what it was found by, and its decision once more."""

_TOO_LONG = {("heavy-tailed-service", "levels")}
"""Searches that are left out: this one takes more than all others together."""

_KINDS = ("exact", "approximation")
_MOST_SHOWN = 20
"""Differences of one file that are listed."""


def answers(name: str) -> dict[str, Any]:
    """What the program says of a library scenario.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict
        Under the names of the commands; under optimize, by target.
    """
    checked = crawlsim.check(resolve(load(name)))
    results = checked.results
    return {
        "solve": plain(checked.solution),
        "check": {
            "verdict": checked.verdict,
            "engine": results.engine,
            "events": results.events,
            "estimates": plain(results.estimates),
            "comparisons": plain(checked.comparisons),
            "course": plain(checked.course),
        },
        "optimize": {
            target: optimum(name, target) for target in TARGETS if (name, target) not in _TOO_LONG
        },
    }


def optimum(system: str | Scenario, target: str) -> Any:
    """The best decision that rests on formulas; otherwise why there is none.

    Parameters
    ----------
    system : str or Scenario
        A system, or the name of one of the library.
    target : str

    Returns
    -------
    dict
    """
    refusals = {}
    for kind in _KINDS:
        try:
            return plain(crawlsim.optimize(system, target, kind=kind))
        except ScenarioError as refusal:
            refusals[kind] = str(refusal)
    return refusals


def plain(value: Any) -> Any:
    """What JSON can hold: records by their names, arrays as lists, texts of all else.

    Parameters
    ----------
    value : object
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        known = [each.name for each in fields(value) if each.name not in _NOT_WRITTEN]
        return {name: plain(getattr(value, name)) for name in known}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return str(value)


def write(folder: Path, name: str) -> str:
    """Write the answers of one scenario; its name."""
    text = json.dumps(answers(name), indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", "utf-8")
    return name


def moved(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """One line for each answer that is not what it was, with where it stands.

    Parameters
    ----------
    before, after : object
        As JSON holds them.
    place : str
        Where they stand.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _moved_at(before, after, key, f"{place}.{key}" if place else key)
    elif isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            rows, others = dict(enumerate(before)), dict(enumerate(after))
            yield from _moved_at(rows, others, number, f"{place}[{_called(after, number)}]")
    elif _written(before) != _written(after):
        relative = ""
        if isinstance(before, float) and isinstance(after, float) and before:
            relative = f", relatively {after / before - 1.0:.2g}"
        yield f"{place}: {_written(before)} is now {_written(after)}{relative}"


def _moved_at(before: Any, after: Any, key: Any, place: str) -> Iterator[str]:
    if key not in before:
        yield f"{place}: new, {_written(after[key])}"
    elif key not in after:
        yield f"{place}: gone, was {_written(before[key])}"
    else:
        yield from moved(before[key], after[key], place)


def _called(rows: list[Any], number: int) -> str:
    """A row by its measure and subject, where it has them."""
    row = rows[number] if number < len(rows) else None
    if not isinstance(row, dict) or "measure" not in row:
        return str(number)
    return " ".join(str(row[key]) for key in ("measure", "subject") if row.get(key) is not None)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def compare(before: Path, after: Path, chosen: Sequence[str]) -> list[str]:
    """What moved between two folders: nothing where all files are the same, byte by byte.

    Parameters
    ----------
    before, after : Path
    chosen : sequence of str
        Names of scenarios.

    Returns
    -------
    list of str
        Of each file that differs its name, and what differs, up to a number of lines.
    """
    lines = []
    for name in chosen:
        files = [folder / f"{name}.json" for folder in (before, after)]
        if missing := [str(each) for each in files if not each.is_file()]:
            lines.append(f"{name}: {' and '.join(missing)} missing")
            continue
        if files[0].read_bytes() == files[1].read_bytes():
            continue
        differences = list(moved(*(json.loads(each.read_bytes()) for each in files)))
        lines.append(f"{name}: {len(differences) or 'only the layout'} moved")
        lines += [f"  {each}" for each in differences[:_MOST_SHOWN]]
        if len(differences) > _MOST_SHOWN:
            lines.append(f"  … and {len(differences) - _MOST_SHOWN} more")
    return lines


def main() -> int:
    """Write the files and compare them; 1 if anything moved."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()  # names after the options, too
    chosen = asked.names or library_names()
    asked.folder.mkdir(parents=True, exist_ok=True)
    os.environ["CRAWLSIM_COMPILE"] = "wait"  # compiled here, not by processes of their own
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        for number, name in enumerate(pool.map(partial(write, asked.folder), chosen), 1):
            print(f"{number}/{len(chosen)} {name}", file=sys.stderr, flush=True)
    if asked.against is None:
        return 0
    lines = compare(asked.against, asked.folder, chosen)
    print("\n".join(lines) or f"{len(chosen)} files are the same, byte by byte")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
