"""Errors planted on one side of the comparison, formula or simulation, and what `check` says.

    python -m experiments.planted_errors [--jobs 2] [NAME …]     Markdown table

`planted_errors.toml` says what is planted: a piece of text of one module and what stands there
instead. A fresh interpreter applies it while it loads the module; nothing is written to the tree.
A scenario is simulated at its own settings; where only formulas are wrong by the compiled engine,
once for all of them, and where the simulation is wrong by the SimPy engine, which compiles nothing.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.util
import json
import math
import pickle
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]

_SEEN_BY_ITSELF = (
    "AssertionError", "BrokenBoundError", "ConservationError", "NotConvergedError"
)  # fmt: skip
"""Exceptions by which a program refutes itself: flows, counts or bounds that cannot be right."""


@dataclass(frozen=True)
class Planted:
    """One error.

    Attributes
    ----------
    name : str
    what : str
        In a few words.
    file : str
        Of the module, from the root of the repository.
    old, new : str
        What stands there once, and what is planted in its place.
    scenario : str
        A ready one.
    family : str
        The kind of system.
    measure : str
        Of a row that must disagree; empty: any.
    changes : dict
        What is changed in the scenario.
    replications : int, optional
        Fewer than the scenario's own, where that is enough and its own take long.
    laws : bool
        Whether `--distributions` is asked for.
    unseen : str
        Why no row disagrees, where none can.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    scenario: str
    family: str
    measure: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    replications: int | None = None
    laws: bool = False
    unseen: str = ""

    @property
    def module(self) -> str:
        """The name by which Python imports it."""
        return self.file.removesuffix(".py").replace("/", ".")

    @property
    def is_of_formula(self) -> bool:
        """Whether the formulas are wrong, and not the simulation."""
        return self.file.startswith("analytic/")

    @property
    def system(self) -> str:
        """The scenario with its changes, as a name for it."""
        return json.dumps([self.scenario, self.changes])


@dataclass(frozen=True)
class Answer:
    """What a check says with an error planted.

    Attributes
    ----------
    verdict : str
        Of the scenario; or the exception by which the program refuted itself.
    rows : tuple of (measure, subject, relative difference, z)
        Those that disagree, the largest |z| first; of a distribution at the point of the largest.
    """

    verdict: str
    rows: tuple[tuple[str, Any, float, float], ...]

    @property
    def refutes(self) -> bool:
        """Whether the error is seen."""
        return self.verdict == "disagrees" or self.verdict in _SEEN_BY_ITSELF

    def shows(self, planted: Planted) -> bool:
        """Whether the check says what is expected of it."""
        if planted.unseen:
            return self.verdict in ("agrees", "inconclusive")
        measures = {row[0] for row in self.rows}
        return self.refutes and (not self.rows or planted.measure in {"", *measures})


def planted_errors() -> dict[str, Planted]:
    """All errors by name, as `planted_errors.toml` lists them."""
    listed = tomllib.loads((ROOT / "experiments/planted_errors.toml").read_text("utf-8"))
    return {
        each["name"]: Planted(**each, family=family)
        for family, errors in listed.items()
        for each in errors
    }


# --- in the interpreter with the error -----------------------------------------------------------


class _Changed(SourceFileLoader):
    """Loads a module with another text; neither reads nor writes what was compiled before."""

    def __init__(self, planted: Planted) -> None:
        super().__init__(planted.module, str(ROOT / planted.file))
        self._planted = planted

    def get_code(self, fullname: str) -> CodeType:
        """The changed module, compiled."""
        text = changed_text(self._planted)
        code = compile(text, self.get_filename(fullname), "exec", dont_inherit=True)
        assert isinstance(code, CodeType)
        return code


def changed_text(planted: Planted) -> str:
    """The text of the module with the error.

    Raises
    ------
    ValueError
        If what is to be replaced is not there exactly once.
    """
    text = (ROOT / planted.file).read_text("utf-8")
    if (count := text.count(planted.old)) != 1:
        raise ValueError(f"{planted.name}: {planted.file} has {planted.old!r} {count} times")
    return text.replace(planted.old, planted.new)


