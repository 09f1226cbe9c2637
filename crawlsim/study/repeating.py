"""A study that is run again: which files are the same, and what the others differ by."""

from __future__ import annotations

import csv
import math
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from crawlsim.cli.files import PROVENANCE, digest_of, package_versions, read_json
from crawlsim.study.archive import Study, digest_in, opened, read_study
from crawlsim.study.inputs import INPUTS, tables_with_files
from scenarios import ScenarioError
from scenarios.errors import MISSING
from scenarios.files import parse_value, read_entries
from scenarios.text import counted, shortened, visible
from sim.sweep import parse_vary

SAME = "the same, byte for byte"
ROUNDING = "the same but for rounding"
CHANGED = "changed since the study was written"
MISSING_FILE = "missing"

_ROUNDING = 1e-9
"""Part of a number up to which a difference counts as rounding."""

_LONGEST = 80
_LONGEST_COMMAND = 500


@dataclass(frozen=True, slots=True)
class FileAgain:
    """What has become of one file.

    Attributes
    ----------
    name : str
    verdict : str
        `SAME`, `ROUNDING`, or what differs.
    """

    name: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Repetition:
    """A study that was run again.

    Parameters
    ----------
    command : str
        What was run.
    files : list of FileAgain
        Every file of the study: inputs, results and figures.
    environment : dict name -> (then, now)
        Versions and the machine, where they differ.
    is_same : bool
        Whether every file is the same, byte for byte.
    verdict : str
        In a sentence.
    """

    command: str
    files: list[FileAgain]
    environment: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_same(self) -> bool:
        """Whether every file is the same."""
        return all(each.verdict == SAME for each in self.files)

    @property
    def verdict(self) -> str:
        """All of it in a sentence."""
        others = [each.verdict for each in self.files if each.verdict != SAME]
        if not others:
            return f"{SAME}: all {len(self.files)} files"
        if set(others) == {ROUNDING}:
            return f"{ROUNDING}: {len(others)} of {len(self.files)} files"
        return f"not the same: {len(others)} of {len(self.files)} files differ"

    def record(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "command": self.command,
            "is_same": self.is_same,
            "verdict": self.verdict,
            "files": {each.name: each.verdict for each in self.files},
            "environment": {
                name: {"then": then, "now": now} for name, (then, now) in self.environment.items()
            },
        }


Again = Callable[[Study, Path], int]
"""Runs a command again in a folder that has the inputs; returns what it ends with."""


def run_and_compare(study: Path, work: Path, again: Again, *, run_plugins: bool) -> Repetition:
    """A study, run again in an empty folder, and compared file by file.

    Parameters
    ----------
    study, work : Path
    again : callable
    run_plugins : bool
        Whether code of its author's own may be executed.

    Raises
    ------
    ScenarioError
        If it is no study, or asks for what a study may not.
    """
    said = read_study(study)
    if said.plugins and not run_plugins:
        reason = (
            f"was made with code of its author's own, {', '.join(said.plugins)}: read it, and "
            "give --run-plugins if it may do whatever you may do"
        )
        raise ScenarioError("", MISSING, reason, str(study))
    intact = {name: digest_in(study, name) == digest for name, digest in said.files.items()}
    for name in said.plugins:
        if not intact[name]:
            raise ScenarioError("", MISSING, CHANGED, str(study / name))
    for name in said.inputs:
        _copy(study, work, name)
    _refuse_what_leaves(said, work)
    code = again(said, work)
    files = [FileAgain(name, SAME if intact[name] else CHANGED) for name in said.inputs]
    files += [_compared(said.files[name], intact[name], name, study, work) for name in said.made]
    files += [FileAgain(name, "new") for name in _new(said, work)]
    if code != said.exit_code:
        files.append(FileAgain("the exit code", f"was {said.exit_code}, and is {code} now"))
    command = visible(shortened(" ".join(said.words()), _LONGEST_COMMAND))
    return Repetition(command, files, environment_since(study))


def _copy(study: Path, work: Path, name: str) -> None:
    target = work / name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with opened(study, name) as source, target.open("xb") as copy:
            while chunk := source.read(1 << 20):
                copy.write(chunk)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise ScenarioError("", MISSING, reason, str(study / name)) from None


