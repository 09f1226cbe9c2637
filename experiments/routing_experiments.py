"""The best orders of servers and pages: tables of docs/routing.md.

Run as ``python -m experiments.routing_experiments [breakpoints bursts bounds pages left_out
heuristics checks]``: prints Markdown. All but the checks take some seconds together; the checks
simulate 36 systems at the default settings of a scenario file, and take a quarter of a minute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import sim
from analytic import compare, overall, predict
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.transforms import transform
from analytic.page_refresh import schedule_bound
from analytic.routing import (
    SpacingCosts,
    access_costs,
    best_word,
    descended_word,
    index_word,
    linear_bound,
    loss_costs,
    two_servers,
)
from papers.altman2000 import crossing
from scenarios import Scenario, scenario_from
from scenarios.laws import Deterministic, Exponential, Hyperexponential
from scenarios.processes import ArrivalProcess, Mmpp, Poisson, Renewal

Row = dict[str, Any]

MMPP2 = {"Q": [[-0.2, 0.2], [0.3, -0.3]], "rates": [0.5, 3.0]}
MAP3 = {
    "D0": [[-4.0, 1.0, 0.0], [0.0, -2.0, 0.5], [0.1, 0.0, -0.6]],
    "D1": [[2.0, 0.5, 0.5], [1.0, 0.5, 0.0], [0.0, 0.3, 0.2]],
}
ARRIVALS: dict[str, Any] = {
    "poisson": {"poisson": {"rate": 1.5}},
    "mmpp": {"mmpp": MMPP2},
    "map": {"map": MAP3},
}
RATES = (0.3, 0.5, 0.8, 1.2)


def losses(arrivals: ArrivalProcess, rates: Iterable[float]) -> SpacingCosts:
    """The costs of packets with exponential services."""
    return loss_costs(arrivals, [PhaseLaw(np.ones(1), np.array([[-rate]])) for rate in rates])


def smooth_bound(missed: ArrayLike) -> float:
    """The bound ``prod_m h_m`` on the packets lost, for independent gaps.

    Parameters
    ----------
    missed : array_like, shape (servers,)
        h_m, the transform of a gap at each service rate.

    Raises
    ------
    ValueError
        If there is none, or one outside [0, 1].

    Notes
    -----
    coffman1998, Theorem 3.4, for packets (docs/derivations.md). Never above `linear_bound`.
    """
    h = np.asarray(missed, dtype=float)
    if not h.size:
        raise ValueError("transforms are missing: one per server, and at least one")
    if wrong := [each for each in h.ravel().tolist() if not 0 <= each <= 1]:
        raise ValueError(f"a transform of {wrong[0]:g}: must be in [0, 1]")
    return float(np.prod(h))


def breakpoints() -> list[Row]:
    """Figure 1: the service rate mu_2 at which a block of n + 1 becomes as good as one of n."""
    laws = {"Poisson": Exponential(mean=1.0), "constant": Deterministic(value=1.0)}
    return [{"n": n} | {name: crossing(n, law) for name, law in laws.items()} for n in range(2, 9)]


def bursts() -> list[Row]:
    """The best word of two servers with rates 1 and 4 as arrivals of rate 1 come in bursts."""
    rows = []
    for ratio in (1.0, 3.0, 10.0, 30.0, 100.0):
        for pace in (10.0, 0.1, 0.01):
            arrivals = Mmpp(Q=((-pace, pace), (pace, -pace)), rates=_around_one(ratio))
            costs = losses(arrivals, (1.0, 4.0))
            found = two_servers(costs)
            rows.append(
                {
                    "rates in a burst : between": ratio,
                    "changes per unit time": pace,
                    "best word": " ".join(map(str, found.word)),
                    "lost": found.cost,
                    "in turn": costs.of((0, 1)),
                }
            )
    return rows


def _around_one(ratio: float) -> tuple[float, float]:
    low = 2 / (1 + ratio)
    return low, low * ratio


def bounds() -> list[Row]:
    """Optimum, linear bound and the bound of Coffman, Liu and Weber; exponential and other gaps."""
    laws = {
        "exponential": Exponential(mean=1.0),
        "constant": Deterministic(value=1.0),
        "scv 4": Hyperexponential(
            probabilities=(0.8872983346, 0.1127016654), rates=(1.7745966692, 0.2254033308)
        ),
    }
    rows = []
    for rates in ((1, 2), (1, 2, 3), (0.1, 0.3, 1), (1, 2, 3, 4), (0.1, 0.2, 0.4, 0.8)):
        for name, law in laws.items():
            costs = losses(Renewal(law), rates)
            found = best_word(costs)
            rows.append(
                {
                    "gaps": name,
                    "rates": ", ".join(map(str, rates)),
                    "Coffman": smooth_bound([float(transform(law, rate)) for rate in rates]),
                    "linear": linear_bound(costs).value,
                    "optimum": found.cost,
                    "proved": "yes" if found.proved else "no",
                    "period": len(found.word),
                }
            )
    return rows


def pages() -> list[Row]:
    """The same in the scale of pages: weighted obsolescence, accesses of mean 1."""
    rows = []
    for rates, weights in (
        ((0.6, 0.2, 0.15, 0.1), (0.6, 0.2, 0.15, 0.1)),
        ((0.1, 0.3, 0.8), (1.0, 1.0, 1.0)),
        ((1, 2, 3), (1, 2, 3)),
        ((0.05, 0.1, 0.2, 0.4), (4.0, 3.0, 2.0, 1.0)),
    ):
        for name, law in (
            ("exponential", Exponential(mean=1.0)),
            ("constant", Deterministic(value=1.0)),
        ):
            costs = access_costs(Renewal(law), rates, weights)
            found = best_word(costs)
            smooth = schedule_bound(rates, weights, law)
            rows.append(
                {
                    "accesses": name,
                    "change rates": ", ".join(map(str, rates)),
                    "weights": ", ".join(map(str, weights)),
                    "Coffman (7)": smooth,
                    "linear bound": linear_bound(costs).value,
                    "optimum": found.cost,
                    "above Coffman, %": 100 * (found.cost / smooth - 1),
                    "best word": " ".join(map(str, found.word)),
                }
            )
    return rows


def left_out() -> list[Row]:
    """Remark 6.1: which of two pages is worth a visit; change rates 1, constant accesses of 1."""
    rows = []
    for weight in (0.39, 0.41, 1.0, 2.0, 3.0, 1000.0):
        costs = access_costs(Renewal(Deterministic(value=1.0)), (1.0, 1.0), (weight, 1.0))
        found = best_word(costs)
        assert found.proved
        rows.append(
            {
                "weight of page 0": weight,
                "of page 1": 1.0,
                "best word": " ".join(map(str, found.word)),
                "obsolescence": found.cost,
            }
        )
    return rows


def heuristics(instances: int = 30) -> list[Row]:
    """Per cent above the certified optimum: mean, worst and how often exact; Poisson arrivals."""
    rows = []
    for count in (3, 4, 5):
        generator = np.random.default_rng(count)
        gaps: dict[str, list[float]] = {"linear bound": [], "index": [], "improved words": []}
        for _ in range(instances):
            rates = np.exp(generator.uniform(np.log(0.2), np.log(4.0), count))
            costs = losses(Poisson(rate=1.0), rates)
            best = best_word(costs)
            assert best.proved
            for name, cost in (
                ("linear bound", linear_bound(costs).value),
                ("index", costs.of(index_word(costs))),
                ("improved words", costs.of(descended_word(costs))),
            ):
                gaps[name].append(100 * (cost / best.cost - 1))
        for name, each in gaps.items():
            worst = max(each, key=abs)
            exact = np.mean(np.abs(each) < 1e-9)
            rows.append(
                {"servers": count, "": name, "mean": np.mean(each), "worst": worst, "exact": exact}
            )
    return rows


def system(arrivals: str, count: int, service: str, discipline: str) -> Scenario:
    """Servers in a word of their own, at the default settings of [run]."""
    laws = [
        {"exponential": {"rate": rate}}
        if service == "exponential"
        else {"erlang": {"shape": 2, "mean": 1 / rate}}
        for rate in RATES[:count]
    ]
    word = [*range(count), *range(count - 1, 0, -1)]
    return scenario_from(
        {
            "name": f"{arrivals}-{count}-{service}-{discipline}",
            "judged": ["preemption_probability"],
            "servers": {
                "service": laws,
                "arrivals": ARRIVALS[arrivals],
                "routing": {"period": word},
                "discipline": discipline,
            },
        }
    )


def checks(**run: Any) -> list[Row]:
    """Verdicts of `check`, and of the printed equality of both disciplines for Erlang services."""
    rows = []
    for arrivals in ARRIVALS:
        for count in (2, 3, 4):
            for service in ("exponential", "erlang"):
                both = {d: system(arrivals, count, service, d) for d in DISCIPLINES}
                claimed = predict(both["preemptive"])[0]
                row: Row = {"arrivals": arrivals, "servers": count, "service": service}
                for discipline, scenario in both.items():
                    found = sim.run(scenario.with_({f"run.{k}": v for k, v in run.items()}))
                    row[discipline] = overall(compare(predict(scenario)[0], found, scenario.judged))
                row["printed equality"] = overall(compare(claimed, found, scenario.judged))
                rows.append(row)
    return rows


DISCIPLINES = ("preemptive", "non-preemptive")
TABLES: dict[str, Callable[[], list[Row]]] = {
    "breakpoints": breakpoints,
    "bursts": bursts,
    "bounds": bounds,
    "pages": pages,
    "left_out": left_out,
    "heuristics": heuristics,
    "checks": checks,
}


def markdown(rows: Sequence[Row]) -> str:
    """Rows as a table."""
    lines = [" | ".join(rows[0]), " | ".join("--:" for _ in rows[0])]
    lines += [" | ".join(map(_text, row.values())) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables that are asked for; without a name all but the checks."""
    parser = argparse.ArgumentParser(description="Tables of docs/routing.md.")
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    names = parser.parse_args(arguments).tables or [name for name in TABLES if name != "checks"]
    for name in names:
        sys.stdout.write(f"{TABLES[name].__doc__}\n\n{markdown(TABLES[name]())}\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
