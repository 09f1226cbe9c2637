"""Chromium by its own protocol: what a page shows, says and asks for."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from websocket import create_connection

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
_SECONDS = 60.0
_TRANSITIONS_OVER = """
Promise.allSettled(document.getAnimations().filter(each => each instanceof CSSTransition)
  .map(each => each.finished)).then(() => null)
"""


class Browser:
    """A browser with one page.

    Parameters
    ----------
    program : str
    profile : Path
        An empty folder.
    """

    def __init__(self, program: str, profile: Path) -> None:
        words = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port, path = self._where(profile / "DevToolsActivePort")
        self._socket = create_connection(
            f"ws://127.0.0.1:{port}{path}", suppress_origin=True, timeout=_SECONDS
        )
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in pages if each["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _where(self, file: Path) -> list[str]:
        end = time.monotonic() + _SECONDS
        while not file.exists() or len(file.read_text().split()) < 2:
            assert time.monotonic() < end
            assert self._process.poll() is None
            time.sleep(0.05)
        return file.read_text().split()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a call; events that come meanwhile are kept."""
        self._count += 1
        call = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        self._socket.send(json.dumps(call))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._count:
                assert "error" not in message, message
                return dict(message["result"])
            self.events.append(message)

    def open(self, address: str) -> None:
        """Open a page, and wait until it is there, its colours too; events are those since then."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(json.loads(self._socket.recv()))
        self.value(_TRANSITIONS_OVER)

    def value(self, expression: str) -> Any:
        """The value of an expression, once it has one."""
        how = {"returnByValue": True, "awaitPromise": True}
        answer = self.send("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def resize(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """The size of the window, and what the reader likes: light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    @property
    def said(self) -> list[str]:
        """Errors and warnings since the page was opened."""
        told = []
        for each in self.events:
            about = each.get("params", {})
            if each.get("method") == "Runtime.exceptionThrown":
                told.append(str(about["exceptionDetails"]))
            if each.get("method") == "Runtime.consoleAPICalled" and about["type"] in (
                "error",
                "warning",
            ):
                told.append(str([one.get("value") for one in about["args"]]))
            if each.get("method") == "Log.entryAdded" and about["entry"]["level"] in (
                "error",
                "warning",
            ):
                told.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        return told

    @property
    def asked_for(self) -> list[str]:
        """What was requested since the page was opened."""
        sent = [each for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [str(each["params"]["request"]["url"]) for each in sent]

    def picture(self) -> bytes:
        """What is seen, as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=_SECONDS)
