"""The server of the live page: who may ask, what is asked for, and what is answered."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from functools import partial
from importlib import resources
from mimetypes import guess_type
from typing import Any, TypeVar

import anyio.to_thread
import tomli_w
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from analytic import resolve
from crawlsim.cli.output import json_text
from crawlsim.explore.lesson import Opened, library
from crawlsim.explore.live import LEVEL, Look, Run
from crawlsim.explore.sides import Sides, sides_of, value_at
from crawlsim.explore.theory import Theory, theory_of
from scenarios import Scenario, ScenarioError
from scenarios.base import one_of
from scenarios.files import parse_value, value_text
from scenarios.measures import MEASURES

Answer = TypeVar("Answer")

_PAGE = resources.files("crawlsim.explore") / "page"
_KEPT = 4
"""Runs that are remembered, for pages that pause and play on."""

_SPEED = 20.0
"""Replications a second, unless asked otherwise."""

_MOST = 100_000
"""Replications that can be asked for."""

_HOSTS = ("127.0.0.1", "localhost")


class Refused(HTTPException):
    """A request that is refused, with one sentence."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(status, sentence)


@dataclass(frozen=True)
class Asked:
    """What the query of a request asks for."""

    opened: Opened
    sides: Sides
    until: int | None
    after: int
    speed: float
    every: bool


