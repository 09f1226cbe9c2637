"""Compiled code is kept between runs, and is never that of other sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from scenarios import compiling
from scenarios.laws import Deterministic, Exponential, Mixture
from sim.compiled_engine import many_times
from sim.compiled_engine.jit import let_kernels_call_all_of
from sim.laws import how_to_draw

ROOT = Path(__file__).parents[2]

Answer = Callable[[str], str]

CYCLE = """
import numpy as np
from analytic.routing.kernels import Graph, _cheapest_cycle
ages, after, policy = np.array([[1]], np.int16), np.zeros((1, 1), np.int32), np.zeros(1, np.int16)
visit, waiting = np.array([[0.0, 3.0]]), np.zeros(1)
print(_cheapest_cycle(0, Graph(ages, after, visit, waiting), policy, np.zeros(1, np.int64))[0])
"""

URGENCY = """
import numpy as np
from scenarios.accessing.compiling import WHITTLE, urgencies
numbers = np.array([[0.01, 1.0, 0.0, 5.0]])
print(urgencies(WHITTLE, numbers, np.zeros(1, np.int64), np.zeros(1, np.int64), 1)[0])
"""

ONE_KERNEL = """
from typing import NamedTuple
import numba
from analytic import helper
from analytic.helper import LIMITS, STEP, added, pair
from scenarios.compiling import kept

class Point(NamedTuple):
    first: float
    second: float

@numba.njit
def moved(x):
    return added(x) + STEP * pair[0](1.0, 2.0) + LIMITS[0] + helper.SCALE

@kept
@numba.njit
def answer(point):
    return moved(point.first)
"""

HELPER = """
import numba
import numpy as np

STEP = 10.0
SCALE = 1000.0
LIMITS = np.array([20.0, 30.0])

@numba.njit
def one(x, y):
    return x

pair = (one, one)
FAR = 1.0

@numba.njit
def deep(x):
    return x * FAR

@numba.njit
def added(x):
    return deep(x)
