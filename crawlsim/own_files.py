"""Files that this program writes: each carries its digest, and only such a file is replaced.

The digest stands in the last line where the format has a place for a comment, and else in a hidden
file beside it: so that what others wrote, or changed since, is recognised.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scenarios import ScenarioError
from sim.atomic_files import alone_in, staging

PROGRAM = "crawlsim"
"""How a file says who wrote it."""

IN_TOML = "# {}"
IN_MARKUP = "<!-- {} -->"
"""Comments, which HTML and SVG have in common."""

_SAYS = f"Written by {PROGRAM}; SHA-256 of the rest: "
_LAST_LINE = re.compile(rb"(?:# |<!-- )" + _SAYS.encode() + rb"([0-9a-f]{64})(?: -->)?\n")
_LONGEST_LAST_LINE = 200
_BESIDE = re.compile(f"{_SAYS}([0-9a-f]{{64}})\n")


@contextmanager
def refusing_unwritable(option: str, path: str | Path) -> Iterator[None]:
    """Turn what the file system refuses into a `ScenarioError` of the option that asked for it."""
    try:
        yield
    except OSError as error:
        allowed = f"cannot be written to: {error.strerror}"
        raise ScenarioError(option, str(path), allowed) from None


def signed(text: str, comment: str) -> bytes:
    """A text, and a last line that says who wrote it.

    Parameters
    ----------
    text : str
    comment : str
        `IN_TOML` or `IN_MARKUP`.
    """
    content = text.encode(errors="backslashreplace")  # names of folders may be no UTF-8
    content += b"" if content.endswith(b"\n") else b"\n"
    return content + comment.format(_SAYS + hashlib.sha256(content).hexdigest()).encode() + b"\n"


def is_own(path: Path) -> bool:
    """Whether this program wrote a plain file, and nobody has changed it since.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _LONGEST_LAST_LINE, 0))
        end = stream.read().splitlines(keepends=True)
        stream.seek(0)
        if end and _LAST_LINE.fullmatch(end[-1]):
            return _is_signed(stream.read())
        return hashlib.file_digest(stream, "sha256").hexdigest() in _digests_beside(path)


def _is_signed(content: bytes) -> bool:
    *rest, last = content.splitlines(keepends=True) or [b""]
    said = _LAST_LINE.fullmatch(last)
    return said is not None and hashlib.sha256(b"".join(rest)).hexdigest() == said[1].decode()


def _beside(path: Path) -> Path:
    """The file with the digest of another one: hidden, so that no crawler takes it for seeds."""
    return path.with_name(f".{path.name}.{PROGRAM}")


def _digests_beside(path: Path) -> list[str]:
    """What the file beside another one says; empty where there is none of ours."""
    beside = _beside(path)
    try:
        if not stat.S_ISREG(beside.lstat().st_mode):  # a pipe would never answer
            return []
        said = [_BESIDE.fullmatch(line) for line in beside.read_text().splitlines(keepends=True)]
    except (FileNotFoundError, ValueError):
        return []
    return [each[1] for each in said if each] if all(said) else []


def claim(option: str, path: str | Path, *, force: bool = False) -> Path:
    """The place of a file, before any work is done for it.

    Parameters
    ----------
    option : str
        What a refusal names.
    path : str or Path
    force : bool
        Whether a file of somebody else may be replaced.

    Raises
    ------
    ScenarioError
        If it cannot be written, or something of somebody else lies there.
    """
    target = Path(path)
    with refusing_unwritable(option, path):
        if not path or target.is_dir():
            raise ScenarioError(option, str(path), "is a folder; give the name of a file")
        target.parent.resolve(strict=True)
        place = _behind_links(target)
        _refuse_foreign(option, target, force)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    return target


def _behind_links(path: Path) -> Path:
    """The file that is replaced: links to it stay."""
    return Path(os.path.realpath(path))


def _refuse_foreign(option: str, target: Path, force: bool) -> None:
    place = _behind_links(target)
    for path in (place, _beside(place)):
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            continue
        shown = str(target if path == place else path)
        if not is_file:
            raise ScenarioError(option, shown, "exists but is not a file; give another name")
        if force or (is_own(path) if path == place else _digests_beside(place)):
            continue
        allowed = f"exists and was not written by {PROGRAM}, or has changed since"
        raise ScenarioError(option, shown, f"{allowed}; give another name, or --force")


@contextmanager
def writing(option: str, target: Path, *, force: bool = False) -> Iterator[Path]:
    """A file to be filled, which in the end takes the place of one that was claimed.

    Raises
    ------
    ScenarioError
        If it cannot be written, or something of somebody else has come to its place meanwhile.
    """
    place = _behind_links(target)
    with refusing_unwritable(option, target), staging(place.parent) as folder:
        complete = folder / place.name
        yield complete
        with alone_in(place.parent):
            _refuse_foreign(option, target, force)
            if place.exists():
                shutil.copymode(place, complete)  # who may read it stays as it was
            if is_own(complete):  # it is signed
                complete.replace(place)
                _beside(place).unlink(missing_ok=True)
                return
            # Whatever moment a process is killed in, the file that is there is known as ours.
            known = [complete, place] if place.exists() and is_own(place) else [complete]
            beside = folder / "beside"
            beside.write_text("".join(f"{_SAYS}{digest}\n" for digest in map(_digest, known)))
            beside.replace(_beside(place))
            complete.replace(place)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write(option: str, target: Path, content: bytes, *, force: bool = False) -> None:
    """Write a file that was claimed."""
    with writing(option, target, force=force) as complete:
        complete.write_bytes(content)
