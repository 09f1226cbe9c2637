"""Logs of invented pages, whose change rates are known."""

from __future__ import annotations

import numpy as np

from crawlsim.logs.read.log import ChangeLog, VisitLog
from scenarios.arrays import Array

DAY = 86400.0
YEAR = 365.25 * DAY
START = 1.5e9


def urls_of(pages: int, folders: int = 31, hosts: int = 7) -> np.ndarray:
    """Names of pages in the order of their code points."""
    names = [
        f"https://host{page % hosts}.example/{page % folders:02d}/{page:06d}.html"
        for page in range(pages)
    ]
    return np.array(sorted(names), object)


def visit_log(rates: Array, gaps: Array) -> VisitLog:
    """Visits of Poisson pages after each of some gaps, shape (pages, gaps)."""
    rng = np.random.default_rng(len(rates))
    pages, number = gaps.shape
    changed = rng.random(gaps.shape) < -np.expm1(-gaps * rates[:, None])
    time = START + np.cumsum(np.concatenate([np.zeros((pages, 1)), gaps], axis=1), axis=1)
    return VisitLog(
        urls_of(pages),
        np.repeat(np.arange(pages, dtype=np.int32), number + 1),
        time.ravel(),
        np.concatenate([np.zeros((pages, 1), bool), changed], axis=1).ravel(),
    )


def bursty_site(pages: int, years: float, seed: int) -> ChangeLog:
    """Changes in sessions of several edits, with rates that differ by folder and fall with age."""
    rng = np.random.default_rng(seed)
    urls = urls_of(pages, folders=12, hosts=1)
    folder = np.array([int(url.split("/")[3]) for url in urls])
    level = rng.normal(0.0, 1.0, 12)
    rate = np.exp(level[folder]) * rng.gamma(0.5, 2.0, pages) * 2.0 / YEAR
    page_of = []
    times = []
    for page in range(pages):
        born = START + rng.uniform(0.0, 0.3) * years * YEAR
        sessions = [0.0]
        age = 0.0
        while True:
            age += rng.exponential(1 / (rate[page] / (1 + 0.2 * age / YEAR) + 1e-12))
            if born + age > START + years * YEAR:
                break
            sessions.append(age)
        for session in sessions:
            edits = 1 + rng.poisson(1.0)
            times.extend(born + session + np.sort(rng.exponential(0.5 * DAY, edits)))
            page_of.extend([page] * edits)
    page = np.array(page_of, np.int32)
    time = np.array(times)
    order = np.lexsort((time, page))
    return ChangeLog(urls, page[order], time[order])
