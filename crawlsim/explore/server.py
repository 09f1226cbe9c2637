"""The server of the live page: who may ask, what is asked for, and what is answered."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import secrets
import signal
import socket
import threading
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import resources
from mimetypes import guess_type
from typing import Any, TypeVar

import tomli_w
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from analytic import Prediction, resolve
from crawlsim.cli.loading import is_to_decide
from crawlsim.cli.tables import json_text
from crawlsim.explore.asking import MOST, SIDES, Asked, Refused, asked_for, whole
from crawlsim.explore.lesson import Opened, library
from crawlsim.explore.lesson_record import knob_records, lesson_record, settings_in_words
from crawlsim.explore.live import Run, require_short, simulate_some
from crawlsim.explore.live_verdict import Watched, event_record
from crawlsim.explore.replay import csv_of, replay
from crawlsim.explore.simulated_and_assumed import Sides
from crawlsim.explore.theory import Theory, theory_of
from crawlsim.explore.typeset import formula_record
from crawlsim.explore.world import MOST_EVENTS, Worlds
from scenarios import Scenario, ScenarioError

Answer = TypeVar("Answer")

_COLOURS = resources.files("crawlsim.report") / "colours.css"
"""Those of the report, which the page shares."""

_PAGE = {
    entry.name: entry
    for entry in (*(resources.files("crawlsim.explore") / "page").iterdir(), _COLOURS)
}
"""The parts of the page by their names."""

_WATCHES = 4
"""Runs that are remembered, for pages that pause and play on."""

_RUNS = 16
"""Runs that are simulated at once; each keeps what it has counted."""

_SOON = 0.5
"""Seconds that the first event waits for the theory, which often takes less."""

_THEORIES = 64
"""Scenarios whose theory is remembered, and what was decided in them."""

_LAST_EVENT = 10_000_000
"""Of a world that can be asked for."""

_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing comes from elsewhere, and no script from within a text."""

_FOR_ALL = [
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
]
"""Headers of every answer: it is taken for what it is, and by no page of somebody else."""

_HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine."""


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


class EndedError(Exception):
    """The server ends: nobody needs an answer any more."""


class Explorer:
    """The answers to all requests.

    Parameters
    ----------
    engine, solver : Executor
        A process each, for what would hold this one up: the compiled engine, and formulas.
    first : Opened, optional
        The lesson or scenario that was asked for on the command line.
    """

    def __init__(self, engine: Executor, solver: Executor, first: Opened | None = None) -> None:
        self.engine = engine
        self.solver = solver
        given = () if first is None else (first,)
        self.lessons = {each.key: each for each in (*given, *library())}
        self.ended = asyncio.Event()
        self._watches = Memory(_WATCHES)
        self._theories = Memory(_THEORIES)
        self._decisions = Memory(_THEORIES)
        self._worlds = Worlds()
        self._runs = asyncio.Semaphore(_RUNS)
        self._parts_of_worlds = asyncio.Semaphore(_RUNS)

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
            "/api/world": self.world,
            "/api/export.toml": self.export_toml,
            "/api/export.csv": self.export_csv,
            "/api/export.html": self.export_html,
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
        asked = await self._asked(request)
        return _json(lesson_record(asked))

    async def scenario(self, request: Request) -> Response:
        """Both sides, where they differ, and the knobs."""
        asked = await self._asked(request)
        sides = asked.sides
        return _json(
            {
                "simulated": sides.simulated.as_file(),
                "assumed": sides.assumed.as_file(),
                "broken": [each.record() for each in sides.broken],
                "knobs": list(knob_records(asked)),
            }
        )

    async def theory(self, request: Request) -> Response:
        """What the formulas say of a side, by default the assumed one: `crawlsim solve --json`."""
        asked = await self._asked(request)
        side = asked.side(request.query_params.get("side", "assumed"))
        theory = await asyncio.shield(self.theory_task(side))
        return _json({**theory.record, "formula": await self._formula(asked)})

    async def stream(self, request: Request) -> Response:
        """The estimates, event by event."""
        asked = await self._asked(request)
        events = self.events(asked, await self.watched(asked))
        return _Stream(events, self._run)

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        """One of the runs that there may be at once, to its end."""
        if self._runs.locked():
            raise Refused(f"{_RUNS} runs are watched already: close another page", 503)
        async with self._runs:
            try:
                yield
            finally:
                gc.collect()  # what a run has counted is given back; Python would wait for more

    async def world(self, request: Request) -> Response:
        """Some events of one replication."""
        asked = await self._asked(request)
        query = request.query_params
        replication = whole(query, "replication", 0, MOST) or 0
        begin = whole(query, "from", 0, _LAST_EVENT) or 0
        size = whole(query, "size", 1, MOST_EVENTS) or MOST_EVENTS
        decided = await self._decided(asked.sides.simulated)
        async with self._parts_of_worlds:
            return _json(await in_thread(self._worlds.part, decided, replication, begin, size))

    async def export_toml(self, request: Request) -> Response:
        """A side as a scenario file with the number of replications that is shown."""
        asked = await self._asked(request)
        scenario = asked.side(request.query_params.get("side", "simulated"))
        return _download(tomli_w.dumps(scenario.as_file()), f"{scenario.name}.toml")

    async def export_csv(self, request: Request) -> Response:
        """The estimates that are shown, and those of the lesson's measure on the way there."""
        asked = await self._asked(request)
        events = await self._all_seen(asked)
        return _download("".join(csv_of(events)), f"{asked.sides.simulated.name}.csv")

    async def export_html(self, request: Request) -> Response:
        """One page that replays what was seen, without a server."""
        asked = await self._asked(request)
        return _download(await self.replay_of(asked), f"{asked.sides.simulated.name}.html")

    async def replay_of(self, asked: Asked) -> str:
        """The page that replays what was seen."""
        events = await self._all_seen(asked)
        lesson = lesson_record(asked) | {"settings": settings_in_words(asked)}
        formula = await self._formula(asked)
        files = {side: tomli_w.dumps(asked.side(side).as_file()) for side in SIDES}
        holds = await self._holding(asked) if events[-1]["broken"] else None
        return await in_thread(replay, lesson, formula, events, files, holds)

    async def _holding(self, asked: Asked) -> Prediction | None:
        """The exact prediction of the lesson's measure for what is simulated."""
        with suppress(ScenarioError):
            theory = await asyncio.shield(self.theory_task(asked.sides.simulated))
            return theory.exact(asked.own)
        return None

    async def _all_seen(self, asked: Asked) -> list[dict[str, Any]]:
        """What was seen after 2, 3, … replications, up to the number that is asked for."""
        if asked.until is None:
            raise Refused("until is missing: after how many replications?")
        async with self._run():
            return [each async for each in self.seen(asked, await self.watched(asked))]

    async def _formula(self, asked: Asked) -> dict[str, Any] | None:
        """The formula with numbers, if the lesson shows one."""
        formula = asked.opened.lesson.formula
        assumed = asked.sides.assumed
        theory = await asyncio.shield(self.theory_task(assumed))
        return None if formula is None else formula_record(formula, assumed, theory, asked.own)

    async def _asked(self, request: Request) -> Asked:
        return await in_thread(asked_for, self.lessons, request.query_params)

    def theory_task(self, assumed: Scenario) -> asyncio.Task[Theory]:
        """What the formulas say, sooner or later."""
        return self._theories.get(
            _name_of(assumed), lambda: asyncio.create_task(self._elsewhere(theory_of, assumed))
        )

    async def _elsewhere(self, work: Callable[[Scenario], Answer], scenario: Scenario) -> Answer:
        """What may take long, by another process while there is one."""
        try:
            return await asyncio.wrap_future(self.solver.submit(work, scenario))
        except BrokenExecutor:
            return await in_thread(work, scenario)

    async def watched(self, asked: Asked) -> list[Watched]:
        """What is watched: what is asked for, and what it is compared with.

        Raises
        ------
        ScenarioError
            If one cannot be simulated.
        """
        sides = [asked.sides] if asked.other is None else [asked.sides, asked.other]
        return [await self._watched(asked, each) for each in sides]

    async def _watched(self, asked: Asked, sides: Sides) -> Watched:
        """One of them."""
        decided = await self._decided(sides.simulated)
        theory = self.theory_task(sides.assumed)
        name = asked.opened.key, _name_of(sides.simulated), _name_of(sides.assumed)
        return self._watches.get(
            name,
            lambda: Watched(
                asked.opened, sides.broken, Run(decided, asked.own, self.engine), theory
            ),
        )

    async def _decided(self, simulated: Scenario) -> Scenario:
        """The same, after what is to be decided in it was decided.

        Raises
        ------
        ScenarioError
            If it cannot be simulated soon enough.
        """
        task = self._decisions.get(
            _name_of(simulated), lambda: asyncio.create_task(self._decide(simulated))
        )
        decided: Scenario = await asyncio.shield(task)
        require_short(decided)
        return decided

    async def _decide(self, simulated: Scenario) -> Scenario:
        if is_to_decide(simulated):
            return await self._elsewhere(resolve, simulated)
        return await in_thread(resolve, simulated)

    async def events(self, asked: Asked, watched: Sequence[Watched]) -> AsyncIterator[str]:
        """The events of a stream, paced, until there are enough or the server ends."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        with suppress(EndedError):
            async for event in self.seen(asked, watched):
                yield f"data: {json_text(event)}\n\n"
                if not asked.every:
                    due = max(due + 1.0 / asked.speed, loop.time())
                    await self._pause(due - loop.time())
            yield "event: done\ndata: {}\n\n"

    async def seen(self, asked: Asked, watched: Sequence[Watched]) -> AsyncIterator[dict[str, Any]]:
        """What is seen after 2, 3, … replications, those left out that the page has seen before."""
        theories = [each.theory for each in watched]
        await asyncio.wait(theories, timeout=_SOON)
        for n in range(asked.after + 1, (asked.until or MOST) + 1):
            for each in watched:
                await self._beside(each.look, n)
            while n == asked.until and not all(each.done() for each in theories):
                await self._pause(_SOON)
            yield await self._beside(event_record, watched, n)

    async def _beside(self, work: Callable[..., Answer], *arguments: Any) -> Answer:
        """Do some work in a thread.

        Raises
        ------
        Ended
            If the server ends meanwhile.
        """
        task = asyncio.ensure_future(in_thread(work, *arguments))
        end = asyncio.ensure_future(self.ended.wait())
        try:
            await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
            if end.done():
                raise EndedError
            return task.result()
        finally:
            task.cancel()
            end.cancel()

    async def _pause(self, seconds: float) -> None:
        """Wait.

        Raises
        ------
        EndedError
            If the server ends meanwhile.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), max(seconds, 0.0))
            raise EndedError


