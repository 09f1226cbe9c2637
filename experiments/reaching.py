"""A plugin of pytest: which planted errors each test reaches, and chosen tests in their order.

Python traces the lines that it interprets. Of machine code it sees none: there a test reaches all
functions of which a kernel that it calls is made, as `scenarios.compiling` lists them to know when
the kernel has to be compiled anew. Errors outside of functions are reached by whatever runs code of
their module, or of one that imports it. Processes that a test starts are not looked into.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from experiments.mutants import PACKAGES

ROOT = Path(__file__).parents[1]

_MOST_CALLS = 300
"""Calls of a function in one test after which its lines are not followed: all count as reached."""


class Reaching:
    """Lines, kernels and processes of the test that runs.

    Parameters
    ----------
    mutants : list of dict
        As `experiments.mutants` has drawn them.
    """

    def __init__(self, mutants: list[dict[str, Any]]) -> None:
        self._lines: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._functions: dict[str, set[int]] = defaultdict(set)
        self._modules: dict[str, set[int]] = defaultdict(set)
        self._of_code: dict[CodeType, dict[int, set[int]]] = {}
        self._of_kernel: dict[Any, set[int]] = {}
        self._codes: set[CodeType] = set()
        self._kernels: set[Any] = set()
        self._calls: Counter[CodeType] = Counter()
        self._reached: set[int] = set()
        self.starts_processes = False
        for number, each in enumerate(mutants):
            file = str(ROOT / each["file"])
            if each["function"]:
                self._functions[each["function"]].add(number)
                for line in _statement(file, each["line"]):
                    self._lines[file][line].add(number)
            else:
                for name in (file, *_importers(each["file"])):
                    self._modules[name].add(number)

    def begin(self) -> None:
        """A test begins."""
        self._codes.clear()
        self._kernels.clear()
        self._calls.clear()
        self.starts_processes = False
        self._reached.clear()

    def reached(self) -> set[int]:
        """The errors that the test has reached."""
        for kernel in self._kernels:
            if kernel not in self._of_kernel:
                self._of_kernel[kernel] = self._within(kernel)
            self._reached |= self._of_kernel[kernel]
        for file in {code.co_filename for code in self._codes}:
            self._reached |= self._modules.get(file, set())
        return self._reached

    def _within(self, kernel: Any) -> set[int]:
        from scenarios.compiling import parts

        names = {text.partition(" ")[0] for text in parts(kernel)}
        within = {name: name.replace(".<locals>", "") for name in names}.values()
        numbers = (self._functions.get(name, set()) for name in within)
        return set().union(*numbers)

    def on_call(self, frame: FrameType, *_: object) -> Any:
        """What Python calls at the start of a function: whether to follow its lines."""
        code = frame.f_code
        self._codes.add(code)
        lines = self._of_code.get(code)
        if lines is None:
            lines = self._of_code[code] = self._wanted(code)
        if not lines or all(numbers <= self._reached for numbers in lines.values()):
            return None
        self._calls[code] += 1
        if self._calls[code] > _MOST_CALLS:
            self._reached.update(*lines.values())
            return None

        def on_line(frame: FrameType, *_: object) -> Any:
            self._reached |= lines.get(frame.f_lineno, set())
            return on_line

        return on_line

    def _wanted(self, code: CodeType) -> dict[int, set[int]]:
        known = self._lines.get(code.co_filename)
        if known is None:
            return {}
        numbers = {line for _, _, line in code.co_lines() if line is not None}
        return {line: known[line] for line in numbers & known.keys()}

    def watch_kernels(self) -> None:
        """Notice calls from Python to compiled functions, and kernels that are handed on."""
        from numba.core.registry import CPUDispatcher

        call = CPUDispatcher.__call__

        def noticed(kernel: Any, *arguments: Any, **named: Any) -> Any:
            self._kernels.add(kernel)
            self._kernels.update(
                each for each in _flat(arguments) if isinstance(each, CPUDispatcher)
            )
            return call(kernel, *arguments, **named)

        CPUDispatcher.__call__ = noticed  # type: ignore[assignment, method-assign]

    def watch_processes(self) -> None:
        """Notice that a test starts an interpreter."""
        begin = subprocess.Popen.__init__

        def noticed(process: Any, command: Any, *arguments: Any, **named: Any) -> None:
            words = [command] if isinstance(command, str) else list(map(str, command))
            if Path(words[0]).name.startswith(("python", "crawlsim", "make")):
                self.starts_processes = True
            begin(process, command, *arguments, **named)

        subprocess.Popen.__init__ = noticed  # type: ignore[assignment, method-assign]


def _flat(values: Any) -> Iterator[Any]:
    for each in values:
        if isinstance(each, tuple):
            yield from _flat(each)
        else:
            yield each


def _statement(file: str, line: int) -> range:
    """The lines of the innermost statement that holds a line; of a compound one its head."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):  # outer ones first
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            if node.lineno <= line <= max(end, node.lineno):
                found = range(node.lineno, max(end, node.lineno) + 1)
    return found


def _importers(file: str) -> set[str]:
    """Files that import a module, directly."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = set()
    for path in ROOT.glob("*/**/*.py"):
        if path.relative_to(ROOT).parts[0] not in PACKAGES:
            continue
        text = path.read_text("utf-8")
        parent, _, last = module.rpartition(".")
        if f"from {module} import" in text or (f"from {parent} import" in text and last in text):
            found.add(str(path))
    return found


_reaching: Reaching | None = None
_FAILED = pytest.StashKey[bool]()


def pytest_configure() -> None:
    """Begin to watch, where errors are given."""
    global _reaching
    if drawn := os.environ.get("REACHING"):
        _reaching = Reaching(json.loads(Path(drawn).read_text()))
        _reaching.watch_kernels()
        _reaching.watch_processes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only the tests that are chosen, in the order in which they are given."""
    if chosen := os.environ.get("CHOSEN"):
        by_name = {each.nodeid: each for each in items}
        names = Path(chosen).read_text().splitlines()
        items[:] = [by_name[name] for name in names if name in by_name]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Follow one test, and write down what it reaches."""
    if _reaching is None:
        yield
        return
    _reaching.begin()
    start = time.process_time()
    threading.settrace(_reaching.on_call)
    sys.settrace(_reaching.on_call)
    yield
    sys.settrace(None)
    threading.settrace(None)
    if item.stash.get(_FAILED, False):
        return
    seconds = time.process_time() - start
    row = [item.nodeid, seconds, sorted(_reaching.reached()), _reaching.starts_processes]
    part = Path(os.environ["REACHED"]) / f"{os.getpid()}.jsonl"
    with part.open("a") as file:
        file.write(json.dumps(row) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """A test that fails without an error planted shows nothing."""
    outcome = yield
    report = outcome.get_result()
    if report.failed or report.skipped:
        item.stash[_FAILED] = True
    if report.failed and "FAILED" in os.environ:
        Path(os.environ["FAILED"]).write_text(item.nodeid, "utf-8")
