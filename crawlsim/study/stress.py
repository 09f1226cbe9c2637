"""The report of a study by STRESS-DES, filled in from the scenario, the documents and the run.

T. Monks, C. S. M. Currie, B. S. Onggo, S. Robinson, M. Kunc and S. J. E. Taylor, Strengthening the
reporting of empirical simulation studies: introducing the STRESS guidelines, Journal of Simulation
13(1), 55-67, 2019: six sections of twenty items. What nobody but the author can say is a question.
"""

from __future__ import annotations

import csv
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from crawlsim.report.pages import rendered
from crawlsim.report.words import of_entry, value_in_words
from crawlsim.study.archive import Study, opened
from crawlsim.study.inputs import tables_with_files
from scenarios import Scenario, ScenarioError
from scenarios.base import listed
from scenarios.errors import MISSING
from scenarios.measures import MEASURES
from scenarios.text import counted, number, shortened, units, visible

ANSWERS = "answers.toml"
"""Where the author writes what nobody else can know; never written by this program."""

QUESTIONS = {
    "purpose": "What is the model for, and who will use what it says?",
    "data_sources": "Where do the numbers of the scenario come from: which logs, of when, of whom?",
    "preprocessing": "What was done with the data before they came into the files of this folder?",
    "sharing": "Where can others get this folder (an address, a DOI), and under which licence?",
}

_LONGEST_ANSWERS = 100_000
_LONGEST_TEXT = 300
_MOST_LISTED = 40
_DESCRIPTIONS = "model.json"

_STORY = {
    "page_set": "Pages are born, become known after a delay, are accessed, and vanish.",
    "robots": "Each active robot asks which page is next, accesses it for the access time, "
    "delivers it, and asks again.",
    "buffer": "A page that is delivered enters the buffer if there is room; an idle indexer takes "
    "one that waits, and works on it for the service time; what finds no room is lost, unless "
    "another rule stands under 2.4.",
    "pages": "The index has a copy of each page. It is out of date from a change of its page until "
    "a copy that holds the change is indexed, or delivered where there is no buffer.",
    "clients": "A query is answered from the copy of its page, which may be out of date.",
    "servers": "Each packet that arrives is sent to a server by the rule of routing.",
    "probing": "A source is updated now and then. Its copy is out of date from the first update "
    "after a probe until the next probe, which costs as much as that moment is important.",
}
"""What happens to what, by the sections of a file."""

_LOGIC = {
    "Level": ("buffer",),
    "Several servers": ("buffer.servers",),
    "Batches of an indexer": ("buffer.batch",),
    "Rests of the indexer": ("buffer.vacation", "buffer.set_up"),
    "Retrials": ("buffer.retrial",),
    "Priorities": ("buffer.discipline=priority",),
    "Obsolescence timer of a waiting page": ("buffer.obsolescence",),
    "A service that depends on the page": ("buffer.service.page-size",),
    "Joint deliveries": ("robots.deliveries",),
    "Classes of robots": ("robots.classes",),
    "Failures": ("robots.failure",),
    "Commits": ("index",),
    "Signals": ("pages.signals",),
    "Environment": ("robots.environment",),
    "Hosts": ("robots.host_spacing",),
    "Page sets": ("page_set",),
    "Lists of a page set": ("page_set",),
    "Servers without buffers": ("servers",),
    "Costs by distance": ("servers.spacing_cost",),
    "Probing": ("probing",),
    "Interventions": ("interventions",),
    "A limit": ("interventions",),
    "A limit of the indexers": ("interventions",),
}
"""Which sentences of docs/model.md belong to a scenario: those of the entries that it has."""

_ALGORITHMS = {
    "Thresholds": ("activation.threshold", "activation.levels"),
    "Hysteresis": ("activation.threshold.back",),
    "Switching": ("activation.switching",),
    "Numbers by phases": ("activation.free",),
    "Several robots": ("robots.accessing.policy=round-robin", "robots.accessing.policy=cyclic"),
    "Pages that fall due": ("robots.accessing.policy=due",),
    "Threshold and first arrival": (
        "probing.policy=threshold",
        "probing.policy=first-arrival",
    ),
    "Speeds are a change of time": ("interventions",),
}

