"""The finished cells of a sweep, one file each, so that an interrupted sweep goes on.

A cell's file takes its place when it is complete, never before, and is not computed again while
it lies there. The folder also says which sweep it belongs to; another one is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crawlsim.cli.folder import PROGRAM, place_of
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import json_text
from scenarios import Scenario, ScenarioError
from scenarios.files import value_text
from sim.staging import PREFIX, alone_in, remove_leftovers, staging
from sim.sweep import Cell

_FOLDER = "cells"
_IDENTITY = "sweep.json"

_PARTIAL = ".partial"
"""How names of unfinished files ended in sweeps of earlier versions."""

Record = dict[str, Any]


def identity_of(
    scenario: Scenario,
    varied: Mapping[str, Sequence[Any]],
    options: RunOptions,
    versions: Mapping[str, str],
) -> Record:
    """What makes two sweeps the same: all that their numbers depend on, and nothing else.

    Not the engine, nor how many workers there are: the numbers are the same for any.

    Parameters
    ----------
    scenario : Scenario
        The system before anything is varied.
    varied : mapping key -> values
    options : RunOptions
    versions : mapping package -> version
        Of this program and of those that its numbers depend on.
    """
    precision = {
        "precision": options.precision,
        "measures": list(options.measures),
        "max_replications": options.max_replications,
    }
    return _plain(
        {
            "program": PROGRAM,
            "packages": dict(versions),
            "scenario": scenario.as_file(),
            "contents": _digests(scenario.as_file(), *varied.values()),
            "vary": [[key, list(values)] for key, values in varied.items()],
            "warmup": options.warmup,
            "solve": options.solve,
            "precision": _given(precision) if options.precision is not None else None,
        }
    )


def _plain(document: Mapping[str, Any]) -> Record:
    """The document as JSON gives it back."""
    plain: Record = json.loads(json_text(document))
    return plain


def _digests(*values: Any) -> list[str]:
    """Of the contents of every data file that is named in some values, in their order."""
    found: list[str] = []
    for value in values:
        if isinstance(value, Mapping):
            if isinstance(name := value.get("file"), str) and Path(name).is_file():
                found.append(hashlib.sha256(Path(name).read_bytes()).hexdigest())
            found += _digests(*value.values())
        elif isinstance(value, list | tuple):
            found += _digests(*value)
    return found


class CellFiles:
    """The files of one sweep's cells in its folder.

    Parameters
    ----------
    folder : str
        The folder of ``--out``.
    identity : mapping
        As `identity_of`.
    grid : sequence of Cell
        All cells, in the order of their numbers.

    Raises
    ------
    ScenarioError
        If the cells of another sweep, or something of somebody else, lie there.
    """

    def __init__(self, folder: str, identity: Record, grid: Sequence[Cell]) -> None:
        self.folder = folder
        self._identity = identity
        self._grid = grid
        self._place = place_of(folder) / _FOLDER
        self._is_claimed = False
        self._refuse_another()
        remove_leftovers(self._place)

    def _refuse_another(self) -> None:
        if not self._place.exists() and not self._place.is_symlink():
            return
        there = _read(self._place / _IDENTITY)
        if there is None and self._is_empty():
            return
        if there is None or there.get("program") != PROGRAM:
            raise self._refusal(f"{_FOLDER} there was not written by {PROGRAM}")
        differing = [key for key in self._identity if there.get(key) != self._identity[key]]
        if differing:
            raise self._refusal(f"holds another sweep: {self._difference(there, differing)}")

    def _is_empty(self) -> bool:
        """Whether a sweep was killed before its first cell, or nothing else lies there."""
        return self._place.is_dir() and all(
            each.name.startswith(PREFIX) or (each.suffix == _PARTIAL and each.is_file())
            for each in self._place.iterdir()
        )

    def _difference(self, there: Record, keys: Sequence[str]) -> str:
        """Where the sweep that lies there differs, in words."""
        key = keys[0]
        if key == "contents":
            return "a data file had other contents"
        if key == "scenario":
            one = _flat(there.get(key))
            other = _flat(self._identity[key])
            key = next(k for k in (*one, *other) if one.get(k) != other.get(k))
            return f"{key} was {_said(one.get(key))}, and is {_said(other.get(key))} now"
        words = _varied if key == "vary" else _said
        return f"{key} was {words(there.get(key))}, and is {words(self._identity[key])} now"

    def _refusal(self, reason: str) -> ScenarioError:
        return ScenarioError("--out", self.folder, f"{reason}; give a folder of its own")

    def finished(self) -> dict[int, Record]:
        """The records of the cells that are done; what is not such a record is not."""
        found = {}
        for number, cell in enumerate(self._grid):
            path = self._file(number)
            if path.exists() and not path.is_file():
                raise self._refusal(f"{_FOLDER}/{path.name} there is no file")
            record = _unsealed(_read(path))
            if record is not None and record["varied"] == _plain(cell.varied):
                found[number] = record
        return found

    def keep(self, number: int, record: Record) -> None:
        """Write the record of a cell, whole or not at all."""
        self._keep(self._file(number), record)

    def stage(self, number: int, start: int, stop: int) -> Record | None:
        """The record of further replications of a cell; None where there is none."""
        record = _unsealed(_read(self._stage_file(number, start, stop)))
        of_cell = _plain(self._grid[number].varied)
        return record if record is not None and record.get("varied") == of_cell else None

    def keep_stage(self, number: int, start: int, stop: int, record: Record) -> None:
        """Write the record of a cell's replications from `start` to before `stop`."""
        self._keep(self._stage_file(number, start, stop), record)

    def _keep(self, path: Path, record: Record) -> None:
        try:
            self._place.mkdir(parents=True, exist_ok=True)
            with staging(self._place) as place:
                if not self._is_claimed:
                    self._claim(place)
                _write(place, path, _sealed(record))
        except OSError as error:
            raise ScenarioError(
                "--out", self.folder, f"cannot be written to: {error.strerror}"
            ) from None

    def _claim(self, staging: Path) -> None:
        """Say whose folder it is, unless another sweep has, begun at the same time."""
        with alone_in(self._place):
            if (self._place / _IDENTITY).exists():
                self._refuse_another()
            else:
                _write(staging, self._place / _IDENTITY, self._identity)
        self._is_claimed = True

    def _file(self, number: int) -> Path:
        return self._place / f"{number:05d}.json"

    def _stage_file(self, number: int, start: int, stop: int) -> Path:
        return self._place / f"{number:05d}-{start}-{stop}.json"


