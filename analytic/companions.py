"""The packages of crawlsim belong together: a stranger in the place of one is refused in one line.

This file is the same in each package that needs another, as none can ask another one before it
knows whose that is.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

_MARK = b"crawlsim"
"""What stands in the first file of each package."""


def require(*names: str) -> None:
    """End the program, with 2, if a package is not the one beside this one; none is run for that.

    Parameters
    ----------
    *names : str
    """
    for name in names:
        if (reason := stranger(name)) is not None:
            print(f"crawlsim: {reason}", file=sys.stderr)
            raise SystemExit(2)
        import_module(name)  # now, as in another folder there may be another one later


def stranger(name: str) -> str | None:
    """What stands in the place of a package, and what to do; None if it is the one beside this."""
    place = _place_of(name)
    if place is None or _is_ours(name, place):
        return None
    shown = place if place.isprintable() else ascii(place)
    what = f"{shown} stands in the place of crawlsim's own package {name}"
    return f"{what}: rename it, or install crawlsim where there is no other {name}"


def _place_of(name: str) -> str | None:
    """The file that an import would run, or has run; None where there is none."""
    try:
        spec = find_spec(name)
    except ValueError:  # somebody has made a module without a file
        return f"a module {name}"
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _is_ours(name: str, place: str) -> bool:
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # pathlib takes a while to load
    own = os.path.join(root, name, "__init__.py")  # noqa: PTH118  # the same
    with suppress(OSError):  # in an archive there are no files
        if not os.path.samefile(place, own):  # noqa: PTH121  # the same
            return False
        with open(own, "rb") as file:  # noqa: PTH123  # the same
            return _MARK in file.read()
    return os.path.dirname(os.path.dirname(place)) == root  # noqa: PTH120  # the same
