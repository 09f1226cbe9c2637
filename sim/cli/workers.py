"""Worker processes for replications, and what Ctrl-C does to them."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

__all__ = ["workers"]


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """An executor with `jobs` processes, or None for this process alone.

    An interrupt ends the workers at once instead of waiting for their replications.
    """
    if jobs == 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, context, initializer=_die_quietly)
    try:
        yield executor
    except BaseException:
        # Not cancelled one by one: ending the workers ends their replications, and a future that
        # is cancelled at that moment makes the executor's own thread complain.
        for child in multiprocessing.active_children():
            child.terminate()
        executor.shutdown()
        raise
    executor.shutdown()


def _die_quietly() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
