"""What control variates gain on the benchmark queue, and whether their intervals cover.

Run as ``python benchmarks/bench_controls.py [--runs 1000]``: so many independent runs of 20
replications each; the mean variance ratio, and the share of 95 % intervals with the exact value.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import sim
from analytic import predict
from scenarios import load

MEASURES = (
    ("obsolescence_probability", None),
    ("loss_probability", None),
    ("starvation_probability", None),
    ("throughput", None),
    ("mean_in_system", None),
    ("sojourn_time", "served"),
)
CHANGES = {"run.horizon": 1000.0, "run.warmup": 200.0, "run.replications": 20}


def main() -> None:
    """The table, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    count = parser.parse_args().runs
    scenario = load(str(Path(__file__).with_name("queue.toml"))).with_(CHANGES)
    exact = {(p.measure, p.subject): p.value for p in predict(scenario)[0] if p.kind == "exact"}
    covered = np.zeros((len(MEASURES), 2))
    ratios = np.zeros(len(MEASURES))
    for seed in range(count):
        plain = sim.run(scenario, seed=seed)
        corrected = sim.controlled(plain)
        for row, key in enumerate(MEASURES):
            for column, results in enumerate((plain, corrected)):
                found = results.find(*key)
                assert found is not None
                covered[row, column] += found.low <= exact[key] <= found.high
            ratios[row] += corrected.variance_ratios[key]
    print(f"{count} runs of 20 replications, horizon 1000, warm-up 200\n")
    print("| measure | variance ratio | coverage without | with |")
    print("|---|--:|--:|--:|")
    for row, (measure, subject) in enumerate(MEASURES):
        name = measure if subject is None else f"{measure} {subject}"
        shares = " | ".join(f"{hits / count:.3f}" for hits in covered[row])
        print(f"| {name} | {ratios[row] / count:.3f} | {shares} |")


if __name__ == "__main__":
    main()
