"""Train and test: rates of one window plan the probes of the next, which says what they cost.

``python -m experiments.held_out_windows TRACE`` takes a CSV of changes (page,time) as one source
and prints a table of Markdown: cost promised by the fit, cost paid, and what is saved against
uniform probes, with 95 % intervals over test windows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crawlsim.fitting import read_trace
from crawlsim.logs.fit.trace import read_instant
from experiments.windows import Plan, TrainAndTest, train_and_test

WEEK = 7.0
HOURS = 24.0


def example(weeks: int = 200, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A log made up: page and time in days, from a Monday on.

    Thirty pages of very different rates. Sessions of work come in the day's rhythm, few at the
    weekend; each changes its page once, and again within hours with probability 0.5.
    """
    rng = np.random.default_rng(seed)
    rhythm = np.where((np.arange(24) >= 12) & (np.arange(24) < 21), 6.0, 1.0)
    weekly = np.concatenate([day * rhythm for day in (1, 1.4, 1.1, 1, 1.2, 0.3, 0.3)])
    weekly *= 4.5 / weekly.mean() / HOURS
    counts = rng.poisson(np.tile(weekly, weeks))
    sessions = (np.repeat(np.arange(len(counts)), counts) + rng.random(counts.sum())) / HOURS
    shares = np.arange(1, 31.0) ** -1.2
    owner = rng.choice(30, len(sessions), p=shares / shares.sum())
    again = rng.geometric(0.5, len(sessions))
    page = np.repeat(owner, again)
    later = rng.exponential(1.5 / HOURS, len(page))
    later[np.concatenate([[0], np.cumsum(again)[:-1]])] = 0.0
    return page, np.repeat(sessions, again) + later


def write_example(path: Path, weeks: int = 200, seed: int = 1) -> None:
    """The same as a CSV file of dates."""
    page, time = example(weeks, seed)
    monday = np.datetime64("2022-01-03T00:00:00")
    dates = np.datetime_as_string(monday + (time * 86400).astype("timedelta64[s]"))
    rows = [f"page-{number},{date}Z" for number, date in zip(page, dates, strict=True)]
    path.write_text("\n".join(["page,time", *rows]) + "\n", encoding="utf-8")


def tried(times: np.ndarray, plans: Sequence[Plan]) -> list[tuple[Plan, TrainAndTest]]:
    """Each plan with what came out."""
    return [(plan, train_and_test(times, plan)) for plan in plans]


def markdown(found: Sequence[tuple[Plan, TrainAndTest]]) -> str:
    """The table."""
    lines = [
        "| training weeks | pieces | probes | windows | policy | promised | paid | saved | 95 % |",
        "|--:|--:|--:|--:|---|--:|--:|--:|---|",
    ]
    for plan, result in found:
        for row in result.table():
            lines.append(
                f"| {plan.train / WEEK:g} | {plan.pieces} | {plan.probes} | {len(result.starts)} "
                f"| {row.policy} | {row.promised:.2f} | {row.paid:.2f} ± {row.error:.2f} "
                f"| {row.less:.1%} | {row.low:.1%} … {row.high:.1%} |"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the trace and print the table."""
    parser = argparse.ArgumentParser(description="Train and test the probing of a source.")
    parser.add_argument("trace", help="CSV of changes: page,time with dates")
    parser.add_argument("--since", help="leave out what is before this date")
    parser.add_argument("--weeks", type=int, nargs="+", default=[26, 52, 104], help="training")
    parser.add_argument("--pieces", type=int, nargs="+", default=[7, 21, 56, 168])
    parser.add_argument("--probes", type=int, nargs="+", default=[28])
    parser.add_argument("--horizon", type=int, default=4, help="weeks of a test window")
    given = parser.parse_args(arguments)
    times = np.unique(read_trace(given.trace, "changes", "day").values)
    if given.since is not None:
        times = times[times > read_instant(given.since, True, "day")]
    plans = [
        Plan(WEEK * weeks, WEEK * given.horizon, probes, WEEK, pieces)
        for weeks in given.weeks
        for pieces in given.pieces
        for probes in given.probes
    ]
    print(markdown(tried(times, plans)))


if __name__ == "__main__":
    main()
