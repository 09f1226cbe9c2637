"""What the tests of the command line share."""

from __future__ import annotations

import os

# Before numpy is imported: each worker has one core, on which further threads would only spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import profiles
import pytest
from chromium import CHROMIUM, DRIVER
from hypothesis import is_hypothesis_test

from crawlsim.cli import main

profiles.register()

os.environ.setdefault("CRAWLSIM_COMPILE", "wait")
"""No test leaves a process behind that compiles."""

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

os.environ.pop("COLUMNS", None)
"""Set by pytest-xdist in its workers; tables would fold."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Where the suite runs in the background, whatever it starts would ignore interrupts, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


_collected: Counter[tuple[str, str]] = Counter()

_TESTS = Path(__file__).parent
_OF_KERNELS = {
    _TESTS / folder
    for folder in (
        "sim",
        "crawlsim/logs/fit",
        "analytic/indexing_queue",
        "analytic/page_refresh",
        "analytic/page_set",
        "analytic/pipeline",
        "analytic/probing",
        "analytic/robot_control",
        "analytic/routing",
        "analytic/transient",
    )
}
assert all(each.is_dir() for each in _OF_KERNELS), "the tests of some kernels have moved"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of kernels, and what is left to `make test-all`.

    That is what is compiled for itself, and what `by_day` leaves out.
    """
    if not _OF_KERNELS.isdisjoint(item.path.parents):
        item.add_marker(pytest.mark.kernels)
    if item.get_closest_marker("as_python") and os.environ.get("NUMBA_DISABLE_JIT") != "1":
        item.add_marker(pytest.mark.thorough)
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.nightly)  # each system may take half a minute
    if (mark := item.get_closest_marker("by_day")) is None:
        return
    assert isinstance(item, pytest.Function)
    function = (item.path.as_posix(), item.originalname)
    number = _collected[function]
    _collected[function] += 1
    name = item.callspec.id
    named = name in mark.args or not mark.args
    besides = mark.kwargs.get("besides", ())
    if not named or name in besides or number % mark.kwargs.get("every", 1):
        item.add_marker(pytest.mark.thorough)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In every other worker from the end: Python compiles each half of the files only once."""
    report = yield
    if isinstance(collector, pytest.Directory) and int(_WORKER.removeprefix("gw") or 0) % 2:
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All workers have the tests in one order."""
    if _WORKER:
        items.sort(key=lambda each: each.path)


def pytest_collection_finish() -> None:
    """What was collected stays: nobody has to look for garbage among it (4 % of the time)."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say how to get a browser where there is none; in CI, where there must be one, fail."""
    if item.get_closest_marker("browser") and not (CHROMIUM and DRIVER):
        how = "needs a browser: apt install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(how, pytrace=False)
        pytest.skip(how)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The address of the live page is kept for its user; that of a test is not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def crawlsim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line, called in this process: exit code, stdout, stderr.

    However long it takes, it says nothing while one waits. It never ends this process, whatever
    threads of other tests are left, such as those of a cluster.
    """
    monkeypatch.setattr("crawlsim.cli.streams.EVERY", 1e6)
    monkeypatch.setattr("crawlsim.cli.program._threads_are_left", lambda: False)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        written = capsys.readouterr()
        return int(stop.value.code or 0), written.out, written.err

    return call


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes and texts of several lines stand in a test's id as the name of the argument.

    What they hold may depend on the second in which it was made (gzip), and workers that collect
    in different seconds would then disagree about which tests there are.
    """
    unreadable = isinstance(val, bytes) or (isinstance(val, str) and not val.isprintable())
    return argname if unreadable else None
