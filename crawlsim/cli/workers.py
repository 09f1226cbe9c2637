"""Workers for replications, here or on a cluster, and what Ctrl-C does to them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from crawlsim.own_files import PROGRAM
from scenarios import Scenario, ScenarioError
from scenarios.plugins import installed_versions

if TYPE_CHECKING:
    from crawlsim.cli.options import RunOptions


_PATIENCE = 10.0
"""Seconds: how long a scheduler may take to answer, and a process to write what it has found."""


@contextmanager
def workers(
    options: RunOptions, engines: Iterable[str], scenarios: Iterable[Scenario] = ()
) -> Iterator[Executor | None]:
    """What replications run on, as ``--jobs`` or ``--cluster`` ask; None is this process alone.

    Parameters
    ----------
    options : RunOptions
    engines : iterable of str
    scenarios : iterable of Scenario
        What is simulated by the compiled engine; a cluster compiles it first, once.

    Raises
    ------
    ScenarioError
        If both are asked for, or there is no such cluster.
    """
    if options.cluster is None:
        with _local_workers(options.jobs, engines) as executor:
            yield executor
        return
    if options.jobs > 1:
        raise ScenarioError("--jobs", options.jobs, "does not go with --cluster")
    with _cluster(options.cluster, list(scenarios)) as executor:
        yield executor


@contextmanager
def _cluster(address: str, scenarios: Sequence[Scenario]) -> Iterator[Executor]:
    """The workers of a Dask scheduler that is there already."""
    import asyncio  # only a cluster needs it, and it takes a while

    try:
        from distributed import Client
        from distributed.comm.core import connect
    except ImportError:
        allowed = f"needs the extra {PROGRAM}[cluster]"
        raise ScenarioError("--cluster", address, allowed) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    async def answers() -> None:
        """Ask before a client is made, which would not stop trying."""
        connection: Any = await connect(  # type: ignore[no-untyped-call]
            address, timeout=_PATIENCE
        )
        await connection.close()

    try:
        asyncio.run(answers())
        client: Any = Client(address, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ScenarioError("--cluster", address, f"cannot be reached: {reason}") from None
    with client:
        _check_versions(client, address)
        _compile_once(client, scenarios)
        executor = client.get_executor(pure=False)
        executor.width = sum(client.nthreads().values())
        yield executor


def _compile_once(client: Any, scenarios: Sequence[Scenario]) -> None:
    """Let the workers compile the engine, where they have not: one of those that share a disk."""
    from sim.compiled_engine.prepared import prepare

    lacking = [worker for worker, lacks in client.run(_lack_code, scenarios).items() if lacks]
    if not lacking:
        return
    said = "crawlsim: the cluster first compiles the engine, once, up to half a minute"
    click.echo(said, err=True)
    # A worker that dies meanwhile, or keeps no code, compiles when its turn comes.
    tasks = [
        client.submit(prepare, scenarios, workers=[worker], allow_other_workers=True, pure=False)
        for worker in lacking
    ]
    client.gather(tasks, errors="skip")


def _lack_code(scenarios: Sequence[Scenario]) -> bool:
    """Whether this process would compile the engine for some of the scenarios."""
    from sim.compiled_engine.prepared import is_prepared

    return not all(map(is_prepared, scenarios))


def _check_versions(client: Any, address: str) -> None:
    """Refuse workers that would count otherwise, or not at all."""
    mine = version(PROGRAM)
    try:
        theirs = client.run(version, PROGRAM)
    except PackageNotFoundError:
        raise ScenarioError("--cluster", address, f"a worker there has no {PROGRAM}") from None
    if not theirs:
        raise ScenarioError("--cluster", address, "has no workers")
    for worker, installed in theirs.items():
        if installed != mine:
            allowed = f"{worker} has {PROGRAM} {installed}, and this is {mine}"
            raise ScenarioError("--cluster", address, allowed)
    own = installed_versions()
    for worker, installed in client.run(installed_versions).items():
        if installed != own:
            allowed = (
                f"{worker} has the plugins {installed or 'none'}, and here are {own or 'none'}"
            )
            raise ScenarioError("--cluster", address, allowed)


@contextmanager
def _local_workers(jobs: int, engines: Iterable[str]) -> Iterator[Executor | None]:
    """An executor with `jobs` workers, or None for this process alone.

    Threads where all engines run without the interpreter's lock, which saves the start of
    processes (measured: benchmarks/README.md); else processes. An interrupt ends processes at
    once; threads end with the program.
    """
    from sim.replicate import ENGINES

    if jobs == 1:
        yield None
        return
    unlocked = all(ENGINES[engine].unlocked for engine in engines)
    executor = ThreadPoolExecutor(jobs) if unlocked else _processes(jobs)
    try:
        yield executor
    except BaseException:
        if isinstance(executor, ProcessPoolExecutor):
            _give_up(executor)
        else:
            executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


@contextmanager
def processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes for what would hold this one up; what they are at in the end is given up."""
    pool = _processes(jobs)
    try:
        yield pool
    finally:
        _give_up(pool)


def _give_up(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool, whatever they are at, but none while it writes a result.

    Half a result would be waited for without end: its reader is in this process, which can write
    to the pipe as well, so that nothing breaks off when the writer is gone.
    """
    lock = getattr(getattr(pool, "_result_queue", None), "_wlock", None)
    is_held = lock is not None and lock.acquire(timeout=_PATIENCE)
    try:
        for child in list((pool._processes or {}).values()):
            child.terminate()
    finally:
        if lock is not None and is_held:
            lock.release()
    pool.shutdown(cancel_futures=True)


def _processes(jobs: int) -> ProcessPoolExecutor:
    """Processes that leave Ctrl-C to this one, from their first moment on."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=_depend_on_the_parent)
    with _interrupts_held():
        for _ in range(jobs):
            pool.submit(os.getpid)  # starts a process, which inherits what is held
    return pool


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Interrupts wait until the end, for this process and for those that it starts meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _depend_on_the_parent() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it, even where it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
