"""The same numbers wherever replications run, and whatever happens to those who run them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from distributed import KilledWorker
from systems import EVERY_KIND, queue

import sim
import sim.replicate
from crawlsim.cli.workers import _check_versions
from scenarios import Results, ScenarioError, dumps, plugins

Commands = Any
SCENARIO = queue({"run.horizon": 2000.0, "run.replications": 12})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes of a Dask scheduler.

    The scheduler runs in this process, and reads the plugins of what it passes on.
    """
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made
    for each in plugins.files_in_use():
        plugins.forget(each)


def numbers(results: Results) -> list[str]:
    """All numbers to the last bit; undefined ones are equal."""
    each = [f"{key} {values}" for key, values in results.replications.items()]
    return [*map(repr, results.estimates), *each]


@pytest.mark.thorough
def test_serial_threads_processes_and_a_cluster_write_the_same_bytes(
    crawlsim: Commands, cluster: Any, tmp_path: Path
) -> None:
    path = tmp_path / "queue.toml"
    path.write_text(dumps(SCENARIO))
    written = []
    ways = [
        ["--jobs", "1"],
        ["--jobs", "2"],
        ["--engine", "simpy", "--jobs", "2"],
        ["--cluster", cluster.scheduler_address],
    ]
    for number, way in enumerate(ways):
        vary = ["--vary", "buffer.waiting_places=1,2", "--out", str(tmp_path / str(number))]
        assert crawlsim("sweep", str(path), *vary, *way)[0] == 0
        code, text, _ = crawlsim("run", str(path), "--json", "--set", "run.seed=7", *way)
        assert code == 0
        files = [tmp_path / str(number) / name for name in ("sweep.csv", "differences.csv")]
        cut = text.replace('"simpy"', '"compiled"')
        written.append((cut, *(file.read_bytes() for file in files)))
    assert all(each == written[0] for each in written)


@pytest.mark.by_day(besides=("complete",))
@pytest.mark.parametrize("kind", sorted(EVERY_KIND))
def test_every_kind_of_system_is_the_same_on_a_cluster(cluster: Any, kind: str) -> None:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        results = sim.run(EVERY_KIND[kind], executor=client.get_executor(pure=False))
    assert numbers(results) == numbers(sim.run(EVERY_KIND[kind]))


@pytest.mark.thorough
def test_a_cluster_gets_the_file_of_a_plugin(cluster: Any, tmp_path: Path) -> None:
    """Also when it has another one of that name from before; in a process of its own."""
    example = Path(__file__).parents[2] / "examples" / "plugins" / "crawlsim_examples"
    text = (example / "triangular.py").read_text()
    said = []
    for factor in ("1.0", "2.0"):
        (tmp_path / "law.py").write_text(
            text.replace("longest * (1.0", f"{factor} * longest * (1.0")
        )
        asked = ["run", "one-robot", "--set", "robots.access_time.triangular.longest=3.0"]
        asked += ["--replications", "3", "--json", "--with", str(tmp_path / "law.py")]
        for way in (["--engine", "simpy"], ["--cluster", cluster.scheduler_address]):
            command = [sys.executable, "-m", "crawlsim", *asked, *way]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            said.append(done.stdout.replace('"simpy"', '"compiled"'))
    assert said[0] == said[1] != said[2] == said[3]


@pytest.mark.nightly
def test_a_cluster_worker_that_dies_costs_no_results(cluster: Any) -> None:
    from distributed import Client

    longer = SCENARIO.with_({"run.horizon": 200_000.0, "run.replications": 40})
    with Client(cluster, set_as_default=False) as client:
        victims = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill_one(done: int, _in_all: int) -> None:
            if done >= 3 and not killed:
                killed.append(victims[0])
                os.kill(victims[0], signal.SIGKILL)

        executor = client.get_executor(pure=False)
        results = sim.run(longer, executor=executor, progress=kill_one)
        client.wait_for_workers(2, timeout=60)
    assert killed
    assert results == sim.run(longer)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers that nobody starts again; no compiled code is kept yet."""
    file = tmp_path / "scheduler.json"
    cache = tmp_path / "code"
    cache.mkdir()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}

    def started(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words, "--no-dashboard", "--scheduler-file", str(file)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    processes = [started("scheduler", "--port", "0", "--host", "127.0.0.1")]
    try:
        while not (file.exists() and file.read_text().endswith("}")):
            assert processes[0].poll() is None
            time.sleep(0.1)
        processes += [started("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.mark.thorough
def test_a_worker_killed_in_the_midst_of_a_sweep_changes_no_byte(
    scheduler: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    """By a real scheduler; the engine is compiled once for both workers, and that is said."""
    from distributed import Client

    address, (victim, survivor) = scheduler
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    scenario = tmp_path / "queue.toml"
    scenario.write_text(dumps(SCENARIO.with_({"run.horizon": 20_000.0, "run.replications": 40})))
    words = ["sweep", str(scenario), "--vary", "buffer.waiting_places=1..6"]
    command = [sys.executable, "-m", "crawlsim", *words, "--engine", "compiled", "--out"]
    swept = subprocess.Popen(
        [*command, str(tmp_path / "cluster"), "--cluster", address],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while not list(tmp_path.glob("cluster/cells/0000*.json")):
        assert swept.poll() is None
        time.sleep(0.01)
    victim.kill()
    _, said = swept.communicate(timeout=300)
    assert swept.returncode == 0, said
    assert said.count("the cluster first compiles the engine, once") == 1
    assert (victim.wait(), survivor.poll()) == (-signal.SIGKILL, None)
    subprocess.run([*command, str(tmp_path / "alone")], capture_output=True, check=True)
    for name in ("sweep.csv", "differences.csv", *(f"cells/{n:05}.json" for n in range(6))):
        assert (tmp_path / "cluster" / name).read_bytes() == (
            tmp_path / "alone" / name
        ).read_bytes()


class _Mortal:
    """Simulates, and ends the process at one replication unless it is the first of its line."""

    unlocked = True
    writes_log = False

    def __init__(self, parent: int) -> None:
        self.parent = parent

    def covers(self, scenario: Any) -> None:
        """Everything."""

    def simulate(self, scenario: Any, replication: int, seed: int, log: Any) -> Any:
        """As the compiled engine does."""
        if replication == 5 and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return sim.compiled_engine.simulate(scenario, replication, seed, log)


def test_a_local_worker_that_dies_costs_no_results(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sim.replicate.ENGINES, "compiled", _Mortal(os.getpid()))
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        results = sim.run(SCENARIO, executor=executor)
    monkeypatch.undo()
    assert results == sim.run(SCENARIO)
    assert "workers died" in caplog.text


GIVEN_UP = """
import time
from crawlsim.cli.workers import _local_workers, processes

