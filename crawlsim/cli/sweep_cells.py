"""The cells of a sweep: those that are done are read, the others computed and kept.

Each has a file of its own, which takes its place when it is complete, never before, and is not
computed again while it lies there. The folder also says which sweep it belongs to; another one is
refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click

from crawlsim.cli.files import place_of, read_json
from crawlsim.cli.loading import decision_of, is_to_decide, with_warmup
from crawlsim.cli.options import RunOptions
from crawlsim.cli.output import progress_bar
from crawlsim.cli.results import run_record
from crawlsim.cli.run_time import say_how_long
from crawlsim.cli.simulating import simulate_as_asked
from crawlsim.cli.streams import Interrupted
from crawlsim.cli.tables import json_text, warn
from crawlsim.cli.workers import workers
from crawlsim.own_files import PROGRAM, refusing_unwritable
from crawlsim.ranking import Record, cell_record, further_replications
from crawlsim.short_warm_ups import SHORT_WARM_UPS, short_warm_ups, short_warm_ups_in
from scenarios import Scenario, ScenarioError
from scenarios.files import rebase, value_text
from scenarios.text import counted
from sim.atomic_files import PREFIX, alone_in, remove_leftovers, staging
from sim.sweep import Cell, label_of

_FOLDER = "cells"
_IDENTITY = "sweep.json"

_PARTIAL = ".partial"
"""How names of unfinished files ended in sweeps of earlier versions."""

DECISION = "decision"


def identity_of(
    scenario: Scenario,
    varied: Mapping[str, Sequence[Any]],
    options: RunOptions,
    versions: Mapping[str, str],
) -> Record:
    """What makes two sweeps the same: all that their numbers depend on, and nothing else.

    Paths count from the folder of ``--out``, which may be moved together with the data.

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
    given = {key: value for key, value in precision.items() if value is not None}
    entries = scenario.as_file()
    rebase(entries, place_of(options.out or ".").resolve())
    return _plain(
        {
            "program": PROGRAM,
            "packages": dict(versions),
            "scenario": entries,
            "contents": _digests(scenario.as_file(), *varied.values()),
            "vary": [[key, list(values)] for key, values in varied.items()],
            "warmup": options.warmup,
            "solve": options.solve,
            "precision": None if options.precision is None else given,
        }
    )


def _plain(document: Mapping[str, Any]) -> Record:
    """The document as JSON gives it back."""
    return json.loads(json_text(document))


def _digests(*values: Any) -> list[str]:
    """Of the contents of every data file that is named in some values, in their order."""
    digests: list[str] = []
    for value in values:
        if isinstance(value, Mapping):
            if isinstance(name := value.get("file"), str) and Path(name).is_file():
                digests.append(hashlib.sha256(Path(name).read_bytes()).hexdigest())
            digests += _digests(*value.values())
        elif isinstance(value, list | tuple):
            digests += _digests(*value)
    return digests


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
        there = read_json(self._place / _IDENTITY)
        # A sweep may have been killed before its first cell, or nothing lies there at all.
        if not there and self._place.is_dir() and all(map(_is_partial, self._place.iterdir())):
            return
        if there.get("program") != PROGRAM:
            raise self._refusal(f"{_FOLDER} there was not written by {PROGRAM}")
        differing = [key for key in self._identity if there.get(key) != self._identity[key]]
        if differing:
            raise self._refusal(f"holds another sweep: {self._difference(there, differing)}")

    def _difference(self, there: Record, keys: Sequence[str]) -> str:
        """Where the sweep that lies there differs, in words."""
        key = keys[0]
        if key == "contents":
            return "a data file had other contents"
        if key in ("scenario", "packages"):
            one = _flat(there.get(key))
            other = _flat(self._identity[key])
            key = next(k for k in (*one, *other) if one.get(k) != other.get(k))
            return f"{key} was {_said(one.get(key))}, and is {_said(other.get(key))} now"
        words = _varied if key == "vary" else _said
        return f"{key} was {words(there.get(key))}, and is {words(self._identity[key])} now"

    def _refusal(self, reason: str) -> ScenarioError:
        return ScenarioError("--out", self.folder, f"{reason}; give another folder")

    def finished(self) -> dict[int, Record]:
        """The records of the cells that are done; what is not such a record is not."""
        records = {}
        for number, cell in enumerate(self._grid):
            path = self._file(number)
            if path.exists() and not path.is_file():
                raise self._refusal(f"{_FOLDER}/{path.name} there is no file")
            if record := _record_of(path, cell):
                records[number] = record
        return records

    def stage(self, number: int, start: int, stop: int) -> Record | None:
        """The record of a cell's replications from `start` to before `stop`, if there is one."""
        return _record_of(self._file(number, start, stop), self._grid[number])

    def keep(self, record: Record, number: int, *stage: int) -> None:
        """Write the record of a cell, or of a stage of its replications, whole or not at all."""
        with refusing_unwritable("--out", self.folder), staging(self._place) as place:
            if not self._is_claimed:
                self._claim(place)
            _write(place, self._file(number, *stage), _sealed(record))

    def _claim(self, staging: Path) -> None:
        """Say whose folder it is, unless another sweep has, begun at the same time."""
        with alone_in(self._place):
            if (self._place / _IDENTITY).exists():
                self._refuse_another()
            else:
                _write(staging, self._place / _IDENTITY, self._identity)
        self._is_claimed = True

    def _file(self, number: int, *stage: int) -> Path:
        name = "-".join([f"{number:05d}", *map(str, stage)])
        return self._place / f"{name}.json"


