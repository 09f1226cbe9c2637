"""What the tests of the command line share."""

from __future__ import annotations

from typing import Any

import pytest

from sim.cli import main


@pytest.fixture
def crawlsim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line, called in this process: exit code, stdout, stderr.

    However long it takes, it says nothing while one waits.
    """
    monkeypatch.setattr("sim.cli.waiting.EVERY", 1e6)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        written = capsys.readouterr()
        return int(stop.value.code or 0), written.out, written.err

    return call
