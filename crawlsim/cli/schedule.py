"""The command `schedule`: a crawl log becomes a schedule that a crawler loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import unwrap
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.files import claim_all, write_all
from crawlsim.cli.options import FORCE, JSON, PAGES, SIGNALS, NumberRange, command, option, takes
from crawlsim.cli.tables import (
    new_table,
    print_json,
    show_table,
    warn,
)
from crawlsim.own_files import IN_MARKUP, signed
from scenarios import ScenarioError
from scenarios.arrays import but_for_rounding
from scenarios.base import listed, one_of
from scenarios.errors import MISSING
from scenarios.text import shortened

if TYPE_CHECKING:
    from crawlsim.logs.plan.schedule import Schedule, Share
    from crawlsim.logs.plan.simulation import SimulatedPlan

_FORMATS = ("csv", "nutch", "stormcrawler", "scrapy")
_KINDS = ("visits", "changes")
_MOST_ROWS = 10
_LONGEST_URL = 70
_UNPREDICTABLE = (
    "How much a plan will pay cannot be predicted: it depends on what changes next year."
)


@command(
    example="crawlsim schedule visits.csv --visits 5000/day --out plan.csv",
    then="the same with --backtest, whether such plans would have paid",
)
@takes(
    click.argument("logs", metavar="LOG...", nargs=-1),
    option("--visits N/UNIT", "The budget, such as 5000/day; second to week."),
    option("--budget BYTES/UNIT", "The budget in bytes instead, such as 40GB/day."),
    option("--sizes FILE", "CSV url,bytes: sizes of pages; by default what the log says."),
    option(
        "--unchanged-bytes N",
        "Bytes of a visit of a page that has not changed; by default 300.",
        type=NumberRange(0, min_open=True),
    ),
    option("--out FILE", "Write the schedule.", required=True),
    option("--format F", f"{listed(_FORMATS)}; by default csv.", "form", default="csv"),
    option("--from F", "Format of the logs; recognised by their contents unless given.", "source"),
    option("--kind K", "visits, or changes: the exact times of changes."),
    PAGES,
    SIGNALS,
    option("--until TIME", "When watching ended; later rows do not count."),
    option("--min T", "Shortest time between two visits of a page.", "shortest"),
    option("--max T", "Longest time between two visits of a page.", "longest"),
    option("--host-spacing T", "Shortest time between two visits of a host."),
    option("--host-visits FILE", "CSV host,visits: N/UNIT of some hosts."),
    option("--robots FOLDER", "HOST.txt, the robots.txt of hosts: their Crawl-delay is kept."),
    option("--tiers T1,T2,…", "The only times between visits that the crawler knows."),
    option("--weights FILE", "CSV url,weight: importance of pages, such as page views."),
    option(
        "--rule-for PATTERN=T:T",
        "Shortest and longest time for pages such as */feed; may be repeated.",
        "rules_for",
        multiple=True,
    ),
    option("--classes FILE", "CSV class,pattern: numbers for classes of pages, such as */news/*."),
    option(
        "--even SHARE",
        "Share of the budget spread evenly; by default by the log's length.",
        type=NumberRange(0, 1),
    ),
    option(
        "--gone-after N",
        "Errors or redirects in a row after which a URL is gone; default 3.",
        type=click.IntRange(1, 1_000_000),
    ),
    option("--newborn T:T", "How long a page is new, and how often it is then visited: 7d:1d."),
    option("--active HH-HH", "Hours of the day, UTC, in which pages are visited, such as 08-20."),
    option("--recheck T", "Time between two looks at a URL that is gone, or never; default 90d."),
    option(
        "--objective O",
        "freshness, delay (from a change to its visit), or harmonic.",
        default="freshness",
    ),
    option("--rule R", "freshness, or a rule of others for comparison.", default="freshness"),
    option("--backtest", "Replay the plans of earlier years: does it pay?"),
    option("--simulate", "Carry out the plan in a simulation."),
    option("--report FILE", "Write a page with figures: a .html file."),
    FORCE,
    JSON,
)
def schedule(
    logs: tuple[str, ...],
    visits: str | None,
    sizes: str | None,
    out: str,
    form: str,
    source: str | None,
    kind: str | None,
    tiers: str | None,
    weights: str | None,
    host_visits: str | None,
    classes: str | None,
    robots: str | None,
    signals: tuple[str, ...],
    simulate: bool,
    report: str | None,
    force: bool,
    as_json: bool,
    **limits: Any,
) -> None:
    """Make a schedule from a crawl log: how often to visit each page.

    LOG is CSV, CDX, Parquet, or what Heritrix, Nutch or StormCrawler write, plain or packed (gz,
    bz2, xz, zst); several are one history. T is 90s, 30m, 1h, 20d or 2w. With --signals the plan
    says what a signal counts for; LOG may then be left out, and the plan is even.
    """
    from crawlsim.api import schedule as made_in_python
    from crawlsim.logs.plan.tables import (
        read_classes,
        read_host_visits,
        read_robots,
        read_sizes,
        read_weights,
    )
    from crawlsim.logs.plan.writing import schedule_text, unspent

    if kind not in (None, *_KINDS):
        raise ScenarioError("--kind", kind, f"must be {one_of(kind, _KINDS)}")
    if not logs and not signals:
        raise ScenarioError("LOG", MISSING, "a log of visits is needed, or signals (--signals)")
    if simulate and signals:
        raise ScenarioError("--simulate", MISSING, "does not go with --signals")
    made = unwrap(made_in_python)  # whose refusals name options
    files = claim_all({"--out": out, "--report": report}, force=force)
    plan = made(
        logs,
        visits,
        sizes=None if sizes is None else read_sizes(sizes),
        kind=kind,
        form=source,
        out_format=form,
        tiers=() if tiers is None else tiers.split(","),
        weights=None if weights is None else read_weights(weights),
        host_visits=None if host_visits is None else read_host_visits(host_visits),
        host_delays=None if robots is None else read_robots(robots),
        classes=() if classes is None else read_classes(classes),
        signals=signals or None,
        **limits,
    )
    simulation = None
    if simulate:
        from crawlsim.logs.plan.simulation import simulated_plan

        simulation = simulated_plan(plan)
    contents = {"--out": schedule_text(plan, form).encode()}
    if report is not None:
        from crawlsim.report.schedule_report import schedule_page

        contents["--report"] = signed(schedule_page(plan, simulation), IN_MARKUP)
    write_all(files, contents, force=force)
    for note in filter(None, (*plan.notes, unspent(plan, form))):
        warn(note)
    if as_json:
        record = plan.record()
        record["simulation"] = None if simulation is None else simulation.record()
        print_json(record)
        return
    _show(plan, simulation)


def _show(plan: Schedule, simulation: SimulatedPlan | None) -> None:
    """What was planned, what it promises, and what it would have paid."""
    if plan.expected is not None:
        show_table(_expected_table(plan, plan.expected))
    else:
        click.echo(f"No promise. {plan.no_promise}")
    show_table(_pages_table(plan))
    if plan.asked.classes:
        show_table(_classes_table(plan))
    if plan.windows:
        show_table(_backtest_table(plan))
    for line in _verdict_lines(plan, simulation):
        click.echo(line)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:z.1f} %"


def _change(before: float, after: float) -> str:
    """Two shares with as many digits as tell them apart, up to four."""
    for digits in range(1, 5):
        one, other = (f"{100 * share:z.{digits}f}" for share in (before, after))
        if one != other:
            return f"{one} → {other} %"
    return f"as now {_percent(before)}"


def _expected_table(plan: Schedule, expected: Mapping[str, Share]) -> Table:
    """Stale shares of the plan and of other rules."""
    from crawlsim.logs.plan.schedule import IN_WORDS
    from scenarios.text import counted

    budget = plan.asked.in_words(plan.asked.budget)
    title = f"{counted(len(plan.urls), 'page')}, {budget} a day"
    numbers = (">stale share", ">95 % low", ">high", ">plan saves")
    table = new_table(title, "at equal budget", *numbers)
    for name, words in IN_WORDS.items():
        if name not in expected:
            continue
        share = expected[name]
        saved = "" if name == "plan" else _percent(plan.saving(name))
        table.add_row(words, *map(_percent, (share.mean, share.low, share.high)), saved)
    table.caption = (
        "Share of the time for which the copy of a page is out of date, expected of the next year."
    )
    return table


def _pages_table(plan: Schedule) -> Table:
    """The pages that are visited most often."""
    from crawlsim.logs.plan.quantities import in_words

    fetched = plan.bytes_of_pages
    columns = (">every", ">changes a day", *(() if fetched is None else (">bytes a day",)), "seen")
    table = new_table("Visited most often", "page", *columns)
    order = np.lexsort((-but_for_rounding(plan.estimates.rates), but_for_rounding(plan.intervals)))[
        :_MOST_ROWS
    ]
    why = plan.why
    for page in order.tolist():
        table.add_row(
            escape(shortened(str(plan.urls[page]), _LONGEST_URL)),
            in_words(plan.intervals[page]),
            _rate(plan.estimates.rates[page]),
            *(() if fetched is None else (plan.asked.in_words(float(fetched[page])),)),
            why[page],
        )
    return table


def _rate(per_second: float) -> str:
    return "–" if np.isnan(per_second) else f"{per_second * 86400:.3g}"


def _classes_table(plan: Schedule) -> Table:
    """What each class of pages gets."""
    table = new_table("Classes of pages", "class", ">pages", ">visits a day", ">stale share")
    for each in plan.of_classes:
        name = escape(shortened(each["class"], _LONGEST_URL))
        visits = f"{each['visits_per_day']:.6g}"
        table.add_row(name, str(each["pages"]), visits, _percent(each["stale"]))
    return table


def _backtest_table(plan: Schedule) -> Table:
    """What plans of earlier years promised and paid."""
    from crawlsim.logs.plan.quantities import day_of
    from crawlsim.logs.plan.schedule import COST_IN_WORDS

    cost = COST_IN_WORDS[plan.asked.objective]
    numbers = (">pages", ">promised", ">paid", *((">bytes a day",) if plan.asked.bytes else ()))
    table = new_table(
        f"{cost[0].upper()}{cost[1:]} that plans of earlier years saved over uniform visits",
        "year from",
        *numbers,
    )
    for each in plan.windows or ():
        shares = map(_percent, (each.promised, each.paid))
        fetched = () if each.bytes is None else (plan.asked.in_words(each.bytes),)
        table.add_row(day_of(each.cut), str(each.pages), *shares, *fetched)
    if plan.asked.bytes is not None:
        table.caption = "Uniform visits, as many as fetch the same bytes in the year."
    return table


def _verdict_lines(plan: Schedule, simulation: SimulatedPlan | None) -> Iterator[str]:
    if plan.expected is not None and plan.with_more is not None:
        from crawlsim.logs.plan.quantities import in_words
        from crawlsim.logs.plan.schedule import MORE_BUDGET

        if plan.asked.objective != "freshness":
            delay = plan.cost("delay")
            ends = f"{in_words(delay.low)} to {in_words(delay.high)}"
            yield f"From a change to the visit that finds it: {in_words(delay.mean)} ({ends})."
        if plan.asked.bytes is not None:
            visits = f"{plan.spent * 86400:.6g}"
            fetched = map(plan.asked.in_words, (plan.bytes().low, plan.bytes().high))
            yield f"{visits} visits a day, expected to fetch {' to '.join(fetched)} (95 %)."
        shares = _change(plan.expected["plan"].mean, plan.with_more)
        yield f"{100 * MORE_BUDGET:.0f} % more budget: {shares} stale."
    share = f"{_percent(plan.even_share)} of the budget is spread evenly"
    if plan.by_signals is not None:
        share = (
            f"A page that never signals gets {_percent(plan.even_share)} of an even plan or more"
        )
    if plan.expected is None and plan.windows is None:
        return
    if plan.windows is None:
        yield f"{share}. Whether that pays on this site is not tested: see --backtest."
    else:
        why = "" if plan.windows else " (the log is too short to replay a year)"
        advice = "" if plan.advised_even is None else f": --even {plan.advised_even:g} is safer"
        yield f"By the back-test: {plan.verdict}{why}; {share}{advice}."
        yield _UNPREDICTABLE
    if simulation is not None:
        from scenarios.text import counted

        kept = "the promise holds" if simulation.keeps else "the promise does not hold"
        yield (
            f"Simulated with {counted(simulation.pages, 'page')}: stale share "
            f"{_percent(simulation.simulated)} ({_percent(simulation.low)} to "
            f"{_percent(simulation.high)}), expected {_percent(simulation.expected)}: {kept}."
        )
