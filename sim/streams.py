"""One seed, and from it a named, independent stream of random numbers for every source."""

from __future__ import annotations

import numpy as np

SOURCES = {
    "change": 0,
    "access": 1,
    "delivery": 2,
    "accessing": 3,
    "service": 4,
    "obsolescence": 5,
    "query": 6,
    "update": 7,
    "arrival": 8,
    "routing": 9,
    "failure": 10,
    "further change": 11,
    "environment": 12,
    "birth": 13,
    "lifetime": 14,
    "discovery": 15,
    "due": 16,
    "commit": 17,
    "signal": 18,
    "signal delay": 19,
    "page of a batch": 20,
    "start-up": 21,
    "class": 22,
    "retrial": 23,
    "vacation": 24,
    "set-up": 25,
}
"""Fixed numbers of the sources; never renumbered, since results depend on them."""

PCG64_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
"""What the state of PCG64 is multiplied with in each step."""


def stream(seed: int, replication: int, source: str, robot: int = 0) -> np.random.Generator:
    """The stream of one source in one replication.

    Stateless: the same whatever the engine, the number of workers or the order of the calls.

    Parameters
    ----------
    seed : int
        The seed of the run.
    replication : int
    source : str
        A key of `SOURCES`.
    robot : int
        Index of the robot (or server); 0 for sources without.
    """
    key = (replication, SOURCES[source], robot)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
