"""The command `new`: a commented scenario file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from crawlsim.cli.options import FORCE, command, option, takes
from crawlsim.new_file import ALL_SECTIONS, scenario_text
from crawlsim.own_files import IN_TOML, claim, signed, write
from scenarios import ScenarioError
from scenarios.plugins import use


@command(
    example="crawlsim new my.toml --with pages,buffer,clients",
    then="crawlsim check my.toml",
)
@takes(
    click.argument("file"),
    option(
        "--with SECTIONS",
        f"Any of {', '.join(ALL_SECTIONS)}; by default pages,buffer. Repeatable: what ends in .py "
        "is a plugin, which the next command is to use.",
        "given",
        multiple=True,
    ),
    FORCE,
)
def new(file: str, given: tuple[str, ...], force: bool) -> None:
    """Write a commented scenario file to start from, with the sections asked for."""
    path = Path(file)
    if path.suffix != ".toml":
        raise ScenarioError("FILE", file, "must end in .toml")
    plugins = [each for each in given if each.endswith(".py")]
    for each in plugins:
        use(each)
    sections = ",".join(each for each in given if each not in plugins) or "pages,buffer"
    text = scenario_text(path.stem, sections.split(","))
    write("FILE", claim("FILE", file, force=force), signed(text, IN_TOML), force=force)
    also = "".join(f" --with {each}" for each in plugins)
    click.echo(f"written: {file}; next: crawlsim check {file}{also}", err=True)
