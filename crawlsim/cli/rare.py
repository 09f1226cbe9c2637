"""The command `rare`: a loss probability too small to be counted, beside its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from crawlsim.cli.loading import decided, load_scenarios
from crawlsim.cli.options import (
    JSON,
    ONE_SCENARIO,
    SEED,
    SET,
    WHERE,
    NumberRange,
    RunOptions,
    command,
    option,
    takes,
)
from crawlsim.cli.output import progress_bar
from crawlsim.cli.streams import Interrupted
from crawlsim.cli.tables import print_json, warn
from crawlsim.cli.workers import workers
from scenarios import Scenario, ScenarioError
from scenarios.text import counted

if TYPE_CHECKING:
    from sim import RareLosses

_FALSE_ALARM = 1e-3
_MOST = 20_000


@command(
    example="crawlsim rare my.toml --set buffer.waiting_places=40",
    then="crawlsim solve my.toml, what the formulas say of everything else",
)
@takes(
    ONE_SCENARIO,
    SET,
    SEED,
    option(
        "--precision X",
        "Half-width of the 95 % interval, as a share of the estimate; default 0.1.",
        type=NumberRange(0, 1, min_open=True),
        default=0.1,
    ),
    option(
        "--max-replications N",
        f"Limit for --precision; default {_MOST}.",
        type=click.IntRange(100),
        default=_MOST,
    ),
    *WHERE[1:],
    JSON,
)
def rare(
    sources: tuple[str, ...],
    changes: tuple[str, ...],
    seed: int | None,
    precision: float,
    max_replications: int,
    jobs: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Find a loss probability that is too small to be counted, such as one in a thousand million.

    Simulated paths are split where the buffer fills up, so that every level is seen about equally
    often; what was seen counts so much less.
    """
    from analytic import exact_values
    from sim.splitting import rare_losses

    if len(sources) > 1:
        raise ScenarioError("SCENARIO", sources[1], "is one too many; give one scenario")
    scenario = decided(load_scenarios(sources, changes, seed)[0])
    bars = ExitStack()
    work = _Work(scenario.name, as_json, bars)
    try:
        with bars, workers(RunOptions(jobs=jobs, cluster=cluster), ("compiled",)) as executor:
            found = rare_losses(
                scenario,
                precision=precision,
                most=max_replications,
                executor=executor,
                progress=work.followed,
                pilot=work.climbed,
            )
    except KeyboardInterrupt:
        raise Interrupted(work.so_far) from None
    except ScenarioError as error:
        raise _with_formula(error, scenario) from None
    reached = math.log(found.high / found.probability)
    if reached > precision:
        warn(
            f"{found.scenario}: a precision of {precision:.2g} is not reached with "
            f"{counted(found.replications, 'replication')}, but {reached:.2g}; raise "
            "--max-replications"
        )
    exact, _ = exact_values(scenario).get(("loss_probability", None), (None, ""))
    verdict = None if exact is None else _verdict(found, exact)
    if as_json:
        print_json(found.record() | {"exact": exact, "verdict": verdict})
    else:
        _show(found, exact, verdict)


class _Work:
    """How far the work is: shown while it goes on, and said when it is interrupted."""

    def __init__(self, name: str, quiet: bool, bars: ExitStack) -> None:
        self._name = name
        self._quiet = quiet
        self._bars = bars
        self._part = ""
        self._first_round = 0
        self.so_far = "nothing was seen yet"
        self._show("pilot")

    def climbed(self, levels: int, in_all: int, events: int) -> None:
        """The pilot has climbed to so many levels; how long it takes nobody knows."""
        reached = f"level {levels} of {in_all}"
        self.so_far = (
            f"the pilot has climbed to {reached}, in {events:.2g} events: too little for a number"
        )
        self._show(f"pilot at {reached}")

    def followed(self, done: int, in_all: int) -> None:
        """So many replications are done; the first ones say how many the precision takes."""
        self._first_round = self._first_round or in_all
        part = "first round" if in_all == self._first_round else "splitting"
        self.so_far = f"{part}, {done} of {counted(in_all, 'replication')}; nothing of them is kept"
        self._show(part)(done, in_all)

    def _show(self, part: str) -> Callable[[int, int], None]:
        if part != self._part:
            self._part = part
            self._bars.close()
            bar = progress_bar(f"{self._name}: {part}", self._quiet)
            self._update = self._bars.enter_context(bar)
        return self._update


def _with_formula(error: ScenarioError, scenario: Scenario) -> ScenarioError:
    """The error, with what a formula knows of a loss that no path reaches."""
    from analytic import exact_values

    exact, _ = exact_values(scenario).get(("loss_probability", None), (None, ""))
    if exact is None or error.key != "buffer.waiting_places":
        return error
    known = f"{error.allowed}; crawlsim solve gives {exact:.4g} by formula"
    return ScenarioError(error.key, error.value, known, error.file)


def _allowed(found: RareLosses) -> float:
    """The factor that the estimate may be off by, at a false alarm in a thousand."""
    from scipy.special import stdtrit

    degrees = found.replications - 1
    return math.exp(float(stdtrit(degrees, 1.0 - _FALSE_ALARM / 2)) * found.log_error)


def _verdict(found: RareLosses, exact: float) -> str:
    allowed = _allowed(found)
    agrees = exact / allowed <= found.probability <= exact * allowed
    return "agrees" if agrees else "disagrees"


def _show(found: RareLosses, exact: float | None, verdict: str | None) -> None:
    replications = counted(found.replications, "replication")
    click.echo(f"{found.scenario}: {replications}, seed {found.seed}")
    click.echo(
        f"  loss_probability  {found.probability:.4g}  "
        f"95 % interval [{found.low:.4g}, {found.high:.4g}]"
    )
    if exact is None:
        click.echo("  no formula gives it exactly; crawlsim solve says why")
    else:
        percent = 100.0 * (_allowed(found) - 1.0)
        click.echo(
            f"  by formula        {exact:.4g}  {verdict}; an error of {percent:.2g} % would show"
        )
    if found.levels:
        levels = ", ".join(map(str, found.levels))
        click.echo(f"  paths are split at the levels {levels}")
    if found.saving > 2.0:
        less = f"take at least {found.plain_events:.2g}, {found.saving:.2g} times as many"
    else:
        less = "do as well"
    click.echo(f"  {found.events:.2g} events; counting losses would {less}")
