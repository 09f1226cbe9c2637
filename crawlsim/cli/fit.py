"""The command `fit`: a log becomes a scenario, with error bars."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from crawlsim.cli.files import claim_all, write_all
from crawlsim.cli.options import FORCE, JSON, PAGES, SIGNALS, NumberRange, command, option, takes
from crawlsim.cli.tables import new_table, print_json, show_table, warn
from crawlsim.own_files import IN_MARKUP, IN_TOML, signed
from scenarios import Scenario, ScenarioError, dumps, load
from scenarios.arrays import but_for_rounding
from scenarios.base import listed, one_of
from scenarios.errors import MISSING
from scenarios.text import number, shortened

if TYPE_CHECKING:
    from crawlsim.logs.fit import Fit, Options, Trace

_KINDS = ("changes", "crawls", "deliveries", "sizes")

_MOST_ROWS = 20
_LONGEST_NAME = 200

_POSITIVE = NumberRange(1e-50, 1e50)
_NOT_NEGATIVE = NumberRange(0, 1e50)


@command(
    example="crawlsim fit trace.csv --out fitted.toml",
    then="crawlsim check fitted.toml",
)
@takes(
    click.argument("traces", metavar="TRACE...", nargs=-1, required=True),
    option("--out FILE", "Write the scenario."),
    option("--into SCENARIO", "Scenario whose fitted part is replaced."),
    option("--report FILE", "Write a page with figures: a .html file."),
    FORCE,
    option("--kind K", f"{listed(_KINDS)}; recognised by the header unless given."),
    option("--time-unit UNIT", "Time unit of the rates, or of numeric times."),
    option(
        "--section S",
        "Section to fit: pages or source; from sizes, service, obsolescence or access_time.",
    ),
    PAGES,
    SIGNALS,
    option("--rates E", "Crawls: posterior as in a schedule, the default, or likelihood."),
    option("--since TIME", "Count from this time on; not for sizes."),
    option("--until TIME", "Count up to this time; not for sizes."),
    option("--shortest T", "Pages: shortest time under observation.", type=_POSITIVE),
    option(
        "--pieces N",
        "Source: number of equal pieces of the week; default 168, one per hour.",
        type=click.IntRange(1, 10_000),
    ),
    option("--breaks B1,B2,…", "Source: where the pieces begin, if they are not equal."),
    option("--period T", "Source: period of the rate; default a week.", type=_POSITIVE),
    option("--batch-gap T", "Deliveries: largest gap within a batch.", type=_NOT_NEGATIVE),
    option(
        "--longest-gap T", "Deliveries: longer gaps are interruptions and left out.", type=_POSITIVE
    ),
    option("--process P", "Deliveries: poisson, renewal, map or mmpp."),
    option("--rate X", "Sizes: size processed per unit of time.", type=_POSITIVE),
    option("--mean T", "Sizes: mean time, instead of a rate.", type=_POSITIVE),
    JSON,
)
def fit(
    traces: tuple[str, ...],
    out: str | None,
    into: str | None,
    report: str | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Make a scenario from a log, with error bars.

    TRACE is CSV, plain or gz, with a header: page,time (changes), page,time,changed or
    page,time,digest (crawls), time (deliveries), or size (sizes); or logs of a crawler in any
    format that `crawlsim schedule` reads, which are one history.

    A fitted scenario does not change over time: outages, surges, day and night are written into it
    as [[interventions]] (docs/courses.md).
    """
    from crawlsim.logs.fit import fit as fit_of
    from crawlsim.logs.fit import fitted_scenario, replaced_keys
    from crawlsim.logs.fit.trace import UNITS

    files = claim_all({"--out": out, "--report": report}, force=force)
    target = None if into is None else load(into)
    unit = asked.pop("time_unit")
    pages = asked.pop("pages")
    read = _read(traces, asked.pop("kind"), unit, pages, target)
    if asked["signals"]:
        from crawlsim.logs.read.signals import read_signals

        asked["signals"] = read_signals(asked["signals"], pages=pages)
    else:
        asked["signals"] = None
    fitted = fit_of(read, _options(asked, read, target))
    trace = traces[0]
    stem = Path(trace).name.split(".")[0]
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "fitted"
    scenario = fitted_scenario(fitted, name, target)
    write_all(files, _contents(files, fitted, scenario, Path(trace).name), force=force)
    for broken in read.broken.notes():
        warn(broken)
    if as_json:
        print_json(_record(trace, fitted, scenario, target))
        return
    show_table(fit_table(Path(trace).name, fitted))
    if asked["signals"] is not None:
        show_table(signals_table(fitted))
    for note in fitted.notes:
        click.echo(note)
    if target is not None:
        replaced, left_out = replaced_keys(target, scenario)
        others = f"; instead of {', '.join(left_out)}" if left_out else ""
        if replaced or left_out:
            click.echo(f"Replaced in {target.name}: {', '.join(replaced)}{others}.")
        else:
            keys = ", ".join(fitted.changes)
            click.echo(f"Nothing to replace in {target.name}: {keys} is already the same.")
        if read.kind != "sizes" and target.time_unit not in UNITS:
            times = f"One unit of time of {target.name} is taken to be one {unit}."
            if unit is None:
                times = "The times of the trace are taken to be in the unit of time of "
                times += f"{target.name}."
            click.echo(times)


