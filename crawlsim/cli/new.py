"""The command `new`: a commented scenario file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from crawlsim.cli.options import FORCE, command, option, takes
from crawlsim.new_file import ALL_SECTIONS, scenario_text
from crawlsim.own_files import IN_TOML, claim, signed, write
from scenarios import ScenarioError


@command(
    example="crawlsim new my.toml --with pages,buffer,clients",
    then="crawlsim check my.toml",
)
@takes(
    click.argument("file"),
    option(
        "--with SECTIONS",
        f"Any of {', '.join(ALL_SECTIONS)}; by default pages,buffer.",
        "sections",
        default="pages,buffer",
    ),
    FORCE,
)
def new(file: str, sections: str, force: bool) -> None:
    """Write a commented scenario file to start from, with the sections asked for."""
    path = Path(file)
    if path.suffix != ".toml":
        raise ScenarioError("FILE", file, "must end in .toml")
    text = scenario_text(path.stem, sections.split(","))
    write("FILE", claim("FILE", file, force=force), signed(text, IN_TOML), force=force)
    click.echo(f"written: {file}; next: crawlsim check {file}", err=True)
