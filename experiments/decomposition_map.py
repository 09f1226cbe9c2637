"""Where the decomposition into losses and delays may be used: its largest errors, and a picture.

Run as ``python -m experiments.decomposition_map``; it takes a minute. The exact results are those
of `analytic.pipeline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from analytic.indexing_queue import (
    controlled_chain,
    fate_rates,
    sojourn_transform,
    solve_chain,
)
from analytic.indexing_queue.chain import UNLIMITED_PATIENCE, QueueChain
from analytic.indexing_queue.levels_and_fates import marginals_of
from analytic.indexing_queue.one_robot import DeliveredQueue, delivered_queue
from analytic.machinery.phase_type import as_phase_type
from analytic.pipeline import decomposed, listed_rate, obsolescence_rates
from analytic.pipeline.independence import thinned_cyclic, thinned_randomized
from analytic.pipeline.periodic_lists import random_slopes
from analytic.pipeline.random_pages import Delays, page_queue
from scenarios.arrays import Array
from scenarios.laws import (
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Hyperexponential,
)

PAGES = (1, 2, 5, 20, 100)
LOADS = (0.3, 0.6, 0.9, 1.2, 2.0, 3.0)
PLACES = (1, 3, 11)
CHANGES = (0.1, 0.5, 1.0, 1.5, 5.0)
"""Changes of a page per cycle."""
SERVICES = {
    "Erlang-4": Erlang(shape=4, mean=1.0),
    "exponential": Exponential(mean=1.0),
    "hyperexponential": Hyperexponential(probabilities=(0.9, 0.1), rates=(1.8, 0.2)),
}
COARSE = (0.3, 1.2, 3.0), (0.1, 1.0, 5.0)
"""Loads and changes of the coarser grid from which the printed table comes."""
BURSTS = (2, 10, 50, 500)


def fed(hidden: Array, arrivals: Array, service: Any, places: int) -> QueueChain:
    """The chain of one source and a queue."""
    phases = as_phase_type(service)
    assert phases is not None
    order = len(hidden)
    none = np.zeros((2, order, order))
    modes = np.stack([none, np.stack([hidden, arrivals])])
    return controlled_chain(modes, lambda _: 1, phases, UNLIMITED_PATIENCE, places, "partial")


def losses_and_delays(chain: QueueChain, law: Array, mu: float) -> tuple[float, float]:
    """Probability of a loss, and the transform of the sojourn of an indexed page."""
    rates = fate_rates(chain, marginals_of(chain, law))
    discount = sojourn_transform(chain, law, [mu])["served"][0]
    return 1.0 - rates["served"] / rates["delivered"], float(discount)


def accesses(load: float) -> tuple[Distribution, Distribution]:
    """Constant and exponential access times of one robot."""
    return Deterministic(value=1.0 / load), Exponential(rate=load)


def at_deliveries(queue: DeliveredQueue, mu: float) -> tuple[float, float]:
    """The same two numbers of a queue that one robot feeds: what its deliveries find."""
    entering = queue.before * queue.room
    stale = Delays(queue.chain.service, np.array([mu])).stale(*queue.found)[0]
    served = entering.sum()
    return 1.0 - float(served), 1.0 - float(entering @ stale / served)


def errors(queue: DeliveredQueue, pages: int, mu: float) -> Array:
    """Approximate minus exact obsolescence rate: a cycle, random pages, and without any buffer."""
    lost, discount = at_deliveries(queue, mu)
    changes = np.full(pages, mu)
    cycle = np.arange(pages)
    shares = np.full(pages, 1.0 / pages)
    every = queue.access
    exact = listed_rate(queue, cycle == 0, mu), random_slopes(queue, [mu], [1.0 / pages]).rates[0]
    thinned = [
        (
            thinned_cyclic(changes, cycle, every, each)[0],
            thinned_randomized(changes, shares, every, each)[0],
        )
        for each in (lost, 0.0)
    ]
    near = decomposed(np.array(thinned[0]), np.full(2, discount)) - exact
    return np.array([*near, np.subtract(thinned[1], exact).min()])


def map_of_errors(loads: Sequence[float] = LOADS, changes: Sequence[float] = CHANGES) -> Array:
    """Largest absolute errors, shape (3, pages, loads)."""
    worst = np.zeros((3, len(PAGES), len(loads)))
    for service, places, (column, load) in product(SERVICES.values(), PLACES, enumerate(loads)):
        phases = as_phase_type(service)
        assert phases is not None
        for access in accesses(load):
            queue = delivered_queue(phases, places, access)
            for (row, pages), each in product(enumerate(PAGES), changes):
                found = np.abs(errors(queue, pages, each * load / pages))
                worst[:, row, column] = np.maximum(worst[:, row, column], found)
    return worst


def bursty_errors() -> Array:
    """Error with random pages for an on/off source: 20 pages, load 0.5, 11 places.

    Half of the time the source delivers as fast as pages are served, otherwise nothing. With other
    sources of that load the errors differ: of one that is four times as fast for an eighth of the
    time they are larger for short bursts and smaller for long ones.
    """
    found = []
    for burst in BURSTS:
        fast = 1.0
        turn = 1.0 / burst
        hidden = np.array([[-fast - turn, turn], [turn, -turn]])
        chain = fed(hidden, np.diag([fast, 0.0]), SERVICES["exponential"], 11)
        law = solve_chain(chain).stationary
        found.append(errors_of_random(chain, law, 0.5, 20, 0.5 / 20))
    return np.array(found)


def errors_of_random(chain: QueueChain, law: Array, rate: float, pages: int, mu: float) -> float:
    """Approximate minus exact obsolescence rate with random pages."""
    lost, discount = losses_and_delays(chain, law, mu)
    share = np.full(1, 1.0 / pages)
    thinned = thinned_randomized([mu], share, Exponential(rate=rate), lost)
    exact = obsolescence_rates(page_queue(chain, law), [mu], share)
    return float(decomposed(thinned, discount)[0] - exact[0])


def drawn(worst: Array) -> Any:
    """The map: pages against load, one panel for each way of choosing pages."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.4, 3.6), layout="constrained")
    norm = LogNorm(1e-4, 0.1)
    image = None
    for ax, errors_, title in zip(
        figure.subplots(1, 2, sharey=True), worst, ("cyclic", "random"), strict=False
    ):
        image = ax.imshow(errors_, norm=norm, cmap="YlOrRd", aspect="auto", origin="lower")
        for (row, column), value in np.ndenumerate(errors_):
            red, green, blue, _ = image.cmap(norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.45
            said = f"{value:#.2g}".lstrip("0")
            colour = "white" if dark else "#111111"
            ax.text(column, row, said, ha="center", va="center", fontsize=8.5, color=colour)
        ax.set_xticks(range(len(LOADS)), [f"{load:g}" for load in LOADS])
        ax.set_yticks(range(len(PAGES)), [str(pages) for pages in PAGES])
        ax.set_xlabel("load")
        ax.set_title(f"{title} pages", fontsize=10, loc="left")
    figure.axes[0].set_ylabel("pages")
    figure.colorbar(image, ax=figure.axes, label="largest error of an obsolescence rate")
    return figure


if __name__ == "__main__":
    mpl.use("Agg")
    worst = map_of_errors()
    print("pages", *PAGES)
    for name, row in zip(("cyclic", "random", "no buffer"), worst.max(axis=2), strict=True):
        print(name, *(f"{value:.4f}" for value in row))
    for name, row in zip(
        ("cyclic", "random", "no buffer"), map_of_errors(*COARSE).max(axis=2), strict=True
    ):
        print(f"{name}, coarse grid", *(f"{value:.4f}" for value in row))
    print("bursts", *BURSTS, *(f"{value:.3f}" for value in bursty_errors()))
    picture = Path(__file__).parents[1] / "docs/pictures/decomposition.png"
    drawn(worst).savefig(picture, dpi=130, metadata={"Software": None})
