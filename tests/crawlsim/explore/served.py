"""The live page's server, in a process of its own, as tests ask it."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlencode

import pytest

START = ["-c", "from crawlsim.cli import main; main()", "explore", "--no-browser"]

Query = tuple[str, object]


class Server:
    """One that runs.

    Attributes
    ----------
    process : Popen
    port : int
    token : str
    """

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *START, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S{16,})\n", line)
        assert found, line
        self.port, self.token = int(found[1]), found[2]

    @contextmanager
    def asked(
        self, path: str, query: Sequence[Query] = (), token: str | None = None, **headers: str
    ) -> Iterator[HTTPResponse]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            given = [("token", token or self.token), *query]
            connection.request("GET", f"{path}?{urlencode(given)}", headers=headers)
            with connection.getresponse() as answer:
                yield answer

    def status(self, path: str, token: str | None = None, **headers: str) -> int:
        with self.asked(path, (), token, **headers) as answer:
            return answer.status

    def text(self, path: str, *query: Query) -> str:
        with self.asked(path, query) as answer:
            text = answer.read().decode()
            assert answer.status == 200, text
            return text

    def json(self, path: str, *query: Query) -> Any:
        return json.loads(self.text(path, *query), parse_constant=pytest.fail)

    def events(self, *query: Query) -> list[dict[str, Any]]:
        text = self.text("/api/stream", ("every", 1), *query)
        *events, end = text.removesuffix("\n\n").split("\n\n")
        assert end.startswith("event: done\n")
        return [json.loads(each.removeprefix("data: ")) for each in events]

    def end(self) -> str:
        """Interrupt it; what it had to say."""
        self.process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        try:
            _, said = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert time.monotonic() - begun < 5
        assert self.process.returncode in (0, 130)
        return said
