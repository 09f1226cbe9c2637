"""What the live page's server answers, asked in this process and without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
import tomli_w
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from analytic import resolve
from analytic.index.names import shown
from crawlsim.cli.tables import json_text
from crawlsim.explore import server
from crawlsim.explore.asking import Asked, Refused, asked_for
from crawlsim.explore.lesson import library
from crawlsim.explore.lesson_record import knob_records, lesson_record, settings_in_words
from crawlsim.explore.replay import csv_of
from crawlsim.explore.server import EndedError, Explorer, Guard, Memory, in_thread
from crawlsim.explore.theory import theory_of
from crawlsim.explore.world import Worlds
from crawlsim.report.words import number
from scenarios import ScenarioError
from scenarios.files import load
from sim.replicate import run

TOKEN = "a-token-of-24-characters"
LESSONS = {each.key: each for each in library()}
SHORT = (("set", "run.horizon=60"), ("set", "run.warmup=10"))
CONSTANT = ("set", "buffer.service={deterministic={value=1.0}}")


class Here(Executor):
    """Works at once in this process."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments, **named))
        return done


class Broken(Executor):
    """Its process has died."""

    def submit(self, *_: Any, **_named: Any) -> Future[Any]:
        raise BrokenProcessPool


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Page:
    """Asks the server as a page does."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.explorer = runner.run(self._explorer())
        refusals = {HTTPException: server._refuse, ScenarioError: server._refuse}
        app = Starlette(routes=self.explorer.routes(), exception_handlers=refusals)
        self.guard = Guard(app, TOKEN)

    async def _explorer(self) -> Explorer:
        return Explorer(Broken(), Here())

    def ask(
        self,
        path: str,
        *query: tuple[str, object],
        token: str = TOKEN,
        host: str = "127.0.0.1:8000",
        app: Callable[..., Awaitable[None]] | None = None,
    ) -> Answered:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": urlencode([("token", token), *query]).encode(),
            "headers": [(b"host", host.encode())],
            "server": ("127.0.0.1", 8000),
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        self.runner.run((app or self.guard)(scope, receive, send))
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        body = b"".join(each.get("body", b"") for each in sent[1:])
        return Answered(sent[0]["status"], headers, body)

    def json(self, path: str, *query: tuple[str, object]) -> Any:
        found = self.ask(path, *query)
        assert found.status == 200, found.body
        assert found.headers["content-type"] == "application/json"
        assert found.headers["cache-control"] == "no-store"
        return json.loads(found.body)


@pytest.fixture(name="page", scope="module")
def page_of_all_tests() -> Iterator[Page]:
    with asyncio.Runner() as runner:
        yield Page(runner)


def asked(*query: tuple[str, object]) -> Asked:
    return asked_for(LESSONS, QueryParams([(name, str(value)) for name, value in query]))


def as_json(document: object) -> Any:
    return json.loads(json_text(document))


# Who is answered


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("127.0.0.1", 200),
        ("LocalHost:1", 200),
        ("evil.example", 421),
        ("127.0.0.1:evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        (":80", 421),
        ("", 421),
    ],
)
def test_only_names_of_this_machine_are_answered(host: str, status: int, page: Page) -> None:
    found = page.ask("/api/lessons", host=host)
    assert found.status == status
    if status == 421:
        assert found.body == b"this server is for this machine only"
        assert page.ask("/page/main.js", host=host).status == 421


def test_without_the_token_only_parts_of_the_page_are_there(page: Page) -> None:
    for token in ("", TOKEN[:-1], TOKEN.upper()):
        lost = page.ask("/", token=token)
        assert (lost.status, lost.body) == (403, server._PAGE["lost.html"].read_bytes())
        refused = page.ask("/api/lessons", token=token)
        assert (refused.status, refused.body) == (403, b"the token is missing or wrong")
        assert page.ask("/page/main.js", token=token).status == 200
        assert page.ask("/favicon.ico", token=token).status == 204


@pytest.mark.parametrize(("token", "says"), [(TOKEN, True), ("wrong", False)])
def test_failures_are_described_to_those_who_have_the_token(
    token: str, says: bool, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    async def failing(*_: object) -> None:
        raise RuntimeError("of this program")

    with pytest.raises(RuntimeError, match="of this program"):
        page.ask("/page/x", token=token, app=Guard(failing, TOKEN))
    assert ("RuntimeError: of this program" in capsys.readouterr().err) == says


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("/", "index.html", "text/html; charset=utf-8"),
        ("/page/page.css", "page.css", "text/css; charset=utf-8"),
        ("/page/main.js", "main.js", "text/javascript; charset=utf-8"),
        ("/page/colours.css", "colours.css", "text/css; charset=utf-8"),
    ],
)
def test_parts_of_the_page_are_its_files(path: str, name: str, kind: str, page: Page) -> None:
    found = page.ask(path)
    assert (found.status, found.body) == (200, server._PAGE[name].read_bytes())
    assert found.headers["content-type"] == kind
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["content-security-policy"] == server._POLICY


def test_what_is_not_there_is_said(page: Page) -> None:
    none = page.ask("/page/server.py")
    assert (none.status, none.body) == (404, b"there is no such page")
    assert page.ask("/nowhere").status == 404
    assert page.ask("/favicon.ico")[::2] == (204, b"")


# What is answered


def test_lessons_are_those_of_the_library(page: Page) -> None:
    assert page.json("/api/lessons") == [
        {"key": each.key, "title": each.lesson.title, "measure": each.lesson.measure}
        for each in library()
    ]
    for query in ((), (CONSTANT,), (("lesson", "thresholds"), ("seed", 5))):
        assert page.json("/api/lesson", *query) == as_json(lesson_record(asked(*query)))


def test_both_sides_of_a_broken_assumption_are_told(page: Page) -> None:
    sides = asked(CONSTANT).sides
    found = page.json("/api/scenario", CONSTANT)
    assert found == {
        "simulated": as_json(sides.simulated.as_file()),
        "assumed": as_json(sides.assumed.as_file()),
        "broken": [each.record() for each in sides.broken],
        "knobs": as_json(list(knob_records(asked(CONSTANT)))),
    }
    assert found["simulated"] != found["assumed"]


def test_the_theory_is_that_of_the_assumed_side_unless_another_is_asked_for(page: Page) -> None:
    sides = asked(CONSTANT).sides
    for query, side in (
        ((), sides.assumed),
        ((("side", "assumed"),), sides.assumed),
        ((("side", "simulated"),), sides.simulated),
    ):
        found = page.json("/api/theory", CONSTANT, *query)
        assert found["predictions"] == as_json(theory_of(side).record["predictions"])
        assert found["formula"]["applies"] is True
    refused = page.ask("/api/theory", ("side", "other"))
    assert (refused.status, refused.body) == (400, b"side = other must be simulated or assumed")


def test_a_side_is_downloaded_with_the_replications_that_are_shown(page: Page) -> None:
    query = (CONSTANT, ("seed", 7), ("until", 30))
    for more, side in (((), "simulated"), ((("side", "assumed"),), "assumed")):
        found = page.ask("/api/export.toml", *query, *more)
        scenario = getattr(asked(*query).sides, side).with_("run.replications", 30)
        assert found.body.decode() == tomli_w.dumps(scenario.as_file())
        assert found.headers["content-disposition"] == (
            f'attachment; filename="{scenario.name}.toml"'
        )
        assert found.headers["cache-control"] == "no-store"


def test_a_world_is_the_part_that_is_asked_for(page: Page) -> None:
    scenario = asked(*SHORT).sides.simulated
    for query, part in (
        ((), (0, 0, 4000)),
        ((("replication", 1), ("from", 3), ("size", 2)), (1, 3, 2)),
    ):
        found = page.json("/api/world", *SHORT, *query)
        assert found == as_json(Worlds().part(scenario, *part))
    refused = page.ask("/api/world", ("size", 4001))
    assert (refused.status, refused.body) == (
        400,
        b"size = 4001 must be a whole number from 1 to 4000",
    )


def test_what_is_to_be_decided_is_decided_for_the_simulation(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the other process; and its length is what a page can wait for."""
    elsewhere: list[object] = []

    class Noted(Here):
        def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            elsewhere.append(arguments)
            return super().submit(work, *arguments, **named)

    monkeypatch.setattr(page.explorer, "solver", Noted())
    scenario = load("dbworld-optimal")
    found = page.runner.run(page.explorer._decided(scenario))
    assert found == resolve(scenario) != scenario
    one = load("one-robot")
    assert page.runner.run(page.explorer._decided(one)) == one
    assert elsewhere == [(scenario,)]
    refused = page.ask("/api/world", ("set", "run.horizon=1e15"))
    assert refused.status == 400
    assert refused.body.startswith(b"run.horizon = ")
    assert refused.body.endswith(b": choose a shorter one")


