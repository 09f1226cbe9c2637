"""What a release and a public forge need: files that name each other truly."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_the_workflow_and_the_hook_call_targets_that_exist() -> None:
    files = (".github/workflows/rings.yml", ".pre-commit-config.yaml", ".ci/run")
    for name in files:
        path = ROOT / name
        called = re.findall(r"\bmake ([a-z-]+)", path.read_text("utf-8")) if path.exists() else []
        for target in called:
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"{name}: make {target}"
    rings = set(re.findall(r"run: make (\S+)", (ROOT / files[0]).read_text("utf-8")))
    assert {"test", "test-all", "test-nightly"} <= rings


def test_the_oldest_versions_are_those_that_are_allowed() -> None:
    """Of each package that is needed, the version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = dict(
        re.match(r"([\w-]+)>=([\d.]+)", each).groups()  # type: ignore[union-attr]
        for each in project["dependencies"]
    )
    lines = (ROOT / "constraints-oldest.txt").read_text("utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert oldest.keys() == needed.keys()
    for name, version in needed.items():
        assert oldest[name].startswith(version), name


def test_citation_changelog_and_package_speak_of_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == project["version"]  # type: ignore[index]
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == project["version"]  # type: ignore[index]
    assert project["urls"]["Repository"] in citation
