"""What a study is made from: its scenario files, and the data files that they name, copied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scenarios import Scenario, ScenarioError
from scenarios.files import toml_of
from scenarios.plugins import files_in_use
from scenarios.text import visible

INPUTS = "inputs"
"""The folder for them within that of a study."""

PLUGINS = "plugins"
"""The folder for code of the author's own."""

_CHUNK = 1 << 20
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def input_files(
    scenarios: Sequence[Scenario], study: Path
) -> tuple[dict[str, Any], dict[str, str]]:
    """The inputs of a study, which depend on nothing outside of its folder.

    Parameters
    ----------
    scenarios : sequence of Scenario
    study : Path
        The folder of the study.

    Returns
    -------
    texts : dict name -> bytes in chunks, or text
        Names count from the folder of the study; scenario files come first, in their order.
    origins : dict name -> str
        What each data file was called where it was found.
    """
    data: dict[str, str] = {}
    texts: dict[str, Any] = {}
    for scenario in scenarios:
        entries = scenario.as_file()
        for table in tables_with_files(entries):
            path = table["file"]
            table["file"] = str(study / data.setdefault(path, _name_of(path, data)))
        texts[scenario_name(scenario)] = toml_of(entries, study / INPUTS)
    texts |= {name: chunks_of(Path(path)) for path, name in data.items()}
    return texts, {name: Path(path).name for path, name in data.items()}


def plugin_files() -> dict[str, bytes]:
    """The plugins in use that are files: what stands in each, by its place in a study.

    Raises
    ------
    ScenarioError
        If one has a name that a study cannot hold.
    """
    found = {f"{PLUGINS}/{name}": text for name, text in files_in_use().items()}
    for name in found:
        if visible(name) != name or "\\" in name:
            allowed = "must have a name that every system can write for a study"
            raise ScenarioError("--with", Path(name).name, allowed)
    return found


def scenario_name(scenario: Scenario) -> str:
    """Where the file of a scenario lies in a study."""
    return f"{INPUTS}/{scenario.name}.toml"


def tables_with_files(entries: Any) -> Iterator[dict[str, Any]]:
    """The tables of a scenario, or of a value of one, that name a data file."""
    if isinstance(entries, Mapping):
        if isinstance(entries.get("file"), str):
            yield entries  # type: ignore[misc]  # parsed tables are dicts
        for each in entries.values():
            yield from tables_with_files(each)
    elif isinstance(entries, list | tuple):
        for each in entries:
            yield from tables_with_files(each)


def _name_of(path: str, taken: Mapping[str, str]) -> str:
    """A plain name for a copy of a file, which no other copy has."""
    plain = _NOT_IN_A_NAME.sub("-", Path(path).name).lstrip(".-") or "data"
    names = set(taken.values())
    name, number = f"{INPUTS}/data/{plain}", 2
    while name in names:
        name, number = f"{INPUTS}/data/{number}-{plain}", number + 1
    return name


def chunks_of(path: Path) -> Iterator[bytes]:
    """The content of a data file, part by part."""
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise ScenarioError("file", str(path), f"cannot be read: {error.strerror}") from None