def _read(path: Path) -> Record | None:
    try:
        if not path.is_file():  # a pipe would never answer
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _write(staging: Path, path: Path, document: Record) -> None:
    """Complete elsewhere before it takes its place."""
    partial = staging / path.name
    partial.write_bytes(_encoded(document))
    partial.replace(path)


def _encoded(document: Record) -> bytes:
    """As JSON; names of folders that are no UTF-8 stand as codes in it."""
    return json_text(document).encode(errors="backslashreplace")


def _sealed(record: Record) -> Record:
    """A record with the digest of its text."""
    return {"sha256": hashlib.sha256(_encoded(record)).hexdigest(), "record": record}


def _unsealed(document: Record | None) -> Record | None:
    """The record, if it is as it was written."""
    record = document.get("record") if document else None
    if not isinstance(record, dict) or document != _sealed(record):
        return None
    return record


def _flat(value: Any, path: str = "") -> Record:
    """The entries of nested tables by their dotted keys."""
    if not isinstance(value, Mapping):
        return {path: value}
    flat: Record = {}
    for key, inner in value.items():
        flat |= _flat(inner, f"{path}.{key}" if path else key)
    return flat


def _varied(varied: Any) -> str:
    """The options of a sweep as they are given."""
    pairs = varied if isinstance(varied, list) else []
    return " ".join(f"{key}={','.join(map(value_text, values))}" for key, values in pairs)


def _given(entries: Record) -> Record:
    return {key: value for key, value in entries.items() if value is not None}


def _said(value: Any) -> str:
    return "not given" if value is None else value_text(value)
