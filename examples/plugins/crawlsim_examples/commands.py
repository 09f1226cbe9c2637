"""A command: how much of the time the indexing engine is busy."""

from __future__ import annotations

import click

import crawlsim


@click.command()
@click.argument("scenario")
def busy(scenario: str) -> None:
    """Say how much of the time the indexing engine is busy."""
    idle = crawlsim.solve(scenario).find("starvation_probability")
    click.echo(f"{1 - idle.value:.1%}")
