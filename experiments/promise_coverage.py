"""How often the 95 % interval of a schedule's promise holds the stale share that comes true.

    python -m experiments.promise_coverage [LOGS] [DESIGN ...]     a Markdown table

Pages have rates from a design, a log is drawn from them, a schedule is made, and the stale share of
its plan at the true rates is compared with what was promised. Thin logs say next to nothing of how
unlike pages are, so that what the prior says must show in the interval.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crawlsim.logs.plan.planning import stale_share
from crawlsim.logs.plan.schedule import schedule_of
from crawlsim.scheduling import LogRequest, VisitLog
from scenarios.arrays import Array

DAY = 86400.0
LOGS = 200


class Design(NamedTuple):
    """Pages and their visits.

    Attributes
    ----------
    pages : int
    gaps : tuple of float
        Days between the visits of each page.
    mean : float
        Changes a day of a page.
    shape : float or None
        Of the gamma distribution of the rates; None where all pages are alike.
    sigma : float or None
        Of the logarithm of lognormal rates instead.
    hosts : int
        On which the pages are.
    """

    pages: int
    gaps: tuple[float, ...]
    mean: float
    shape: float | None = None
    sigma: float | None = None
    hosts: int = 1

    def rates(self, rng: np.random.Generator) -> Array:
        """Changes a day, shape (pages,)."""
        if self.sigma is not None:
            logs = rng.normal(-(self.sigma**2) / 2, self.sigma, self.pages)
            return self.mean * np.exp(logs)
        if self.shape is None:
            return np.full(self.pages, self.mean)
        return rng.gamma(self.shape, self.mean / self.shape, self.pages)


THIN = {
    "100 pages alike, one week": Design(100, (7.0,), 0.003),
    "100 pages, gamma 1/2, one week": Design(100, (7.0,), 0.003, 0.5),
    "1000 pages, gamma 1/2, one week": Design(1000, (7.0,), 0.003, 0.5),
    "50 pages, gamma 1, 30 days": Design(50, (1.0,) * 29, 0.002, 1.0),
    "3000 pages, gamma 1/2, one month": Design(3000, (30.0,), 0.01, 0.5),
    "200 pages, gamma 2, one month": Design(200, (30.0,), 0.02, 2.0),
    "500 pages, lognormal 1, two weeks": Design(500, (7.0, 7.0), 0.01, sigma=1.0),
    "500 pages, lognormal 2, two weeks": Design(500, (7.0, 7.0), 0.01, sigma=2.0),
    "30 pages, gamma 1/2, five days": Design(30, (1.0,) * 5, 0.05, 0.5),
    "400 pages, 40 hosts, gamma 1/2, one week": Design(400, (7.0,), 0.01, 0.5, hosts=40),
}
RICH = {
    "300 pages, gamma 1/2, ten weeks": Design(300, (7.0,) * 10, 0.02, 0.5),
    "3000 pages, gamma 1/2, six months": Design(3000, (30.0,) * 6, 0.005, 0.5),
    "300 pages, gamma 1, half a year": Design(300, (7.0,) * 26, 0.05, 1.0),
    "1000 pages alike, ten weeks": Design(1000, (7.0,) * 10, 0.05),
    "300 pages, lognormal 1, ten weeks": Design(300, (7.0,) * 10, 0.05, sigma=1.0),
    "100 pages, gamma 1/2, 100 days": Design(100, (1.0,) * 100, 0.1, 0.5),
    "600 pages, 20 hosts, gamma 1/2, twenty weeks": Design(600, (7.0,) * 20, 0.02, 0.5, hosts=20),
}
DESIGNS = THIN | RICH


def log_of(design: Design, rates: Array, rng: np.random.Generator) -> VisitLog:
    """A log of visits at the gaps of a design."""
    ends = np.concatenate([[0.0], np.cumsum(design.gaps)]) * DAY
    start = rng.random(design.pages) * DAY
    changed = rng.random((design.pages, len(design.gaps))) < -np.expm1(
        -np.outer(rates, design.gaps)
    )
    first = np.zeros((design.pages, 1), bool)
    urls = [f"https://h{page % design.hosts:03}.example/{page:06}" for page in range(design.pages)]
    order = np.argsort(urls)
    return VisitLog(
        np.array(sorted(urls), object),
        np.repeat(np.arange(design.pages), len(ends)).astype(np.int32),
        (start[order, None] + ends).ravel(),
        np.hstack([first, changed])[order].ravel(),
    )


class Found(NamedTuple):
    """What was promised of one log, and what is true."""

    promised: float
    low: float
    high: float
    true: float

    @property
    def holds(self) -> bool:
        """Whether the truth is inside the interval."""
        return self.low <= self.true <= self.high


def promise(design: Design, seed: int) -> Found:
    """What is promised of one log of a design, with as many visits as the log has."""
    rng = np.random.default_rng([seed, design.pages, len(design.gaps)])
    rates = design.rates(rng)
    log = log_of(design, rates, rng)
    plan = schedule_of(log, LogRequest(design.pages / (min(design.gaps) * DAY)))
    assert plan.expected is not None, plan.no_promise
    urls = [f"https://h{page % design.hosts:03}.example/{page:06}" for page in range(design.pages)]
    true = stale_share(rates[np.argsort(urls)] / DAY, 1 / plan.intervals).mean()
    share = plan.expected["plan"]
    return Found(share.mean, share.low, share.high, float(true))


def table(
    names: list[str], logs: int, found: Callable[[Design, int], Found] = promise
) -> list[str]:
    """Markdown: for each design how many intervals hold, and how wide they are."""
    lines = ["| design | holds | of | width, median | promised / true |", "|---|---|---|---|---|"]
    for name in names:
        each = [found(DESIGNS[name], seed) for seed in range(logs)]
        holds = sum(one.holds for one in each)
        width = np.median([one.high - one.low for one in each])
        ratio = np.mean([one.promised for one in each]) / np.mean([one.true for one in each])
        lines.append(f"| {name} | {holds} | {logs} | {100 * width:.2f} points | {ratio:.3f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    """Print the table."""
    logs = int(sys.argv[1]) if len(sys.argv) > 1 else LOGS
    print("\n".join(table(sys.argv[2:] or list(DESIGNS), logs)))


if __name__ == "__main__":
    main()
