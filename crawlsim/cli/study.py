"""``--study``: everything about a run in one folder; and `repeat`, which runs it again."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource
from rich.markup import escape

from crawlsim.cli.files import (
    PROVENANCE,
    Text,
    own_folder,
    place_of,
    provenance,
    read_json,
    remove_files,
    write_files,
)
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.options import JSON, WHERE, Command, command, option, quantile_change, takes
from crawlsim.cli.tables import new_table, print_json, show_table
from crawlsim.own_files import is_own
from crawlsim.study.archive import (
    COMMANDS,
    FIGURES,
    RECORD,
    RECORDED,
    RESULTS,
    WITHOUT_EFFECT,
    Study,
    digest_in,
    read_study,
)
from crawlsim.study.inputs import input_files, plugin_files, scenario_name
from crawlsim.study.repeating import SAME, Repetition, names_a_file, run_and_compare
from scenarios import Scenario, ScenarioError
from scenarios.plugins import files_in_use, forget
from scenarios.text import shortened, visible

if TYPE_CHECKING:
    from crawlsim.study.archive import Options

_OPTION = "--study"
_LONGEST_COMMAND = 500
_PLACED = ("out", "figures", "drawn_as", "figure", "report", "trace", "pages")
"""Options for which a study has a place of its own, or none."""


def in_a_study(run: Command) -> Command:
    """A command that keeps all about a run in one folder, where ``--study`` asks for that."""

    @wraps(run)
    def kept(study: str | None, **given: Any) -> Any:
        if study is None:
            return run(**given)
        return keep(study, run, given)

    shown = "Keep all in one folder: files read, results, figures, a report; see repeat."
    return option("--study DIR", shown)(kept)


def keep(folder: str, run: Callable[..., int | None], given: Mapping[str, Any]) -> int:
    """Run a command with copies of what it reads, and keep everything about it in one folder.

    Parameters
    ----------
    folder : str
        As given by the user.
    run : callable
        The command.
    given : mapping
        What it is called with.

    Returns
    -------
    int
        What the command ends with.

    Raises
    ------
    ScenarioError
        If it does not go with a study, or the folder cannot be had.
    """
    from crawlsim.study.documents import NAMES, documents, environment
    from crawlsim.study.stress import Stress, answers_in

    context = click.get_current_context()
    name = str(context.command.name)
    options = _recorded_options(context)
    _refuse_beside(given, options, name)
    changes = (*given["changes"], *quantile_change(given.get("quantiles")))
    scenarios = load_scenarios(given["sources"], changes)
    if name == "optimize" and len(scenarios) > 1:
        raise ScenarioError(_OPTION, folder, "of optimize needs a single scenario")
    place = place_of(folder).resolve()
    force = given["force"]
    answers = answers_in(place)
    texts, origins = input_files(scenarios, place)
    plugins = plugin_files()
    texts |= plugins
    names = [*texts, PROVENANCE, RECORD, *NAMES]
    own_folder(folder, names, force=force, option=_OPTION)
    _refuse_another_sweep(folder, Study(name, options, [], 0, {}, []), texts)
    record = partial(provenance, [], {"command": name, "set": list(changes)})
    write_files(place, texts, record, force=force, option=_OPTION)
    begun = perf_counter()
    try:
        code = run(**{**given, **_placed(name, place, scenarios)}) or 0
    except BaseException:
        with contextlib.suppress(OSError):
            (place / RESULTS).rmdir()  # nothing was written
        if not (place / RESULTS).exists():
            remove_files(place)
        raise
    made = [*texts, *_made(place, RESULTS), *_made(place, FIGURES)]
    digests = {each: digest_in(place, each) for each in made}
    names_of_scenarios = [scenario_name(each) for each in scenarios]
    study = Study(name, options, names_of_scenarios, code, digests, [*plugins])
    took = perf_counter() - begun
    kept = load_scenarios(_sources(place, scenarios), ())
    report = Stress(study, kept, changes, origins, place, answers, environment(), took)
    files: dict[str, Text] = {RECORD: study.text(), **documents(report)}
    write_files(place, files, record, force=force, option=_OPTION, kept=texts)
    click.echo(f"the study: {place}; again: crawlsim repeat {folder}", err=True)
    return code


def _recorded_options(context: click.Context) -> Options:
    """The options of a command that were given, and that numbers depend on."""
    options: dict[str, str | Literal[True] | list[str]] = {}
    for each in context.command.params:
        name = each.opts[0]
        source = context.get_parameter_source(each.name or "")
        given = isinstance(each, click.Option) and source == ParameterSource.COMMANDLINE
        if given and name not in WITHOUT_EFFECT:
            value = context.params[each.name or ""]
            if name not in RECORDED:
                raise ScenarioError(name, value, f"does not go with {_OPTION}")
            is_list = isinstance(value, tuple)
            options[name] = (
                list(map(str, value)) if is_list else True if value is True else str(value)
            )
    return options


def _refuse_beside(given: Mapping[str, Any], options: Options, name: str) -> None:
    for each in _PLACED:
        if given.get(each) is not None:
            shown = "--format" if each == "drawn_as" else f"--{each}"
            raise ScenarioError(shown, given[each], f"does not go with {_OPTION}")
    for each in ("--vary", "--over"):
        for word in options.get(each, ()):  # type: ignore[union-attr]  # both are repeatable
            if names_a_file(word):
                reason = f"does not go with {_OPTION}: name the file in the scenario of {name}"
                raise ScenarioError(each, word, reason)


def _refuse_another_sweep(folder: str, asked: Study, texts: Mapping[str, Text]) -> None:
    """Refuse the place of a sweep, whose cells another one could not go on with."""
    place = place_of(folder).resolve()
    if not (place / RECORD).exists():
        return
    there = read_study(place)
    if "sweep" not in (there.command, asked.command):
        return
    written = {each: text for each, text in texts.items() if isinstance(text, str)}
    digests = {each: sha256(text.encode()).hexdigest() for each, text in written.items()}
    if there.words() != asked.words() or not digests.items() <= there.files.items():
        words = shortened(visible(" ".join(there.words())), _LONGEST_COMMAND)
        reason = f"holds another study: {words}; give another folder"
        raise ScenarioError(_OPTION, folder, reason)


def _placed(name: str, place: Path, scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """What the command is called with instead, so that it reads and writes in the study only."""
    results = place / RESULTS
    common = {"sources": _sources(place, scenarios), "changes": ()}
    if name == "optimize":
        results.mkdir(exist_ok=True)
        files = {"out": "best.toml", "report": "report.html", "answer": "answer.json"}
        return common | {option: str(results / file) for option, file in files.items()}
    return common | {
        "quantiles": None,
        "out": str(results),
        "figures": str(place / FIGURES),
        "versions_apart": True,
    }


def _sources(place: Path, scenarios: Sequence[Scenario]) -> tuple[str, ...]:
    """The scenario files of the study."""
    return tuple(str(place / scenario_name(each)) for each in scenarios)


def _made(place: Path, folder: str) -> list[str]:
    """The files that the command has written there, but for the times and machines."""
    there = place / folder
    recorded = read_json(there / PROVENANCE).get("files", {})
    files = sorted(there.glob("[!.]*")) if there.is_dir() else []
    return [
        f"{folder}/{each.name}"
        for each in files
        if each.is_file() and each.name != PROVENANCE and (each.name in recorded or is_own(each))
    ]


def repeat(
    study: str | Path,
    *,
    engine: str | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    run_plugins: bool = False,
) -> Repetition:
    """A study that is run again, and whether everything is the same, byte for byte.

    Nothing of the study is changed, and nothing of it is executed but one of our own commands,
    unless its plugins are allowed.

    Parameters
    ----------
    study : str or Path
        A folder that ``--study`` has written.
    engine : str, optional
        "compiled" or "simpy": the numbers are the same.
    jobs : int
        Workers on this machine; the results do not depend on their number.
    cluster : str, optional
        The address of a Dask scheduler.
    run_plugins : bool
        Execute its plugins, code of its author's own that may do whatever you may do.

    Raises
    ------
    ScenarioError
        If it is no study, or asks for what a study may not, or has plugins that are not allowed.
    """
    known = files_in_use()
    with tempfile.TemporaryDirectory(prefix="crawlsim-") as work, contextlib.ExitStack() as end:
        end.callback(_forget_all_but, known)
        where = {"--engine": engine, "--jobs": str(jobs), "--cluster": cluster}
        given = [f"{name}={value}" for name, value in where.items() if value is not None]
        again = partial(_again, given)
        place = place_of(str(study))
        return run_and_compare(place, Path(work).resolve(), again, run_plugins=run_plugins)


def _forget_all_but(known: Collection[str]) -> None:
    """Let nobody know of the plugins of a study any longer."""
    for name in files_in_use().keys() - known:
        forget(name)


def _again(where: Sequence[str], study: Study, work: Path) -> int:
    """Run the command of a study in a folder with its inputs; what it shows is not shown."""
    from crawlsim.cli.program import commands

    name, *options = study.words()
    assert name in COMMANDS
    sources = [str(work / each) for each in study.scenarios]
    own = plugin_files()
    new = [each for each in study.plugins if own.get(each) != (work / each).read_bytes()]
    plugins = [f"--with={work / each}" for each in new]
    words = [name, *options, *where, *plugins, f"{_OPTION}={work}", "--force", "--", *sources]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = commands.main(words, prog_name="crawlsim", standalone_mode=False)
    return code if isinstance(code, int) else 0


@command(
    "repeat",
    example="crawlsim repeat study",
    then="crawlsim repeat study --json, the same for a program",
)
@takes(
    click.argument("study", metavar="DIR"),
    *WHERE,
    option("--run-plugins", "Execute the study's plugins: code that may do whatever you may do."),
    JSON,
)
def repeat_study(study: str, as_json: bool, **where: Any) -> int:
    """Run a study again, and say byte for byte whether it is the same.

    Exit code 0: it is. 1: something differs; each file that does is named, with what differs.
    """
    found = repeat(study, **where)
    if as_json:
        print_json(found.record())
        return int(not found.is_same)
    table = new_table(escape(found.command), "file", "again")
    for each in found.files:
        table.add_row(
            escape(each.name), escape(each.verdict), style=None if each.verdict == SAME else "red"
        )
    show_table(table)
    for name, (then, now) in found.environment.items():
        click.echo(f"  {name}: {then} then, {now} now")
    click.echo(found.verdict)
    return int(not found.is_same)
