"""How often the 95 % intervals of fits hold the truth, and how often tests of Poisson give alarm.

Run as ``python -m experiments.fit_coverage`` (some minutes; docs/how-to/fitting.md says what is not
right), with ``--traces 100`` for a quick look, with ``--only sizes`` for a part, with ``--alarms
5000`` for the false alarms of the tests. Every trace is simulated with
known parameters and fitted as ``crawlsim fit`` does it. With 1000 traces a coverage has the
standard error 0.007.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlsim.fitting import Options, Trace, fit
from crawlsim.logs.fit.batches import batches_of
from crawlsim.logs.fit.crawl_logs import equal_gap_interval, likely_intervals, likely_rates
from crawlsim.logs.fit.deliveries import batch_parameters, gap_parameters
from crawlsim.logs.fit.hyper_erlang import maximum_likelihood, sample_of
from crawlsim.logs.fit.intervals import Parameter
from crawlsim.logs.fit.order_two import Process, fit_modulated, gap_moments, map_of_order_two
from crawlsim.logs.fit.page_changes import counted_rates, history_of
from crawlsim.logs.fit.sizes import law_parameters, mean_of
from crawlsim.logs.fit.source_changes import periodic_intensity
from crawlsim.logs.fit.trace import UNITS
from crawlsim.logs.read.columns import MONDAY
from crawlsim.logs.read.gaps import Gaps, gaps_of_visits
from crawlsim.logs.read.log import ChangeLog, VisitLog
from scenarios.arrays import Array

Rng = np.random.Generator
Truth = Mapping[Any, float]


class Row(NamedTuple):
    """One line of a table.

    Attributes
    ----------
    what, case : str
        The estimator, and the law or process that made the traces.
    size : int
        Observations of a trace.
    given : float
        Share of the traces in which an interval is given.
    covered : float
        Share of the intervals that hold the truth; NaN where none is given.
    """

    what: str
    case: str
    size: int
    given: float
    covered: float


def covered(low: Any, high: Any, true: Any) -> float:
    """Share of the intervals that hold the truth; those that are not given do not count."""
    low, high, true = np.broadcast_arrays(low, high, true)
    there = ~np.isnan(low)
    return float(((low <= true) & (true <= high))[there].mean()) if there.any() else np.nan


def rows_of(
    case: str, size: int, fits: Iterable[Iterable[Parameter]], truth: Truth
) -> Iterator[Row]:
    """The coverage of each parameter, by name or (name, subject), over all fits."""
    ends: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    number = 0
    for found_in_trace in fits:
        number += 1
        for each in found_in_trace:
            ends[each.name, each.subject].append((each.low, each.high))
    for key, true in truth.items():
        name, subject = key if isinstance(key, tuple) else (key, None)
        found = np.array(ends[name, subject] or [(np.nan, np.nan)])
        what = name if subject is None else f"{name} {subject}"
        given = float((~np.isnan(found[:, 0])).sum() / number)
        yield Row(what, case, size, given, covered(found[:, 0], found[:, 1], true))


def markovian_gaps(rng: Rng, process: Process, traces: int, gaps: int) -> Array:
    """Gaps of stationary processes of order two, shape (traces, gaps)."""
    rates = np.hstack([process.D0 - np.diag(np.diag(process.D0)), process.D1])
    total = rates.sum(axis=1)
    choice = np.cumsum(rates / total[:, None], axis=1)
    jumps = np.linalg.inv(-process.D0) @ process.D1
    phase = (rng.random(traces) * (jumps[0, 1] + jumps[1, 0]) > jumps[1, 0]).astype(int)
    found = np.zeros((traces, gaps))
    for column in range(gaps):
        waiting = np.ones(traces, dtype=bool)
        while waiting.any():
            here = np.flatnonzero(waiting)
            found[here, column] += rng.exponential(1.0 / total[phase[here]])
            event = (rng.random((len(here), 1)) > choice[phase[here]][:, :3]).sum(axis=1)
            phase[here] = event % 2
            waiting[here[event >= 2]] = False
    return found


def switching(slow: float, fast: float, up: float, down: float) -> Process:
    """An MMPP(2)."""
    hidden = np.array([[-slow - up, up], [down, -fast - down]])
    return Process(hidden, np.diag([slow, fast]))


def hyperexponential(rng: Rng, shape: tuple[int, int], share: float, ratio: float) -> Array:
    """Times of mean 1; a share of them is `ratio` times as long as the others."""
    long = rng.random(shape) < share
    rest = 1.0 / (1.0 - share + share * ratio)
    return rng.exponential(np.where(long, ratio * rest, rest))


LAWS: Mapping[str, Callable[[Rng, tuple[int, int]], Array]] = {
    "exponential": lambda rng, shape: rng.exponential(1.0, shape),
    "Erlang(4)": lambda rng, shape: rng.gamma(4.0, 0.25, shape),
    "lognormal, c² = 1.7": lambda rng, shape: rng.lognormal(-0.5, 1.0, shape),
    "hyperexponential, c² = 3.2": lambda rng, shape: hyperexponential(rng, shape, 0.1, 10.0),
    "content sizes of the paper, c² = 84": lambda rng, shape: hyperexponential(
        rng, shape, 0.005753, 167.58
    ),
}

PROCESSES: Mapping[str, Process] = {
    "MAP, c² = 2, lag 0.12": map_of_order_two(1.0, 2.0, 0.12),
    "MAP, c² = 2, lag -0.06": map_of_order_two(1.0, 2.0, -0.06),
    "MMPP, phases of 10 and 20 gaps": switching(0.5, 5.0, 0.05, 0.25),
    "MMPP, phases of 25 and 100 gaps": switching(0.5, 2.0, 0.02, 0.02),
}

MODULATED = {
    "1 and 10": (1.0, 10.0, 0.2, 0.5),
    "0.5 and 2": (0.5, 2.0, 0.05, 0.05),
    "0.1 and 1, quickly switching": (0.1, 1.0, 0.3, 0.2),
    "0.13 and 0.94, hardly told from Poisson": (0.13, 0.94, 1.6, 0.24),
}
_NAMES = ("slow_rate", "fast_rate", "rate_of_speeding_up", "rate_of_slowing_down")


def of_change_rates(rng: Rng, traces: int) -> Iterator[Row]:
    """Pages with a known rate, watched for one unit of time."""
    for rate in (1.0, 3.0, 10.0, 100.0):
        counts = rng.poisson(rate, traces)
        page = np.concatenate([np.arange(traces), np.repeat(np.arange(traces), counts)])
        time = np.concatenate([np.zeros(traces), 1.0 - rng.random(counts.sum())])
        found = counted_rates(history_of(page.astype(np.int32), time, traces, (None, 1.0)), 0.1)
        share = covered(found.low, found.high, rate)
        yield Row("change_rate", "pages, n changes expected", round(rate), 1.0, share)


def of_weekly_rates(rng: Rng, traces: int) -> Iterator[Row]:
    """Three pieces of a week with rates 2, 10 and 0.5."""
    values = np.array([2.0, 10.0, 0.5])
    edges = np.array([0.0, 3.0, 4.0, 7.0])
    for weeks in (2, 12, 100):
        inside = np.zeros(3)
        for _ in range(traces):
            counts = rng.poisson(values * np.diff(edges), (weeks, 3))
            piece = np.repeat(np.tile(np.arange(3), weeks), counts.ravel())
            week = np.repeat(np.repeat(np.arange(weeks), 3), counts.ravel())
            times = 7.0 * week + rng.uniform(edges[piece], edges[piece + 1])
            found = periodic_intensity(times, edges[:3], 7.0, (0.0, 7.0 * weeks))
            inside += (found.low <= values) & (values <= found.high)
        for value, share in zip(values * np.diff(edges), inside / traces, strict=True):
            case = f"a piece with {value:g} updates a week, n in all"
            yield Row("update_rate", case, round(value * weeks), 1.0, float(share))


WEEK = np.array([20.0, 60.0, 60.0, 60.0, 40.0, 10.0, 6.0])
"""Updates on the days of a week, up to a factor."""


def of_mean_rates(rng: Rng, traces: int) -> Iterator[Row]:
    """All updates of a source together, constant or weekly: Poisson, and bursts of three."""
    for case, shares, weeks, pieces in (
        ("", np.ones(7), 20, 1),
        (", weekly, 20 weeks", WEEK, 20, 7),
        (", weekly, 100 weeks", WEEK, 100, 7),
        (", weekly, 3 weeks by hours", WEEK, 3, 168),
    ):
        for name, burst in (("Poisson", 1), ("bursts of three", 3)):
            for size in (200, 2000) if case else (20, 200, 2000):
                ends = []
                for _ in range(traces):
                    times = weekly_updates(rng, size * shares / shares.sum(), weeks, burst)
                    ends.append(mean_rate(times, weeks, pieces))
                low, high = np.array(ends).T
                share = covered(low, high, size / (7 * weeks))
                given = float((~np.isnan(low)).mean())
                yield Row("mean_update_rate", name + case, size, given, share)


def weekly_updates(rng: Rng, by_day: Array, weeks: int, burst: int) -> Array:
    """Times in days; at least one, some come together."""
    counts = rng.poisson(np.tile(by_day / (weeks * burst), weeks))
    counts[0] += counts.sum() == 0
    days = np.repeat(np.arange(7 * weeks), counts) + 0.9 * rng.random(counts.sum())
    return np.sort((days[:, None] + 1e-3 * np.arange(burst)).ravel())


def mean_rate(times: Array, weeks: int, pieces: int) -> tuple[float, float]:
    """The interval of a fit of a source watched for some weeks."""
    end = f"{7 * weeks}"
    options = Options(section="source", pieces=pieces, since="0", until=end)
    log = ChangeLog.of(["0"], np.zeros(len(times), np.int32), times, dated=False)
    trace = Trace(log, "day")
    found = fit(trace, options).find("mean_update_rate")
    return found.low, found.high


def of_crawl_logs(rng: Rng, traces: int) -> Iterator[Row]:
    """Rate 1, gaps equal or exponential: likelihood, and Cho and Garcia-Molina's estimator."""
    for size in (10, 50, 500):
        for mean in (0.1, 1.0):
            for kind in ("equal", "exponential"):
                equal = np.full((traces, size), mean)
                gaps = equal if kind == "equal" else rng.exponential(mean, (traces, size))
                changed = np.hstack([np.zeros((traces, 1), bool),
                                     rng.random(gaps.shape) < -np.expm1(-gaps)])  # fmt: skip
                time = np.hstack([np.zeros((traces, 1)), np.cumsum(gaps, axis=1)])
                page = np.repeat(np.arange(traces, dtype=np.int32), size + 1)
                log = gaps_of(page, time.ravel(), changed.ravel(), traces)
                found = likely_rates(log)
                low, high, _ = likely_intervals(log, found)
                case = f"{kind} gaps, rate × gap {mean:g}"
                yield Row("change_rate", case, size, 1.0, covered(low, high, 1.0))
                if kind == "equal":
                    ends = equal_gap_interval(found.changes, found.crawls, mean)
                    yield Row("bias_reduced_rate", case, size, 1.0, covered(*ends, 1.0))
                for name, some in (("never", found.never), ("always", found.always)):
                    if 0.1 < some.mean() < 0.9:
                        share = covered(low[some], high[some], 1.0)
                        what = f"change_rate of pages that {name} changed"
                        yield Row(what, case, size, float(some.mean()), share)


