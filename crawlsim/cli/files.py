"""Files and folders that commands write: claimed first, written whole, never over others'."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

import click

from crawlsim.own_files import IN_MARKUP, PROGRAM, claim, is_own, refusing_unwritable, signed, write
from scenarios import ScenarioError
from scenarios.plugins import versions
from sim.atomic_files import alone_in, remove_leftovers, staging

PROVENANCE = "provenance.json"

_REPLACED = "replaced"

Text = str | bytes | Iterable[str]
"""What goes into a file: all of it, or in chunks."""

_MARK = f"drawn by {PROGRAM}"

FIGURES = {
    ".svg": {"Creator": _MARK, "Date": None},
    ".png": {"Software": _MARK},
    ".pdf": {"Creator": _MARK, "CreationDate": None},
}
"""Endings of the names of figures, and the metadata of each format."""

_PACKAGES = ("crawlsim", "simpy", "numba", "numpy", "scipy", "pydantic")

_DOTS_PER_INCH = 200


def place_of(folder: str) -> Path:
    """Where a folder is to be: "a/../b" is "b", whether there is an "a" or not."""
    return Path(os.path.abspath(folder))  # noqa: PTH100  # pathlib does not shorten it


def own_folder(
    folder: str, names: Iterable[str], *, force: bool = False, option: str = "--out"
) -> Path:
    """The folder for results.

    Parameters
    ----------
    folder : str
        As given by the user; it need not exist.
    names : iterable of str
        The files that will be written there.
    force : bool
        Whether files of somebody else may be replaced.
    option : str
        What a refusal names.

    Raises
    ------
    ScenarioError
        Before any work is done: if the folder cannot be written to, or a file that would be
        replaced or removed was not written by this program.
    """
    if not folder:
        raise ScenarioError(option, folder, "must be a folder")
    path = place_of(folder)
    names = list(names)
    with refusing_unwritable(option, folder):
        parent = _existing_part(path, names)
        if not parent.is_dir():
            raise ScenarioError(option, folder, f"{parent} is not a folder")
        with tempfile.TemporaryFile(dir=parent):
            pass
        remove_leftovers(path)
    _refuse_foreign(option, path, names, force)
    return path


def _existing_part(path: Path, names: Iterable[str]) -> Path:
    """The folder itself or the one above it that is there; names that cannot be are refused."""
    parts = [path.absolute(), *path.absolute().parents]
    place = next(n for n, each in enumerate(parts) if _is_there(each))
    for name in (*(missing.name for missing in parts[:place]), *names):
        _is_there(parts[place] / name)
    return parts[place]


def _is_there(path: Path) -> bool:
    """Whether something lies there, dangling links included."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def write_files(
    folder: Path,
    files: Mapping[str, Text],
    provenance: Callable[[Mapping[str, str]], str],
    *,
    force: bool = False,
    option: str = "--out",
    kept: Iterable[str] = (),
) -> None:
    """Write all files, or none: each is complete beside its place before any takes it.

    Files that an earlier run left there, as its provenance says, do not stay beside the new ones.

    Parameters
    ----------
    folder : Path
    files : mapping name -> text
        Whole, or in chunks that are written as they are made. A name may lie in a folder below:
        "inputs/crawl.toml".
    provenance : callable
        Gives the text of the provenance, from the digest of each file.
    force : bool
        Whether files of somebody else may be replaced.
    option : str
        What a refusal names.
    kept : iterable of str
        Files that an earlier call wrote there, and that stay as they are.

    Raises
    ------
    ScenarioError
        If they cannot be written, or one would replace a file of somebody else.
    """
    names = [*files, PROVENANCE]
    kept = list(kept)
    _refuse_foreign_before(option, folder, [*names, *kept], force)
    with refusing_unwritable(option, folder), staging(folder) as place:
        digests = {name: digest_of(folder / name) for name in kept}
        digests |= {name: _written(place / name, text) for name, text in files.items()}
        with alone_in(folder):
            _put_in_place(option, place, folder, names, provenance(digests), force, kept)


def _put_in_place(
    option: str,
    staging: Path,
    folder: Path,
    names: Sequence[str],
    provenance: str,
    force: bool,
    kept: Sequence[str],
) -> None:
    """Replace the files of an earlier run, while nobody else does."""
    stale = _refuse_foreign(option, folder, [*names, *kept], force)
    # Until the new files have their places the provenance names the old ones too: whatever moment
    # a process is killed in, every file in the folder is named as ours.
    old = {name: sorted(digests) for name, digests in _recorded(folder).items()}
    _written(staging / PROVENANCE, json.dumps(json.loads(provenance) | {_REPLACED: old}))
    (staging / PROVENANCE).replace(folder / PROVENANCE)
    for name in stale:
        (folder / name).unlink(missing_ok=True)
    _written(staging / PROVENANCE, provenance)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).replace(folder / name)


def remove_files(folder: Path) -> None:
    """Remove what `write_files` wrote there, and folders that are empty then."""
    with suppress(OSError):
        for name in _recorded(folder):
            (folder / name).unlink(missing_ok=True)
            for each in PurePosixPath(name).parents:
                with suppress(OSError):
                    (folder / each).rmdir()


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _written(path: Path, text: Text) -> str:
    """Write a file; returns its digest."""
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        for part in [text] if isinstance(text, str | bytes) else text:
            # Names of folders may be no UTF-8.
            content = part if isinstance(part, bytes) else part.encode(errors="backslashreplace")
            stream.write(content)
            digest.update(content)
    return digest.hexdigest()


