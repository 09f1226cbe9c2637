"""The public names of the packages."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any


@cache
def packages() -> tuple[str, ...]:
    """The packages of which every name in `__all__` is documented."""
    below = import_module("analytic")
    named = (f"analytic.{each.name}" for each in pkgutil.iter_modules(below.__path__) if each.ispkg)
    subjects = [each for each in named if hasattr(import_module(each), "__all__")]
    return ("scenarios", "sim", "analytic", *subjects, "crawlsim")


def public_names(package: str) -> Iterator[tuple[str, Any]]:
    """Name and object of everything in the package's `__all__`."""
    module = import_module(package)
    for name in module.__all__:
        yield name, getattr(module, name)


@cache
def _names_by_object() -> dict[int, str]:
    found: dict[int, str] = {}
    for package in packages():
        for name, thing in public_names(package):
            if callable(thing):
                found.setdefault(id(thing), f"{package}.{name}")
    return found


def public_name(thing: Any) -> str | None:
    """Under what name it is public; None: it is not."""
    return _names_by_object().get(id(thing))