# What is seen


def events_of(body: bytes) -> list[dict[str, Any]]:
    *events, end, nothing = body.decode().split("\n\n")
    assert (end, nothing) == ("event: done\ndata: {}", "")
    return [json.loads(each.removeprefix("data: ")) for each in events]


def test_a_stream_has_an_event_after_each_replication(page: Page) -> None:
    """By the engine of this process, since the other one is broken."""
    found = page.ask("/api/stream", *SHORT, ("until", 4), ("every", 1))
    assert found.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert found.headers["cache-control"] == "no-store"
    events = events_of(found.body)
    assert [each["n"] for each in events] == [2, 3, 4]
    results = run(asked(*SHORT).sides.simulated, replications=4, engine="simpy")
    theory = theory_of(asked(*SHORT).sides.assumed).known
    for row in events[-1]["estimates"]:
        estimate = results.find(row["measure"], row["subject"])
        assert estimate is not None
        assert (row["estimate"], row["low"], row["high"]) == (
            estimate.estimate,
            estimate.low,
            estimate.high,
        )
        known = theory.get((row["measure"], row["subject"]))
        assert row["theory"] == (known and known.value)
    on = page.ask("/api/stream", *SHORT, ("until", 4), ("every", 1), ("after", 3))
    assert events_of(on.body) == events[2:]


