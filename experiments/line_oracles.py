"""What LINE, Ciw and most-queue say of small systems, beside what crawlsim says.

``make oracles`` runs it: it needs ``.venv-oracles``, an environment with these tools (LINE wants
pandas below 3), runs there the programs that `crawlsim export` writes, stores the numbers in
``experiments/other_tools.csv``, and writes the table of ``docs/other-tools.md`` from them.
"""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import crawlsim

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-oracles" / "bin" / "python"
STORED = Path(__file__).with_name("other_tools.csv")
PAGE = ROOT / "docs" / "other-tools.md"
HEAD = "| system | measure | right | says | number | off by |\n|---|---|--:|---|--:|--:|\n"
"""Of the table of the page."""

_TOOLS = {"LINE": "line-solver", "Ciw": "ciw", "most-queue": "most-queue"}
_DRIVER = """
import runpy, sys, warnings
from importlib.metadata import version
warnings.simplefilter("ignore")
for package in ("line-solver", "ciw", "most-queue"):
    print("version", package, version(package))
for path in sys.argv[1:]:
    print("program", path)
    runpy.run_path(path, run_name="__main__")
"""


@dataclass(frozen=True)
class Said:
    """A number that a tool gives.

    Parameters
    ----------
    system : str
    tool, version, method : str
    measure : str
        As crawlsim calls it.
    value : float
    half : float
        Half of its 95 % interval; 0 where it is computed.
    """

    system: str
    tool: str
    version: str
    method: str
    measure: str
    value: float
    half: float


def _exponential(rate: float) -> dict[str, Any]:
    return {"exponential": {"rate": rate}}


def _erlang(shape: int, mean: float) -> dict[str, Any]:
    return {"erlang": {"shape": shape, "mean": mean}}


_H2 = {"hyperexponential": {"probabilities": [0.3, 0.7], "rates": [0.5, 2.0]}}
_PH = {"phase-type": {"alpha": [0.4, 0.6], "T": [[-2.0, 1.0], [0.0, -1.0]]}}
_MAP = {"map": {"D0": [[-2.0, 0.5], [0.2, -0.7]], "D1": [[1.0, 0.5], [0.3, 0.2]]}}
_MMPP = {"mmpp": {"Q": [[-0.1, 0.1], [0.2, -0.2]], "rates": [0.4, 1.8]}}
_ONE = _exponential(1.0)
_PATIENCE = _exponential(0.5)


def _system(name: str, gaps: Any, service: Any, servers: int, capacity: int, **more: Any) -> Any:
    """One robot before a buffer that holds `capacity` pages, those in service included."""
    robots = {"available": 1, "access_time": gaps}
    if isinstance(gaps, list):
        classes = [{"available": number, "access_time": each} for number, each in gaps]
        robots = {"classes": classes}
    buffer = {"servers": servers, "waiting_places": capacity - servers, "service": service}
    run = {"horizon": 5000.0, "warmup": 100.0, "replications": 20}
    return {"name": name, "robots": robots, "buffer": buffer | more, "run": run}


