"""The library of scenarios: their names, and their files as they are."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

_LIBRARY = resources.files("scenarios") / "library"


def library_names() -> list[str]:
    """Names of the library scenarios."""
    names = (entry.name for entry in _LIBRARY.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def library_text(name: str) -> str:
    """The file of a library scenario."""
    return (_LIBRARY / f"{name}.toml").read_text(encoding="utf-8")


def library_entries(name: str) -> dict[str, Any]:
    """The tables of a library scenario as they stand in its file."""
    return tomllib.loads(library_text(name))