def _read(
    paths: Sequence[str],
    kind: str | None,
    time_unit: str | None,
    pages: str,
    into: Scenario | None,
) -> Trace:
    """The trace, in the time unit of the scenario that it goes into."""
    from crawlsim.logs.fit import read_trace
    from crawlsim.logs.fit.trace import UNITS

    if kind is not None and kind not in _KINDS:
        raise ScenarioError("--kind", kind, f"must be {one_of(kind, _KINDS)}")
    if time_unit not in (None, *UNITS):
        raise ScenarioError("--time-unit", time_unit, f"must be {one_of(time_unit, UNITS)}")
    own = None if into is None or "time_unit" not in into.model_fields_set else into.time_unit
    if own in UNITS and time_unit not in (None, own):
        allowed = f"the scenario counts in {own}s; leave it out"
        raise ScenarioError("--time-unit", time_unit, allowed)
    unit = time_unit or (own if own in UNITS else None)
    read = read_trace(paths, kind, unit, pages)  # type: ignore[arg-type]  # checked above
    if into is None or unit is not None or read.kind == "sizes":
        return read
    if read.dated:
        allowed = f"does not say how long a unit is, and the times are dates; --time-unit must say \
it: {listed(UNITS)}"
        raise ScenarioError("time_unit", MISSING if own is None else own, allowed, into.name)
    return read if own is None else replace(read, time_unit=own)


def _options(asked: Mapping[str, Any], trace: Trace, into: Scenario | None) -> Options:
    """The options in the terms of the fit."""
    from crawlsim.logs.fit import Options
    from crawlsim.logs.fit.deliveries import PROCESSES

    if asked["process"] not in (None, *PROCESSES):
        allowed = f"must be {one_of(asked['process'], PROCESSES)}"
        raise ScenarioError("--process", asked["process"], allowed)
    for one, other in (("pieces", "breaks"), ("rate", "mean")):
        if asked[one] is not None and asked[other] is not None:
            raise ScenarioError(f"--{other}", asked[other], f"does not go with --{one}")
    section = asked["section"]
    if section is None and trace.kind == "changes" and into is not None and into.source:
        section = "source"
    robots = into.robots.available if into is not None and into.robots is not None else 1
    breaks = None
    if asked["breaks"] is not None:
        try:
            breaks = [float(part) for part in asked["breaks"].split(",")]
        except ValueError:
            breaks = [math.nan]
        if not all(map(math.isfinite, breaks)):
            raise ScenarioError("--breaks", asked["breaks"], "must be numbers, such as 0,8,16")
    return Options(**{**asked, "section": section, "breaks": breaks, "robots": robots})


def _contents(
    files: Mapping[str, Path], fitted: Fit, scenario: Scenario, trace: str
) -> dict[str, bytes]:
    """The scenario and the report, by the options that ask for them."""
    contents = {}
    if "--out" in files:
        contents["--out"] = signed(dumps(scenario, files["--out"].absolute().parent), IN_TOML)
    if "--report" in files:
        from crawlsim.report.fit_report import fit_page

        contents["--report"] = signed(fit_page(fitted, scenario, trace), IN_MARKUP)
    return contents


