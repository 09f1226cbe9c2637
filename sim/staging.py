"""Files on their way to their place: locks, and what a killed process leaves behind.

A file that takes its place complete or not at all is first written into a folder beside it. Such a
folder is locked by its process for as long as that lives, so that whoever comes next can tell
leftovers from work in progress. Where the file system has no locks, nothing is removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = ".partial-crawlsim-"
"""How the names of such folders begin."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is in here with the same folder; it must exist."""
    held = _locked(folder, wait=True)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _locked(folder: Path, *, wait: bool) -> int | None:
    """A descriptor that keeps a lock on a folder until it is closed; None: there is none to have.

    The lock is that of the open folder itself: it needs no file, and ends with the process.
    """
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder within another, for files that are not complete yet; it goes in the end.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    with alone_in(folder):
        _remove_leftovers(folder)
        place = Path(tempfile.mkdtemp(dir=folder, prefix=PREFIX))
        held = _locked(place, wait=False)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if held is not None:
            os.close(held)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that are no more have left in a folder, if it is there."""
    if folder.is_dir():
        with alone_in(folder):
            _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """Only while nobody makes such folders here: a new one is not locked from the first moment."""
    with suppress(OSError):
        for place in list(folder.glob(f"{PREFIX}*")):
            held = None if place.is_symlink() else _locked(place, wait=False)
            if held is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(held)
