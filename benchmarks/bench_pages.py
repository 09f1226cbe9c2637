"""How long the best frequencies of many pages take, a golden cycle, and the policies per access.

Change rates are gamma, weights uniform on (0, 1), access times exponential, a change per ten
accesses in all; then change rates are lognormal over many scales, with equal weights and hundreds
of changes per access, so that more than half of the pages get no accesses. LambdaCrawl's published
approach takes 1.00 s for 50,000 pages, with an error of 1.6e-5 in the sum of the frequencies
(measured elsewhere, on another machine).
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from racing import compared, write

from analytic import resolve
from analytic.page_refresh import best_shares
from experiments.crawlers import harmonic_rates
from scenarios import scenario_from
from scenarios.accessing import POLICIES
from scenarios.accessing.golden_ratio import golden_cycle
from scenarios.accessing.policy import Planned
from scenarios.laws import Exponential
from sim import compiled_engine, simpy_engine

SIZES = (50_000, 1_000_000, 10_000_000)
POLICY_PAGES = 100_000
PLANS = ("billiard", "balanced", "deadline", "deficit", "whittle", "crawl-value")


def seconds(work: Callable[[], Any], rounds: int) -> float:
    """CPU seconds of this process, which uses one core; the median of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def pages(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Change rates and weights."""
    generator = np.random.default_rng(1)
    return generator.gamma(1.0, size=count) * 0.1 / count, generator.random(count)


def hopeless_pages(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Change rates and weights of which most are not worth an access."""
    generator = np.random.default_rng(1)
    return generator.lognormal(0.0, 2.5, size=count) * 30.0 / count, np.ones(count)


def frequencies(
    made: Callable[[int], tuple[NDArray[Any], NDArray[Any]]], count: int, rounds: int
) -> dict[str, Any]:
    """Seconds for the optimum, the error of its sum, and the peak of the process so far."""
    rates, weights = made(count)
    law = Exponential(mean=1.0)
    best_shares(rates[:1000], weights[:1000], law)
    median = seconds(lambda: best_shares(rates, weights, law), rounds)
    shares = best_shares(rates, weights, law)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "pages": count,
        "without_visits": float((shares == 0).mean()),
        "seconds": median,
        "error": abs(float(shares.sum()) - 1.0),
        "peak_mb": peak,
    }


def per_access(name: str, accesses: int) -> float:
    """Microseconds of a plan per access."""
    rates, weights = pages(POLICY_PAGES)
    given = {"exponents": tuple(rates.tolist()), "values": tuple((weights / rates).tolist())}
    fields = POLICIES[name].model_fields
    known = {key: value for key, value in given.items() if key in fields}
    policy = POLICIES[name].model_validate({"policy": name, **known})
    assert isinstance(policy, Planned)
    next(policy.plan(weights / weights.sum()))  # what is compiled is loaded
    blocks: Iterator[Any] = policy.plan(weights / weights.sum())
    start = time.process_time()
    made = 0
    while made < accesses:
        made += len(next(blocks))
    return (time.process_time() - start) / made * 1e6


def million_pages(replications: int = 2) -> dict[str, list[float]]:
    """CPU seconds of replications of 1.5 million accesses among a million pages, by engine.

    The index is `whittle`; only the first replication of the first engine plans.
    """
    rates, weights = pages(1_000_000)
    accessing = {"policy": "whittle"}
    robots = {"available": 1, "access_time": {"exponential": {"mean": 1.0}}, "accessing": accessing}
    tables = {
        "name": "million",
        "pages": {"change_rates": rates.tolist(), "weights": weights.tolist()},
        "robots": robots,
        "run": {"horizon": 1.5e6, "warmup": 1e5},
    }
    small = tables | {"pages": {"change_rates": [1.0, 1.0]}, "run": {"horizon": 5e3}}
    compiled_engine.simulate(resolve(scenario_from(small)), 0, 1)
    scenario = resolve(scenario_from(tables))
    found: dict[str, list[float]] = {}
    for name, engine in (("compiled", compiled_engine), ("simpy", simpy_engine)):
        found[name] = []
        for replication in range(replications):
            start = time.process_time()
            engine.simulate(scenario, replication, 1)
            found[name].append(time.process_time() - start)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the best frequencies and the policies.")
    parser.add_argument("--rounds", type=int, default=3, help="of each size (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_pages.json"))
    parsed = parser.parse_args(arguments)
    optima = [
        frequencies(made, count, parsed.rounds)
        for count in SIZES
        for made in (pages, hopeless_pages)
    ]
    counts = np.ones(1_346_269, dtype=np.intp)
    golden = seconds(lambda: golden_cycle(counts), parsed.rounds)
    harmonic = seconds(lambda: harmonic_rates(*pages(SIZES[0]), 1.0), parsed.rounds)
    plans = {name: per_access(name, POLICY_PAGES) for name in PLANS}
    runs = million_pages()
    print("| pages | without accesses | seconds | error of the sum | MB |\n|--:|--:|--:|--:|--:|")
    for row in optima:
        cells = f"{row['pages']:,} | {row['without_visits']:.0%} | {row['seconds']:.3g}"
        print(f"| {cells} | {row['error']:.0e} | {row['peak_mb']:.0f} |")
    print(f"harmonic rates (LambdaCrawl) of {SIZES[0]:,} pages: {harmonic:.3g} s")
    print(f"golden cycle of {len(counts):,} slots: {golden:.3g} s")
    print("; ".join(f"{name} {each:.3g} us" for name, each in plans.items()))
    for engine, each in runs.items():
        print(f"a million pages, {engine}: {', '.join(f'{s:.3g} s' for s in each)}")
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    unit = "CPU seconds"
    first = optima[0]["seconds"]
    ours, theirs = runs["compiled"][-1], runs["simpy"][-1]
    rows = [
        compared(
            f"best frequencies, {SIZES[0]:,} pages",
            first,
            "LambdaCrawl's rates",
            harmonic,
            unit,
            harmonic / first,
            "",
        ),
        compared(
            "a million pages, whittle", ours, "crawlsim, simpy", theirs, unit, theirs / ours, ""
        ),
    ]
    found = {"frequencies": optima, "golden_cycle": golden, "harmonic": harmonic, "compared": rows}
    write(parsed.out, {**found, "per_access": plans, "million": runs})


if __name__ == "__main__":
    main()