def test_another_run_is_compared_on_the_same_random_numbers(page: Page) -> None:
    """Student's t of paired differences: both runs have the same streams."""
    more = ("other", "buffer.waiting_places=6")
    query = (*SHORT, ("until", 5), ("every", 1), ("after", 4))
    (event,) = events_of(page.ask("/api/stream", *query, more).body)
    own, other = event["estimates"][0], event["other"]["estimates"][0]
    given = asked(more)
    assert given.other is not None
    assert other["theory"] == theory_of(given.other.assumed).known["loss_probability", None].value
    found = event["difference"]
    assert found["estimate"] == other["estimate"] - own["estimate"]
    middle = (found["low"] + found["high"]) / 2
    assert middle == pytest.approx(found["estimate"])
    assert found["always_low"] is None or found["always_low"] < found["low"] < found["high"]


def test_the_table_has_the_lessons_own_row_after_each_and_all_in_the_end(page: Page) -> None:
    query = (*SHORT, ("until", 4))
    found = page.ask("/api/export.csv", *query)
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    name = asked().sides.simulated.name
    assert found.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    header, *lines = found.body.decode().splitlines()
    names = header.split(",")
    columns = "measure subject estimate low high always_low always_high theory verdict"
    assert names == ["replications", *columns.split()]
    events = events_of(page.ask("/api/stream", *query, ("every", 1)).body)
    rows = [(each["n"], each["estimates"][0]) for each in events]
    rows += [(4, row) for row in events[-1]["estimates"][1:]]
    assert len(lines) == len(rows) > 5
    for line, (n, row) in zip(lines, rows, strict=True):
        cells = dict(zip(names, line.split(","), strict=True))
        assert int(cells["replications"]) == n
        for each in names[1:]:
            assert cells[each] == ("" if row[each] is None else str(row[each])), each
    assert list(csv_of([])) == [f"{header}\n"]


@pytest.mark.parametrize("path", ["/api/export.csv", "/api/export.html"])
def test_without_a_number_of_replications_nothing_is_kept(path: str, page: Page) -> None:
    refused = page.ask(path)
    assert (refused.status, refused.body) == (
        400,
        b"until is missing: after how many replications?",
    )


def test_a_page_to_keep_says_what_is_exact_where_an_assumption_is_broken(page: Page) -> None:
    query = (*SHORT, ("until", 3))
    name = asked().sides.simulated.name
    broken = page.ask("/api/export.html", *query, CONSTANT)
    assert broken.headers["content-disposition"] == f'attachment; filename="{name}.html"'
    exact = theory_of(asked(CONSTANT).sides.simulated).exact(("loss_probability", None))
    assert exact is not None
    holds = f"{number(exact.value)}, by {shown(exact.source)}"
    assert holds in broken.body.decode()
    assert holds not in page.ask("/api/export.html", *query).body.decode()


