"""Errors planted at random: what they are, which tests reach them, and what is said of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from experiments import mutants
from experiments.mutants import Mutant, Reached, draw, ordered, table

SOURCE = '''"""A module."""

LIMIT: int = 3


def larger(a: float, b: float) -> float:
    """The larger one."""
    if a < b:
        return b
    return a


def rest(a: int, b: int) -> int:
    total = 0
    total += a - b
    if not total:
        raise ValueError("é: nothing is left")
    return -min(a, b) * total
'''

ORDERS = ("in order", "the other way")

TESTS = f"""
ORDERS = {ORDERS}

import pytest
from scenarios.toy import larger, rest

@pytest.mark.parametrize("one, other", [(1.0, 2.0), (2.0, 1.0)], ids=ORDERS)
def test_the_larger_one(one, other):
    assert larger(one, other) == 2.0

def test_the_rest():
    assert rest(5, 3) == -6
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one module."""
    for name in ("scenarios", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "scenarios" / "__init__.py").touch()
    (tmp_path / "scenarios" / "toy.py").write_text(SOURCE, "utf-8")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    return tmp_path


def test_every_kind_of_error_is_found_and_compiles(toy: Path) -> None:
    found = mutants._Places("scenarios/toy.py").found
    changes = {(each.line, each.kind, each.old, each.new) for each in found}
    assert changes == {
        (3, "constant", "3", "4"),
        (8, "condition", "a < b", "(not (a < b))"),
        (8, "comparison", "<", ">="),
        (8, "boundary", "<", "<="),
        (14, "constant", "0", "1"),
        (15, "sign", "+", "-"),
        (15, "statement", "total += a - b", "pass"),
        (15, "sign", "-", "+"),
        (16, "condition", "not total", "(not (not total))"),
        (16, "condition", "not total", "bool(total)"),
        (17, "statement", 'raise ValueError("é: nothing is left")', "pass"),
        (18, "operator", "*", "/"),
        (18, "operator", "min", "max"),
        (18, "sign", "-", "+"),
        (18, "argument", "a, b", "b, a"),
    }
    for each in found:
        compile(each.text(), each.file, "exec")
    assert toy.exists()


def test_a_seed_draws_the_same_errors_one_in_a_line(toy: Path) -> None:
    drawn = draw(100, seed=1)
    assert drawn == draw(100, seed=1)
    assert sorted(each.line for each in drawn) == [3, 8, 14, 15, 16, 17, 18]
    assert len(draw(2, seed=1)) == 2
    assert [draw(1, seed) for seed in range(9)] != [draw(1, 0)] * 9
    assert {each.function for each in drawn if each.line > 10} == {"scenarios.toy.rest"}
    (outside,) = (each for each in drawn if each.line == 3)
    assert outside.function == ""
    assert toy.exists()


def test_an_error_in_a_file_that_has_changed_is_not_planted(toy: Path) -> None:
    error = draw(1, seed=1)[0]
    assert error.new in error.diff()
    (toy / error.file).write_text("x = 1\n" + SOURCE)
    with pytest.raises(ValueError, match="has changed"):
        error.text()


def test_near_and_quick_tests_come_first_and_then_others_of_their_files() -> None:
    error = Mutant("analytic/probing/kernels.py", 1, "sign", "", 0, 1, "+", "-")
    reached = frozenset({0})
    tests = [
        Reached("tests/test_all.py::test_far", 0.1, reached),
        Reached("tests/analytic/probing/test_probing.py::test_slow", 2.0, reached),
        Reached("tests/analytic/probing/test_probing.py::test_quick", 1.0, reached),
        Reached("tests/analytic/probing/test_kernels.py::test_own", 3.0, reached),
        Reached("tests/test_all.py::test_beside", 0.0, frozenset()),
        Reached("tests/test_other.py::test_elsewhere", 0.0, frozenset()),
    ]
    names = [each.test.partition("::")[2] for each in ordered(0, error, tests)]
    assert names == ["test_own", "test_quick", "test_slow", "test_far", "test_beside"]


def test_what_is_equivalent_does_not_count() -> None:
    rows = [("sim", "killed"), ("sim", "timed out"), ("sim", "survived"), ("sim", "equivalent")]
    *_, sim, in_all = table("package", [*rows, ("analytic", "equivalent")])
    assert in_all == "| all | 1 | 1 | 1 | 2 | 67 % |"
    assert sim == "| analytic | 0 | 0 | 0 | 1 | – |"


@pytest.mark.thorough
def test_of_three_errors_one_is_killed_and_two_survive(
    toy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The boundary changes nothing; nobody asks for the ValueError."""
    (toy / "tests" / "test_toy.py").write_text(TESTS)
    (toy / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    shutil.copytree(Path(__file__).parents[2] / "experiments", toy / "experiments")
    errors = {
        (each.line, each.kind, each.new): each for each in mutants._Places("scenarios/toy.py").found
    }
    chosen = [
        errors[8, "comparison", ">="],
        errors[8, "boundary", "<="],
        errors[17, "statement", "pass"],
    ]
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "drawn.json").write_text(json.dumps([vars(each) for each in chosen]))
    monkeypatch.setattr("sys.argv", ["mutants", str(folder), "--jobs", "1"])
    assert mutants.main() == 0
    found = [json.loads(line) for line in (folder / "found.jsonl").read_text().splitlines()]
    assert {each["number"]: each["fate"] for each in found} == {
        0: "killed",
        1: "survived",
        2: "survived",
    }
    either = {f"tests/test_toy.py::test_the_larger_one[{order}]" for order in ORDERS}
    assert {each["by"] for each in found if each["number"] == 0} <= either
    assert "+        pass" in (folder / "survivor-002.diff").read_text()