class _Planter(importlib.abc.MetaPathFinder):
    """Finds the module with the error; leaves all others to those who come next."""

    def __init__(self, planted: Planted) -> None:
        self._planted = planted

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of the changed module, None for any other."""
        del path, target
        if name != self._planted.module:
            return None
        return importlib.util.spec_from_loader(
            name, _Changed(self._planted), origin=self._planted.file
        )


def answer_here(planted: Planted, simulated: Path) -> Answer:
    """The verdict of this process, which must not have imported the module before."""
    assert planted.module not in sys.modules
    sys.meta_path.insert(0, _Planter(planted))
    from analytic.indexing_queue.solution import NotConvergedError
    from analytic.machinery.bounds import BrokenBoundError
    from sim.tally import ConservationError

    try:
        scenario, results = pickle.loads(simulated.read_bytes())  # written by this program
        return _of_laws(scenario, planted) if planted.laws else _of(scenario, results, planted)
    except (AssertionError, BrokenBoundError, ConservationError, NotConvergedError) as refutation:
        return Answer(type(refutation).__name__, ())


def _of(scenario: Any, results: Any, planted: Planted) -> Answer:
    """What an ordinary check says."""
    import sim
    from analytic import check_scenario, overall, predict

    if results is None:
        results = sim.run(scenario, engine="simpy", replications=planted.replications)
    rows = check_scenario(scenario, predict(scenario)[0], results)
    wrong = sorted((r for r in rows if r.verdict == "disagrees"), key=lambda row: -abs(row.z))
    return Answer(
        overall(rows),
        tuple((r.measure, r.subject, _relative(r.estimated, r.predicted), r.z) for r in wrong),
    )


def _of_laws(scenario: Any, planted: Planted) -> Answer:
    """What the comparison of distributions says."""
    import sim
    from analytic import check_laws, exact_laws, points_of, with_laws

    exact = exact_laws(scenario)
    engine = None if planted.is_of_formula else "simpy"
    results = sim.run(
        scenario, engine=engine, replications=planted.replications, points=points_of(exact)
    )
    rows = check_laws(scenario, exact, results)
    wrong = [(row.law, row.largest) for row in rows if row.verdict == "disagrees"]
    wrong.sort(key=lambda each: -abs(each[1].t))
    return Answer(
        with_laws("agrees", rows),
        tuple(
            (law.measure, law.subject, _relative(at.estimated, at.predicted), at.t)
            for law, at in wrong
        ),
    )


def _relative(estimated: float, predicted: float) -> float:
    """The difference from a prediction, as a share of it."""
    return (estimated - predicted) / predicted if predicted else math.inf


# --- in the interpreter that asks -----------------------------------------------------------------


def prepare(planted: Planted, folder: Path) -> Path:
    """A file with the scenario, decided, and where only formulas are wrong its simulation."""
    from analytic import resolve
    from scenarios import load

    kind = "solved" if planted.is_of_formula and not planted.laws else "asked"
    file = folder / f"{abs(hash(planted.system))}-{kind}"
    if not file.exists():
        import sim

        scenario = resolve(load(planted.scenario, planted.changes))
        results = sim.run(scenario) if planted.is_of_formula and not planted.laws else None
        file.write_bytes(pickle.dumps((scenario, results)))
    return file


def answer(planted: Planted, folder: Path) -> Answer:
    """The verdict of a fresh interpreter in which the error is planted.

    Parameters
    ----------
    planted : Planted
    folder : Path
        Where simulations are kept between the errors of one system.

    Returns
    -------
    Answer
        With the last line of the message as its verdict where the error ends the program in
        another way than by refuting itself.
    """
    command = [sys.executable, "-m", "experiments.planted_errors", "--here", planted.name]
    done = subprocess.run(
        [*command, str(folder / prepare(planted, folder).name)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return Answer(done.stderr.strip().splitlines()[-1], ())
    verdict, rows = json.loads(done.stdout)
    return Answer(verdict, tuple(tuple(row) for row in rows))


def _row(planted: Planted, found: Answer) -> str:
    where = planted.file if planted.is_of_formula else f"*{planted.file}*"
    system = planted.scenario + (", changed" if planted.changes else "")
    if found.rows:
        measure, subject, difference, z = found.rows[0]
        name = measure if subject is None else f"{measure} {subject}"
        seen = f"{len(found.rows)} rows: {name}, {100 * difference:+.3g} %, z = {z:.0f}"
    else:
        seen = found.verdict if found.refutes else f"{found.verdict}: {planted.unseen}"
    mark = "" if found.shows(planted) else " **not as expected**"
    return f"| {planted.family}: {planted.what} | {where} | {system} | {seen}{mark} |"


def main() -> int:
    """Print the table; 1 if an answer is not the expected one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    every = planted_errors()
    if asked.here:
        found = answer_here(every[asked.here[0]], Path(asked.here[1]))
        print(json.dumps([found.verdict, found.rows], default=float))
        return 0
    chosen = [every[name] for name in asked.names or every]
    print("| error | planted in | scenario | rows that disagree, the clearest |")
    print("|---|---|---|---|")
    missed = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(asked.jobs) as pool:
        folder = Path(name)
        for each in chosen:
            prepare(each, folder)
        answers = pool.map(partial(answer, folder=folder), chosen)
        for each, found in zip(chosen, answers, strict=True):
            print(_row(each, found), flush=True)
            missed += not found.shows(each)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
