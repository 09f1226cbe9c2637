"""Commands that other packages add: an entry point each, and nothing that breaks the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GREETING = '''
import click
from crawlsim.cli.later import Later

@click.command()
@click.argument("name")
def hello(name):
    """Say hello."""
    click.echo(f"hello, {name}")

@click.command()
def fails():
    """Fail."""
    raise ZeroDivisionError("of its making")

later = Later("later", "greeting:hello", "Say hello, in time.")
lost = Later("lost", "greeting:nothing", "Never there.")

@click.command()
def leaves():
    """End the program from within."""
    raise SystemExit(0)
number = 1
'''


class Site:
    """A folder with packages as pip installs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, package: str, entries: str, **modules: str) -> None:
        """A package, what its `entry_points.txt` says, and its modules."""
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(text)
        about = self.folder / f"{package.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(entries)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the command line says that finds them."""
        return subprocess.run(
            [sys.executable, "-c", "from crawlsim.cli import main; main()", *words],
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_package_adds_a_command(site: Site) -> None:
    site.install("greeting", "[crawlsim.commands]\nhello = greeting:hello\n", greeting=GREETING)
    done = site.run("hello", "you")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello, you\n", "")
    assert "Usage: crawlsim hello" in site.run("hello", "--help").stdout
    listed = site.run("--help")
    assert "\n  hello        Say hello.\n" in listed.stdout
    assert "\n  paper        List the items of a paper" in listed.stdout
    assert listed.stderr == ""
    assert "Did you mean" in site.run("helo").stderr


def test_a_command_is_listed_without_being_loaded(site: Site) -> None:
    entries = "[crawlsim.commands]\nlater = light:later\n"
    light = "from crawlsim.cli.later import Later\n"
    light += 'later = Later("later", "greeting:hello", "Say hello, in time.")\n'
    site.install("greeting", entries, greeting="raise SystemExit(0)", light=light)
    assert "\n  later        Say hello, in time.\n" in site.run("--help").stdout
    broken = site.run("later", "you")
    assert broken.returncode == 2
    assert broken.stderr == (
        "crawlsim: the command later of the package greeting cannot be loaded: SystemExit: 0\n"
    )
    (site.folder / "greeting.py").write_text(GREETING)
    assert site.run("later", "you").stdout == "hello, you\n"


def test_nothing_of_a_package_is_loaded_for_a_command_of_the_program(site: Site) -> None:
    told = "import sys\nprint('loaded', file=sys.stderr)\n"
    site.install("greeting", "[crawlsim.commands]\nhello = greeting:hello\n", greeting=told)
    done = site.run("scenarios", "--names")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("broken = nowhere:hello", "ModuleNotFoundError: No module named 'nowhere'"),
        ("broken = greeting:goodbye", "AttributeError: module 'greeting' has no attribute"),
        ("broken = greeting:number", "TypeError: 1 is not a command of click"),
        ("broken = greeting:lost", "AttributeError: module 'greeting' has no attribute"),
        ("broken = wrong:hello", "SyntaxError: "),
        ("broken = ends:hello", "SystemExit: 0"),
        ("broken = speaks:hello", "ValueError: two lines, and \\u001b[31mred"),
        ("broken = not a module", ""),
    ],
)
def test_a_broken_package_is_told_in_a_line_and_breaks_nothing_else(
    site: Site, entry: str, reason: str
) -> None:
    site.install(
        "greeting",
        f"[crawlsim.commands]\nhello = greeting:hello\n{entry}\n",
        greeting=GREETING,
        wrong="def",
        ends="raise SystemExit(0)",
        speaks="raise ValueError('two lines,\\nand \\x1b[31mred')",
    )
    done = site.run("broken")
    line = "crawlsim: the command broken of the package greeting cannot be loaded: "
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(line + reason)
    assert done.stderr.count("\n") == 1
    listed = site.run("--help")
    assert listed.returncode == 0
    if "lost" not in entry:  # which is listed without being loaded
        assert "\n  broken       (cannot be loaded)\n" in listed.stdout
        assert listed.stderr == done.stderr
    assert site.run("hello", "you").stdout == "hello, you\n"
    assert site.run("paper", "nobody").stderr.startswith("crawlsim: paper = ")


def test_a_list_of_commands_that_cannot_be_read_is_told(site: Site) -> None:
    site.install("greeting", "[crawlsim.commands]\nhello = greeting:hello\n", greeting=GREETING)
    site.install("scrawl", "[crawlsim.commands]\nnothing\n")
    done = site.run("hello", "you")
    assert (done.returncode, done.stdout) == (0, "hello, you\n")
    assert done.stderr.startswith("crawlsim: the commands of the package scrawl cannot be read: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["run", "papers"])
def test_no_package_takes_the_name_of_a_command_of_the_program(site: Site, name: str) -> None:
    entries = f"[crawlsim.commands]\n{name} = greeting:hello\nhello = greeting:hello\n"
    site.install("greeting", entries, greeting=GREETING)
    listed = site.run("--help")
    assert listed.stderr == (
        f"crawlsim: the command {name} of the package greeting is left out: crawlsim has one of "
        "that name\n"
    )
    assert "Say hello." in listed.stdout
    assert f"Usage: crawlsim {name}" in site.run(name, "--help").stdout
    assert "Say hello." not in site.run(name, "--help").stdout


def test_a_package_without_its_own_description_has_the_name_of_its_folder(site: Site) -> None:
    site.install("greeting", "[crawlsim.commands]\nhello = greeting:nothing\n", greeting=GREETING)
    (site.folder / "greeting-1.0.dist-info" / "METADATA").unlink()
    line = "crawlsim: the command hello of the package greeting cannot be loaded: "
    assert site.run("hello").stderr.startswith(line)


def test_of_two_packages_the_first_has_the_name(site: Site) -> None:
    for package in ("greeting", "welcome"):
        site.install(package, "[crawlsim.commands]\nhello = greeting:hello\n", greeting=GREETING)
    done = site.run("hello", "you")
    assert done.stdout == "hello, you\n"
    assert done.stderr.count("\n") == 1
    assert " is left out: " in done.stderr
    assert {"greeting", "welcome"} <= set(done.stderr.split())


def test_a_defect_of_a_package_is_not_put_down_to_the_program(site: Site) -> None:
    site.install("greeting", "[crawlsim.commands]\nfails = greeting:fails\n", greeting=GREETING)
    done = site.run("fails")
    assert done.returncode == 70
    *_, error, last = done.stderr.splitlines()
    assert error == "ZeroDivisionError: of its making"
    assert last == "crawlsim: this is a bug in greeting; please report what is shown above"


def test_a_command_that_ends_the_program_from_within_has_not_succeeded(site: Site) -> None:
    site.install("greeting", "[crawlsim.commands]\nleaves = greeting:leaves\n", greeting=GREETING)
    done = site.run("leaves")
    assert done.returncode != 0
    assert "something that was imported ended the program" in done.stderr