def _refuse_foreign_before(option: str, folder: Path, names: Sequence[str], force: bool) -> None:
    """Refuse files of somebody else before anything is computed for their places.

    What looks foreign while another run replaces its files is looked at again once that is done.
    """
    try:
        _refuse_foreign(option, folder, names, force)
    except ScenarioError:
        with alone_in(folder):
            _refuse_foreign(option, folder, names, force)


def _refuse_foreign(option: str, folder: Path, names: Iterable[str], force: bool) -> set[str]:
    """The files of an earlier run that the new ones do not replace, all of them being ours."""
    ours = _recorded(folder)
    wanted = set(names)
    stale = set(ours) - wanted
    for name in sorted(wanted | stale):
        if any((folder / each).is_symlink() for each in PurePosixPath(name).parents[:-1]):
            raise ScenarioError(option, str(folder), f"{name} there lies behind a link")
        digests = ours.get(name, set())
        if _may_replace(option, folder / name, digests, force and name in wanted):
            continue
        if force and name in stale:  # it stays, as it is not replaced
            stale.remove(name)
            continue
        allowed = f"{name} there was not written by {PROGRAM}"
        if name in ours:
            allowed = f"{name} there has changed since {PROGRAM} wrote it"
        raise ScenarioError(option, str(folder), f"{allowed}; give another folder, or --force")
    return stale


def _may_replace(option: str, path: Path, digests: set[str], force: bool) -> bool:
    """Whether nothing lies there, or a plain file that is ours, by one of these digests too."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        if force:
            return True
        if path.name == PROVENANCE:
            return bool(digests)
        return digest_of(path) in digests or is_own(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        allowed = f"{path.name} there cannot be replaced: {error.strerror}"
        raise ScenarioError(option, str(path.parent), allowed) from None


def _recorded(folder: Path) -> dict[str, set[str]]:
    """Names and digests of the files that this program wrote there, its provenance among them.

    A file has two digests where a process was killed while it replaced the files.
    """
    document = read_json(folder / PROVENANCE)
    files: Any = document.get("files")
    replaced: Any = document.get(_REPLACED, {})
    is_ours = document.get("program") == PROGRAM
    if not (is_ours and isinstance(files, dict) and isinstance(replaced, dict)):
        return {}
    recorded: dict[str, set[str]] = {PROVENANCE: {""}}
    for name, digests in [*((n, [d]) for n, d in files.items()), *replaced.items()]:
        if may_be_a_name(name) and isinstance(digests, list):
            recorded.setdefault(name, set()).update(map(str, digests))
    return recorded


def may_be_a_name(name: str) -> bool:
    """Whether a file within a folder can be called that; a document may hold any text."""
    parts = PurePosixPath(name).parts
    is_within = parts and "/".join(parts) == name and not {"..", "/"} & set(parts)
    try:
        return bool(is_within) and b"\0" not in os.fsencode(name) and not Path(name).anchor
    except UnicodeEncodeError:
        return False


def package_versions() -> dict[str, str]:
    """Versions of what the numbers depend on; of plugins the digest too.

    numba compiles the fast engine, where it exists.
    """
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found | versions()


def provenance(
    runs: Sequence[Mapping[str, Any]], options: Mapping[str, Any], digests: Mapping[str, str]
) -> str:
    """What made the files of a folder: versions, options, seeds; with a digest of each file."""
    from datetime import UTC, datetime

    document = {
        "program": PROGRAM,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": package_versions(),
        "options": options,
        "files": dict(digests),
        "runs": runs,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):  # a pipe would never answer
            return {}
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def figure_bytes(figure: Any, ending: str) -> bytes:
    """A matplotlib figure in the format of an ending; the same figure gives the same bytes."""
    import matplotlib as mpl

    stream = io.BytesIO()
    how = {"format": ending[1:], "dpi": _DOTS_PER_INCH, "metadata": FIGURES[ending]}
    with mpl.rc_context({"svg.hashsalt": PROGRAM}):
        figure.savefig(stream, facecolor="white", **how)
    drawn = stream.getvalue()
    return signed(drawn.decode(), IN_MARKUP) if ending == ".svg" else drawn


def claim_all(asked: Mapping[str, str | None], *, force: bool) -> dict[str, Path]:
    """The places of the files that options ask for, each as `claim`, and no two the same.

    Parameters
    ----------
    asked : mapping option -> path or None
        ``--out`` first.
    force : bool
        Whether files of somebody else may be replaced.
    """
    files: dict[str, Path] = {}
    places = set()
    for option, path in asked.items():
        if path is None:
            continue
        if option == "--report" and not path.endswith(".html"):
            raise ScenarioError(option, path, "must end in .html")
        files[option] = claim(option, path, force=force)
        place = os.path.realpath(path)
        if place in places:
            raise ScenarioError(option, path, "is the file of --out; give another name")
        places.add(place)
    return files


def write_all(files: Mapping[str, Path], contents: Mapping[str, bytes], *, force: bool) -> None:
    """Write files that were claimed, by the options that asked for them, and say so."""
    for option, content in contents.items():
        write(option, files[option], content, force=force)
        click.echo(f"written: {files[option]}", err=True)
