"""Scenario files: TOML to `Scenario` and back, the library, the JSON Schema."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from scenarios.base import most_like
from scenarios.changes import with_changes
from scenarios.errors import MISSING, ScenarioError
from scenarios.library import library_names, library_text
from scenarios.plugins import load_installed
from scenarios.scenario import Scenario, require_scenario, scenario_from

System = Scenario | Mapping[str, Any] | str | Path
"""A scenario, the tables of its file, its name in the library, or the path of its file."""

_LARGEST_FILE = 50_000_000

_NUMBERS = re.compile(r"\[\n((?:[ ]*[-+.\w]+,\n)+)[ ]*\]")
_LONGEST_LINE = 100
"""Lists of numbers in a file that is written, and the letters of a line of them."""


def load(source: str | Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file, or of a name in the library.

    Parameters
    ----------
    source : str or Path
        A path, or the name of a library scenario (a name has no dot and no slash).
    changes : mapping, optional
        Dotted keys and values to set before the scenario is checked, as in `Scenario.with_`.

    Raises
    ------
    ScenarioError
        If it cannot be read or is not valid.
    """
    load_installed()  # which entries exclude one another depends on the laws
    entries, base, shown = read_entries(source)
    try:
        return scenario_from(with_changes(entries, changes or {}), base)
    except ScenarioError as error:
        error.file = error.file or shown
        raise


def scenario_of(system: System) -> Scenario:
    """The scenario that is meant: itself, the one of a name or a path, or that of parsed tables.

    Raises
    ------
    ScenarioError
        If it cannot be read or is not valid.
    TypeError
        If it is none of these.
    """
    if isinstance(system, str | Path):
        return load(system)
    if isinstance(system, Mapping):
        return scenario_from(system)
    require_scenario(system)
    return system


def read_entries(source: str | Path) -> tuple[dict[str, Any], str, str]:
    """Parsed tables of a file, the folder that its paths count from, and its name to show."""
    text = str(source)
    if isinstance(source, str) and source in library_names():
        return _parsed(library_text(source), source), ".", source
    path = Path(text)
    looks_like_name = not path.suffix and os.sep not in text
    if looks_like_name and not _exists(path):
        raise ScenarioError(text, MISSING, f"is neither a file nor in the library{_hint(text)}")
    return _parsed(_read(path), text), str(path.absolute().parent), text


def _hint(name: str) -> str:
    """The library scenario that was meant, and where all of them are listed."""
    near = most_like(name, library_names())
    meant = f"; did you mean {near}?" if near else ""
    return f"{meant} (`crawlsim scenarios` lists all)"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long for a file
        return False


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:  # a pipe will do, so its size is not asked for
            content = stream.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise ScenarioError("", MISSING, "is too large for a scenario file", str(path))
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        allowed = f"is not UTF-8 (byte {error.start})"
        raise ScenarioError("", MISSING, allowed, str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ScenarioError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError("", MISSING, f"cannot be read: {reason}", str(path)) from None


def _parsed(text: str, shown: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError("", MISSING, f"is not TOML: {error}", shown) from None
    except RecursionError:
        raise ScenarioError("", MISSING, "is nested too deeply", shown) from None
    except ValueError as error:
        raise ScenarioError("", MISSING, f"is not TOML: {error}", shown) from None


def parse_value(text: str) -> Any:
    """A value as in a scenario file; what is not TOML is taken as a string."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if set(parsed) == {"value"} else text


def value_text(value: Any) -> str:
    """A value on one line, as `parse_value` reads it; a word needs no quotes."""
    if isinstance(value, str) and value.isprintable() and parse_value(value) == value:
        return value
    return _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        items = (f"{_toml_key(key)} = {_toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(items)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


def _toml_key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def dumps(scenario: Scenario, folder: str | Path | None = None) -> str:
    """The scenario as a TOML file.

    Parameters
    ----------
    scenario : Scenario
    folder : path, optional
        Where the file will lie; paths inside are written relative to it.
    """
    return toml_of(scenario.as_file(), folder)


def toml_of(entries: dict[str, Any], folder: str | Path | None = None) -> str:
    """The tables of a scenario, as `Scenario.as_file` gives them, as a TOML file in a folder."""
    rebase(entries, Path(folder or ".").resolve())
    return _NUMBERS.sub(_on_one_line, tomli_w.dumps(entries))


def _on_one_line(found: re.Match[str]) -> str:
    """A list of numbers on one line, as far as one holds it."""
    line = f"[{', '.join(found[1].replace(',', ' ').split())}]"
    return line if len(line) <= _LONGEST_LINE else found[0]


def rebase(table: dict[str, Any], folder: Path) -> None:
    """Let the paths in tables of a scenario count from a folder."""
    for key, value in table.items():
        if isinstance(value, dict):
            rebase(value, folder)
        elif isinstance(value, list):
            for inner in value:
                if isinstance(inner, dict):
                    rebase(inner, folder)
        elif key == "file":
            table[key] = Path(os.path.relpath(value, folder)).as_posix()


def schema() -> dict[str, Any]:
    """JSON Schema of the scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(),
    }