def of_gaps(rng: Rng, traces: int) -> Iterator[Row]:
    """Mean, variation and lag correlation of the gaps between batches."""
    for case, law in list(LAWS.items())[:4]:
        variation = {"exponential": 1.0, "Erlang(4)": 0.25, "lognormal, c² = 1.7": np.e - 1}
        truth = {"mean_gap": 1.0, "lag_correlation": 0.0}
        truth["squared_coefficient_of_variation_of_gaps"] = variation.get(
            case, 2 * 10.9 / 1.9**2 - 1
        )
        for size in (200, 1000, 5000):
            fits = (gap_parameters(gaps) for gaps in law(rng, (traces, size)))
            yield from rows_of(f"independent, {case}", size, fits, truth)
    for case, process in PROCESSES.items():
        mean, squared, _, lag = gap_moments(process)
        truth = {
            "mean_gap": mean,
            "squared_coefficient_of_variation_of_gaps": squared,
            "lag_correlation": lag,
        }
        for size in (200, 1000, 5000):
            fits = map(gap_parameters, markovian_gaps(rng, process, traces, size))
            yield from rows_of(case, size, fits, truth)


def of_batches(rng: Rng, traces: int) -> Iterator[Row]:
    """Sizes 1, 2, 3, or geometric ones."""
    shares = [0.5, 0.3, 0.2]
    for size in (50, 200, 2000):
        fits = (batch_parameters(rng.choice([1, 2, 3], size, p=shares)) for _ in range(traces))
        truth = {("batch_size_probability", n): p for n, p in enumerate(shares, 1)}
        yield from rows_of("1, 2 or 3 pages", size, fits, {"mean_batch_size": 1.7, **truth})
        fits = (batch_parameters(rng.geometric(0.2, size)) for _ in range(traces))
        truth = {("batch_size_probability", n): 0.2 * 0.8 ** (n - 1) for n in (1, 5, 10)}
        yield from rows_of("geometric, mean 5", size, fits, {"mean_batch_size": 5.0, **truth})


