"""The record of a study, `study.json`: the command, and a digest of each file; read with distrust.

A folder may come from a stranger. So nothing of a record is taken for more than it is: the command
is one of ours with options that change numbers, names of files stay within the folder, and no file
is reached through a link.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from crawlsim.cli.files import may_be_a_name
from crawlsim.own_files import PROGRAM
from crawlsim.study.inputs import INPUTS, PLUGINS
from scenarios import ScenarioError
from scenarios.base import listed
from scenarios.columns import LARGEST_FILE
from scenarios.errors import MISSING
from scenarios.text import visible

RECORD = "study.json"
RESULTS = "results"
FIGURES = "figures"

COMMANDS = ("run", "check", "sweep", "optimize")

RECORDED = frozenset(
    {
        *("--confidence", "--control-variates", "--distributions", "--fail-if", "--first"),
        *("--indifference", "--kind", "--last", "--max-replications", "--maximise", "--measure"),
        *("--minimise", "--negligible", "--no-solve", "--over", "--precision", "--replications"),
        *("--seed", "--subject-to", "--target", "--vary", "--warmup"),
    }
)
"""Options that numbers depend on; no other one of a stranger's study is given to a command."""

WITHOUT_EFFECT = frozenset(
    {
        *("--all", "--cluster", "--engine", "--figure", "--figures", "--force", "--format"),
        *("--help", "--jobs", "--json", "--junit", "--out", "--pages", "--quantiles", "--report"),
        *("--set", "--study", "--trace", "--with"),
    }
)
"""Options that are not recorded: no number depends on them, or a file of the study holds them."""

_FORM = 1
_LARGEST_RECORD = 20_000_000
_MOST_FILES = 10_000
_DIGEST = re.compile("[0-9a-f]{64}")

Options = Mapping[str, str | Literal[True] | list[str]]
"""Options of a command as one types them: "--seed" -> "3", and True for one without a value."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study says of itself.

    Attributes
    ----------
    command : str
        One of `COMMANDS`.
    options : mapping
        Those that change numbers.
    scenarios : list of str
        Names of its scenario files.
    exit_code : int
        What the command ended with.
    files : dict name -> SHA-256
        Of its inputs, results and figures.
    plugins : list of str
        Names of its files that are code of its author's own.
    """

    command: str
    options: Options
    scenarios: list[str]
    exit_code: int
    files: dict[str, str]
    plugins: list[str]

    @property
    def inputs(self) -> list[str]:
        """Its scenario and data files, and plugins."""
        return [name for name in self.files if name.startswith((f"{INPUTS}/", f"{PLUGINS}/"))]

    @property
    def made(self) -> list[str]:
        """What the command wrote."""
        return [name for name in self.files if name not in {*self.inputs}]

    def text(self) -> str:
        """The file."""
        document = {"program": PROGRAM, "form": _FORM, **asdict(self)}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def words(self) -> list[str]:
        """The command and its options, as a process gets them."""
        return [self.command, *options_as_typed(self.options)]


def options_as_typed(options: Options) -> Iterator[str]:
    """Each option with its value in one word, so that no value is taken for an option."""
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            yield name if each is True else f"{name}={each}"


def read_study(folder: Path) -> Study:
    """The record of a study.

    Raises
    ------
    ScenarioError
        If there is none, or it says what none of ours would.
    """
    try:
        with opened(folder, RECORD) as stream:
            content = stream.read(_LARGEST_RECORD + 1)
    except OSError as error:
        reason = f"is no study: {RECORD} cannot be read: {error.strerror}"
        raise ScenarioError("", MISSING, reason, str(folder)) from None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if (
        len(content) > _LARGEST_RECORD
        or not isinstance(document, dict)
        or document.get("program") != PROGRAM
    ):
        raise _refusal(folder, f"is none that {PROGRAM} wrote")
    if document.get("form") != _FORM:
        raise _refusal(folder, "is in the form of another version")
    fields = {name: document.get(name) for name in Study.__dataclass_fields__}
    for name, is_valid, what in _CHECKS:
        if not is_valid(fields):
            raise _refusal(folder, f"{name} must be {what}")
    return Study(**fields)  # type: ignore[arg-type]  # each was looked at


def _refusal(folder: Path, reason: str) -> ScenarioError:
    return ScenarioError("", MISSING, reason, str(folder / RECORD))


def _are_options(value: Any) -> bool:
    return isinstance(value, dict) and all(
        name in RECORDED
        and (
            each is True or _is_word(each) or (isinstance(each, list) and all(map(_is_word, each)))
        )
        for name, each in value.items()
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _are_files(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_FILES
        and all(
            may_be_a_name(name)
            and visible(name) == name
            and "\\" not in name
            and PurePosixPath(name).parts[0] in (INPUTS, PLUGINS, RESULTS, FIGURES)
            and isinstance(digest, str)
            and _DIGEST.fullmatch(digest)
            for name, digest in value.items()
        )
    )


def _are_among(names: Any, files: Mapping[str, str], folder: str) -> bool:
    return isinstance(names, list) and all(
        isinstance(each, str) and each in files and each.startswith(f"{folder}/") for each in names
    )


_CHECKS: tuple[tuple[str, Callable[[Mapping[str, Any]], Any], str], ...] = (
    ("command", lambda said: said["command"] in COMMANDS, listed(COMMANDS)),
    ("options", lambda said: _are_options(said["options"]), "options that change numbers"),
    ("files", lambda said: _are_files(said["files"]), "files of the folder, with their SHA-256"),
    (
        "scenarios",
        lambda said: (
            said["scenarios"] != [] and _are_among(said["scenarios"], said["files"], INPUTS)
        ),
        "some of its files",
    ),
    ("exit_code", lambda said: said["exit_code"] in (0, 1, 3), "0, 1 or 3"),
    (
        "plugins",
        lambda said: _are_among(said["plugins"], said["files"], PLUGINS),
        f"files of its folder {PLUGINS}",
    ),
)
"""What is asked of each entry of a record, in this order, and in words."""


def opened(folder: Path, name: str) -> BufferedReader:
    """A plain file of a folder, which no link leads to.

    Raises
    ------
    OSError
        If there is none, or it is larger than any that crawlsim reads.
    """
    path = folder
    for part in PurePosixPath(name).parts:
        if path.is_symlink() and path != folder:
            raise OSError(0, "it lies behind a link")
        path = path / part
    descriptor = os.open(path, os.O_RDONLY | _NO_LINKS)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no plain file")
    if found.st_size > LARGEST_FILE and name.startswith((f"{INPUTS}/", f"{PLUGINS}/")):
        os.close(descriptor)
        raise OSError(0, "it is too large")
    return os.fdopen(descriptor, "rb")


_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Neither links nor pipes that nobody writes to; Windows has no words for either."""


def digest_in(folder: Path, name: str) -> str:
    """The SHA-256 of a file of a study; "" where there is no such file."""
    try:
        with opened(folder, name) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