class _Stream(StreamingResponse):
    """The events of a run, which ends with it.

    Parameters
    ----------
    events : async iterator of str
    run : callable
        Gives the context of a run, or refuses.
    """

    def __init__(
        self, events: AsyncIterator[str], run: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        headers = {"Cache-Control": "no-store"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        async with self._run():
            await super().__call__(scope, receive, send)


def _name_of(scenario: Scenario) -> str:
    return json.dumps(scenario.as_file(), sort_keys=True)


async def in_thread(work: Callable[..., Answer], *arguments: Any) -> Answer:
    """Do some work beside the others; neither who has gone nor the end of the program waits for it.

    Threads of an executor would be waited for.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Answer] = loop.create_future()

    def tell(of: Callable[[Any], None], what: object) -> None:
        if not answer.done():
            of(what)

    def run() -> None:
        outcome: tuple[Callable[[Any], None], object]
        try:
            outcome = answer.set_result, work(*arguments)
        except (Exception, asyncio.CancelledError) as error:  # what it looks at ends, too
            outcome = answer.set_exception, error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return await answer


def _json(document: Any) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(json_text(document), media_type="application/json", headers=headers)


def _download(text: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    kind = guess_type(name)[0] or "text/plain"
    return Response(text, media_type=kind, headers=headers)


def _file(name: str, status: int = 200) -> Response:
    if name not in _PAGE:
        raise Refused("there is no such page", 404)
    kind = guess_type(name)[0] or "application/octet-stream"
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": _POLICY,
        "Referrer-Policy": "no-referrer",  # the address has the token
    }
    return Response(_PAGE[name].read_bytes(), status, headers, kind)


class Guard:
    """Lets nobody in but the page that this program opened.

    Another site that a browser shows may send requests to this machine, under a name of its own for
    it: so the Host counts, and a token that only the page knows.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; failures are described only to those who have the token."""
        request = Request(scope)
        refusal = self._refusal(request)
        try:
            await (refusal or self.app)(scope, receive, send)
        except Exception:
            if self._has_token(request):
                traceback.print_exc()
            raise

    def _has_token(self, request: Request) -> bool:
        given = request.query_params.get("token", "")
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "").rpartition(":")
        name = host[0] if host[1] and host[2].isdecimal() else request.headers.get("host", "")
        if name.lower() not in _HOSTS:
            return PlainTextResponse("this server is for this machine only", 421)
        path = request.url.path
        if self._has_token(request):
            return None
        if path == "/":
            return _file("lost.html", 403)
        if path.startswith("/api/"):
            return PlainTextResponse("the token is missing or wrong", 403)
        return None


async def _refuse(_: Request, error: Exception) -> Response:
    """One sentence about what cannot be had."""
    if isinstance(error, HTTPException):
        return PlainTextResponse(error.detail, error.status_code)
    return PlainTextResponse(" ".join(str(error).split("\n")), 400)


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
    listener: socket.socket,
    token: str,
    engine: Executor,
    solver: Executor,
    first: Opened | None = None,
) -> None:
    """Answer requests until an interrupt comes."""
    explorer = Explorer(engine, solver, first)
    scenario = next(iter(explorer.lessons.values())).scenario
    engine.submit(simulate_some, scenario, scenario.run.seed, range(1))  # loads what it needs
    solver.submit(theory_of, scenario)
    refusals = {HTTPException: _refuse, ScenarioError: _refuse}
    app = Starlette(routes=explorer.routes(), exception_handlers=refusals)
    for name in ("uvicorn", "asyncio"):  # any stranger can make them speak, as often as it likes
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
    config = uvicorn.Config(
        Guard(app, token),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        headers=_FOR_ALL,
    )
    server = _Server(config, explorer)
    gc.freeze()  # what is loaded stays
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):  # uvicorn sends the signal anew when all has ended
            server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