class Memory:
    """What was computed lately, the least recently used forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is known under a key, or made now."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return self._known[key]


class Explorer:
    """The answers to all requests.

    Parameters
    ----------
    executor : Executor
        Processes for what would hold this one up.
    first : Opened, optional
        The lesson or scenario that was asked for on the command line.
    """

    def __init__(self, executor: Executor, first: Opened | None = None) -> None:
        self.executor = executor
        given = () if first is None else (first,)
        self.lessons = {each.key: each for each in (*given, *library())}
        self.ended = asyncio.Event()
        self._runs = Memory(_KEPT)
        self._theories = Memory(64)

    def routes(self) -> list[Route]:
        """The addresses and what answers them."""
        answers = {
            "/": self.index,
            "/page/{name}": self.page,
            "/favicon.ico": self.no_icon,
            "/api/lessons": self.list_lessons,
            "/api/lesson": self.lesson,
            "/api/scenario": self.scenario,
            "/api/theory": self.theory,
            "/api/stream": self.stream,
            "/api/export.toml": self.export_toml,
        }
        return [Route(path, answer) for path, answer in answers.items()]

    async def index(self, _: Request) -> Response:
        """The page."""
        return _file("index.html")

    async def page(self, request: Request) -> Response:
        """A part of the page."""
        return _file(request.path_params["name"])

    async def no_icon(self, _: Request) -> Response:
        """There is none."""
        return Response(status_code=204)

    async def list_lessons(self, _: Request) -> Response:
        """All lessons."""
        lessons = [
            {"key": key, "title": each.lesson.title, "measure": each.lesson.measure}
            for key, each in self.lessons.items()
        ]
        return _json(lessons)

    async def lesson(self, request: Request) -> Response:
        """What the page says of a lesson."""
        asked = await in_thread(self.asked, request.query_params)
        return _json(lesson_record(asked))

    async def scenario(self, request: Request) -> Response:
        """Both sides, where they differ, and the knobs."""
        asked = await in_thread(self.asked, request.query_params)
        sides = asked.sides
        return _json(
            {
                "simulated": sides.simulated.as_file(),
                "assumed": sides.assumed.as_file(),
                "differs": [each.record() for each in sides.differs],
                "knobs": list(knob_records(asked)),
            }
        )

    async def theory(self, request: Request) -> Response:
        """What the formulas say of the assumed side, as `crawlsim solve --json`."""
        asked = await in_thread(self.asked, request.query_params)
        theory = await asyncio.shield(self.theory_of(asked.sides.assumed))
        return _json(theory.record)

    async def stream(self, request: Request) -> Response:
        """The estimates, event by event."""
        asked = await in_thread(self.asked, request.query_params)
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(
            self.events(asked), media_type="text/event-stream", headers=headers
        )

    async def export_toml(self, request: Request) -> Response:
        """A side as a scenario file with the number of replications that is shown."""
        asked = await in_thread(self.asked, request.query_params)
        side = request.query_params.get("side", "simulated")
        if side not in ("simulated", "assumed"):
            raise Refused(f"side = {side!r} must be simulated or assumed")
        scenario: Scenario = getattr(asked.sides, side)
        if asked.until is not None:
            scenario = scenario.with_("run.replications", asked.until)
        headers = {"Content-Disposition": f'attachment; filename="{scenario.name}.toml"'}
        text = tomli_w.dumps(scenario.as_file())
        return Response(text, media_type="application/toml", headers=headers)

    def asked(self, query: QueryParams) -> Asked:
        """What a query asks for.

        Raises
        ------
        Refused
            If it cannot be had.
        """
        first = next(iter(self.lessons))
        key = query.get("lesson", first)
        if key not in self.lessons:
            raise Refused(f"lesson = {key} must be {one_of(key, self.lessons)}")
        changes = dict(_changes(query.getlist("set")))
        opened = self.lessons[key]
        seed = _whole(query, "seed", 0, None)
        changes["run.seed"] = opened.scenario.run.seed if seed is None else seed
        try:
            sides = sides_of(opened, changes)
        except ScenarioError as error:
            raise Refused(f"set: {_sentence(error)}") from None
        return Asked(
            opened=opened,
            sides=sides,
            until=_whole(query, "until", 2, _MOST),
            after=_whole(query, "after", 1, _MOST) or 1,
            speed=float(_whole(query, "speed", 1, 1000) or _SPEED),
            every=query.get("every") == "1",
        )

    def theory_of(self, assumed: Scenario) -> asyncio.Task[Theory]:
        """What the formulas say, sooner or later."""
        made: asyncio.Task[Theory] = self._theories.get(
            _name_of(assumed), lambda: asyncio.create_task(self._solve(assumed))
        )
        return made

    async def _solve(self, assumed: Scenario) -> Theory:
        """What the formulas say, by another process while there is one."""
        try:
            return await asyncio.wrap_future(self.executor.submit(theory_of, assumed))
        except BrokenExecutor:
            return await in_thread(theory_of, assumed)

    def run_of(self, asked: Asked) -> Run:
        """The run of what is simulated."""
        simulated = asked.sides.simulated
        own = (asked.opened.lesson.measure, asked.opened.lesson.subject)
        made: Run = self._runs.get(
            (own, _name_of(simulated)), lambda: Run(resolve(simulated), own, self.executor)
        )
        return made

    async def events(self, asked: Asked) -> AsyncIterator[str]:
        """The events of a stream, paced, until there are enough or the server ends."""
        theory = self.theory_of(asked.sides.assumed)
        run = await in_thread(self.run_of, asked)
        watched = Watched(asked)
        last = asked.until or _MOST
        loop = asyncio.get_running_loop()
        due = loop.time()
        for n in range(2, last + 1):
            if self.ended.is_set():
                return
            look = await in_thread(run.look, n)
            known = theory.result() if theory.done() else None
            watched.see(look, known)
            if n <= asked.after:
                continue
            yield f"data: {json_text(watched.record(look))}\n\n"
            if not asked.every:
                due = max(due + 1.0 / asked.speed, loop.time())
                await self._pause(due - loop.time())
        yield "event: done\ndata: {}\n\n"

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        try:
            await asyncio.wait_for(self.ended.wait(), max(seconds, 0.0))
        except TimeoutError:
            return


class Watched:
    """The verdicts of a stream, which remember what was seen."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.theory: Theory | None = None
        self._before: list[Look] = []
        self._left: dict[int, int] = {}

    def see(self, look: Look, theory: Theory | None) -> None:
        """Look at the bands after one more replication."""
        if theory is None:
            self._before.append(look)
            return
        if self.theory is None:
            self.theory = theory
            for each in self._before:
                self._judge(each)
            self._before.clear()
        self._judge(look)

    def _judge(self, look: Look) -> None:
        for place, key in enumerate(look.keys):
            predicted = self._predicted(key)
            _, _, _, low, high = look.values[:, place]
            if predicted is not None and (predicted < low or predicted > high):
                self._left.setdefault(place, look.n)

    def _predicted(self, key: Any) -> float | None:
        if self.theory is None or key not in self.theory.exact:
            return None
        return self.theory.exact[key][0]

    def record(self, look: Look) -> dict[str, Any]:
        """One event for JSON."""
        rows = []
        for place, (measure, subject) in enumerate(look.keys):
            names = ("estimate", "low", "high", "always_low", "always_high")
            values = dict(zip(names, look.values[:, place].tolist(), strict=True))
            predicted = self._predicted((measure, subject))
            rows.append(
                {
                    "measure": measure,
                    "subject": subject,
                    **values,
                    "theory": predicted,
                    "verdict": self._verdict(place, measure, values, predicted),
                    "left_at": self._left.get(place),
                }
            )
        differs = [each.record() for each in self.asked.sides.differs]
        return {"n": look.n, "level": LEVEL, "estimates": rows, "differs": differs}

    def _verdict(
        self, place: int, measure: str, values: dict[str, float], predicted: float | None
    ) -> str | None:
        if predicted is None:
            return None if self.theory is not None else "not yet"
        if place in self._left:
            return "disagrees"
        floor = 0.001 if MEASURES[measure].is_fraction else 0.0
        narrow = max(self.asked.opened.lesson.narrow * abs(predicted), floor)
        half = (values["always_high"] - values["always_low"]) / 2
        return "agrees" if half <= narrow else "not yet"