SYSTEMS: Mapping[str, Any] = {
    each["name"]: each
    for each in (
        _system("M-M-1-2", _exponential(0.5), _ONE, 1, 2),
        _system("M-M-1-6", _exponential(0.9), _ONE, 1, 6),
        _system("M-M-1-10-overloaded", _exponential(1.3), _ONE, 1, 10),
        _system("M-M-1-30", _exponential(0.9), _ONE, 1, 30),
        _system("M-M-2-2", _exponential(1.8), _ONE, 2, 2),
        _system("M-M-5-5", _exponential(4.0), _ONE, 5, 5),
        _system("M-M-3-8", _exponential(2.5), _ONE, 3, 8),
        _system("M-M-2-20", _exponential(1.9), _ONE, 2, 20),
        _system("M-E2-1-6", _exponential(0.9), _erlang(2, 1.0), 1, 6),
        _system("M-E3-1-4", _exponential(0.9), _erlang(3, 1.0), 1, 4),
        _system("M-E2-2-5", _exponential(1.7), _erlang(2, 1.0), 2, 5),
        _system("M-H2-1-5", _exponential(0.9), _H2, 1, 5),
        _system("M-H2-1-5-lifo", _exponential(0.9), _H2, 1, 5, discipline="lifo"),
        _system("M-H2-3-6", _exponential(3.0), _H2, 3, 6),
        _system("M-PH-1-5", _exponential(0.7), _PH, 1, 5),
        _system("M-PH-2-4", _exponential(1.5), _PH, 2, 4),
        _system("E2-M-1-6", _erlang(2, 1.0 / 0.9), _ONE, 1, 6),
        _system("E2-M-3-6", _erlang(2, 1.0), _exponential(0.4), 3, 6),
        _system("H2-M-1-5", _H2, _exponential(1.2), 1, 5),
        _system("PH-M-2-6", _PH, _exponential(0.5), 2, 6),
        _system("E2-E2-1-4", _erlang(2, 1.0), _erlang(2, 0.9), 1, 4),
        _system("H2-E2-2-4", _H2, _erlang(2, 1.5), 2, 4),
        _system("PH-PH-1-5", _PH, _PH, 1, 5),
        _system("MAP-M-1-6", _MAP, _ONE, 1, 6),
        _system("MAP-M-3-7", _MAP, _exponential(0.3), 3, 7),
        _system("MAP-PH-2-4", _MAP, _PH, 2, 4),
        _system("MMPP-M-1-10", _MMPP, _ONE, 1, 10),
        _system("MMPP-E2-1-6", _MMPP, _erlang(2, 1.0), 1, 6),
        _system("two-E2-M-1-5", [(2, _erlang(2, 2.0))], _ONE, 1, 5),
        _system("ten-E2-M-2-6", [(10, _erlang(2, 6.0))], _ONE, 2, 6),
        _system("M-and-E2-M-2-6", [(1, _exponential(0.8)), (1, _erlang(2, 1.0))], _ONE, 2, 6),
        _system("M-D-1-6", _exponential(0.9), {"deterministic": {"value": 1.0}}, 1, 6),
        _system("M-D-1-3-overloaded", _exponential(1.2), {"deterministic": {"value": 1.0}}, 1, 3),
        _system("M-G-1-6", _exponential(0.9), {"gamma": {"shape": 2.5, "mean": 1.0}}, 1, 6),
        _system("MAP-D-1-10", _MAP, {"deterministic": {"value": 1.0}}, 1, 10),
        _system("M-M-1-6-patience-M", _exponential(0.9), _ONE, 1, 6, obsolescence=_PATIENCE),
        _system("M-M-2-6-patience-M", _exponential(1.9), _ONE, 2, 6, obsolescence=_PATIENCE),
        _system("M-PH-1-5-patience-M", _exponential(0.9), _PH, 1, 5, obsolescence=_PATIENCE),
        _system("MAP-PH-2-4-patience-M", _MAP, _PH, 2, 4, obsolescence=_PATIENCE),
    )
}
"""Those of which LINE's numbers are stored, each by the program that is exported."""

_UNLIKE = "M-M-1-6-patience-E2"
PATIENT = {_UNLIKE: _system(_UNLIKE, _exponential(0.9), _ONE, 1, 6, obsolescence=_erlang(2, 2.0))}
"""Of the page alone: what LINE does not express."""

_BY_CIW = ("M-M-1-6", "M-D-1-6", "M-M-1-6-patience-M", _UNLIKE)
_MARKOV = "CTMC(model, cutoff=CAPACITY, verbose=False)"
_SERVICE = "indexers.set_service(page, Exp(1.0))\n"
_OTHER_SOLVERS = (
    ("M-M-1-6", "MAM(model, verbose=False)", ""),
    ("M-D-1-6", _MARKOV, "indexers.set_service(page, Det(1.0))\n"),
    ("M-D-1-6", "MAM(model, verbose=False)", "indexers.set_service(page, Det(1.0))\n"),
    ("MAP-M-1-6", "MAM(model, verbose=False)", ""),
    ("MAP-M-1-6", "NC(model, verbose=False)", ""),
    (_UNLIKE, _MARKOV, "indexers.set_patience(page, Erlang.fit_mean_and_order(2.0, 2))\n"),
)
"""System, solver of LINE, and the line that its exported program, or that of M-M-1-6, has more."""

_BY_MOST_QUEUE = """from most_queue.theory.fifo.mmnr import MMnrCalc

queue = MMnrCalc(n=1, r=5)  # servers and waiting places
queue.set_sources(l=0.9)
queue.set_servers(mu=1.0)
found = queue.run()
print("mean_in_system", sum(number * share for number, share in enumerate(found.p)))
print("sojourn_time served", found.v[0])
"""