def of_joined_batches(rng: Rng, traces: int) -> Iterator[Row]:
    """Batches told apart by the gaps, a thousandth of the mean gap within a batch."""
    for size in (200, 1000):
        fits = (batch_parameters(batches_of(poisson_batches(rng, size)).sizes)
                for _ in range(traces))  # fmt: skip
        yield from rows_of("batches found by the gap", size, fits, {"mean_batch_size": 3.0})


def poisson_batches(rng: Rng, size: int) -> Array:
    """Batches of 1 to 5 pages."""
    starts = np.cumsum(rng.exponential(1.0, size))
    sizes = rng.integers(1, 6, size)
    within = rng.exponential(1e-3, sizes.sum())
    opening = np.cumsum(sizes) - sizes
    within[opening] = 0.0
    passed = np.cumsum(within)
    return np.repeat(starts - passed[opening], sizes) + passed


def of_modulated(rng: Rng, traces: int) -> Iterator[Row]:
    """The four numbers of an MMPP(2)."""
    for case, numbers in MODULATED.items():
        for size in (200, 500, 2000):
            gaps = markovian_gaps(rng, switching(*numbers), traces, size)
            fits = (fit_modulated(each).parameters for each in gaps)
            truth = dict(zip(_NAMES, numbers, strict=True))
            yield from rows_of(f"MMPP, rates {case}", size, fits, truth)