def test_a_page_to_keep_has_what_was_seen_and_the_files_of_both_sides(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[Any, ...]] = []

    def noted(*given: Any) -> str:
        kept.append(given)
        return "a page"

    monkeypatch.setattr(server, "replay", noted)
    query = (*SHORT, CONSTANT, ("until", 3))
    assert page.ask("/api/export.html", *query).body == b"a page"
    ((lesson, formula, events, files, holds),) = kept
    given = asked(*query)
    assert lesson == lesson_record(given) | {"settings": settings_in_words(given)}
    assert formula["applies"] is True
    assert as_json(events) == events_of(page.ask("/api/stream", *query, ("every", 1)).body)
    assert files == {
        side: tomli_w.dumps(given.side(side).as_file()) for side in ("simulated", "assumed")
    }
    assert holds == theory_of(given.sides.simulated).exact(("loss_probability", None))


def test_the_last_event_waits_for_the_theory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes half a second later, and with it the verdict; earlier events do not wait."""
    monkeypatch.setattr(server, "_SOON", 0.001)

    class Late(Executor):
        def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            answers.append(lambda: future.set_result(work(*arguments, **named)))
            return future

    answers: list[Callable[[], None]] = []
    pauses: list[float] = []

    async def seen() -> list[Any]:
        explorer = Explorer(Broken(), Late())

        async def pause(seconds: float) -> None:
            pauses.append(seconds)
            while answers:
                answers.pop()()
            await asyncio.sleep(0.001)

        monkeypatch.setattr(explorer, "_pause", pause)
        query = asked(*SHORT, ("until", 3))
        return [each async for each in explorer.seen(query, await explorer.watched(query))]

    before, last = asyncio.run(seen())
    assert (before["n"], last["n"]) == (2, 3)
    assert before["estimates"][0]["theory"] is None
    assert before["estimates"][0]["verdict"] == "not yet"
    exact = theory_of(asked().sides.assumed).known["loss_probability", None].value
    assert last["estimates"][0]["theory"] == exact
    assert set(pauses) == {0.001}


def test_events_are_paced_unless_all_are_wanted_at_once(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def seen(*_: object) -> Any:
        for n in (2, 3, 4):
            yield {"n": n}

    monkeypatch.setattr(page.explorer, "_pause", pause)
    monkeypatch.setattr(page.explorer, "seen", seen)

    async def told(*query: tuple[str, object]) -> list[str]:
        return [each async for each in page.explorer.events(asked(*query), [])]

    expected = [f"data: {json_text({'n': n})}\n\n" for n in (2, 3, 4)]
    assert page.runner.run(told(("every", 1))) == [*expected, "event: done\ndata: {}\n\n"]
    assert pauses == []
    assert page.runner.run(told(("speed", 1))) == [*expected, "event: done\ndata: {}\n\n"]
    assert pauses == [pytest.approx(n, abs=0.9) for n in (1, 2, 3)]
    assert pauses == sorted(pauses)


def test_a_server_that_ends_ends_its_streams() -> None:
    """At once in a pause, and without the word that all was seen."""

    async def of_an_ended_one() -> list[str]:
        explorer = Explorer(Broken(), Here())
        explorer.ended.set()
        with pytest.raises(EndedError):
            await explorer._pause(60.0)
        with pytest.raises(EndedError):
            await explorer._beside(lambda: 1)
        query = asked(*SHORT, ("every", 1), ("until", 3))
        told = explorer.events(query, await explorer.watched(query))
        return [each async for each in told]

    assert asyncio.run(of_an_ended_one()) == []


def test_only_so_many_runs_are_watched_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_RUNS", 1)
    with asyncio.Runner() as runner:
        page = Page(runner)
        query = (*SHORT, ("until", 2), ("every", 1))
        run_of_another = page.explorer._run()
        runner.run(run_of_another.__aenter__())
        for path in ("/api/stream", "/api/export.csv"):
            refused = page.ask(path, *query)
            assert (refused.status, refused.body) == (
                503,
                b"1 runs are watched already: close another page",
            )
        runner.run(run_of_another.__aexit__(None, None, None))
        assert page.ask("/api/stream", *query).status == 200


# How it works


def test_what_was_not_used_longest_is_forgotten() -> None:
    made: list[str] = []
    memory = Memory(2)

    def get(key: str) -> str:
        return str(memory.get(key, lambda: made.append(key) or key.upper()))

    assert [get(key) for key in "abacab"] == ["A", "B", "A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_where_the_other_process_has_died_this_one_works() -> None:
    scenario = asked().sides.assumed

    async def found() -> float:
        explorer = Explorer(Broken(), Broken())
        theory = await explorer.theory_task(scenario)
        assert explorer.theory_task(scenario) is explorer.theory_task(scenario)
        return theory.known["loss_probability", None].value

    expected = theory_of(scenario).known["loss_probability", None].value
    assert asyncio.run(found()) == expected


def test_what_fails_in_a_thread_fails_here() -> None:
    async def caught(error: BaseException) -> str:
        def fail() -> None:
            raise error

        try:
            await in_thread(fail)
        except (Exception, asyncio.CancelledError) as same:
            return type(same).__name__
        return ""

    assert asyncio.run(caught(KeyError("x"))) == "KeyError"
    assert asyncio.run(caught(asyncio.CancelledError())) == "CancelledError"


# What is asked for


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ((("set", "run.seed"),), "set = run.seed must be KEY=VALUE"),
        ((("set", " =3"),), "set =  =3 must be KEY=VALUE"),
        ((("other", "x"),), "other = x must be KEY=VALUE"),
        ((("set", "a=1"), ("set", " a =2")), "set: a is set twice"),
        ((("seed", "-1"),), f"seed = -1 must be a whole number from 0 to {2**128 - 1}"),
        ((("until", "1"),), "until = 1 must be a whole number from 2 to 100000"),
        ((("until", "100001"),), "until = 100001 must be a whole number from 2 to 100000"),
        ((("until", "٣"),), "until = ٣ must be a whole number from 2 to 100000"),
        ((("after", "0"),), "after = 0 must be a whole number from 1 to 100000"),
        ((("speed", "1001"),), "speed = 1001 must be a whole number from 1 to 1000"),
        ((("speed", "0001"),), None),
        ((("speed", "00001"),), "speed = 00001 must be a whole number from 1 to 1000"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_a_sentence(
    query: tuple[tuple[str, str], ...], sentence: str | None
) -> None:
    if sentence is None:
        assert asked(*query).speed == 1.0
        return
    with pytest.raises(Refused) as error:
        asked(*query)
    assert (error.value.status_code, error.value.detail) == (400, sentence)


def test_a_change_that_no_scenario_takes_is_refused_in_one_line() -> None:
    with pytest.raises(Refused) as error:
        asked(("set", "buffer.waiting_places=-1"))
    with pytest.raises(ScenarioError) as same:
        asked().sides.simulated.with_("buffer.waiting_places", -1)
    assert error.value.detail == "set: " + str(same.value).replace("\n", " ")
    with pytest.raises(Refused) as error:
        asked(("lesson", "one-queu"))
    assert error.value.detail.startswith("lesson = one-queu must be ")
    assert "one-queue" in error.value.detail


def test_what_is_asked_for_without_anything_is_the_first_lesson() -> None:
    first = library()[0]
    found = asked()
    assert found.opened is LESSONS[first.key]
    assert (found.until, found.after, found.every, found.other) == (None, 1, False, None)
    assert found.speed == first.lesson.speed
    assert found.sides.simulated.run.seed == first.scenario.run.seed
    with_all = asked(("until", 2), ("speed", 1000), ("every", "1"), ("seed", 0))
    assert (with_all.until, with_all.speed, with_all.every) == (2, 1000.0, True)
    assert with_all.sides.simulated.run.seed == 0
    assert not asked(("every", "0")).every


def test_the_other_run_has_further_changes_and_a_file_names_its_seed() -> None:
    found = asked(("set", "buffer.waiting_places=3"), ("other", "buffer.waiting_places=6"))
    assert found.other is not None
    places = [
        each.as_file()["buffer"]["waiting_places"]
        for each in (
            found.sides.simulated,
            found.sides.assumed,
            found.other.simulated,
            found.other.assumed,
        )
    ]
    assert places == [3, 3, 6, 6]
    assert found.sides.simulated.as_file()["run"]["seed"] == library()[0].scenario.run.seed
