"""How long the certified best order takes, by the number of servers or pages.

Exponential gaps of mean 1. Six servers have the rates 0.2, 0.4, 0.8, 1.2, 2, 4; fewer of them the
first ones. Pages change a tenth as often, with those rates as weights, the fastest page first.
CPU seconds of the certificate alone, and of the whole search `best_word`, which tries simple orders
and the linear bound first; cost tables, and the table of other orders that `optimize` prints beside
the best one, are left out (`alternatives`). What is compiled is compiled before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from racing import write

from analytic.machinery.phase_type import PhaseLaw
from analytic.routing import SpacingCosts, access_costs, best_word, certified_word, loss_costs
from scenarios.laws import Deterministic, Exponential
from scenarios.processes import Renewal

RATES = (0.2, 0.4, 0.8, 1.2, 2.0, 4.0)
GAPS = {"exponential": Exponential(mean=1.0), "constant": Deterministic(value=1.0)}


def costs_of(kind: str, gaps: str, count: int) -> SpacingCosts:
    """The costs of the first servers, or of as many pages."""
    arrivals = Renewal(GAPS[gaps])
    rates = np.array(RATES[:count])
    if kind == "pages":
        return access_costs(arrivals, rates / 10, rates[::-1])
    laws = [PhaseLaw(np.ones(1), np.array([[-rate]])) for rate in rates]
    return loss_costs(arrivals, laws)


def timed(kind: str, gaps: str, count: int, rounds: int) -> dict[str, Any]:
    """The median of some rounds, and what was proved."""
    costs = costs_of(kind, gaps, count)
    times = []
    whole = []
    for _ in range(rounds):
        start = time.process_time()
        found = certified_word(costs)
        times.append(time.process_time() - start)
        start = time.process_time()
        search = best_word(costs)
        whole.append(time.process_time() - start)
    start = time.process_time()
    search.alternatives  # noqa: B018  # looked for here
    others = time.process_time() - start
    return {
        "kind": kind,
        "gaps": gaps,
        "count": count,
        "seconds": statistics.median(times),
        "search": statistics.median(whole),
        "alternatives": others,
        "states": found.states,
        "rounds": found.rounds,
        "proved": found.is_proved(costs),
        "period": len(found.word or ()),
        "cost": found.cost,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the certified best order.")
    parser.add_argument("--rounds", type=int, default=3, help="of each size (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/bench_routing.json"))
    parsed = parser.parse_args(arguments)
    first = best_word(costs_of("servers", "exponential", 6))
    first.alternatives  # noqa: B018  # compiled here
    rows = [
        timed(kind, gaps, count, parsed.rounds)
        for kind in ("servers", "pages")
        for gaps in GAPS
        for count in (3, 4, 5, 6)
    ]
    print("| | gaps | number | certificate | search | other orders | states | period | proved |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    for row in rows:
        print(
            f"| {row['kind']} | {row['gaps']} | {row['count']} | {row['seconds']:.2g} | "
            f"{row['search']:.2g} | {row['alternatives']:.2g} | {row['states']:,} | "
            f"{row['period']} | {'yes' if row['proved'] else 'no'} |"
        )
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    write(parsed.out, {"orders": rows})


if __name__ == "__main__":
    main()
