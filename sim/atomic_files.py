"""Files that appear complete or not at all: staging folders, and what killed processes leave.

Such a file is first written into a staging folder beside its target, which its process keeps locked
as long as it lives: so the next process can tell leftovers from work in progress. Where the file
system has no locks, nothing is removed.
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
"""How the names of staging folders begin."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a folder, which must exist; then hold it."""
    lock = _locked(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _locked(folder: Path, *, wait: bool) -> int | None:
    """A descriptor that locks a folder until it is closed; None where there is no lock to be had.

    The lock is on the open folder itself: it needs no file, and ends with the process.
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
    """A folder within another, for files that are not complete yet; removed in the end.

    The other one is made where there is none, and does not stay empty if the work fails.

    Raises
    ------
    OSError
        If one cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _staging_in(folder) as staged:
            yield staged
    except BaseException:
        for each in missing:
            with suppress(OSError):  # somebody has put something there
                each.rmdir()
        raise


@contextmanager
def _staging_in(folder: Path) -> Iterator[Path]:
    with alone_in(folder):
        _remove_leftovers(folder)
        staged = Path(tempfile.mkdtemp(dir=folder, prefix=PREFIX))
        lock = _locked(staged, wait=False)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder, if it exists."""
    if folder.is_dir():
        with alone_in(folder):
            _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    """Only under the lock of the folder: a new staging folder is not locked at once."""
    with suppress(OSError):
        for left in list(folder.glob(f"{PREFIX}*")):
            lock = None if left.is_symlink() else _locked(left, wait=False)
            if lock is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