def _is_partial(path: Path) -> bool:
    return path.name.startswith(PREFIX) or (path.suffix == _PARTIAL and path.is_file())


def _write(staging: Path, path: Path, document: Record) -> None:
    """Complete elsewhere before it takes its place."""
    partial = staging / path.name
    partial.write_bytes(_encoded(document))
    partial.replace(path)


def _encoded(document: Record) -> bytes:
    """As JSON; names of folders that are not UTF-8 stand as codes in it."""
    return json_text(document).encode(errors="backslashreplace")


def _sealed(record: Record) -> Record:
    """A record with the digest of its text."""
    return {"sha256": hashlib.sha256(_encoded(record)).hexdigest(), "record": record}


def _record_of(path: Path, cell: Cell) -> Record | None:
    """The record of a cell in a file, if it is as it was written."""
    document = read_json(path)
    record = document.get("record")
    if not isinstance(record, dict) or document != _sealed(record):
        return None
    return record if record.get("varied") == _plain(cell.varied) else None


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


def _said(value: Any) -> str:
    return "not given" if value is None else value_text(value)


def decisions(grid: Sequence[Cell]) -> tuple[str, ...]:
    """One more column where an activation or a routing is decided on the way."""
    sought = any(is_to_decide(cell.scenario) for cell in grid)
    return (DECISION,) if sought else ()


def cell_records(
    name: str,
    grid: Sequence[Cell],
    options: RunOptions,
    files: CellFiles | None,
    require: Iterable[Callable[[Scenario], None]] = (),
) -> list[Record]:
    """What came out of every cell, in the order of the grid.

    Everything that is still to be computed is resolved, and refused if need be, before anything is
    written. A cell is kept as soon as it is done.

    Parameters
    ----------
    name : str
        Of the sweep, for its progress bar.
    grid : sequence of Cell
    options : RunOptions
    files : CellFiles or None
        Where finished cells are kept; None keeps nothing.
    require : iterable of callable
        What refuses the scenario of the first cell that is to be computed, before it is.
    """
    from sim.replicate import engine_for

    records = files.finished() if files else {}
    if records:
        kept = f"{_of_all(len(records), len(grid))} already there and will not be computed again"
        click.echo(f"{name}: {kept}", err=True)
    to_do = {
        n: as_simulated(cell, options.warmup) for n, cell in enumerate(grid) if n not in records
    }
    for scenario in [*to_do.values()][:1]:
        for each in require:
            each(scenario)
    engines = [engine_for(scenario, options.engine) for scenario in to_do.values()]
    compiled = [
        s for s, engine in zip(to_do.values(), engines, strict=True) if engine == "compiled"
    ]
    say_how_long(list(to_do.values()), options, name)
    try:
        with (
            workers(options, engines, compiled) as executor,
            progress_bar(name, options.as_json, "cells") as progress,
        ):
            for number, scenario in to_do.items():
                records[number] = _record(grid[number], scenario, options, executor)
                if files:
                    files.keep(records[number], number)
                progress(len(records), len(grid))
    except KeyboardInterrupt:
        if files is None or not records:
            raise
        kept = f"{_of_all(len(records), len(grid))} in {files.folder}"
        raise Interrupted(f"{kept}; the same command resumes with the others") from None
    for number, cell in enumerate(grid):
        if shortfall := records[number]["shortfall"]:
            warn(f"{name}, {label_of(cell)}: {shortfall}")
    _warn_of_short_warm_ups(name, grid, records)
    return [records[number] for number in range(len(grid))]


