"""Options that several commands share, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from scenarios import Scenario, ScenarioError, load
from scenarios.files import parse_value

Command = Callable[..., Any]


class NumberRange(click.FloatRange):
    """Numbers in a range; click lets NaN pass, which no comparison finds outside of one."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Convert a text."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number", param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a simulation is run: engine, workers, folder for files, precision asked for.

    `solve` says whether a sweep evaluates formulas too.
    """

    engine: str | None
    jobs: int
    cluster: str | None
    out: str | None
    precision: float | None
    measures: tuple[str, ...]
    max_replications: int | None
    warmup: str | None = None
    control_variates: bool = False
    solve: bool = True

    def record(self, changes: Sequence[str]) -> dict[str, Any]:
        """What a provenance says about the options, ``--set`` among them."""
        return {
            "engine": self.engine,
            "jobs": self.jobs,
            "cluster": self.cluster,
            "precision": self.precision,
            "warmup": self.warmup,
            "control_variates": self.control_variates,
            "solve": self.solve,
            "set": list(changes),
        }


def scenario_options(command: Command) -> Command:
    """The scenarios to work on, ``--set`` and ``--json``."""
    return _with_sources("SCENARIO...", command)


def single_scenario_options(command: Command) -> Command:
    """The same, shown as taking one scenario; the command refuses more by name."""
    return _with_sources("SCENARIO", command)


def _with_sources(shown: str, command: Command) -> Command:
    for decorate in (
        click.argument("sources", metavar=shown, nargs=-1, required=True),
        click.option(
            "--set",
            "changes",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change an entry of the scenario; repeatable. The value is TOML.",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
    ):
        command = decorate(command)
    return command


def run_options(command: Command) -> Command:
    """Options of every command that simulates."""
    for decorate in (
        click.option("--replications", type=int, metavar="N", help="Number of replications."),
        click.option("--seed", type=int, metavar="N", help="Seed of the random streams."),
        click.option(
            "--warmup",
            metavar="TIME",
            help='Time before anything is counted; "auto": ten times what the system remembers.',
        ),
        click.option("--engine", metavar="NAME", help="compiled or simpy; default the fastest."),
        *_worker_options(),
        click.option("--out", metavar="DIR", help="Write CSV files, scenario and provenance."),
        *_precision_options(),
    ):
        command = decorate(command)
    return command


def _worker_options() -> tuple[Command, ...]:
    """Where replications run."""
    return (
        click.option(
            "--jobs",
            type=click.IntRange(1, 256),
            default=1,
            metavar="N",
            help="Workers on this machine; the results are the same for any number.",
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Run on the workers of a Dask scheduler, tcp://host:8786 for example.",
        ),
    )


def _precision_options() -> tuple[Command, ...]:
    """How long it goes on."""
    return (
        click.option(
            "--precision",
            type=NumberRange(0, 1, min_open=True),
            metavar="X",
            help="Add replications until the 95 % half-widths are below X times the estimate.",
        ),
        click.option(
            "--measure",
            "measures",
            multiple=True,
            metavar="M",
            help="Measure that --precision is about; repeatable.",
        ),
        click.option(
            "--max-replications",
            type=click.IntRange(1),
            metavar="N",
            help="Where --precision and --indifference stop: 1000, or the file's number if more.",
        ),
    )


def load_scenarios(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    seed: int | None = None,
    replications: int | None = None,
) -> list[Scenario]:
    """The scenarios, changed as asked; each name once, since answers are keyed by it."""
    given = _parsed(changes)
    for key, value in (("run.seed", seed), ("run.replications", replications)):
        if value is not None:
            given[key] = value
    scenarios = [load(source, given) for source in sources]
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError("name", name, "stands twice; each scenario needs its own name")
    return scenarios


def _parsed(changes: tuple[str, ...]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for change in changes:
        key, sign, text = change.partition("=")
        if not sign or not key.strip():
            raise ScenarioError("--set", change, "must be KEY=VALUE")
        if key.strip() in parsed:
            raise ScenarioError(f"--set {key.strip()}", text, "is set twice")
        parsed[key.strip()] = parse_value(text)
    return parsed
