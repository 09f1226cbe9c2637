"""The server as a page meets it: a process of its own, asked over HTTP."""

import json
import math
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import tomli_w
from served import START, Query, Server

from crawlsim.api import run, solve
from crawlsim.cli import explore as explore_command
from crawlsim.explore import server as page
from crawlsim.explore.lesson import library

KEYS = ["one-queue", "break-exponential", "more-robots", "thresholds", "golden-ratio"]
CONSTANT = ("set", "buffer.service={deterministic={value=1.0}}")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    assert one.end() == ""


@pytest.mark.parametrize("path", ["/", "/api/lessons", "/api/stream", "/api/world"])
def test_nobody_else_is_answered(server: Server, path: str) -> None:
    assert server.status(path) == 200
    assert server.status(path, token="wrong") == 403
    assert server.status(path, Host="evil.example") == 421
    assert server.status(path, Host="127.0.0.1.evil.example") == 421
    assert server.status(path, Host=f"localhost:{server.port}") == 200


def test_no_other_machine_is_heard(server: Server) -> None:
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", server.port)) != 0


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /page/" + b"a" * 300, 404),
        (b"GET /page/%00", 404),
        (b"GET /page/%ff", 404),
        (b"GET /page/..%2fserver.py", 404),
        (b"GET /page/\xff", 400),
        (b"GET http://[::1/page", 404),
        (b"nonsense", 400),
        (b"POST /page/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: 127.0.0.1\r\n\r\nzz", None),
    ],
)
def test_a_stranger_writes_nothing_to_the_terminal(
    server: Server, line: bytes, status: int | None
) -> None:
    """What the server has to say is looked at when it ends."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stranger:
        stranger.sendall(line + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = stranger.recv(100)
    assert status is None or answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "query",
    [
        ("lesson", "no-such"),
        ("set", "nonsense"),
        ("set", "buffer.waiting_places=-1"),
        ("seed", "-1"),
        ("seed", "1.5"),
        ("until", "1"),
        ("until", "many"),
        ("set", "run.horizon=1e15"),
        ("set", "robots.access_time={exponential={mean=1e-90}}"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(server: Server, query: Query) -> None:
    with server.asked("/api/stream", [query]) as answer:
        assert answer.status == 400
        text = answer.read().decode()
    assert query[0] in text or "mean" in text or "horizon" in text
    assert "\n" not in text
    assert server.status("/api/lessons") == 200


@pytest.mark.parametrize(
    "query",
    [
        ("replication", "-1"),
        ("from", "1e3"),
        ("size", "0"),
        ("size", "4001"),
        ("set", "run.horizon=1e15"),
        ("set", "robots=3"),
    ],
)
def test_a_world_that_cannot_be_had_is_refused_in_one_line(server: Server, query: Query) -> None:
    with server.asked("/api/world", [query]) as answer:
        assert answer.status == 400
        text = answer.read().decode()
    assert query[0] in text or "horizon" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "path",
    ["/", "/page/main.js", "/page/none", "/nowhere", "/favicon.ico", "/api/lesson", "/api/stream"],
)
def test_every_answer_is_what_it_says_and_for_this_page_only(server: Server, path: str) -> None:
    for token in (None, "wrong"):
        with server.asked(path, token=token) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.thorough
def test_sixteen_runs_at_once_and_the_next_one_is_told(server: Server) -> None:
    with ExitStack() as open_ones:
        for seed in range(16):
            run = open_ones.enter_context(server.asked("/api/stream", [("seed", seed)]))
            assert run.status == 200
            run.readline()
        for path in ("/api/stream", "/api/export.csv"):
            with server.asked(path, [("seed", 16), ("until", 2)]) as refused:
                assert refused.status == 503
                assert refused.read() == b"16 runs are watched already: close another page"
        assert server.status("/api/lessons") == 200
    deadline = time.monotonic() + 20
    while server.status("/api/stream") != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_world_goes_on_where_it_was(server: Server) -> None:
    query = [CONSTANT, ("seed", 7)]
    first = server.json("/api/world", *query, ("size", 100))
    then = server.json("/api/world", *query, ("size", 100), ("from", 100))
    both = server.json("/api/world", *query, ("size", 200))
    assert first["setup"]["buffer"] == {"places": 5, "indexers": 1, "patience": False}
    assert first["events"] + then["events"] == both["events"]


def test_the_lessons(server: Server) -> None:
    lessons = server.json("/api/lessons")
    assert [each["key"] for each in lessons][: len(KEYS)] == KEYS
    assert [each["key"] for each in lessons] == [each.key for each in library()]
    for each in lessons:
        lesson = server.json("/api/lesson", ("lesson", each["key"]))
        assert lesson["question"].endswith("?")
        assert lesson["formula"]["mathml"].startswith("<math")
        assert all(each["kept"] for each in lesson["assumptions"])
        theory = server.json("/api/theory", ("lesson", each["key"]))
        sources = {p["source"] for p in theory["predictions"] if p["measure"] == each["measure"]}
        assert lesson["formula"]["source"] in sources


def test_a_law_breaks_its_assumption(server: Server) -> None:
    sides = server.json("/api/scenario", CONSTANT)
    assert sides["assumed"]["buffer"]["service"] == {"exponential": {"mean": 1.0}}
    assert sides["simulated"]["buffer"]["service"] == {"deterministic": {"value": 1.0}}
    (broken,) = sides["broken"]
    assert broken["key"] == "buffer.service"
    lesson = server.json("/api/lesson", CONSTANT)
    assert [each["key"] for each in lesson["assumptions"] if not each["kept"]] == ["buffer.service"]


def test_numbers_are_put_into_the_formula(server: Server) -> None:
    theory = server.json("/api/theory", ("set", "buffer.waiting_places=3"))
    assert re.search("<mn>0.9</mn>.*<mn>4</mn>.*<mn>0.16", theory["formula"]["mathml_numbers"])
    other = server.json("/api/theory", ("set", "buffer.obsolescence={erlang={shape=2,mean=1.0}}"))
    assert other["formula"]["applies"]  # the assumed side is what it was


def test_the_stream_says_what_run_and_solve_say_of_the_exported_files(
    server: Server, tmp_path: Path
) -> None:
    query = [CONSTANT, ("seed", 7), ("until", 30)]
    events = server.events(*query)
    assert [each["n"] for each in events] == list(range(2, 31))
    assert events[0]["estimates"][0]["measure"] == "loss_probability"
    assert events[0]["estimates"][0]["always_low"] is None
    last = events[-1]
    assert last["broken"][0]["key"] == "buffer.service"
    files = {}
    for side in ("simulated", "assumed"):
        text = server.text("/api/export.toml", *query, ("side", side))
        files[side] = tmp_path / f"{side}.toml"
        files[side].write_text(text)
        settings = tomllib.loads(text)["run"]
        assert (settings["seed"], settings["replications"]) == (7, 30)
    results = run(files["simulated"])
    exact = {}
    for prediction in solve(files["assumed"]).predictions:
        exact.setdefault((prediction.measure, prediction.subject), prediction.value)
    for row in last["estimates"]:
        estimate = results.find(row["measure"], row["subject"])
        assert estimate is not None
        assert row["estimate"] == estimate.estimate
        assert (row["low"], row["high"]) == (estimate.low, estimate.high)
        assert row["always_low"] <= row["low"] <= row["high"] <= row["always_high"]
        assert row["theory"] == exact[row["measure"], row["subject"]]
    assert last["estimates"][0]["verdict"] == "disagrees"


def test_a_stream_goes_on_where_the_page_was(server: Server) -> None:
    whole = server.events(("until", 20), ("seed", 3))
    assert server.events(("until", 20), ("seed", 3), ("after", 12)) == whole[11:]


def test_two_systems_are_compared_on_the_same_random_numbers(server: Server) -> None:
    (last,) = server.events(("until", 20), ("after", 19), ("other", "buffer.waiting_places=6"))
    own, other = last["estimates"][0], last["other"]["estimates"][0]
    assert last["difference"]["estimate"] == other["estimate"] - own["estimate"]
    widths = [each["high"] - each["low"] for each in (last["difference"], own, other)]
    assert widths[0] < 0.8 * math.hypot(*widths[1:])


def test_the_estimates_as_a_table(server: Server) -> None:
    lines = server.text("/api/export.csv", ("until", 5)).splitlines()
    assert [line.split(",")[:2] for line in lines[1:5]] == [
        [str(n), "loss_probability"] for n in (2, 3, 4, 5)
    ]
    assert len(lines) > 20


def test_a_page_that_replays_without_a_server(server: Server) -> None:
    page = server.text("/api/export.html", CONSTANT, ("until", 12))
    assert "http" not in page.replace('http-equiv="', "").replace("http://www.w3.org/", "")
    assert "deterministic (value 1)" in page
    assert "<math" in page
    (played,) = re.findall("const seen = (.*);", page)
    seen = json.loads(played)
    assert seen["n"] == list(range(2, 13))
    assert len(seen["always_high"]) == len(seen["verdict"]) == 11


@pytest.mark.thorough
def test_an_interrupt_ends_it_while_a_page_watches_and_the_port_is_free_again() -> None:
    server = Server()
    with server.asked("/api/stream") as stream:
        assert stream.readline().startswith(b"data: ")
        assert server.end() == ""
    again = Server("--port", str(server.port))
    taken = subprocess.run(
        [sys.executable, *START, "--port", str(again.port)], capture_output=True, text=True
    )
    assert taken.returncode == 2
    assert taken.stderr.count("\n") == 1
    assert str(again.port) in taken.stderr
    assert again.end() == ""


@pytest.mark.thorough
def test_a_replication_that_takes_long_holds_nothing_up_in_the_end() -> None:
    server = Server()
    with closing(HTTPConnection("127.0.0.1", server.port)) as connection:
        query = urlencode({"token": server.token, "set": "run.horizon=1e6"})
        connection.request("GET", f"/api/stream?{query}")
        time.sleep(1.0)
        assert server.end() == ""


def test_its_processes_do_not_outlive_it() -> None:
    server = Server()
    server.events(("until", 2))
    children = descendants(server.process.pid)
    assert len(children) >= 2
    server.process.kill()
    server.process.communicate()
    end = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.1)


def descendants(process: int) -> list[str]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], stdout=subprocess.PIPE)
    return found.stdout.decode().split()


def test_without_its_extra_it_says_how_to_get_it() -> None:
    code = f"import sys; sys.modules['starlette'] = None; {START[1]}"
    done = subprocess.run([sys.executable, "-c", code, "explore"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "crawlsim: explore needs: pip install 'crawlsim[explore]'\n"


@pytest.mark.thorough
def test_a_lesson_of_ones_own_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    lesson = {"title": "Mine", "question": "How many?", "measure": "mean_in_system"}
    own.write_text(tomli_w.dumps(lesson | {"scenario": "one-robot"}))
    server = Server(str(own))
    assert server.json("/api/lessons")[0] == {
        "key": "mine",
        "title": "Mine",
        "measure": "mean_in_system",
    }
    server.end()


def test_the_formula_of_what_is_simulated_can_be_asked_for(server: Server) -> None:
    broken = (("lesson", "break-exponential"), CONSTANT)
    found = [
        next(
            row["value"]
            for row in server.json("/api/theory", *broken, ("side", side))["predictions"]
            if row["measure"] == "loss_probability"
        )
        for side in ("assumed", "simulated")
    ]
    assert found == pytest.approx([0.10186655973484, 0.04720330594], rel=1e-9)


def test_port_and_token_are_those_of_last_time(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[socket.socket] = []
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(explore_command, "processes", lambda _: nullcontext())
    monkeypatch.setattr(page, "serve", lambda listener, *_: held.append(listener.dup()))

    def port_and_token(*arguments: str) -> list[str]:
        code, out, _ = crawlsim("explore", "--no-browser", *arguments)
        assert code == 0
        return list(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S{16,})\n", out).groups())

    first = port_and_token()
    held.pop().close()
    kept = tmp_path / "crawlsim/explore.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert port_and_token() == first
    port, token = port_and_token("--token", "seminar_2026-autumn")
    assert port != first[0]
    assert json.loads(kept.read_text())["port"] == int(first[0])
    assert token == "seminar_2026-autumn"
    for each in held:
        each.close()
    kept.write_text("{")
    assert explore_command._last_time() == (0, None)


def test_a_token_that_could_be_guessed_is_refused(crawlsim: Any) -> None:
    code, out, err = crawlsim("explore", "--no-browser", "--token", "short")
    assert (code, out) == (2, "")
    assert "--token" in err
    assert "16 to 64 letters" in err
