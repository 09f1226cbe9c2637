"""The pages that commands write, as a program for the blind reads them: axe finds nothing."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
pytest.importorskip("websocket")
pytest.importorskip("axe_core_python")

from browser import Browser  # noqa: E402  # needs websocket

SHORT = ("--set", "run.horizon=300.0", "--set", "run.warmup=10.0", "--replications", "2")
PAGES = {
    "check": ("check", "one-robot", *SHORT, "--out", "out"),
    "sweep": ("sweep", "one-robot", *SHORT, "--vary", "buffer.waiting_places=1,2", "--out", "out"),
    "maps": (
        "sweep",
        "four-robots-one-threshold",
        *SHORT,
        *("--vary", "buffer.waiting_places=1,2", "--vary", "buffer.service.exponential.rate=1,2"),
        *("--out", "out"),
    ),
    "optimize": (
        "optimize",
        "optimal-thresholds",
        "--target",
        "threshold",
        "--report",
        "page.html",
    ),
}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_found_on_a_page_of_a_command(
    name: str,
    width: int,
    scheme: str,
    crawlsim: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    crawlsim(*PAGES[name])
    (page,) = [*tmp_path.glob("page.html"), *tmp_path.glob("out/report.html")]
    assert CHROMIUM is not None
    profile = tmp_path / "profile"
    profile.mkdir()
    browser = Browser(CHROMIUM, profile)
    try:
        browser.resize(width, scheme=scheme)
        browser.open(page.as_uri())
        paper = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
        axe = (resources.files("axe_core_python") / "axe.min.js").read_text()
        browser.value(f"{axe}; 1")
        found = browser.value(
            "axe.run().then(seen => JSON.stringify(seen.violations.map(each => each.id)))"
        )
        assert json.loads(found) == []
        browser.value("document.querySelector('main').remove()")
        assert browser.value("axe.run().then(seen => seen.violations.length)") > 0
    finally:
        browser.close()