_RULES = (
    *("robots.accessing", "activation", "buffer.discipline", "buffer.when_full"),
    *("buffer.admission", "servers.routing", "probing.policy"),
)
"""Entries that say by which rule something is decided."""

_ASSUMED = {
    "pages": "Pages change as Poisson processes that are independent of one another and of all "
    "else; a change makes the copy in the index out of date until the page is indexed anew.",
    "page_set": "Pages are born as a Poisson process, and their lifetimes are independent.",
    "robots.access_time": "The times that accesses take are independent, each of the law of its "
    "robot.",
    "buffer.service": "The times that pages take to be indexed are independent of when they come.",
    "buffer.obsolescence": "The patience of waiting pages is independent of all else.",
    "clients": "Queries are a Poisson process; each asks for a page drawn by weight.",
    "source": "Updates of the source are a Poisson process, whose rate may change over time.",
    "sources": "Updates of each source are a Poisson process, whose rate may change over time.",
    "servers": "Service times of packets are independent of when they come.",
}

_AIMS = {
    "run": "The system is simulated, and each measure is estimated with a 95 % interval.",
    "check": "The system is simulated and, where formulas cover it, solved exactly; a verdict "
    "says of each number whether the two agree (`results/comparisons.csv`).",
    "sweep": "The system is simulated, and solved where formulas cover it, for every combination "
    "of the values below.",
    "optimize": "The best decision of one kind is sought.",
}


_EXPERIMENT = {
    "--vary": "Varied",
    "--over": "Chosen from",
    "--target": "What is decided",
    "--minimise": "The least is sought of",
    "--maximise": "The largest is sought of",
    "--first": "The first value is sought that keeps",
    "--last": "The last value is sought that keeps",
    "--subject-to": "Only what keeps",
    "--indifference": "Differences that do not count, up to",
    "--confidence": "Confidence of the choice",
    "--fail-if": "It counts as failed if",
}
"""Options that say what is tried and wanted."""


