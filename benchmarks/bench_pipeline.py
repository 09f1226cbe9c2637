"""End-to-end obsolescence rates of many pages, beside the sparse elimination of the same systems.

Run as ``OPENBLAS_NUM_THREADS=1 python benchmarks/bench_pipeline.py``; CPU seconds, best of three.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from racing import compared, write
from scipy.sparse import csc_matrix, diags_array
from scipy.sparse.linalg import splu

from analytic.pipeline import obsolescence_rates, queue_of_pages
from analytic.pipeline.best_frequencies import least_shares
from analytic.pipeline.random_pages import Delays, PageQueue, obsolescence_slopes
from scenarios import load

PAGES = 1000
PLACES = (21, 101)
SERVICE = {"hyperexponential": {"probabilities": [0.7, 0.3], "rates": [2.0, 6 / 13]}}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of the quickest of three calls, and what it gave."""
    times = []
    result = None
    for _ in range(3):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def by_sparse_elimination(queue: PageQueue, mu: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The same linear systems, one sparse elimination each."""
    base = queue.moves(0)
    accepted = queue.moves(1)
    stale = Delays(queue.service, mu).stale(queue.level, queue.phase)
    out = np.asarray(base.sum(axis=1)).ravel()
    entering = queue.entering[0]
    rates = []
    for page, (change, share) in enumerate(zip(mu, shares, strict=True)):
        system = diags_array(change + out + entering) - base - (1 - share) * accepted
        right = change + share * entering * stale[page]
        rates.append(queue.stationary @ splu(csc_matrix(system)).solve(right))
    return np.array(rates)


def measured(places: int) -> dict[str, Any]:
    """CPU seconds of both ways and of the best frequencies, and how far both are apart."""
    mu = np.logspace(-6, 2, PAGES)
    shares = np.full(PAGES, 1.0 / PAGES)
    scenario = load("pipeline-more-robots").with_(
        {"buffer.waiting_places": places - 1, "buffer.service": SERVICE}
    )
    queue = queue_of_pages(scenario)
    obsolescence_rates(queue, mu[:2], shares[:2])
    own, rates = seconds(lambda: obsolescence_rates(queue, mu, shares))
    sparse, others = seconds(lambda: by_sparse_elimination(queue, mu, shares))
    slopes = partial(obsolescence_slopes, queue)
    best, _ = seconds(lambda: least_shares(slopes, mu, np.ones(PAGES)))
    apart = float(np.max(np.abs(rates / others - 1)))
    return {"places": places, "own": own, "sparse": sparse, "best": best, "apart": apart}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the obsolescence rates of many pages.")
    parser.add_argument("--out", type=Path, default=Path("out/bench_pipeline.json"))
    parsed = parser.parse_args(arguments)
    systems = []
    rows = []
    for places in PLACES:
        found = measured(places)
        own, sparse = found["own"], found["sparse"]
        print(
            f"K = {places}: {PAGES} pages {own:.3f} s, sparse elimination {sparse:.3f} s "
            f"({sparse / own:.0f} times), largest relative difference {found['apart']:.1e}, "
            f"best frequencies {found['best']:.2f} s"
        )
        what = f"obsolescence rates of {PAGES:,} pages, {places} places"
        peer = "sparse elimination"
        rows.append(compared(what, own, peer, sparse, "CPU seconds", sparse / own, ""))
        systems.append(found)
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    write(parsed.out, {"systems": systems, "compared": rows})


if __name__ == "__main__":
    main()
