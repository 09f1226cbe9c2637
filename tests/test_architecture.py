"""The floors of the project and the arrows between them, read from the syntax trees."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "scenarios": {"scenarios"},
    "sim": {"scenarios", "sim"},
    "analytic": {"scenarios", "analytic"},
    "crawlsim": {"scenarios", "sim", "analytic", "crawlsim"},
    "papers": {"scenarios", "sim", "analytic", "crawlsim", "papers"},
}
PRODUCT = [package for package in MAY_IMPORT if package != "papers"]
FILES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """What a file imports anywhere, in its functions and for its types too."""
    return tuple(_imported(ast.parse(path.read_text())))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


NAMES = {module_name(path) for path in FILES}


def own_module(imported: str) -> str | None:
    """The module of ours that an imported name lives in."""
    while imported:
        if imported in NAMES:
            return imported
        imported = imported.rpartition(".")[0]
    return None


def own_modules(imported: Iterable[str]) -> set[str]:
    """The modules of ours that imported names live in."""
    return {own for each in imported if (own := own_module(each))}


def edges(path: Path) -> set[str]:
    """The modules of ours that a file imports."""
    return own_modules(imported_names(path)) - {module_name(path)}


def test_every_package_of_the_project_has_its_floor() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "experiments", "benchmarks"} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_arrow_points_upwards_or_across(path: Path) -> None:
    reached = {edge.split(".")[0] for edge in edges(path)}
    assert reached <= MAY_IMPORT[path.relative_to(ROOT).parts[0]]


MACHINERY = [path for path in FILES if path.parts[-3:-1] == ("analytic", "machinery")]


@pytest.mark.parametrize("path", MACHINERY, ids=module_name)
def test_the_machinery_knows_no_subject(path: Path) -> None:
    rooms = {".".join(edge.split(".")[:2]) for edge in edges(path) if edge.startswith("analytic.")}
    assert rooms <= {"analytic.machinery", "analytic.laws"}


@pytest.mark.parametrize("package", PRODUCT)
@pytest.mark.parametrize("line", ["import papers", "from papers.rows import rows_of"])
def test_what_needs_the_papers_is_found(package: str, line: str) -> None:
    """They leave the product: of its commands they are those of any other package."""
    planted = ast.parse(f"def late():\n    {line}\n")
    reached = {each.split(".")[0] for each in own_modules(_imported(planted))}
    assert not reached <= MAY_IMPORT[package]


@pytest.mark.parametrize("name", ["queue_by_events", "talim_process"])
def test_what_is_written_out_from_the_words_of_a_paper_uses_no_formula(name: str) -> None:
    reached = {edge.split(".")[0] for edge in edges(ROOT / "papers" / f"{name}.py")}
    assert reached == {"scenarios"}


_DECODED = {
    "robots": {"failure", "failure_probability", "access_time", "accessing"},
    "servers": {"arrivals", "discipline"},
}
"""Entries that `scenarios.model` decodes, by section."""

_BASES = {
    "robots": ("robots", "section", "each"),
    "servers": ("servers", "section", "servers_of(scenario)"),
}
"""How the expressions end that sections are read off."""


def _words_of_the_file(tree: ast.AST) -> set[str]:
    """The entries that are read off a section itself though they are decoded."""
    read = [each for each in ast.walk(tree) if isinstance(each, ast.Attribute)]
    words = {
        each.attr
        for each in read
        for section, decoded in _DECODED.items()
        if each.attr in decoded and ast.unparse(each.value).endswith(_BASES[section])
    }
    asked = {id(each) for each in _only_asked_for(tree)}
    whole = [each for each in read if each.attr in _WHOLE and id(each) not in asked]
    return words | {each.attr for each in whole if ast.unparse(each.value).endswith(_SCENARIOS)}


_WHOLE = {"pages", "buffer", "clients", "source", "sources", "probing", "interventions"}
"""Sections that are decoded as a whole."""

_SCENARIOS = ("scenario", "system", "free", "asked")


def _only_asked_for(tree: ast.AST) -> Iterator[ast.expr]:
    """What a file only asks whether it is there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node.left
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp):
            yield node.operand
        elif isinstance(node, ast.If | ast.IfExp | ast.Assert):
            yield node.test


@pytest.mark.parametrize("package", ["sim", "analytic"])
def test_both_sides_read_the_decoded_model(package: str) -> None:
    files = [path for path in FILES if path.relative_to(ROOT).parts[0] == package]
    read = {module_name(path): _words_of_the_file(ast.parse(path.read_text())) for path in files}
    assert {name: words for name, words in read.items() if words} == {}


@pytest.mark.parametrize(
    "line",
    [
        "scenario.buffer.when_full",
        "scenario.robots.failure.retries",
        "robots.accessing",
        "servers_of(scenario).discipline",
        "servers.arrivals",
        "each.access_time",
        "scenario.pages.sizes",
        "scenario.clients.query_rate",
        "self._scenario.probing.policy",
        "len(scenario.sources)",
        "[each.at for each in scenario.interventions]",
    ],
)
def test_a_word_of_the_file_is_found(line: str) -> None:
    assert _words_of_the_file(ast.parse(f"ordered = {line} == 'fifo'"))


def test_a_section_may_be_asked_for_and_not_be_kept() -> None:
    assert not _words_of_the_file(ast.parse("if scenario.buffer is None or scenario.buffer: pass"))
    assert _words_of_the_file(ast.parse("buffer, robots = scenario.buffer, scenario.robots"))


def test_there_is_no_import_cycle() -> None:
    files = {module_name(path): path for path in FILES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for edge in edges(files[name]):
                # A package's __init__ only re-exports; importing the package means its parts.
                if not name.startswith(edge + "."):
                    visit(edge, (*path, name))
            done.add(name)

    for name in sorted(files):
        visit(name, ())


@pytest.mark.parametrize("package", ["analytic", "crawlsim", "scenarios"])
def test_no_name_that_is_loaded_when_asked_for_is_that_of_a_module(package: str) -> None:
    """The module would take its place once it is loaded."""
    loaded = importlib.import_module(package)
    modules = {path.stem for path in Path(loaded.__path__[0]).iterdir()}
    assert set(loaded.__all__) & modules == set()