def of_sizes(rng: Rng, traces: int) -> Iterator[Row]:
    """The mean of sizes of any law, and the numbers of laws of the right form."""
    for case, law in LAWS.items():
        for size in (50, 200, 1000, 10_000):
            values = law(rng, (traces, size))
            yield from rows_of(case, size, ([mean_of(each)] for each in values), {"mean": 1.0})
    for case, shape in (("exponential", 1), ("Erlang(4)", 4)):
        for size in (20, 200):
            values = LAWS[case](rng, (traces, size))
            fits = (fitted(each, (shape,)) for each in values)
            yield from rows_of(case, size, fits, {("branch_mean", 0): 1.0})
    for size in (100, 500, 2000):
        values = hyperexponential(rng, (traces, size), 0.3, 10.0) * 3.7
        truth = {("branch_mean", 0): 1.0, ("branch_mean", 1): 10.0, ("branch_probability", 1): 0.3}
        fits = (fitted(each, (1, 1)) for each in values)
        yield from rows_of("hyperexponential, 0.3 of ten times the mean", size, fits, truth)
    for size in (100, 500, 2000):
        second = rng.random((traces, size)) < 0.4
        values = np.where(
            second, rng.gamma(6.0, 1.0, second.shape), rng.gamma(3.0, 1 / 3, second.shape)
        )
        truth = {("branch_mean", 0): 1.0, ("branch_mean", 1): 6.0, ("branch_probability", 1): 0.4}
        fits = (fitted(each, (3, 6)) for each in values)
        yield from rows_of("mixture of Erlang(3, 6)", size, fits, truth)


