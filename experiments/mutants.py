"""Small errors planted at random, and whether the tests of `make test` see them.

    python -m experiments.mutants DIR --count 300 --seed 1 [--jobs 2]     Markdown tables

Lines of code are drawn from the packages, each as likely as any other, and on each a small error: a
comparison turned round, a boundary moved, a sign or an operator changed, a constant, a condition
denied, a statement left out, two arguments swapped. One run of the suite measures which tests reach
which of these lines (`experiments.reaching`); then every error is planted by itself in a copy of
the tree, and those tests run, the nearest and quickest first, until one fails. What was found
stands in DIR: `drawn.json`, `reached.jsonl`, `found.jsonl`, the survivors as diffs. A run that was
broken off goes on where it was. Of an error that changes nothing write the number and the reason
into `equivalent.toml` (``17 = "rounds the same"``): it does not count, and is not planted any more.
Once tests have been added, `reached.jsonl` and the lines of the survivors in `found.jsonl` have to
go. With --check the verdicts of the library at its own settings are asked about errors of sim and
analytic.

mutmut and cosmic-ray were looked at. Both choose tests by the lines that Python traces, of which
there are none in machine code: a third of what decides here, `sim.rules` and the engine's loops,
would count as reached by nothing. mutmut calls each function through a trampoline, which numba does
not compile; cosmic-ray runs one command for each error, the whole suite or what one wrote by hand.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("scenarios", "sim", "analytic", "crawlsim", "papers")
KINDS = (
    *("comparison", "boundary", "sign", "operator"),
    *("constant", "condition", "statement", "argument"),
)
FATES = ("killed", "timed out", "survived", "equivalent")
_NOT_BY_THE_NEAREST = "not seen by the nearest"

_OPPOSITE = {
    **{ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not")},
    **{ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")},
}
_BOUNDARY = {
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
}
_OPERATORS = {
    **{ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*")},
    **{ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")},
}
_SIGNS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
_WORDS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}

_BESIDE = ("experiments", "tests", "docs", "notebooks", "benchmarks")
"""Folders that tests read."""

_NOTHING_RAN = 5
_FIRST, _MANY = 20.0, 200
"""Seconds and number of tests that run before all others are collected."""

_PATIENCE = (120.0, 5.0)
"""Seconds, and times as long as the tests took before, after which they are given up."""


@dataclass(frozen=True)
class Mutant:
    """A small error.

    Attributes
    ----------
    file : str
        From the root of the repository.
    line : int
    kind : str
        One of `KINDS`.
    function : str
        Module and qualified name of the function around it; empty outside of functions.
    start, end : int
        What is replaced of the file's bytes.
    old, new : str
    """

    file: str
    line: int
    kind: str
    function: str
    start: int
    end: int
    old: str
    new: str

    @property
    def package(self) -> str:
        """The first part of its path."""
        return self.file.partition("/")[0]

    def text(self) -> str:
        """The file with the error.

        Raises
        ------
        ValueError
            If the file is no longer what it was when the error was drawn.
        """
        source = (ROOT / self.file).read_bytes()
        if source[self.start : self.end].decode() != self.old:
            raise ValueError(f"{self.file} has changed since the errors were drawn")
        return (source[: self.start] + self.new.encode() + source[self.end :]).decode()

    def diff(self) -> str:
        """What is changed, as a patch."""
        before = (ROOT / self.file).read_text("utf-8").splitlines(keepends=True)
        after = self.text().splitlines(keepends=True)
        names = (f"a/{self.file}", f"b/{self.file}")
        return "".join(difflib.unified_diff(before, after, *names))


# --- drawing --------------------------------------------------------------------------------------


class _Places(ast.NodeVisitor):
    """Every error that can be planted in a file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._source = (ROOT / file).read_bytes()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._names: list[str] = []
        self._is_in_function = False
        self.found: list[Mutant] = []
        self.visit(ast.parse(self._source))

    def _from(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _to(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def _add(self, kind: str, line: int, start: int, end: int, new: str) -> None:
        module = self._file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        function = ".".join((module, *self._names)) if self._is_in_function else ""
        old = self._source[start:end].decode()
        self.found.append(Mutant(self._file, line, kind, function, start, end, old, new))

    def _between(
        self, kind: str, left: ast.expr, right: ast.expr, change: tuple[str, str] | None
    ) -> None:
        """Another operator between two operands."""
        if change is None:
            return
        old, new = change
        start, end = self._to(left), self._from(right)
        at = self._source[start:end].find(old.encode())
        if at >= 0:
            self._add(kind, right.lineno, start + at, start + at + len(old), new)

    def _denied(self, test: ast.expr) -> None:
        if isinstance(test, ast.Constant):
            return
        start, end = self._from(test), self._to(test)
        text = self._source[start:end].decode()
        self._add("condition", test.lineno, start, end, f"(not ({text}))")

    def _named(self, node: ast.FunctionDef | ast.ClassDef, *, is_function: bool) -> None:
        outer = self._is_in_function
        for each in node.decorator_list:
            self.visit(each)
        self._names.append(node.name)
        self._is_in_function = outer or is_function
        for statement in node.body:
            self.visit(statement)
        self._names.pop()
        self._is_in_function = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Its defaults lie outside; annotations are no code."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._named(node, is_function=True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """What stands in it."""
        self._named(node, is_function=False)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Its value only."""
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts have no places in this version of Python."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Says what is known already."""

    def visit_If(self, node: ast.If) -> None:
        """Its condition denied; what only types need is no code."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._denied(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Its condition denied."""
        self._denied(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Its condition denied."""
        self._denied(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Its conditions denied."""
        for each in node.ifs:
            self._denied(each)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """And for or, or for and."""
        change = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            if len(node.values) == 2:
                self._between("condition", left, right, change)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """The opposite, and the boundary on the other side."""
        operands = (node.left, *node.comparators)
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            self._between("comparison", left, right, _OPPOSITE.get(type(operator)))
            self._between("boundary", left, right, _BOUNDARY.get(type(operator)))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another operator."""
        self._between("sign", node.left, node.right, _SIGNS.get(type(node.op)))
        self._between("operator", node.left, node.right, _OPERATORS.get(type(node.op)))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without the minus, or the not."""
        start, of = self._from(node), self._from(node.operand)
        if isinstance(node.op, ast.USub):
            self._add("sign", node.lineno, start, of, "+")
        elif isinstance(node.op, ast.Not):
            text = self._source[of : self._to(node)].decode()
            self._add("condition", node.lineno, start, self._to(node), f"bool({text})")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Another operator, or nothing."""
        change = _SIGNS.get(type(node.op)) or _OPERATORS.get(type(node.op))
        kind = "sign" if type(node.op) in _SIGNS else "operator"
        self._between(kind, node.target, node.value, change)
        self._left_out(node)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Another number."""
        value = node.value
        if isinstance(value, bool):
            new = str(not value)
        elif isinstance(value, int):
            new = str(value + 1)
        elif isinstance(value, float):
            new = repr(value * 1.1 or 1.0)
        else:
            return
        self._add("constant", node.lineno, self._from(node), self._to(node), new)

    def visit_Call(self, node: ast.Call) -> None:
        """Two arguments swapped, or another function of the same kind."""
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            return
        for one, other in zip(node.args, node.args[1:], strict=False):
            if isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
                continue
            spans = [(self._from(each), self._to(each)) for each in (one, other)]
            (start, middle), (after, end) = spans
            texts = [
                self._source[slice(*span)]
                for span in ((after, end), (middle, after), (start, middle))
            ]
            self._add("argument", one.lineno, start, end, b"".join(texts).decode())
        name = node.func
        if isinstance(name, ast.Name) and name.id in _WORDS:
            start, end = self._from(name), self._to(name)
            self._add("operator", name.lineno, start, end, _WORDS[name.id])
        self.generic_visit(node)

    def _left_out(self, node: ast.stmt) -> None:
        self._add("statement", node.lineno, self._from(node), self._to(node), "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call left out; not a docstring."""
        if isinstance(node.value, ast.Call):
            self._left_out(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Left out where the name, or the place, has a value before."""
        if self._is_in_function and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            self._left_out(node)
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Left out."""
        self._left_out(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Left out."""
        self._left_out(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Left out: a loop that goes on to its end, if it has one."""
        self._left_out(node)


def code_lines(file: Path) -> set[int]:
    """Numbers of the lines of a file on which there is code, docstrings apart."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not is_text:
            lines.add(node.lineno)
        elif isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            lines.update((node.lineno, node.end_lineno or node.lineno))
    return lines


def draw(count: int, seed: int) -> list[Mutant]:
    """Errors in lines that are drawn with equal probabilities, one in a line.

    Parameters
    ----------
    count, seed : int

    Returns
    -------
    list of Mutant
        Every kind that is possible on a line is as likely as the others; lines on which nothing can
        go wrong, and errors that do not compile, are drawn again.
    """
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    lines = [
        (path.relative_to(ROOT).as_posix(), line)
        for path in files
        for line in sorted(code_lines(path))
    ]
    chance = random.Random(seed)
    chance.shuffle(lines)
    places: dict[str, dict[int, list[Mutant]]] = {}
    drawn: list[Mutant] = []
    for file, line in lines:
        if file not in places:
            places[file] = defaultdict(list)
            for each in _Places(file).found:
                places[file][each.line].append(each)
        possible = [each for each in places[file][line] if _compiles(each)]
        if possible:
            kind = chance.choice(sorted({each.kind for each in possible}))
            drawn.append(chance.choice([each for each in possible if each.kind == kind]))
        if len(drawn) == count:
            break
    return drawn


def _compiles(mutant: Mutant) -> bool:
    try:
        ast.parse(mutant.text())
    except SyntaxError:
        return False
    return True


# --- running --------------------------------------------------------------------------------------


class Net(NamedTuple):
    """What is to see the errors.

    Attributes
    ----------
    name : str
        In the names of files.
    options : tuple of str
        Of pytest.
    where : tuple of str
        Where its tests are.
    packages : tuple of str
        Whose errors it is there for.
    """

    name: str = ""
    options: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    packages: tuple[str, ...] = PACKAGES


VERDICTS = Net(
    "-by-check", ("-m", "nightly"), ("tests/crawlsim/test_library.py",), ("sim", "analytic")
)
"""`crawlsim check` of the library, at its own settings."""


class Tree:
    """A copy of the repository, in which one error at a time is planted.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._passes: dict[str, bool] = {"": True}
        for name in (*PACKAGES, *_BESIDE):
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "_build")
                shutil.copytree(ROOT / name, folder / name, ignore=ignored, dirs_exist_ok=True)
        for path in (each for each in ROOT.iterdir() if each.is_file() and each.name != ".git"):
            shutil.copy2(path, folder)

    def pytest(
        self, *options: str, more: Mapping[str, str], seconds: float | None = None
    ) -> int | None:
        """The exit code of pytest in this tree; None where it was given up."""
        plugins = ("-p", "no:cacheprovider", "-p", "experiments.reaching")
        kept = {
            "NUMBA_CACHE_DIR": str(self.folder / "build/machine-code"),
            "PYTHONPYCACHEPREFIX": str(self.folder / "build/bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        with (self.folder / "pytest.log").open("w") as log:
            running = subprocess.Popen(
                [sys.executable, "-m", "pytest", *plugins, *options],
                cwd=self.folder,
                env={**os.environ, **kept, **more},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                return running.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
                running.wait()

    def runs(self, chosen: Sequence[Reached], net: Net) -> int | None:
        """The exit code of some tests in their order, up to the first that fails."""
        names = self.folder / "chosen.txt"
        names.write_text("\n".join(each.test for each in chosen))
        files = dict.fromkeys(_file(each.test) for each in chosen)
        limit = _PATIENCE[0] + _PATIENCE[1] * sum(each.seconds for each in chosen)
        failed = self.folder / "failed.txt"
        failed.write_text("")
        more = {"CHOSEN": str(names.absolute()), "FAILED": str(failed.absolute())}
        return self.pytest("-x", *net.options, *files, more=more, seconds=limit)

    def passes(self, test: str, net: Net) -> bool:
        """Whether a test passes by itself without an error planted; where it runs, any does."""
        if test not in self._passes:
            self._passes[test] = self.runs([Reached(test, 0.0, frozenset())], net) == 0
        return self._passes[test]

    def first_failure(self) -> str:
        """The test that failed in the last run; empty where they could not be collected."""
        return (self.folder / "failed.txt").read_text("utf-8")


@dataclass(frozen=True)
class Reached:
    """A test: the seconds that it took, and the errors that it reaches by their numbers."""

    test: str
    seconds: float
    mutants: frozenset[int]
    starts_processes: bool = False


def measured(folder: Path, tree: Tree, jobs: int, net: Net) -> list[Reached]:
    """Which tests reach which errors: one run of them all, kept in a file."""
    kept = folder / f"reached{net.name}.jsonl"
    if not kept.exists():
        parts = folder / f"reached{net.name}"
        parts.mkdir(exist_ok=True)
        more = {"REACHING": str(folder.absolute() / "drawn.json"), "REACHED": str(parts.absolute())}
        spread = ("-n", str(jobs), "--dist", "worksteal" if net.where else "loadfile")
        tree.pytest(*spread, *net.options, *net.where, more=more)
        lines = [line for part in sorted(parts.iterdir()) for line in part.read_text().splitlines()]
        kept.write_text("\n".join(lines) + "\n")
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    return [
        Reached(test, seconds, frozenset(numbers), starts)
        for test, seconds, numbers, starts in rows
    ]


def _nearness(test: str, mutant: Mutant) -> int:
    """How many folders the paths of a test and of a module have in common, and their names."""
    path = _file(test).removeprefix("tests/").removesuffix(".py").split("/")
    module = mutant.file.removesuffix(".py").split("/")
    common = 0
    for one, other in zip(path[:-1], module[:-1], strict=False):
        if one != other:
            break
        common += 1
    return common + 2 * (module[-1] in path[-1])


def ordered(number: int, mutant: Mutant, tests: Sequence[Reached]) -> list[Reached]:
    """The tests that reach an error, the nearest and quickest first.

    Then others of their files: those may look at what an earlier test has had computed. Last those
    that start processes, into which nobody has looked.
    """
    files = {_file(each.test) for each in tests if number in each.mutants}

    def place(each: Reached) -> tuple[bool, bool, int, float]:
        near = -_nearness(each.test, mutant)
        return each.starts_processes, number not in each.mutants, near, each.seconds

    chosen = (each for each in tests if each.starts_processes or _file(each.test) in files)
    return sorted(chosen, key=place)


def _file(test: str) -> str:
    return test.partition("::")[0]


def seen(mutant: Mutant, tests: Sequence[Reached], tree: Tree, net: Net) -> tuple[str, str] | None:
    """How some tests see an error, and which; None where they do not.

    A test that fails without the error as well, because it runs alone, has seen nothing.
    """
    place = tree.folder / mutant.file
    while tests:
        place.write_text(mutant.text(), "utf-8")
        try:
            code = tree.runs(tests, net)
            test = tree.first_failure()
        finally:
            shutil.copy2(ROOT / mutant.file, place)
        if code in (0, _NOTHING_RAN):
            return None
        if code is None or tree.passes(test, net):
            return ("timed out" if code is None else "killed"), test
        tests = [each for each in tests if each.test != test]
    return None


def run(
    drawn: Sequence[Mutant],
    tests: Sequence[Reached],
    folder: Path,
    trees: Sequence[Tree],
    net: Net,
) -> None:
    """Plant what has not been planted yet, and write what becomes of it.

    First the nearest tests of each, then all others of those that they have not seen.
    """
    known = {row["number"]: row["fate"] for row in _rows(folder, net)}
    waiting = [
        number
        for number, each in enumerate(drawn)
        if known.get(number) not in FATES and each.package in net.packages
    ]
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def plant(number: int, *, nearest: bool) -> tuple[str, str] | None:
        tree = free.get()
        reaching = ordered(number, drawn[number], tests)
        first = _nearest(reaching)
        chosen = reaching[:first] if nearest else reaching[first:]
        try:
            return seen(drawn[number], chosen, tree, net)
        finally:
            free.put(tree)

    for nearest in (True, False):
        judged = _equivalent(folder) | (known.keys() if nearest else set())
        chosen = [each for each in waiting if each not in judged]
        unseen = (_NOT_BY_THE_NEAREST if nearest else "survived", "")
        with ThreadPoolExecutor(len(trees)) as pool:
            planted = {pool.submit(plant, number, nearest=nearest): number for number in chosen}
            for each in as_completed(planted):
                number, how = planted[each], each.result()
                if how is not None:
                    waiting.remove(number)
                _write(folder, net, number, drawn[number], how or unseen)


def _nearest(tests: Sequence[Reached]) -> int:
    """How many of them run first: some seconds, and not very many."""
    seconds = 0.0
    for count, each in enumerate(tests[:_MANY]):
        seconds += each.seconds
        if seconds > _FIRST:
            return count + 1
    return min(len(tests), _MANY)


def _write(folder: Path, net: Net, number: int, mutant: Mutant, how: tuple[str, str]) -> None:
    row = {"number": number, "fate": how[0], "by": how[1]}
    if how[0] == "survived":
        (folder / f"survivor{net.name}-{number:03}.diff").write_text(mutant.diff(), "utf-8")
    with (folder / f"found{net.name}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{mutant.file}:{mutant.line} {mutant.kind}: {row}", file=sys.stderr, flush=True)


def _rows(folder: Path, net: Net) -> list[dict[str, Any]]:
    """What was found so far."""
    kept = folder / f"found{net.name}.jsonl"
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


# --- telling --------------------------------------------------------------------------------------


def fates(drawn: Sequence[Mutant], folder: Path, net: Net) -> list[tuple[Mutant, str]]:
    """Every error that was planted, with what became of it."""
    known = {row["number"]: row["fate"] for row in _rows(folder, net)}
    known.update(dict.fromkeys(_equivalent(folder), "equivalent"))
    return [(drawn[number], fate) for number, fate in sorted(known.items()) if fate in FATES]


def _equivalent(folder: Path) -> set[int]:
    """Numbers of the errors that change nothing, as somebody has judged."""
    judged = folder / "equivalent.toml"
    known = tomllib.loads(judged.read_text("utf-8")) if judged.exists() else {}
    return {int(each) for each in known}


def table(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Markdown: for each group how many errors met each fate, and the share that was seen."""
    yield f"| {title} | {' | '.join(FATES)} | seen |"
    yield "|---" * (len(FATES) + 2) + "|"
    groups = dict.fromkeys(group for group, _ in rows)
    for group in (*groups, "all"):
        counts = Counter(fate for each, fate in rows if group in (each, "all"))
        seen = counts["killed"] + counts["timed out"]
        of_all = seen + counts["survived"]
        share = f"{100 * seen / of_all:.0f} %" if of_all else "–"
        yield f"| {group} | {' | '.join(str(counts[each]) for each in FATES)} | {share} |"


def main() -> int:
    """Draw, measure, plant, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draw", action="store_true", help="only write what would be planted")
    parser.add_argument("--check", action="store_true", help="by verdicts of the library instead")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    kept = asked.folder / "drawn.json"
    if not kept.exists():
        drawn = draw(asked.count, asked.seed)
        kept.write_text(json.dumps([asdict(each) for each in drawn], indent=1))
    drawn = [Mutant(**each) for each in json.loads(kept.read_text())]
    if asked.draw:
        return 0
    net = VERDICTS if asked.check else Net()
    trees = [Tree(asked.folder / f"tree-{number}") for number in range(asked.jobs)]
    tests = measured(asked.folder, trees[0], asked.jobs, net)
    run(drawn, tests, asked.folder, trees, net)
    planted = fates(drawn, asked.folder, net)
    for title, rows in (
        ("package", [(each.package, found) for each, found in planted]),
        ("kind", [(each.kind, found) for each, found in planted]),
    ):
        print("\n".join(table(title, sorted(rows))), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