def _warn_of_short_warm_ups(name: str, grid: Sequence[Cell], records: Mapping[int, Record]) -> None:
    """Say in one line which cells remember their start, by the last one that does."""
    short = [n for n in range(len(grid)) if records[n].get(SHORT_WARM_UPS)]
    if short:
        words = short_warm_ups_in(records[short[-1]])[0].words
        where = f"{len(short)} of {counted(len(grid), 'cell')}, such as {label_of(grid[short[-1]])}"
        warn(f"{name}: {where}: {words}; --warmup auto chooses one that is long enough")


def as_simulated(cell: Cell, warmup: str | None) -> Scenario:
    """The scenario of a cell with everything optimal decided, and its warm-up."""
    from analytic import resolve

    return with_warmup(resolve(cell.scenario), warmup, quiet=True)


def _record(
    cell: Cell, scenario: Scenario, options: RunOptions, executor: Executor | None
) -> Record:
    """One cell, simulated and, unless it is not wanted, solved."""
    from analytic import exact_values

    predictions = exact_values(scenario) if options.solve else {}
    label = f"{scenario.name}, {label_of(cell)}"
    results, shortfall = simulate_as_asked(scenario, options, executor, label, quiet=True)
    return {
        **cell_record(cell, scenario, results, predictions),
        DECISION: decision_of(cell.scenario, scenario),
        "run": run_record(results) | {"warmup": scenario.run.warmup},
        "shortfall": shortfall,
        SHORT_WARM_UPS: [s for s in short_warm_ups(scenario) if s.is_known]
        if options.solve
        else [],
    }


@contextmanager
def kept_replications(
    name: str,
    grid: Sequence[Cell],
    records: Sequence[Record],
    most: int,
    options: RunOptions,
    files: CellFiles | None,
) -> Iterator[Callable[[int, range], Record]]:
    """What simulates further replications of a cell, or reads them where they are kept.

    Parameters
    ----------
    name : str
        Of the sweep, for its progress bar.
    grid : sequence of Cell
    records : sequence of dict
        As `cell_records`.
    most : int
        Replications of a cell at which it is given up.
    options : RunOptions
    files : CellFiles or None
    """
    scenario_of = cache(lambda n: as_simulated(grid[n], options.warmup))
    with _said_when_interrupted(files), ExitStack() as stack:
        progress = stack.enter_context(progress_bar(name, options.as_json))

        @cache
        def executor() -> Executor | None:
            """Workers, from the first replication on that is not read but simulated."""
            engines = [options.engine or record["run"]["engine"] for record in records]
            return stack.enter_context(workers(options, engines))

        def further(n: int, replications: range) -> Record:
            stage = replications.start, replications.stop
            record = files.stage(n, *stage) if files else None
            if record is None:
                given = (scenario_of(n), replications, options.engine, executor())
                record = further_replications(grid[n], *given)
                if files:
                    files.keep(record, n, *stage)
            progress(replications.stop, most)
            return record

        yield further


@contextmanager
def _said_when_interrupted(files: CellFiles | None) -> Iterator[None]:
    """An interrupt says what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if files is None:
            raise
        kept = f"all cells and the further replications so far are in {files.folder}"
        raise Interrupted(f"{kept}; the same command resumes with the others") from None


def _of_all(some: int, cells: int) -> str:
    """So many cells of all, and the verb: "1 of 5 cells is", "3 of 5 cells are"."""
    if cells == 1:
        return "the only cell is"
    return f"{some} of {cells} cells {'is' if some == 1 else 'are'}"