def fitted(values: Array, shapes: tuple[int, ...]) -> list[Parameter]:
    """The numbers of a law by maximum likelihood."""
    sample = sample_of(values)
    return law_parameters(sample, maximum_likelihood(sample, shapes)[0])


PARTS: Mapping[str, Callable[[Rng, int], Iterator[Row]]] = {
    "change-rates": of_change_rates,
    "weekly-rates": of_weekly_rates,
    "mean-rates": of_mean_rates,
    "crawl-logs": of_crawl_logs,
    "gaps": of_gaps,
    "batches": of_batches,
    "joined-batches": of_joined_batches,
    "modulated": of_modulated,
    "sizes": of_sizes,
}


def table(part: str, traces: int) -> list[Row]:
    """The lines of one part; always the same for the same number of traces."""
    return list(PARTS[part](np.random.default_rng(2003), traces))


class Alarm(NamedTuple):
    """How often tests at 0.001 reject changes that are Poisson.

    Attributes
    ----------
    case : str
    dispersion, rescaling, within : float
        Share of the tests of each kind; the last is that of gaps within pages.
    verdict : float
        Share of the traces that are called not Poisson, or not exactly.
    """

    case: str
    dispersion: float
    rescaling: float
    within: float
    verdict: float


def pages_of(pages: int, each: float, days: float, step: float) -> Callable[[Rng], Trace]:
    """Pages with rates between a third and three times the mean, created in the first half."""

    def made(rng: Rng) -> Trace:
        created = rng.uniform(0.0, days / 2, pages)
        counts = rng.poisson(each * np.exp(rng.uniform(-1.0, 1.0, pages)) * (1 - created / days))
        page = np.concatenate([np.arange(pages), np.repeat(np.arange(pages), counts)])
        time = np.concatenate([created, rng.uniform(np.repeat(created, counts), days)])
        return trace_of(page, time, pages, step)

    return made


def source_of(updates: float, days: float, step: float) -> Callable[[Rng], Trace]:
    """A source with a tenth of its rate at weekends: constant on each day of the week."""

    def made(rng: Rng) -> Trace:
        time = rng.uniform(0.0, days, rng.poisson(updates / (5.2 / 7)))
        time = time[rng.random(len(time)) < np.where(time % 7.0 < 5.0, 1.0, 0.1)]
        return trace_of(np.zeros(len(time), dtype=int), time, 1, step)

    return made


def trace_of(page: NDArray[Any], time: Array, pages: int, step: float) -> Trace:
    """Changes in days, by a clock with steps."""
    time = np.floor(time / step) * step if step else time
    names = list(map(str, range(pages)))
    since_1970 = time * UNITS["day"] - MONDAY
    return Trace(ChangeLog.of(names, page.astype(np.int32), since_1970), "day")


def gaps_of(page: NDArray[np.int32], time: Array, changed: NDArray[np.bool_], pages: int) -> Gaps:
    """The gaps between crawls in any order."""
    return gaps_of_visits(VisitLog.of(list(map(str, range(pages))), page, time, changed))


