"""What the tests of the command line share."""

from __future__ import annotations

import os
import signal
from typing import Any

import profiles
import pytest

from crawlsim.cli import main

profiles.register()

os.environ.setdefault("CRAWLSIM_COMPILE", "wait")
"""No test leaves a process behind that compiles."""

os.environ.pop("COLUMNS", None)
"""Set by pytest-xdist in its workers; tables would fold."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Where the suite runs in the background, whatever it starts would ignore interrupts, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
