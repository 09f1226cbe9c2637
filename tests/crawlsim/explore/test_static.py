"""Replays of lessons in a folder, without a server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crawlsim.cli import streams
from crawlsim.explore import static
from crawlsim.explore.lesson import Knob, Opened, library
from crawlsim.explore.server import Explorer
from scenarios import ScenarioError


def test_a_lesson_is_replayed_as_it_is_and_with_each_knob_turned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(static, "REPLICATIONS", 3)
    monkeypatch.setattr(static, "SEEDS", 1)
    (lesson,) = [each for each in library() if each.key == "break-exponential"]
    changed = {"knobs": lesson.lesson.knobs[:2], "text": "A *mean* of `a*b*c` & <b>more</b>."}
    lesson = Opened(lesson.key, lesson.lesson.model_copy(update=changed))

    async def made() -> list[static.Replay]:
        with ThreadPoolExecutor(1) as one:
            explorer = Explorer(one, one)
            explorer.lessons = {lesson.key: lesson}
            return [each async for each in static.replays(explorer)]

    pages = asyncio.run(made())
    assert [each.setting for each in pages] == [
        "",
        "law of the indexing times: constant",
        "law of the indexing times: gamma, less variable",
        "law of the indexing times: gamma, more variable",
        "law of the indexing times: lognormal",
        "pages per minute: 0.55",
        "pages per minute: 1.5",
    ]
    assert len({each.name for each in pages}) == len(pages)
    said = "A <em>mean</em> of <code>a*b*c</code> &amp; &lt;b&gt;more&lt;/b&gt;."
    assert all(said in each.text for each in pages)
    assert "deterministic (value 1)" in pages[1].text
    assert "pages per minute: 0.55" in pages[5].text
    # What holds is said where an assumption is broken, and only there.
    assert "The formula that holds for what is simulated" not in pages[0].text
    told = "The formula that holds for what is simulated: 0.047"
    assert re.search(rf"{told}\d+, by BMAP/G/1/K\+M \(Courtois 1971", pages[1].text)
    index = static.index_of(pages)
    assert re.findall(r'href="([^#"]+)#begin"', index) == [each.name for each in pages]
    assert "law of the indexing times: constant" in index
    assert lesson.lesson.question in index


def test_what_cannot_be_simulated_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (lesson,) = [each for each in library() if each.key == "break-exponential"]
    lesson = Opened(lesson.key, lesson.lesson.model_copy(update={"knobs": lesson.lesson.knobs[:1]}))

    async def refused(*_: Any) -> str:
        raise ScenarioError("run.horizon", 7, "takes too long")

    monkeypatch.setattr(Explorer, "replay_of", refused)

    async def made() -> list[static.Replay]:
        with ThreadPoolExecutor(1) as one:
            explorer = Explorer(one, one)
            explorer.lessons = {lesson.key: lesson}
            return [each async for each in static.replays(explorer)]

    pages = asyncio.run(made())
    assert {each.name for each in pages} == {""}
    assert static.index_of(pages).count("not simulated: run.horizon = 7") == len(pages) == 5


@pytest.mark.parametrize("option", ["--port=8000", "--token=0123456789abcdef"])
def test_what_only_a_server_has_is_refused(crawlsim: Any, tmp_path: Path, option: str) -> None:
    code, _, err = crawlsim("explore", "--static", str(tmp_path / "new"), option)
    assert (code, err.startswith(f"crawlsim: {option.partition('=')[0]}")) == (2, True)
    assert "does not go with --static" in err
    assert not (tmp_path / "new").exists()


def test_a_range_of_whole_numbers_is_turned_to_whole_numbers() -> None:
    robots = Knob(key="robots.available", label="robots", min=1, max=10, step=1)
    assert list(static._positions(robots)) == [("3", 3), ("8", 8)]


def test_the_command_writes_nothing_over_what_is_not_ours(tmp_path: Path, crawlsim: Any) -> None:
    (tmp_path / "index.html").write_text("mine")
    code, out, err = crawlsim("explore", "--static", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith("crawlsim: --static")
    assert "index.html there was not written by crawlsim" in err
    assert (tmp_path / "index.html").read_text() == "mine"


def test_the_command_says_how_far_it_is(
    tmp_path: Path, crawlsim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes minutes, and writes its files at the end."""

    async def slowly(explorer: Explorer) -> AsyncIterator[static.Replay]:
        for seed in (1, 2, 3):
            (opened,) = [each for each in explorer.lessons.values() if each.key == "one-queue"]
            yield static.Replay(opened, "", seed, f"{seed}.html", "<p>")
            await asyncio.sleep(0.2)
        yield static.Replay(opened, "faster", 4, "", "", refusal="too many pages")

    monkeypatch.setattr(static, "replays", slowly)
    monkeypatch.setattr(streams, "EVERY", 0.05)
    code, _, err = crawlsim("explore", "--static", str(tmp_path / "new"))
    assert code == 0
    in_all = static.at_most(Explorer(None, None))
    assert f"new: 2 of {in_all} replays, about" in err
    assert "one-queue, faster: too many pages" in err
    replays = {f"{seed}.html" for seed in (1, 2, 3)}
    assert {each.name for each in (tmp_path / "new").iterdir()} == {
        *replays,
        *("index.html", "provenance.json"),
    }
    runs = json.loads((tmp_path / "new/provenance.json").read_text())["runs"]
    assert [each["seed"] for each in runs] == [1, 2, 3]