_WEEKLY = Options(section="source", pieces=7)
ALARMS: Mapping[str, tuple[Callable[[Rng], Trace], Options]] = {
    "1 page, 60 changes in 100 days": (pages_of(1, 60.0, 100.0, 0.0), Options()),
    "1 page, 60 changes in 100 days, pages": (
        pages_of(1, 60.0, 100.0, 0.0),
        Options(section="pages"),
    ),
    "20 pages, 10 each in a year": (pages_of(20, 10.0, 365.0, 0.0), Options()),
    "20 pages, 10 each in ten years": (pages_of(20, 10.0, 3650.0, 0.0), Options()),
    "200 pages, 5 each in a year, seconds": (pages_of(200, 5.0, 365.0, 1 / 86_400), Options()),
    "200 pages, 5 each in ten years, hours": (pages_of(200, 5.0, 3650.0, 1 / 24), Options()),
    "50 pages, 3 each in a year, days": (pages_of(50, 3.0, 365.0, 1.0), Options()),
    "source, 40 updates in a year": (source_of(40.0, 365.0, 0.0), _WEEKLY),
    "source, 100 updates in a year": (source_of(100.0, 365.0, 0.0), _WEEKLY),
    "source, 1000 updates in ten years": (source_of(1000.0, 3650.0, 1 / 86_400), _WEEKLY),
    "source, 1000 updates, 0.1 in a step": (source_of(1000.0, 2800.0, 0.2), _WEEKLY),
    "source, 10,000 updates, 0.3 in a step": (source_of(10_000.0, 2800.0, 0.05), _WEEKLY),
    "source, 100,000 updates, 0.01 in a step": (source_of(1e5, 7000.0, 0.0005), _WEEKLY),
    "source, 1,000,000 updates, 0.01 in a step": (source_of(1e6, 7000.0, 0.00005), _WEEKLY),
    "1 page, 10,000 changes, 0.1 in a step": (
        pages_of(1, 1e4, 3650.0, 0.04),
        Options(section="pages"),
    ),
    "50 pages, 200 each, days": (pages_of(50, 200.0, 730.0, 1.0), Options()),
}


def alarms(case: str, traces: int) -> Alarm:
    """False alarms of one kind of trace; always the same for the same number of traces."""
    made, options = ALARMS[case]
    rng = np.random.default_rng(2003)
    summaries = [fit(made(rng), options).summary for _ in range(traces)]
    counts = [each["p_value"] < 1e-3 for one in summaries for each in one["dispersion"]]
    gaps, within = (
        [one[test]["p_value"] < 1e-3 for one in summaries if one.get(test)]
        for test in ("time_rescaling", "gaps_within_pages")
    )
    verdicts = [one["poisson"] is False for one in summaries]
    shares = (float(np.mean(each)) if each else np.nan for each in (counts, gaps, within, verdicts))
    return Alarm(case, *shares)


def print_alarms(traces: int) -> None:
    """The table of false alarms as Markdown."""
    print("| Poisson changes | dispersion | time rescaling | within pages | verdict |")
    print("|---|--:|--:|--:|--:|")
    for case in ALARMS:
        found = alarms(case, traces)
        print("|", case, "|", " | ".join(f"{each:.4f}" for each in found[1:]), "|", flush=True)


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--only", choices=sorted(PARTS), nargs="*", default=list(PARTS))
    parser.add_argument("--alarms", type=int, metavar="TRACES", help="false alarms instead")
    options = parser.parse_args()
    if options.alarms is not None:
        print_alarms(options.alarms)
        return
    print("| parameter | traces of | n: covered |\n|---|---|---|")
    for part in options.only:
        print_rows(table(part, options.traces))


def print_rows(rows: Iterable[Row]) -> None:
    """The sizes of each estimator and case in one line."""
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        share = "none given" if np.isnan(row.covered) else f"{row.covered:.3f}"
        some = f" (of {row.given:.0%})" if 0.0 < row.given < 0.995 else ""
        lines[row.what, row.case].append(f"{row.size}: {share}{some}")
    for (what, case), found in lines.items():
        print(f"| `{what}` | {case} |", ", ".join(found), "|", flush=True)


if __name__ == "__main__":
    main()