def _refuse_what_leaves(said: Study, work: Path) -> None:
    """Refuse scenarios and options that name files which are not among the inputs."""
    inputs = {(work / name).resolve() for name in said.inputs}
    for name in said.scenarios:
        entries, base, _ = read_entries(work / name)
        for table in tables_with_files(entries):
            path = table["file"]
            if "\0" in path or (Path(base) / path).resolve() not in inputs:
                raise ScenarioError("file", path, f"must be a file of the study, in {INPUTS}", name)
    for option in ("--vary", "--over"):
        words = said.options.get(option, [])
        for word in words if isinstance(words, list) else [str(words)]:
            if names_a_file(word):
                raise ScenarioError(option, word, "may not name files in a study")


def names_a_file(word: str) -> bool:
    """Whether one of the values of a varied entry is taken from a data file."""
    return any(True for _ in tables_with_files(list(parse_vary([word], parse_value).values())))


def _compared(recorded: str, is_intact: bool, name: str, study: Path, work: Path) -> FileAgain:
    made = digest_of(work / name) if (work / name).is_file() else ""
    if not is_intact:
        there = CHANGED if digest_in(study, name) else MISSING_FILE
        also = "; what was made again is as it was" if made == recorded else ""
        return FileAgain(name, there + also)
    if made == recorded:
        return FileAgain(name, SAME)
    if not made:
        return FileAgain(name, "not made again")
    return FileAgain(name, _difference(study, work, name))


def _difference(study: Path, work: Path, name: str) -> str:
    """In words, what differs between a file and the one that was made again."""
    if not name.endswith(".csv"):
        return "differs"
    try:
        with (
            opened(study, name) as one,
            (work / name).open("rb") as other,
        ):
            return _difference_of_rows(_rows(one), _rows(other))
    except (OSError, ValueError, csv.Error):
        return "differs"


def _rows(stream: Any) -> Iterator[list[str]]:
    return csv.reader(line.decode() for line in stream)


def _difference_of_rows(one: Iterator[list[str]], other: Iterator[list[str]]) -> str:
    """The largest difference of two tables, in standard errors where they have any."""
    header = next(one, [])
    if header != next(other, []):
        return "differs: other columns"
    largest = 0.0
    errors = 0.0
    numbers = rows = 0
    for row, again in zip_longest(one, other):
        if row is None or again is None or len(row) != len(again):
            return "differs: other rows"
        rows += 1
        for text, now in zip(row, again, strict=True):
            if text == now:
                continue
            try:
                was, is_now = float(text), float(now)
            except ValueError:
                return f"differs: {_said(text)} is {_said(now)} now, in row {rows}"
            numbers += 1
            scale = max(abs(was), abs(is_now))
            largest = max(largest, abs(was - is_now) / scale if scale else 0.0)
        named = (dict(zip(header, each, strict=False)) for each in (row, again))
        errors = max(errors, _in_standard_errors(*named))
    if largest <= _ROUNDING:
        return ROUNDING
    said = f"differs: {counted(numbers, 'number')}, by up to {100 * largest:.2g} %"
    return f"{said}, {errors:.2g} standard errors" if errors else said


def _in_standard_errors(row: Mapping[str, str], again: Mapping[str, str]) -> float:
    """How far two estimates of one thing are apart, beside what chance would do."""
    try:
        gap = float(row["estimate"]) - float(again["estimate"])
        error = math.hypot(float(row["standard_error"]), float(again["standard_error"]))
    except (KeyError, ValueError):
        return 0.0
    return abs(gap) / error if error else 0.0


def _said(text: str) -> str:
    return f'"{_said_of(text)}"'


def _new(said: Study, work: Path) -> list[str]:
    """What was made again though the study has no such file."""
    record = work / "study.json"
    made = read_json(record).get("files", {}) if record.is_file() else {}
    return sorted(set(made) - set(said.files))


def environment_since(study: Path) -> dict[str, tuple[str, str]]:
    """Versions and the machine, as the study says and as they are, where they differ."""
    there = read_json(study / PROVENANCE)
    packages = there.get("packages")
    then = {"Python": there.get("python"), "platform": there.get("platform")}
    then |= packages if isinstance(packages, dict) else {}
    now = {"Python": platform.python_version(), "platform": platform.platform()}
    now |= package_versions()
    gone = {name: "not installed" for name in then if name not in now}
    return {
        _said_of(name): (_said_of(then.get(name, "unknown")), version)
        for name, version in (now | gone).items()
        if then.get(name) != version
    }


def _said_of(value: object) -> str:
    return visible(shortened(str(value), _LONGEST))