"""


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """What a program prints in a copy of the sources that may be edited between calls."""
    for package in ("scenarios", "sim", "analytic"):
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=skipped)
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    # Python's own cache looks at the size and the second of the last change; not tested here.
    environment |= {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return run


def compiled_files(folder: Path) -> set[Path]:
    return set(folder.rglob("*.nbc"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "file", "old", "new"),
    [
        pytest.param(
            CYCLE,
            "analytic/routing/pairs.py",
            "return plus(first, 0.0, rest / count)",
            "return plus(first, 1.0, rest / count)",
            id="a helper of analytic",
        ),
        pytest.param(
            URGENCY,
            "scenarios/accessing/compiling.py",
            "age * numbers[3])",
            "age * numbers[2])",
            id="an accessing policy, with the size and the time of the file as before",
        ),
    ],
)
def test_an_edit_changes_the_answer_and_its_undoing_brings_it_back(
    answer: Answer, tmp_path: Path, program: str, file: str, old: str, new: str
) -> None:
    first = answer(program)
    kept = compiled_files(tmp_path)
    assert answer(program) == first
    assert compiled_files(tmp_path) == kept
    edited = tmp_path / file
    honest = edited.read_text()
    times = edited.stat()
    assert honest.count(old) == 1
    edited.write_text(honest.replace(old, new))
    os.utime(edited, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answer(program) != first
    edited.write_text(honest)
    assert answer(program) == first
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        assert kept < compiled_files(tmp_path)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")  # type: ignore[attr-defined]
def test_kept_code_is_loaded_without_what_it_was_compiled_from(answer: Answer) -> None:
    compiler = "numba.np.arrayobj"  # what numba makes of arrays
    program = f"{URGENCY}\nimport sys\nprint({compiler!r} in sys.modules)"
    assert answer(program).endswith("True\n")
    assert answer(program).endswith("False\n")


@pytest.mark.nightly
def test_constants_nested_calls_and_layouts_of_other_modules_are_noticed(
    answer: Answer, tmp_path: Path
) -> None:
    program = "from analytic.one_kernel import Point, answer\nprint(answer(Point(1.0, 2.0)))"
    kernel = tmp_path / "analytic/one_kernel.py"
    helper = tmp_path / "analytic/helper.py"
    kernel.write_text(ONE_KERNEL)
    helper.write_text(HELPER)
    assert float(answer(program)) == 1 + 10 + 20 + 1000
    expected = {
        ("STEP = 10.0", "STEP = 40.0"): 1 + 40 + 20 + 1000,
        ("SCALE = 1000.0", "SCALE = 2000.0"): 1 + 10 + 20 + 2000,
        ("[20.0,", "[50.0,"): 1 + 10 + 50 + 1000,
        ("FAR = 1.0", "FAR = 3.0"): 3 + 10 + 20 + 1000,
        ("return x * FAR", "return x + FAR"): 2 + 10 + 20 + 1000,
        ("return x\n", "return y\n"): 1 + 20 + 20 + 1000,
    }
    for (old, new), value in expected.items():
        assert HELPER.count(old) == 1
        helper.write_text(HELPER.replace(old, new))
        assert float(answer(program)) == value
    helper.write_text(HELPER)
    fields = "    first: float\n    second: float\n"
    swapped = "    second: float\n    first: float\n"
    kernel.write_text(ONE_KERNEL.replace(fields, swapped))
    assert float(answer(program)) == 2 + 10 + 20 + 1000
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        assert len(compiled_files(tmp_path)) == 2 + len(expected)
        kernel.write_text("\n\n# A remark.\n" + ONE_KERNEL)
        helper.write_text("# A remark.\n" + HELPER)
        assert float(answer(program)) == 1 + 10 + 20 + 1000


def test_only_one_place_decides_how_compiled_code_is_kept() -> None:
    """Whatever numba compiles and keeps goes through `scenarios.compiling`."""
    for package in ("scenarios", "sim", "analytic"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            assert "cache=True" not in text, path
            assert "enable_caching" not in text, path
            assert "FunctionCache" not in text or path.name == "compiling.py", path


def _plus_one(x: float) -> float:
    return x + 1.0


_NESTED = ((_plus_one,),)


def _reads_deep(x: float, *, scale: float = 2.0) -> float:
    return float(_NESTED[0][0](x) * scale)


def test_functions_deep_in_tuples_and_keyword_defaults_are_in_the_stamp() -> None:
    found = "\n".join(compiling.parts(_reads_deep))
    assert f"{__name__}._plus_one" in {line.partition(" ")[0] for line in found.splitlines()}
    assert "{'scale': 2.0}" in found


def test_what_llvm_is_told_by_hand_is_in_the_stamp(monkeypatch: pytest.MonkeyPatch) -> None:
    def another(*_: Any) -> None:
        return None

    before = compiling.parts(many_times.exponential_times)
    monkeypatch.setattr(many_times.product_and_sum, "_defn", another)
    assert compiling.parts(many_times.exponential_times) != before


def test_compiled_functions_that_are_passed_are_in_the_stamp() -> None:
    one, two = (numba.njit(each) for each in (_plus_one, _reads_deep))
    passed = [compiling._passed((numba.typeof(each),)) for each in (one, two)]
    assert passed == [(one,), (two,)]
    assert compiling._stamp(one, passed[0]) != compiling._stamp(one, passed[1])


def test_the_same_functions_in_another_order_have_another_stamp() -> None:
    """A mixture calls the draws of its laws from one function each, whatever their order."""
    first, second = Deterministic(value=1.0), Exponential(mean=1.0)
    orders = [(first, second, second), (second, first, second), (second, second, first)]
    stamps = set()
    for order in orders:
        draw, _ = how_to_draw(Mixture(probabilities=(0.5, 0.25, 0.25), of=order))
        let_kernels_call_all_of(draw)
        stamps.add(compiling._stamp(draw, ()))
    assert len(stamps) == len(orders)