if __name__ == "__main__":
    for _ in range(2):
        try:
            with WORKERS as pool:
                for _ in range(40):
                    pool.submit(bytes, 30_000_000)
                time.sleep(0.8)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("ended")
"""
"""Two processes that hardly do anything but write what they have made."""


@pytest.mark.by_day("served")
@pytest.mark.parametrize(
    "begun",
    [
        pytest.param("processes(2)", id="served"),
        pytest.param('_local_workers(2, ["simpy"])', id="replications"),
    ],
)
def test_workers_that_are_given_up_leave_nobody_waiting_for_half_a_result(
    begun: str, tmp_path: Path
) -> None:
    program = tmp_path / "given_up.py"
    program.write_text(GIVEN_UP.replace("WORKERS", begun))
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert (process.returncode, said.split()) == (0, [b"ended"] * 2)


def test_an_error_in_a_replication_is_not_taken_for_a_dead_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_arguments: Any) -> None:
        raise ArithmeticError("of its own")

    monkeypatch.setattr(sim.compiled_engine, "simulate", fails)
    with ThreadPoolExecutor(2) as executor, pytest.raises(ArithmeticError, match="of its own"):
        sim.run(SCENARIO, executor=executor)


def test_only_what_is_left_is_done_here_when_a_worker_dies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Breaking(ThreadPoolExecutor):
        """Does four pieces of work and is broken then."""

        taken = 0

        def submit(self, work: Any, /, *arguments: Any, **options: Any) -> Any:
            self.taken += 1
            if self.taken > 4:
                raise BrokenProcessPool("gone")
            return super().submit(work, *arguments, **options)

    seen: list[int] = []
    simulate = sim.compiled_engine.simulate

    def counting(scenario: Any, replication: int, *others: Any) -> Any:
        seen.append(replication)
        return simulate(scenario, replication, *others)

    monkeypatch.setattr(sim.compiled_engine, "simulate", counting)
    with Breaking(1) as executor:
        results = sim.run(SCENARIO, executor=executor)
    assert set(seen) == set(range(12))
    assert numbers(results) == numbers(sim.run(SCENARIO))


@pytest.mark.parametrize("lost", [CancelledError(), KilledWorker("task", None, ())])
def test_a_cluster_that_is_lost_costs_no_results(lost: Exception) -> None:
    class Lost(ThreadPoolExecutor):
        """Hands back nothing but its end."""

        def submit(self, work: Any, /, *arguments: Any, **options: Any) -> Any:  # noqa: ARG002
            future: Future[Any] = Future()
            future.set_exception(lost)
            return future

    with Lost(1) as executor:
        assert numbers(sim.run(SCENARIO, executor=executor)) == numbers(sim.run(SCENARIO))


class _Client:
    """A client whose workers have some versions."""

    def __init__(self, found: dict[str, str] | Exception) -> None:
        self.found = found

    def run(self, *_arguments: Any) -> dict[str, str]:
        """What each worker answers."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, "has no workers"),
        ({"tcp://a:1": version("crawlsim"), "tcp://b:1": "0.0.7"}, "tcp://b:1 has crawlsim 0.0.7"),
        (PackageNotFoundError("crawlsim"), "a worker there has no crawlsim"),
    ],
)
def test_workers_that_would_count_otherwise_are_refused(found: Any, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        _check_versions(_Client(found), "tcp://x:1")


@pytest.mark.by_day(besides=("flags2-cannot be reached", "flags3-does not go with --cluster"))
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--cluster", "tcp://127.0.0.1:1"], "cannot be reached"),
        (["--cluster", "nowhere"], "cannot be reached"),
        (["--cluster", "http://127.0.0.1:1"], "cannot be reached"),
        (["--cluster", "tcp://127.0.0.1:1", "--jobs", "2"], "does not go with --cluster"),
    ],
)
def test_a_cluster_that_is_not_there_is_refused(
    crawlsim: Commands,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    flags: list[str],
    says: str,
) -> None:
    monkeypatch.setattr("crawlsim.cli.workers._PATIENCE", 0.3)
    out = tmp_path / "out"
    code, text, err = crawlsim("run", "one-robot", *flags, "--out", str(out))
    assert (code, text) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) <= 3
    assert not out.exists()