def _record(trace: str, fitted: Fit, scenario: Scenario, into: Scenario | None) -> dict[str, Any]:
    """The fit for JSON."""
    from crawlsim.logs.fit import replaced_keys
    from crawlsim.logs.fit.result import unit_of

    broken = fitted.trace.broken
    unit = fitted.trace.time_unit
    replaced, left_out = ([], []) if into is None else replaced_keys(into, scenario)
    names = [*dict.fromkeys(each.name for each in fitted.parameters), *fitted.summary]
    return {
        "trace": trace,
        "kind": fitted.kind,
        "section": fitted.section,
        "time_unit": fitted.trace.time_unit,
        "rows": fitted.trace.rows,
        "broken": {
            "count": broken.count,
            "lines": [{"line": line, "reason": reason} for line, reason in broken.lines],
        },
        "parameters": [each.record() for each in fitted.parameters],
        "summary": fitted.summary,
        "units": {name: unit_of(name, unit) for name in names if unit_of(name, unit)},
        "notes": fitted.notes,
        "changes": fitted.changes,
        "replaced": replaced,
        "left_out": left_out,
        "scenario": scenario.name,
    }


def fit_table(trace: str, fitted: Fit) -> Table:
    """The parameters, of many pages those with the largest rates.

    Of a crawl log there is a row for each page, with its rate by every estimator.
    """
    from crawlsim.logs.fit.result import unit_of
    from scenarios.text import counted

    unit = fitted.trace.time_unit
    rows = counted(fitted.trace.rows, "row")
    title = f"{escape(trace)}: {fitted.section} from {rows} of {fitted.kind}"
    if fitted.kind != "sizes":
        title += f"; time in {escape(unit)}s"
    is_crawl = fitted.kind == "crawls"
    ends = (">± SE", ">95 % low", ">high")
    if is_crawl:
        table = new_table(title, "page", ">change rate", *ends, ">bias-reduced", ">naive", "unit")
    else:
        table = new_table(title, "parameter", "of", ">estimate", *ends, "unit")
    parameters = [each for each in fitted.parameters if each.name == "change_rate" or not is_crawl]
    estimates = {(each.name, each.subject): each.estimate for each in fitted.parameters}
    if fitted.section == "pages" and len(parameters) > _MOST_ROWS:
        by_rate = -but_for_rounding([each.estimate for each in parameters])
        parameters = [parameters[place] for place in by_rate.argsort(kind="stable")]
    for each in parameters[:_MOST_ROWS]:
        name = [] if is_crawl else [each.name.replace("_", " ")]
        subject = "" if each.subject is None else shortened(str(each.subject), _LONGEST_NAME)
        values = [each.estimate, each.standard_error, each.low, each.high]
        if is_crawl:
            others = ("bias_reduced_rate", "naive_rate")
            values += [estimates[other, each.subject] for other in others]
        own_unit = escape(unit_of(each.name, unit))
        table.add_row(*name, escape(subject), *map(number, values), own_unit)
    notes = [
        f"{key.replace('_', ' ')} {_plain(value)} {unit_of(key, unit)}".rstrip()
        for key, value in fitted.summary.items()
        if value is None or isinstance(value, str | int | float)
    ]
    if len(parameters) > _MOST_ROWS:
        rows = "pages" if is_crawl else "rows"
        notes.insert(0, f"{_MOST_ROWS} of {len(parameters)} {rows} (--json has all)")
    table.caption = escape("; ".join(notes))
    return table


def signals_table(fitted: Fit) -> Table:
    """What the signals of each host are worth."""
    table = new_table(
        "What the signals are worth",
        "host",
        ">precision",
        ">95 % low",
        ">high",
        ">recall",
        ">95 % low",
        ">high",
    )
    recall = {each.subject: each for each in fitted.parameters if each.name == "recall"}
    found = [each for each in fitted.parameters if each.name == "precision"]
    for each in found[:_MOST_ROWS]:
        other = recall[each.subject]
        values = (each.estimate, each.low, each.high, other.estimate, other.low, other.high)
        subject = escape(shortened(str(each.subject or "all pages"), _LONGEST_NAME))
        table.add_row(subject, *(f"{100 * value:.0f} %" for value in values))
    caption = "Precision: share of the signals that are true; recall: of the changes that have one."
    if len(found) > _MOST_ROWS:
        caption += f" {_MOST_ROWS} of {len(found)} hosts (--json has all)."
    table.caption = caption
    return table


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) or value is None else str(value)
