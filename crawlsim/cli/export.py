"""The command `export`: the same system as a program of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from crawlsim.cli.loading import decided, load_scenarios
from crawlsim.cli.options import FORCE, ONE_SCENARIO, SET, command, option, takes
from crawlsim.own_files import IN_TOML, claim, signed, write
from scenarios import ScenarioError


@command(
    example="crawlsim export one-robot --to simpy --out one_robot.py",
    then="python one_robot.py, and crawlsim solve one-robot: the same numbers",
)
@takes(
    ONE_SCENARIO,
    option(
        "--to TOOL",
        "line, ciw or simpy.",
        type=click.Choice(("line", "ciw", "simpy")),
        required=True,
    ),
    SET,
    option("--out FILE", "Write the program there; by default it is printed."),
    FORCE,
)
def export(
    sources: tuple[str, ...], to: str, changes: tuple[str, ...], out: str | None, force: bool
) -> None:
    """Write a scenario as a program of LINE, Ciw or SimPy, which prints the same measures."""
    from crawlsim.exports import program_text

    if len(sources) > 1:
        raise ScenarioError("SCENARIO", " ".join(sources), "must be a single scenario")
    if out is not None and Path(out).suffix != ".py":
        raise ScenarioError("--out", out, "must end in .py")
    if out is not None and Path(out).stem == to:
        raise ScenarioError("--out", out, f"would be imported in place of {to}; give another name")
    (scenario,) = load_scenarios(sources, changes)
    target = None if out is None else claim("--out", out, force=force)
    text = program_text(decided(scenario), to)
    if target is None:
        click.echo(text, nl=False)
        return
    write("--out", target, signed(text, IN_TOML), force=force)
    click.echo(f"written: {out}; next: python {out}", err=True)