@dataclass(frozen=True, slots=True)
class Item:
    """One of the twenty.

    Attributes
    ----------
    number, title : str
        As in the checklist.
    said : list of str
        Paragraphs; what stands between backticks is code.
    rows : list of tuple
        A table, its header first; may be empty.
    picture : str
        Lines of text; "" where there are none.
    asks : str
        The key of a question to the author that stands in for an answer; "" where there is none.
    """

    number: str
    title: str
    said: list[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    picture: str = ""
    asks: str = ""


_ANSWER = "results/answer.json"


def answers_in(folder: Path) -> dict[str, str]:
    """What the author has answered, in a file that only the author writes.

    Raises
    ------
    ScenarioError
        If it holds anything else.
    """
    try:
        with opened(folder, ANSWERS) as stream:
            content = stream.read(_LONGEST_ANSWERS)
        answers = tomllib.loads(content.decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or f"is not TOML: {error}"
        raise ScenarioError("", MISSING, reason, str(folder / ANSWERS)) from None
    for key, value in answers.items():
        if key not in QUESTIONS or not isinstance(value, str):
            allowed = f"must be a text that answers {listed(QUESTIONS)}"
            raise ScenarioError(key, value, allowed, str(folder / ANSWERS))
    return answers


@dataclass(frozen=True)
class Stress:
    """The report of a study.

    Attributes
    ----------
    study : Study
    scenarios : sequence of Scenario
        As their files in the study have them.
    changes : sequence of str
        What ``--set`` changed before.
    origins : mapping name -> str
        What data files were called.
    place : Path
        The folder.
    answers : mapping
        Of `answers_in`.
    environment : mapping name -> str
        Versions and the machine.
    seconds : float
        How long the command took.
    """

    study: Study
    scenarios: Sequence[Scenario]
    changes: Sequence[str]
    origins: Mapping[str, str]
    place: Path
    answers: Mapping[str, str]
    environment: Mapping[str, str]
    seconds: float

    @cached_property
    def items(self) -> list[Item]:
        """All twenty, in their order."""
        return [
            *self._objectives(),
            *self._logic(),
            *self._data(),
            *self._experiments(),
            *self._how(),
        ]

    @property
    def questions(self) -> list[str]:
        """Keys of what is still asked."""
        return [key for key in QUESTIONS if any(self._is_open(each, key) for each in self.items)]

    @property
    def filled(self) -> int:
        """The number of items that need no hand any more."""
        return sum(not self._is_open(each, each.asks) for each in self.items)

    def _is_open(self, item: Item, key: str) -> bool:
        return bool(key) and item.asks == key and key not in self.answers

    @property
    def title(self) -> str:
        """What the study is called."""
        return "; ".join(_plain(each.title or each.name) for each in self.scenarios)

    @cached_property
    def _files(self) -> dict[str, dict[str, Any]]:
        """The entries of each scenario; data files by their names in the study."""
        found = {}
        for scenario in self.scenarios:
            found[scenario.name] = scenario.as_file()
            for table in tables_with_files(found[scenario.name]):
                table["file"] = os.path.relpath(table["file"], self.place)
        return found

    def _at(self, scenario: Scenario, key: str) -> Any:
        """An entry of the file, None where it has none."""
        value: Any = self._files[scenario.name]
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def _has(self, scenario: Scenario, entry: str) -> bool:
        key, _, wanted = entry.partition("=")
        value = self._at(scenario, key)
        return value is not None and (not wanted or value == wanted)

    def _any_has(self, *entries: str) -> bool:
        return any(self._has(each, entry) for each in self.scenarios for entry in entries)

    def _described(self, headings: Mapping[str, Sequence[str]]) -> list[str]:
        """Sentences of docs/model.md."""
        return [_model()[name] for name, keys in headings.items() if self._any_has(*keys)]

    def _objectives(self) -> Iterator[Item]:
        titles = [f"The system: {_plain(each.title)}." for each in self.scenarios if each.title]
        yield self._item("1.1", "Purpose of the model", titles, asks="purpose")
        said = [
            f"`{name}`: {MEASURES[name].definition} "
            f"({MEASURES[name].unit_in(self.scenarios[0].time_unit)})."
            for name in self._measures()
            if name in MEASURES
        ]
        yield Item("1.2", "Model outputs", said)
        yield Item("1.3", "Experimentation aims", [_AIMS[self.study.command], *self._varied()])

    def _measures(self) -> list[str]:
        """The measures that the results hold."""
        for name in ("results/estimates.csv", "results/sweep.csv"):
            if name in self.study.files:
                with (self.place / name).open(encoding="utf-8", newline="") as stream:
                    return list(dict.fromkeys(row["measure"] for row in csv.DictReader(stream)))
        return [self._answer["measure"]]

    @cached_property
    def _answer(self) -> dict[str, Any]:
        """The decision of `optimize`."""
        found: dict[str, Any] = json.loads((self.place / _ANSWER).read_text("utf-8"))
        return found

    @cached_property
    def _is_exact(self) -> bool:
        """Whether the answer is from formulas alone."""
        return _ANSWER in self.study.files and self._answer["kind"] != "simulated"

    def _varied(self) -> list[str]:
        """What the options say of the experiment."""
        return [
            f"{words}: `{_plain(value)}`."
            for name, words in _EXPERIMENT.items()
            if name in self.study.options
            for value in _each(self.study.options[name])
        ]

    def _logic(self) -> Iterator[Item]:
        picture = "\n".join(" → ".join(_stations(each)) for each in self.scenarios)
        yield Item("2.1", "Base model overview diagram", [], picture=picture)
        told = [words for key, words in _STORY.items() if self._any_has(key)]
        yield Item("2.2", "Base model logic", [*told, *self._described(_LOGIC)])
        said = [f"Changed beforehand: `{_plain(each)}`." for each in self.changes]
        if len(self.scenarios) > 1:
            names = ", ".join(f"`{each.name}`" for each in self.scenarios)
            said.append(f"The scenarios {names} are compared; their files say what differs.")
        said += self._varied() if self.study.command in ("sweep", "optimize") else []
        yield Item("2.3", "Scenario logic", said or ["There is one scenario; nothing is varied."])
        rules = [
            f"{of_entry(key, each.time_unit)}: {_plain(value_in_words(value))}."
            for each in self.scenarios
            for key in _RULES
            if (value := self._at(each, key)) is not None
        ]
        described = self._described(_ALGORITHMS)
        said = [*dict.fromkeys(rules), *described] or ["No rule decides anything here."]
        yield Item("2.4", "Algorithms", said)
        yield Item("2.5", "Components", [], [("component", "here"), *self._components()])

    def _components(self) -> Iterator[tuple[str, str]]:
        for each in self.scenarios:
            name = f" ({each.name})" if len(self.scenarios) > 1 else ""
            for kind, words in self._parts(each).items():
                yield f"{kind}{name}", words or "none"

    def _parts(self, scenario: Scenario) -> dict[str, str]:
        """Entities, activities, resources, queues, and where entities enter and leave."""

        def words(*keys: str) -> str:
            return "; ".join(
                f"{of_entry(key, scenario.time_unit)}: {_plain(value_in_words(value))}"
                for key in keys
                if (value := self._at(scenario, key)) is not None
            )

        def those(**present: bool) -> str:
            return ", ".join(
                name.replace("_", " ") for name, is_there in present.items() if is_there
            )

        has = {key: self._at(scenario, key) is not None for key in self._files[scenario.name]}
        crawls, waits = has.get("robots", False), has.get("buffer", False)
        packets, probed = has.get("servers", False), has.get("probing", False)
        way = [
            "a page enters with the delivery of an access, and leaves when it is indexed"
            + ", lost at a full buffer or obsolete" * waits
            if crawls
            else "",
            "a packet enters at its arrival, and leaves when it is served or lost"
            if packets
            else "",
            "an update enters when it happens, and leaves with the next probe" if probed else "",
        ]
        return {
            "entities": those(
                pages=crawls, queries=has.get("clients", False), packets=packets, updates=probed
            ),
            "activities": words(
                "robots.access_time", "buffer.service", "servers.service", "servers.rates"
            )
            or those(probes=probed),
            "resources": words("robots.available", "buffer.servers", "servers.rates")
            or those(probes=probed),
            "queues": words(
                "buffer.waiting_places",
                "buffer.discipline",
                "buffer.when_full",
                "servers.waiting_places",
            ),
            "entry and exit": "; ".join(filter(None, way)),
        }

    def _data(self) -> Iterator[Item]:
        said = [f"{_plain(each.paper)}: `{each.name}`." for each in self.scenarios if each.paper]
        said += [
            f"`{name}`, SHA-256 `{self.study.files[name]}`; it was called “{_plain(origin)}”."
            for name, origin in self.origins.items()
        ]
        cited = all(each.paper for each in self.scenarios) and not self.origins
        yield self._item("3.1", "Data sources", said, asks="" if cited else "data_sources")
        rows: list[tuple[str, ...]] = [("scenario", "entry", "value", "key")]
        rows += [
            (each.name, of_entry(key, each.time_unit), _plain(value_in_words(value)), f"`{key}`")
            for each in self.scenarios
            for key, value in _parameters(self._files[each.name])
        ]
        yield Item("3.2", "Input parameters", ["All others have their defaults."], rows)
        if self.origins:
            yield self._item("3.3", "Pre-processing", [], asks="preprocessing")
        else:
            yield Item("3.3", "Pre-processing", ["No data file is read: there is none."])
        said = [words for key, words in _ASSUMED.items() if self._any_has(key)]
        yield Item("3.4", "Assumptions", [*said, _model()["Numbers"]])

    def _experiments(self) -> Iterator[Item]:
        if self._is_exact:
            said = ["Nothing is simulated: the answer is computed for the long run."]
            yield Item("4.1", "Initialisation", said)
            yield Item("4.2", "Run length", said)
            kind, notes = self._answer["kind"], self._answer["notes"]
            said = [f"The answer is of the kind `{kind}`.", *map(_plain, notes)]
            yield Item("4.3", "Estimation approach", said)
            return
        simulated = [each for each in self.scenarios if each.probing is None]
        warm = [
            f"`{each.name}`: counting begins after {number(each.run.warmup)} "
            f"{units(each.time_unit, each.run.warmup)}."
            for each in simulated
        ]
        start = _model()["Start"] if simulated else _model()["Probing"]
        asked = self.study.options.get("--warmup")
        warm = [f"The warm-up: `--warmup {_plain(str(asked))}`."] if asked else warm
        yield Item("4.1", "Initialisation", [start, *warm])
        lengths = [
            f"`{each.name}`: up to {number(end)} {units(each.time_unit, end)}, "
            f"{self._replications(each)}."
            for each in self.scenarios
            for end in [_horizon(each)]
        ]
        yield Item("4.2", "Run length", [*lengths, _model()["Window"]])
        yield Item("4.3", "Estimation approach", list(self._estimation()))

    def _replications(self, scenario: Scenario) -> str:
        if self.study.command == "optimize":
            return "as many replications as the choice needs"
        asked = self.study.options.get("--replications")
        count = int(str(asked)) if asked else scenario.run.replications
        precise = "--precision" in self.study.options or "--indifference" in self.study.options
        return counted(count, "replication") + (" at first" if precise else "")

    def _estimation(self) -> Iterator[str]:
        options = self.study.options
        yield (
            "Replications are independent. An estimate is a function of the sums over them; its "
            "standard error is the jackknife's, and its 95 % interval Student's, of a share "
            "Wilson's with the variance that replications show."
        )
        if "--precision" in options:
            yield (
                "Replications are added until each 95 % half-width is below "
                f"{_plain(str(options['--precision']))} times its estimate."
            )
        if "--control-variates" in options:
            yield "The variance of estimates is reduced by quantities of known mean."
        if self.study.command == "check":
            yield (
                "A number agrees if the formula lies within what chance and the ends of the "
                "window explain (docs/verdicts.md); `results/comparisons.csv` says beside each "
                "verdict how small a difference would have been seen."
            )
        if self.study.command in ("sweep", "optimize"):
            yield "All alternatives have the same random numbers, so that differences are paired."

    def _how(self) -> Iterator[Item]:
        versions = ", ".join(
            f"{name} {what}" for name, what in self.environment.items() if name != "platform"
        )
        yield Item(
            "5.1",
            "Software or programming language",
            [
                f"{versions}; all versions: `requirements.txt`.",
                "The simulation is in Python: an "
                "engine of SimPy, and one that numba compiles, which gives the same numbers.",
            ],
        )
        seeds = ", ".join(f"{seed}" for seed in self._seeds())
        yield Item(
            "5.2",
            "Random sampling",
            ["No random number is drawn."]
            if self._is_exact
            else [
                f"Seed {seeds}. Each source of randomness of each replication has a stream of its "
                "own: PCG64, seeded by numpy's SeedSequence from the seed, the number of the "
                "replication and the source. So results do not depend on the number of workers, "
                "and alternatives share their random numbers."
            ],
        )
        yield Item(
            "5.3",
            "Model execution",
            ["Time goes from event to event.", _model()["Ties"], *self._command()],
        )
        yield Item(
            "5.4",
            "System specification",
            [
                f"{self.environment['platform']}; the command took {number(self.seconds)} "
                f"{units('second', self.seconds)}."
            ],
        )
        said = [
            "This folder holds all that is needed; `crawlsim repeat` with its name runs it again "
            "and compares every file. crawlsim itself has the MIT licence."
        ]
        yield self._item("6.1", "Computer model sharing statement", said, asks="sharing")

    def _command(self) -> list[str]:
        words = " ".join([*self.study.words(), *self.study.scenarios])
        return [f"The command: `crawlsim {_plain(words)}`."]

    def _seeds(self) -> list[int]:
        asked = self.study.options.get("--seed")
        return [int(str(asked))] if asked else sorted({each.run.seed for each in self.scenarios})

    def _item(self, number: str, title: str, said: list[str], *, asks: str) -> Item:
        """An item that the author answers, if it asks anything."""
        answer = self.answers.get(asks)
        return Item(number, title, [*said, *([_plain(answer)] if answer else [])], asks=asks)

    def html(self) -> str:
        """The report as one page."""
        return rendered("study.html", {"coded": _coded}, report=self, sections=self._sections())

    def _sections(self) -> list[tuple[str, list[Item]]]:
        return [
            (f"{number} {title}", [each for each in self.items if each.number[0] == str(number)])
            for number, title in enumerate(_SECTIONS, 1)
        ]

    def question(self, item: Item) -> str:
        """What the author is asked there; "" where nothing is open."""
        return QUESTIONS[item.asks] if self._is_open(item, item.asks) else ""

    @property
    def opening(self) -> str:
        """What the report is, and how to complete it."""
        said = (
            f"A report by STRESS-DES (Monks et al., 2019): {self.filled} of its "
            f"{len(self.items)} items are filled in from the scenario, the documents and the run."
        )
        if not self.questions:
            return said
        return (
            f"{said} What only the author knows is a question; answers stand in `{ANSWERS}` "
            f'beside this file, such as `{self.questions[0]} = "…"`, and the same command again '
            "puts them here."
        )

    def markdown(self) -> str:
        """The report as text."""
        lines = [f"# {_in_markdown(self.title)}", "", _in_markdown(self.opening)]
        for title, items in self._sections():
            lines += ["", f"## {title}"]
            for each in items:
                lines += ["", f"### {each.number} {each.title}"]
                lines += [line for words in each.said for line in ("", _in_markdown(words))]
                if each.picture:
                    lines += ["", "```", each.picture, "```"]
                if each.rows:
                    head, *rows = ([_in_markdown(cell) for cell in row] for row in each.rows)
                    lines += ["", *map(_row, [head, ["---"] * len(head), *rows])]
                if question := self.question(each):
                    lines += ["", f"**To the author (`{each.asks}`): {question}**"]
        return visible("\n".join(lines)) + "\n"


_SECTIONS = ("Objectives", "Logic", "Data", "Experimentation", "Implementation", "Code access")


def _model() -> dict[str, str]:
    """Sentences of docs/model.md, by what they begin with."""
    found: dict[str, str] = json.loads(
        files("crawlsim.study").joinpath(_DESCRIPTIONS).read_text("utf-8")
    )
    return found


def _plain(text: str) -> str:
    """A stranger's text, which neither acts nor is taken for code."""
    return visible(shortened(" ".join(text.split()), _LONGEST_TEXT)).replace("`", "'")


def _each(value: Any) -> list[str]:
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


_SPECIAL = re.compile(r"([\\<>&*_\[\]|#])")


def _in_markdown(text: str) -> str:
    """Text with its code between backticks, and nothing else that Markdown would act upon."""
    parts = text.split("`")
    return "`".join(
        part.replace("|", "\\|") if place % 2 else _SPECIAL.sub(r"\\\1", part)
        for place, part in enumerate(parts)
    )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _coded(text: str) -> list[tuple[str, bool]]:
    """The parts of a text, and whether each is code."""
    return [(part, place % 2 == 1) for place, part in enumerate(text.split("`")) if part]


def _horizon(scenario: Scenario) -> float:
    return scenario.probing.horizon if scenario.probing else scenario.run.horizon


def _parameters(file: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The entries of a file, section by section."""
    for section, entries in file.items():
        if section in ("name", "title", "paper", "judged"):
            continue
        if isinstance(entries, Mapping) and section != "activation":
            for key, value in entries.items():
                yield f"{section}.{key}", value
        else:
            yield section, entries


def _stations(scenario: Scenario) -> Iterator[str]:
    """The way of a page, of a packet or of an update."""
    robots, buffer, servers = scenario.robots, scenario.buffer, scenario.servers
    if scenario.pages is not None:
        yield f"{scenario.pages.count} pages that change"
    if scenario.page_set is not None:
        yield "pages that are born and vanish"
    if robots is not None:
        yield counted(robots.available, "robot")
    if buffer is not None:
        yield f"buffer ({counted(buffer.waiting_places, 'waiting place')})"
        yield counted(buffer.servers, "indexer")
    if scenario.pages is not None or scenario.page_set is not None:
        yield "index"
    if scenario.clients is not None:
        yield "queries of clients"
    if servers is not None:
        yield from (
            "packets",
            "routing",
            counted(len(servers.rates or servers.service or ()), "server"),
        )
    if scenario.probing is not None:
        sources = scenario.sources
        yield from (counted(len(sources) if sources else 1, "source"), "probes", "copy")