def programs() -> dict[tuple[str, str, str], str]:
    """What is run: system, tool and method -> a program."""
    found = {
        (name, "LINE", "mapg1k" if "qsys_mapg1k" in text else "CTMC"): text
        for name, each in SYSTEMS.items()
        for text in [crawlsim.export(each, "line")]
    }
    for name, solver, more in _OTHER_SOLVERS:
        text = found["M-M-1-6" if more else name, "LINE", "CTMC"]
        found[name, "LINE", solver.partition("(")[0]] = _with_solver(text, solver, more)
    for name in _BY_CIW:
        found[name, "Ciw", "simulation"] = crawlsim.export((SYSTEMS | PATIENT)[name], "ciw")
    found["M-M-1-6", "most-queue", "MMnrCalc"] = _BY_MOST_QUEUE
    return found


def _with_solver(program: str, solver: str, more: str) -> str:
    """A program of LINE by another of its solvers, and with a line more; it prints the mean."""
    model, _, _ = program.partition("solver = CTMC(")
    model = model.replace(_SERVICE, _SERVICE + more)
    return f"{model}solver = {solver}\nprint('mean_in_system', float(solver.avg_qlen()[1, 0]))\n"


def run_all(texts: Mapping[tuple[str, str, str], str]) -> list[Said]:
    """What the programs print, in the environment of the other tools."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"program_{number}.py") for number in range(len(texts))]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        words = [PYTHON, "-c", _DRIVER, *paths]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    head, *printed = re.split(r"^program .*\n", done.stdout, flags=re.MULTILINE)
    versions = dict(re.findall(r"^version (\S+) (\S+)$", head, flags=re.MULTILINE))
    return [
        Said(system, tool, versions[_TOOLS[tool]], method, measure, value, half)
        for (system, tool, method), lines in zip(texts, printed, strict=True)
        for measure, (value, half) in printed_measures(lines).items()
    ]


def printed_measures(text: str) -> dict[str, tuple[float, float]]:
    """The measures that an exported program prints, with half of their intervals, or 0."""
    line = r"^([a-z_]+(?: served)?) +([-+.e\d]+)(?: \+- ([-+.e\d]+))?$"
    found = re.findall(line, text, flags=re.MULTILINE)
    return {name: (float(value), float(half or 0.0)) for name, value, half in found}


def stored() -> list[Said]:
    """The stored numbers."""
    with STORED.open(encoding="utf-8", newline="") as file:
        return [
            Said(**row | {"value": float(row["value"]), "half": float(row["half"])})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def right(name: str) -> dict[str, float]:
    """What `crawlsim.solve` gives exactly, by the names that programs print."""
    found = {}
    for row in crawlsim.solve((SYSTEMS | PATIENT)[name]).predictions:
        if row.kind == "exact" and row.subject in (None, "served"):
            found[f"{row.measure} {row.subject or ''}".strip()] = row.value
    return found


def table(rows: Sequence[Said]) -> str:
    """The table of the page: the systems that more than one method has been asked about."""
    asked = [row.system for row in rows if row.measure == "mean_in_system"]
    lines = []
    for row in rows:
        several = asked.count(row.system) > 1
        shown = row.measure == "mean_in_system" or (
            row.tool == "most-queue" and row.measure == "sojourn_time served"
        )
        if several and shown:
            exact = right(row.system)[row.measure]
            near = abs(row.value - exact) <= max(2 * row.half, 1e-6 * exact)
            number = f"{row.value:.6g}" + (f" ± {row.half:.2g}" if row.half else "")
            says = f"{row.tool} {row.version}, {row.method}"
            off = "" if near else f"{row.value / exact - 1.0:+.2%}".replace("%", " %")
            cells = (row.system, row.measure, f"{exact:.6g}", says, number, off)
            lines.append((row.system, f"| {' | '.join(cells)} |\n"))
    order = [*SYSTEMS, *PATIENT]
    return HEAD + "".join(line for _, line in sorted(lines, key=lambda each: order.index(each[0])))


def main() -> None:
    """Ask the tools, store what they say, and write the table of the page."""
    rows = run_all(programs())
    with STORED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([each.name for each in fields(Said)])
        writer.writerows(astuple(row) for row in rows)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    after = re.sub(r"\A(\|.*\n)*", "", rest)
    PAGE.write_text(before + table(rows) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
