"""A stranger in the place of a package of crawlsim is told in one line, and not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STRANGER = "print('it was run')\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )


def told(done: subprocess.CompletedProcess[str], file: Path) -> bool:
    name = file.parent.name if file.name == "__init__.py" else file.stem
    assert done.returncode == 2, done
    assert done.stdout == ""
    line = f"crawlsim: {file} stands in the place of crawlsim's own package {name}: rename it, "
    return done.stderr.startswith(line) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["sim.py", "analytic.py", "scenarios.py", "sim/__init__.py"])
def test_a_script_beside_a_file_of_that_name_is_told(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(STRANGER)
    (tmp_path / "script.py").write_text("import crawlsim\n")
    assert told(run(tmp_path, "script.py"), file)
    assert told(run(tmp_path, "-m", "crawlsim", "scenarios"), file)


def test_a_script_of_the_name_of_the_papers_is_told_for_their_commands_only(tmp_path: Path) -> None:
    file = tmp_path / "papers.py"
    file.write_text(STRANGER)
    assert told(run(tmp_path, "-m", "crawlsim", "papers"), file)
    listed = run(tmp_path, "-m", "crawlsim", "--help")
    assert listed.returncode == 0
    assert "it was run" not in listed.stdout
    assert listed.stderr.count("\n") == 1
    assert run(tmp_path, "-m", "crawlsim", "scenarios", "--names").returncode == 0


@pytest.mark.parametrize("package", ["sim", "analytic"])
def test_a_package_that_is_used_alone_is_told_too(tmp_path: Path, package: str) -> None:
    file = tmp_path / "scenarios.py"
    file.write_text(STRANGER)
    assert told(run(tmp_path, "-c", f"import {package}"), file)


def test_a_script_of_that_name_is_told_itself(tmp_path: Path) -> None:
    file = tmp_path / "sim.py"
    file.write_text("import crawlsim\nprint('it went on')\n")
    assert told(run(tmp_path, "sim.py"), file)


def test_what_has_been_imported_already_is_told(tmp_path: Path) -> None:
    file = tmp_path / "sim.py"
    file.write_text("")
    assert told(run(tmp_path, "-c", "import sim, crawlsim"), file)


def test_a_published_package_that_was_installed_over_ours_is_told(tmp_path: Path) -> None:
    """It lies where ours should."""
    for name in ("crawlsim", "sim", "analytic", "scenarios"):
        (tmp_path / name).mkdir()
        for file in ("__init__.py", "companions.py"):
            if (ROOT / name / file).exists():
                (tmp_path / name / file).write_bytes((ROOT / name / file).read_bytes())
    assert run(tmp_path, "-c", "import crawlsim").returncode == 0
    (tmp_path / "sim" / "__init__.py").write_text(STRANGER)
    assert told(run(tmp_path, "-c", "import crawlsim"), tmp_path / "sim" / "__init__.py")


def test_a_file_in_a_folder_that_is_gone_to_later_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "sim.py").write_text(STRANGER)
    code = "import os, crawlsim; os.chdir('later'); crawlsim.run; print('it went on')"
    done = run(tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "it went on\n"


def test_a_file_that_ends_the_program_is_no_success(tmp_path: Path) -> None:
    """In the place of a package that is not ours, as numpy: only a traceback can say where."""
    file = tmp_path / "numpy.py"
    file.write_text("raise SystemExit(0)\n")
    done = run(tmp_path, "-m", "crawlsim", "solve", "one-robot")
    assert done.returncode == 70
    assert str(file) in done.stderr
    assert done.stdout == ""


def test_the_check_is_the_same_in_each_package() -> None:
    texts = {
        (ROOT / name / "companions.py").read_text() for name in ("crawlsim", "sim", "analytic")
    }
    assert len(texts) == 1
