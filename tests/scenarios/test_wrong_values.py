"""Values of every kind in place of each entry of the library: read, or refused as is stored.

Other tests say what single entries allow. This one notices a limit that has moved, a message that
has changed, and a value on which reading breaks. `STORE_OUTPUTS=1 pytest
tests/scenarios/test_wrong_values.py` stores what is said anew.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stored import compare

from scenarios import ScenarioError
from scenarios.library import library_entries, library_names
from scenarios.scenario import scenario_from

STORED = Path(__file__).with_name("wrong_values.txt")
LEFT_OUT = object()
VALUES: tuple[Any, ...] = (
    *([], [1], [[1]], ["x"], [{}], {}, {"x": 1}, {"policy": [1]}),
    *(LEFT_OUT, True, "", "x", "-", -1, 0, 1, 2.5, 1e300, 10**30, math.nan, math.inf),
)


def test_a_wrong_value_is_refused_as_is_stored() -> None:
    found = []
    tried: set[tuple[str, ...]] = set()
    for name in library_names():
        entries = library_entries(name)
        for path in paths(entries):
            kind = tuple("#" if isinstance(key, int) else key for key in path)
            if kind in tried:
                continue
            tried.add(kind)
            found.append(f"{name}: {'.'.join(kind)}")
            found += [f"  {what}" for what in _said(entries, path)]
    compare(STORED, found)


def paths(entries: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key of a file, and the first two places of every array."""
    inside: Any = entries.items() if isinstance(entries, Mapping) else ()
    if isinstance(entries, list):
        inside = enumerate(entries[:2])
    for key, value in inside:
        yield (*path, key)
        yield from paths(value, (*path, key))


def _said(entries: Mapping[str, Any], path: tuple[str | int, ...]) -> Iterator[str]:
    """What is said of which values."""
    said: dict[str, list[str]] = {}
    for value in VALUES:
        changed: Any = copy.deepcopy(entries)
        inside = changed
        for key in path[:-1]:
            inside = inside[key]
        if value is LEFT_OUT:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
        try:
            scenario_from(changed)
        except ScenarioError as refusal:
            message = f"{refusal.key}: {refusal.allowed}"
        else:
            message = "read"
        said.setdefault(message, []).append("left out" if value is LEFT_OUT else repr(value))
    for message, values in said.items():
        yield f"{', '.join(values)}: {message}"
