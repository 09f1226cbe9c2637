"""A single file that a command writes: complete or not at all, and never over somebody else's.

A scenario file begins with a line that holds a digest of the rest, a figure carries a mark: a file
without it, or a scenario that has changed since, is not replaced.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crawlsim.cli.folder import PROGRAM
from scenarios import ScenarioError
from sim.staging import staging

_MARK = f"drawn by {PROGRAM}"
_HEADER = f"# Written by {PROGRAM}; SHA-256 of the lines below: "

FIGURES = {
    ".svg": {"Creator": _MARK, "Date": None},
    ".png": {"Software": _MARK},
    ".pdf": {"Creator": _MARK, "CreationDate": None},
}
"""Endings of the names of figures, and the metadata of each format."""

_DOTS_PER_INCH = 200


def signed(text: str) -> bytes:
    """A scenario file below a line that says who wrote it."""
    content = text.encode()
    return f"{_HEADER}{hashlib.sha256(content).hexdigest()}\n".encode() + content


def is_own_text(content: bytes) -> bool:
    """Whether this program wrote a scenario file, and nobody has changed it since."""
    header, _, rest = content.partition(b"\n")
    return header == (_HEADER + hashlib.sha256(rest).hexdigest()).encode()


def is_own_figure(content: bytes) -> bool:
    """Whether this program drew a figure."""
    return _MARK.encode() in content


def figure_bytes(figure: Any, ending: str) -> bytes:
    """A matplotlib figure in the format of an ending; the same figure gives the same bytes."""
    import matplotlib as mpl

    stream = io.BytesIO()
    how = {"format": ending[1:], "dpi": _DOTS_PER_INCH, "metadata": FIGURES[ending]}
    with mpl.rc_context({"svg.hashsalt": PROGRAM}):
        figure.savefig(stream, facecolor="white", **how)
    return stream.getvalue()


def claim(option: str, path: str, is_own: Callable[[bytes], bool]) -> Path:
    """The place of a file, before any work is done for it.

    Parameters
    ----------
    option : str
        What a refusal names.
    path : str
    is_own : callable
        Whether a file with some content may be replaced.

    Raises
    ------
    ScenarioError
        If it cannot be written, or something of somebody else lies there.
    """
    target = Path(path)
    try:
        if not path or target.is_dir():
            raise ScenarioError(option, path, "is a folder; give the name of a file")
        if target.exists() and not (target.is_file() and is_own(target.read_bytes())):
            allowed = f"is there and {PROGRAM} did not write it, or it has changed since"
            raise ScenarioError(option, path, f"{allowed}; give another name")
        with tempfile.TemporaryFile(dir=target.parent.resolve(strict=True)):
            pass
    except OSError as error:
        raise ScenarioError(option, path, f"cannot be written: {error.strerror}") from None
    return target


def are_same(one: Path, other: Path) -> bool:
    """Whether two names are those of one file, links on the way resolved."""
    places = [each.parent.resolve() / each.name for each in (one, other)]
    return places[0] == places[1]


def write(option: str, target: Path, content: bytes) -> None:
    """Write a file that was claimed."""
    try:
        with staging(target.parent) as place:
            complete = place / target.name
            complete.write_bytes(content)
            complete.replace(target)
    except OSError as error:
        allowed = f"cannot be written: {error.strerror}"
        raise ScenarioError(option, str(target), allowed) from None
