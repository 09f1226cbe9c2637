"""The dependency rules of the project, read from the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("scenarios", "sim", "analytic")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
HEAVY = {"pandas", "matplotlib", "jinja2", "rich", "click", "numba"}
MACHINERY = {
    "analytic.active_robots",
    "analytic.arrival_process",
    "analytic.conditions",
    "analytic.decision_process",
    "analytic.formula",
    "analytic.markov",
    "analytic.phase_type",
    "analytic.transforms",
}
SUBJECTS = (
    "analytic.fitting",
    "analytic.probing",
    "analytic.indexing_queue",
    "analytic.pipeline",
    "analytic.robot_control",
    "analytic.routing",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules imported anywhere in a file, function-local imports included, types-only ones not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not is_for_types_only(node):
            yield from imports(node)


NAMES = {module_name(path) for path in FILES}


def own_module(imported: str) -> str | None:
    """The module of ours that an imported name lives in."""
    while imported:
        if imported in NAMES:
            return imported
        imported = imported.rpartition(".")[0]
    return None


EDGES = {
    module_name(path): {
        own for each in imports(ast.parse(path.read_text())) if (own := own_module(each))
    }
    - {module_name(path)}
    for path in FILES
}


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_packages_import_only_what_they_may(path: Path) -> None:
    name = module_name(path)
    package = name.split(".")[0]
    allowed = {"scenarios": {"scenarios"}, "sim": {"scenarios", "sim"}}.get(
        package, {"scenarios", "analytic"}
    )
    if name.startswith("sim.cli"):
        allowed = set(PACKAGES)
    assert {edge.split(".")[0] for edge in EDGES[name]} <= allowed


@pytest.mark.parametrize("name", sorted(MACHINERY))
def test_machinery_imports_no_subject(name: str) -> None:
    assert not [edge for edge in EDGES[name] if edge.startswith(SUBJECTS)]


@pytest.mark.parametrize("module", ["rules", "rates"])
def test_what_both_engines_call_imports_only_math(module: str) -> None:
    tree = ast.parse((ROOT / f"sim/{module}.py").read_text())
    roots = {each.split(".")[0] for each in imports(tree)}
    assert roots <= {"__future__", "math", "collections", "typing"}


def test_there_is_no_import_cycle() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for edge in EDGES[name]:
                # A package's __init__ only re-exports; importing the package means its parts.
                if not name.startswith(edge + "."):
                    visit(edge, (*path, name))
            done.add(name)

    for name in sorted(EDGES):
        visit(name, ())


def test_heavy_packages_stay_at_the_edge() -> None:
    """Importing the two sides loads no plotting, tables or command line packages."""
    code = "import sys, scenarios, analytic; from sim import *; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef))


def code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    body = function.body
    start = body[1] if ast.get_docstring(function) and len(body) > 1 else body[0]
    text = lines[start.lineno - 1 : function.end_lineno]
    return sum(1 for line in text if line.strip() and not line.strip().startswith("#"))


def test_functions_and_files_stay_within_the_budget() -> None:
    lengths, arguments = [], []
    for path in FILES:
        lines = path.read_text().splitlines()
        assert len(lines) <= 400, path
        for function in functions(path):
            lengths.append(code_lines(function, lines))
            arguments.append(len(function.args.args) + len(function.args.kwonlyargs))
    lengths.sort()
    arguments.sort()
    assert lengths[len(lengths) // 2] <= 8
    assert lengths[int(0.9 * len(lengths))] <= 20
    assert lengths[-1] <= 40
    assert arguments[int(0.9 * len(arguments))] <= 4 + 1  # self counts here


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_public_functions_have_docstrings(path: Path) -> None:
    bare = [f.name for f in functions(path) if f.name[0] != "_" and not ast.get_docstring(f)]
    local = {
        inner.name
        for f in functions(path)
        for inner in ast.walk(f)
        if isinstance(inner, ast.FunctionDef) and inner is not f
    }
    assert not set(bare) - local
