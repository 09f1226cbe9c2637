"""A page for each package: all of its public names, from their docstrings."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from generator.markdown import heading, page, prose, toctree
from generator.public import packages, public_name, public_names

FOLDER = "reference/python"

_LONG = "crawlsim"
_CLASSES = f"{_LONG}-classes"
"""The package with most names, and the page of those that are classes."""


def api_pages() -> dict[str, str]:
    """The pages by their places."""
    pages = {f"{FOLDER}/{package}": _page(package) for package in packages()}
    pages[f"{FOLDER}/{_CLASSES}"] = _page_of_classes()
    pages[f"{FOLDER}/index"] = page(
        "# From Python",
        "`import crawlsim` has what a study needs; `scenarios` says what a system is, `sim` "
        "simulates it, `analytic` and its packages solve it. The formulas are functions of plain "
        "numbers and arrays.",
        toctree([*packages(), _CLASSES]),
    )
    return pages


def _page(package: str) -> str:
    first = inspect.cleandoc(import_module(package).__doc__ or "").split("\n\n")[0]
    parts = [
        _directive(package, name, thing)
        for name, thing in _in_order(package)
        if package != _LONG or not inspect.isclass(thing)
    ]
    return page(heading(f"package-{package}", f"`{package}`"), prose(first), *parts)


def _page_of_classes() -> str:
    named = [each for each in _in_order(_LONG) if inspect.isclass(each[1])]
    parts = [_directive(_LONG, name, thing) for name, thing in named]
    first = f"What the functions of {{ref}}`{_LONG} <package-{_LONG}>` take, return and raise."
    return page(heading(f"classes-{_LONG}", f"Classes of `{_LONG}`"), first, *parts)


def _in_order(package: str) -> list[tuple[str, Any]]:
    return sorted(public_names(package), key=lambda each: each[0].lower())


def _directive(package: str, name: str, thing: Any) -> str:
    at = public_name(thing)
    is_class = inspect.isclass(thing)
    if at != f"{package}.{name}" and (is_class or (at is not None and package == "crawlsim")):
        return f"## {name}\n\nThe same as {{py:{'class' if is_class else 'func'}}}`{at}`.\n"
    lines = [f"## {name}", "", "```{eval-rst}"]
    if is_class:
        is_error = issubclass(thing, Exception)
        lines.append(f".. auto{'exception' if is_error else 'class'}:: {package}.{name}")
        lines += ["   :members:", "   :no-undoc-members:"]
    elif callable(thing):
        lines.append(f".. autofunction:: {package}.{name}")
    else:
        lines.append(f".. autodata:: {package}.{name}")
        lines.append("   :no-value:")
    return "\n".join([*lines, "```", ""])