def lesson_record(asked: Asked) -> dict[str, Any]:
    """What the page says of a lesson."""
    lesson = asked.opened.lesson
    differs = {each.key for each in asked.sides.differs}
    return {
        "key": asked.opened.key,
        "title": lesson.title,
        "question": lesson.question,
        "text": lesson.text,
        "measure": lesson.measure,
        "subject": lesson.subject,
        "unit": MEASURES[lesson.measure].unit_in(asked.opened.scenario.time_unit),
        "narrow": lesson.narrow,
        "guess": None if lesson.guess is None else lesson.guess.model_dump(),
        "knobs": list(knob_records(asked)),
        "assumptions": [
            {"key": each.key, "text": each.text, "kept": each.key not in differs}
            for each in lesson.assumptions
        ],
    }


def knob_records(asked: Asked) -> Iterator[dict[str, Any]]:
    """The knobs, with their values as TOML."""
    for knob in asked.opened.lesson.knobs:
        record = knob.model_dump()
        record["choices"] = [
            {"label": each.label, "value": value_text(each.value)} for each in knob.choices
        ]
        yield record | {"value": value_text(value_at(asked.sides.simulated, knob.key))}


def _changes(given: Sequence[str]) -> Iterator[tuple[str, Any]]:
    seen = set()
    for each in given:
        key, sign, text = each.partition("=")
        if not sign or not key.strip():
            raise Refused(f"set = {each} must be KEY=VALUE")
        if key in seen:
            raise Refused(f"set: {key} is set twice")
        seen.add(key)
        yield key.strip(), parse_value(text)


def _whole(query: QueryParams, name: str, least: int, most: int | None) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    allowed = f"{name} = {text} must be a whole number from {least}" + (
        f" to {most}" if most is not None else " on"
    )
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise Refused(allowed)
    number = int(text)
    if number < least or (most is not None and number > most):
        raise Refused(allowed)
    return number


def _sentence(error: ScenarioError) -> str:
    return " ".join(str(error).split("\n"))


def _name_of(scenario: Scenario) -> str:
    return json.dumps(scenario.as_file(), sort_keys=True)


async def in_thread(work: Callable[..., Answer], *arguments: Any) -> Answer:
    """Do some work beside the others; who has gone does not wait for it."""
    return await anyio.to_thread.run_sync(partial(work, *arguments), abandon_on_cancel=True)


def _json(document: Any) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(json_text(document), media_type="application/json", headers=headers)


def _file(name: str) -> Response:
    entry = _PAGE / name
    if "/" in name or "\\" in name or name.startswith(".") or not entry.is_file():
        raise Refused("there is no such page", 404)
    kind = guess_type(name)[0] or "application/octet-stream"
    return Response(entry.read_bytes(), media_type=kind, headers={"Cache-Control": "no-store"})


class Guard:
    """Lets nobody in but the page that this program opened.

    Another site that a browser shows may send requests to this machine, under a name of its own for
    it: so the Host counts, and a token that only the page knows.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "").rpartition(":")
        name = host[0] if host[1] and host[2].isdecimal() else request.headers.get("host", "")
        if name.lower() not in _HOSTS:
            return PlainTextResponse("this server is for this machine only", 421)
        path = request.url.path
        needs_token = path == "/" or path.startswith("/api/")
        given = request.query_params.get("token", "")
        if needs_token and not secrets.compare_digest(given.encode(), self.token.encode()):
            return PlainTextResponse("the token is missing or wrong", 403)
        return None


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code)


def listening(port: int) -> socket.socket:
    """A socket of this machine only.

    Raises
    ------
    OSError
        If the port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    return listener


class _Server(uvicorn.Server):
    """uvicorn's server, which would wait for open streams for ever: it ends them first."""

    def __init__(self, config: uvicorn.Config, explorer: Explorer) -> None:
        super().__init__(config)
        self._explorer = explorer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the server."""
        self._explorer.ended.set()
        await super().shutdown(sockets)


def serve(
    listener: socket.socket, token: str, executor: Executor, first: Opened | None = None
) -> None:
    """Answer requests until an interrupt comes."""
    explorer = Explorer(executor, first)
    app = Starlette(routes=explorer.routes(), exception_handlers={HTTPException: _refuse})
    config = uvicorn.Config(
        Guard(app, token), log_config=None, access_log=False, lifespan="off", ws="none"
    )
    server = _Server(config, explorer)
    before = signal.getsignal(signal.SIGINT)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # it was heard, and everything has ended in good order
    finally:
        signal.signal(signal.SIGINT, before)
