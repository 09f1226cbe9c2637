"""What commands may be asked: the options that several of them share are declared here, once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from crawlsim.cli.later import HELP
from scenarios import ScenarioError
from scenarios.base import one_of
from scenarios.measures import MEASURES
from scenarios.plugins import load_installed

Command = Callable[..., Any]
Option = Callable[[Command], Command]


class NumberRange(click.FloatRange):
    """Numbers in a range; click lets NaN pass, which no comparison finds outside of one."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Convert a text."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def option(shown: str, text: str, to: str | None = None, **how: Any) -> Option:
    """An option of a command.

    Parameters
    ----------
    shown : str
        As the help shows it: "--seed N", or "--json" for one without a value.
    text : str
        What the help says about it.
    to : str, optional
        The argument of the command that gets its value, where that has another name.
    **how
        Whatever else `click.option` takes.
    """
    name, _, value = shown.partition(" ")
    how |= {"metavar": value} if value else {"is_flag": True}
    names = (name, to) if to else (name,)
    return click.option(*names, help=text, **how)


def _used(_: click.Context, __: click.Parameter, files: tuple[str, ...]) -> None:
    """Load the plugins of ``--with``."""
    if files:
        from scenarios.plugins import use

        for each in files:
            use(each)


_WITH = click.Option(
    ["--with"],
    metavar="FILE",
    help="Use a plugin, a file with a policy, law, formula or measure; repeatable.",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_used,
)
"""Of every command but `new`, which has another of that name."""


def command(
    name: str | None = None, *, example: str, then: str
) -> Callable[[Command], click.Command]:
    """A command whose help ends with an example, and the next command to try.

    Parameters
    ----------
    name : str, optional
        Default: that of the function.
    example, then : str
        Command lines; what follows the second one after a colon says what it is for.
    """
    end = f"\b\nExample:  {example}\nNext:     {then}"
    # Whoever asks for its help first, a program or a page of the site, is told the same.
    settings = {"help_option_names": HELP}
    made = click.command(name, epilog=end, context_settings=settings)

    def decorate(function: Command) -> click.Command:
        found = made(function)
        if not any("--with" in each.opts for each in found.params):
            found.params.append(_WITH)
        return found

    return decorate


def takes(*options: Option) -> Option:
    """A decorator that gives a command some arguments and options, shown in this order."""

    def decorate(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


SCENARIOS = click.argument("sources", metavar="SCENARIO...", nargs=-1, required=True)

ONE_SCENARIO = click.argument("sources", metavar="SCENARIO", nargs=-1, required=True)
"""Shown as one; a command that is given more refuses them by name."""

SET = option(
    "--set KEY=VALUE",
    "Change an entry of the scenario; repeatable. The value is TOML.",
    "changes",
    multiple=True,
)
PAGES = option(
    "--pages P", "exact, or site-key: http, https and www. are one page.", default="exact"
)

SIGNALS = option(
    "--signals FILE",
    "Signals of changes: CSV url,time or sitemaps; may be repeated.",
    multiple=True,
)

JSON = option("--json", "Print one JSON document.", "as_json")

FORCE = option("--force", "Replace files that crawlsim did not write, or that were changed since.")

QUANTILES = option(
    "--quantiles Q,…", "Quantiles of the times that pages wait to give as well, such as 0.5,0.95."
)

SEED = option("--seed N", "Seed of the random streams.", type=int)

WHERE = (
    option("--engine NAME", "compiled or simpy; by default the faster one."),
    option(
        "--jobs N",
        "Workers on this machine; results do not depend on their number.",
        type=click.IntRange(1, 256),
        default=1,
    ),
    option("--cluster ADDRESS", "Run on the workers of a Dask scheduler, e.g. tcp://host:8786."),
)
"""By what and on what replications run."""

SLIDES = (
    option("--figures DIR", "Draw each figure into a file of its own, in the shape of a slide."),
    option(
        "--format F",
        "Of these figures: svg, the default, png or pdf.",
        "drawn_as",
        type=click.Choice(("svg", "png", "pdf")),
    ),
)
"""Pictures to be shown, not read."""


RUN = (
    SET,
    QUANTILES,
    option("--replications N", "Number of replications.", type=int),
    SEED,
    option("--warmup TIME", 'Time before counting begins; "auto" chooses it by the formulas.'),
    *WHERE,
    option("--out DIR", "Write CSV files, a report, the scenario and its provenance."),
    *SLIDES,
    FORCE,
    option(
        "--precision X",
        "Add replications until each 95 % half-width is below X times its estimate.",
        type=NumberRange(0, 1, min_open=True),
    ),
    option(
        "--measure M",
        "Measure that --precision applies to; a sweep shows no others. Repeatable.",
        "measures",
        multiple=True,
    ),
    option(
        "--max-replications N",
        "Limit for --precision and --indifference: 1000, or the file's number if larger.",
        type=click.IntRange(1),
    ),
    JSON,
)
"""Options of every command that simulates, `RunOptions` in the code."""


ASKED_QUANTILES = "--quantiles"
"""Stands among the changes where a key does: quantiles of whatever times a system has."""


def quantile_change(quantiles: str | None) -> tuple[str, ...]:
    """What ``--quantiles`` adds to the changes of ``--set``, as `load_scenarios` reads it.

    Raises
    ------
    ScenarioError
        If these are not numbers.
    """
    if quantiles is None:
        return ()
    try:
        shares = [float(share) for share in quantiles.split(",")]
    except ValueError:
        allowed = "must be shares between 0 and 1 with commas between them, such as 0.5,0.95"
        raise ScenarioError("--quantiles", quantiles, allowed) from None
    return (f"{ASKED_QUANTILES}={shares}",)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a command that simulates is asked for: engine, workers, folder for files, precision.

    `changes` are those of ``--set``; `solve` says whether a sweep evaluates formulas too, and
    `versions_apart` whether reports leave versions and engines to the provenance: others' are then
    the same.
    """

    engine: str | None = None
    jobs: int = 1
    cluster: str | None = None
    out: str | None = None
    figures: str | None = None
    drawn_as: str | None = None
    force: bool = False
    precision: float | None = None
    measures: tuple[str, ...] = ()
    max_replications: int | None = None
    warmup: str | None = None
    control_variates: bool = False
    solve: bool = True
    changes: tuple[str, ...] = ()
    quantiles: str | None = None
    seed: int | None = None
    replications: int | None = None
    as_json: bool = False
    versions_apart: bool = False

    def checked(self, shows_measures: bool = False) -> RunOptions:
        """The same, with every ``--measure`` known and of use, ``--quantiles`` among the changes.

        Parameters
        ----------
        shows_measures : bool
            Whether ``--measure`` is of use without ``--precision``, since it limits what is shown.

        Raises
        ------
        ScenarioError
            Otherwise.
        """
        if self.measures:
            load_installed()
        for name in self.measures:
            if name not in MEASURES:
                allowed = f"must be a measure: {one_of(name, MEASURES)}"
                raise ScenarioError("--measure", name, allowed)
        if self.measures and self.precision is None and not shows_measures:
            raise ScenarioError("--measure", self.measures[0], "needs --precision")
        return replace(self, changes=(*self.changes, *quantile_change(self.quantiles)))

    def record(self) -> dict[str, Any]:
        """What a provenance says about the options."""
        names = ("engine", "jobs", "cluster", "precision", "warmup", "control_variates", "solve")
        return {**{name: getattr(self, name) for name in names}, "set": list(self.changes)}
