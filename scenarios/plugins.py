"""What others add: policies, laws, formulas and measures, of installed packages and of files.

A package names its modules by entry points, a file is named by whoever uses it. Either way a module
holds what a file of ours would: a policy, a law, the tables `FORMULAS` and `MEASURES`
(docs/plugins.md). Little is loaded here before there is a plugin: every command passes by.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

from scenarios.errors import LONGEST_LINE, ScenarioError
from scenarios.text import shortened, visible

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

KINDS = ("policies", "laws", "formulas", "measures")
"""What a plugin may add, a command apart: groups of entry points without `crawlsim.` before."""

_GROUPS = {f"crawlsim.{kind}": kind for kind in KINDS}
_NAMED = re.compile("|".join(map(re.escape, _GROUPS)).encode())

_NAME = re.compile("[a-z][a-z0-9_-]*")

_SHOWN = 12
"""Digits of a digest that people are shown."""

_BUILT = ("__pydantic_core_schema__", "__pydantic_validator__", "__pydantic_serializer__")
"""What pydantic makes of a section, once it is needed."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plugin:
    """A package or a file that adds something.

    Parameters
    ----------
    name : str
        Of the distribution, or of the file.
    version : str
        Of the distribution; empty for a file.
    digest : str
        SHA-256 of the file, or of all files of the package.
    place : str
        The file, or the folder or file of the package.
    text : bytes or None
        What stands in the file; None for a package.
    """

    name: str
    version: str
    digest: str
    place: str
    text: bytes | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """Its version and digest."""
        return f"{self.version} sha256:{self.digest}".strip()


_PLUGINS: dict[str, Plugin] = {}
"""Those in use, by name."""

_MODULES: dict[str, dict[ModuleType, Plugin]] = {kind: {} for kind in KINDS}
"""By kind, the modules that add such, and of which plugin they are."""


def versions() -> dict[str, str]:
    """The plugins in use: version and digest by name."""
    return {name: _PLUGINS[name].shown for name in sorted(_PLUGINS)}


def installed_versions() -> dict[str, str]:
    """The same of those that are packages, loaded by then; files go where they are used."""
    load_installed()
    return {name: shown for name, shown in versions().items() if _PLUGINS[name].text is None}


def files_in_use() -> dict[str, bytes]:
    """The plugins in use that are files: what stands in each, by name."""
    return {name: each.text for name, each in _PLUGINS.items() if each.text is not None}


def modules_with(kind: str) -> dict[ModuleType, Plugin]:
    """The modules that add such, and of which plugin they are.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    """
    return dict(_MODULES[kind])


def use(path: str | Path) -> Plugin:
    """Add the policy, the law, the formulas and the measures of a file.

    Parameters
    ----------
    path : str or Path
        A file of Python, complete by itself: what it imports has to be installed.

    Returns
    -------
    Plugin
        Its name and its digest, which results and provenances give as well.

    Raises
    ------
    ScenarioError
        If it cannot be loaded, adds nothing, or wants a name that is taken.
    """
    place = Path(path).absolute()
    try:
        text = place.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refusal(path, f"cannot be read: {reason}") from None
    return _used(str(place), text)


def _used(place: str, text: bytes) -> Plugin:
    """The plugin of a file with this text, loaded unless it is."""
    name = Path(place).name
    plugin = Plugin(name, "", hashlib.sha256(text).hexdigest(), place, text)
    known = _PLUGINS.get(name)
    if known == plugin:
        return known
    if known is not None and known.place == place:
        forget(name)
    title = "crawlsim_with_" + re.sub(r"\W", "_", Path(place).stem)
    if title in sys.modules:
        in_use = sys.modules[title].__file__
        raise _refusal(place, f"has the name of a plugin that is in use already, {in_use}")
    module = module_from_spec(ModuleSpec(title, None, origin=place))
    module.__file__ = place
    sys.modules[title] = module  # pydantic looks there for the names of types
    try:
        with _failures(plugin):
            exec(compile(text, place, "exec"), vars(module))
            found = [kind for kind in KINDS if _adds(module, kind)]
            if not found:
                raise _refusal(name, "adds nothing: no policy, no law, no FORMULAS, no MEASURES")
        _add(plugin, [(module, kind) for kind in found])
    except BaseException:
        del sys.modules[title]
        raise
    return plugin


@cache
def load_installed() -> None:
    """Add what installed packages have, once.

    Raises
    ------
    ScenarioError
        If one cannot be loaded or wants a name that is taken.
    """
    if are_installed():
        for each, entries in _installed():
            if each.name in _PLUGINS:  # another one was refused the last time
                continue
            plugin = Plugin(each.name, each.version, *_digest({e.module for e in entries}))
            with _failures(plugin):
                modules = [(import_module(each.module), _GROUPS[each.group]) for each in entries]
            for module, kind in modules:
                if not _adds(module, kind):
                    allowed = f"names the module {module.__name__}, which adds no {kind}"
                    raise _refusal(plugin.name, allowed)
            _add(plugin, modules)


@cache
def are_installed() -> bool:
    """Whether any package says that it adds something.

    Read from their files: 2 ms, where importlib.metadata takes 12, and 70 to be loaded.
    """
    for folder in map(Path, sys.path):
        try:
            for about in ("*.dist-info", "*.egg-info"):
                for file in folder.glob(f"{about}/entry_points.txt"):
                    if _NAMED.search(file.read_bytes()):
                        return True
        except OSError:
            continue
    return False


def _installed() -> Iterator[tuple[Distribution, list[EntryPoint]]]:
    """The packages that add something, by name, the first of each name; and their entry points."""
    from importlib.metadata import distributions  # takes a while to load

    found: dict[str, tuple[Distribution, list[EntryPoint]]] = {}
    for each in distributions():
        entries = []
        with suppress(Exception):  # a broken list, of which `crawlsim --help` tells
            entries = [entry for entry in each.entry_points if entry.group in _GROUPS]
        if entries:
            found.setdefault(each.name, (each, entries))
    yield from (found[name] for name in sorted(found))


def _digest(modules: Iterable[str]) -> tuple[str, str]:
    """The digest of all files of the packages that hold some modules, and where the first lies."""
    digest = hashlib.sha256()
    places = []
    for name in sorted({each.partition(".")[0] for each in modules}):
        spec = find_spec(name)
        folders = [*(spec.submodule_search_locations or ())] if spec else []
        places += folders or [spec.origin or "" if spec else ""]
        for folder in map(Path, folders):
            files = (each for each in sorted(folder.rglob("*")) if each.is_file())
            for file in files:
                if "__pycache__" not in file.parts:
                    digest.update(f"{file.relative_to(folder).as_posix()}\0".encode())
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
        if not folders and places[-1]:
            digest.update(Path(places[-1]).read_bytes())
    return digest.hexdigest(), places[0]


def _adds(module: ModuleType, kind: str) -> Mapping[str, Any]:
    """What of a kind a module adds, by the name that it has in files or outputs."""
    if kind == "formulas":  # what they are is known to `analytic` only
        return {"formulas": vars(module)["FORMULAS"]} if "FORMULAS" in vars(module) else {}
    if kind == "measures":
        from scenarios.measures import Measure

        rows = vars(module).get("MEASURES", ())
        if not isinstance(rows, tuple | list) or not all(isinstance(r, Measure) for r in rows):
            raise TypeError("MEASURES must be a tuple of scenarios.Measure")
        return {row.name: row for row in rows}
    from scenarios.accessing.policy import InSequence, Policy
    from scenarios.laws.law import Law

    own = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    if kind == "laws":
        laws = {each.key: each for each in own if issubclass(each, Law) and "key" in vars(each)}
        if len(laws) > 1:
            raise TypeError(f"a module holds one law, not {' and '.join(laws)}")
        return laws
    policies = {}
    for each in own:
        if issubclass(each, Policy) and not each.__abstractmethods__:
            if not issubclass(each, InSequence):
                raise TypeError(f"{each.__name__} must be Periodic, Planned or InSequence")
            name, *_ = get_args(each.model_fields["policy"].annotation)
            policies[name] = each
    return policies


def _add(plugin: Plugin, modules: Iterable[tuple[ModuleType, str]]) -> None:
    """Let everybody know what the modules add, all of it or nothing."""
    from scenarios.accessing import POLICIES
    from scenarios.laws import ADDED, LAWS
    from scenarios.measures import MEASURES, PAGE_MEASURES

    new: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    known: dict[str, Iterable[str]] = {
        "policies": POLICIES,
        "laws": [law.key for law in (*LAWS, *ADDED)],
        "measures": MEASURES,
    }
    words = {"policies": "policy", "laws": "law", "measures": "measure"}
    for module, kind in modules:
        for name, each in _adds(module, kind).items():
            if not _NAME.fullmatch(name):
                allowed = f"adds {name!r}; a name has small letters, digits, - and _ only"
                raise _refusal(plugin.name, allowed)
            if kind in known and name in {*known[kind], *new[kind]}:
                owner = _owner_of(kind, name) or ("crawlsim" if name in known[kind] else "it twice")
                allowed = f"adds the {words[kind]} {name!r}, which {owner} has already"
                raise _refusal(plugin.name, allowed)
            new[kind][name] = each
    _PLUGINS[plugin.name] = plugin
    for module, kind in modules:
        _MODULES[kind][module] = plugin
    POLICIES.update(new["policies"])
    ADDED.extend(new["laws"].values())
    MEASURES.update(new["measures"])
    PAGE_MEASURES.extend(name for name, row in new["measures"].items() if row.subject == "page")
    if new["policies"] or new["laws"]:
        _rebuild()
    shown = plugin.shown.removesuffix(plugin.digest[_SHOWN:])
    _LOG.info("with the plugin %s", visible(f"{plugin.name} {shown}"))


def forget(name: str) -> None:
    """Take away what a file has added, if it is in use.

    Parameters
    ----------
    name : str
    """
    from scenarios.accessing import POLICIES
    from scenarios.laws import ADDED
    from scenarios.measures import MEASURES, PAGE_MEASURES

    plugin = _PLUGINS.pop(name, None)
    if plugin is None:
        return
    for kind, modules in _MODULES.items():
        for module in [each for each, owner in modules.items() if owner == plugin]:
            del modules[module]
            sys.modules.pop(module.__name__, None)
            for key, each in _adds(module, kind).items():
                if kind == "policies":
                    del POLICIES[key]
                elif kind == "laws":
                    ADDED.remove(each)
                elif kind == "measures":
                    del MEASURES[key]
                    PAGE_MEASURES[:] = [other for other in PAGE_MEASURES if other != key]
    _rebuild()


def _rebuild() -> None:
    """Let the sections that are built already know which laws and policies there are.

    What was built of all of them goes first: a section is made of those within it as it finds them.
    """
    from pydantic import BaseModel

    sections = list(_built(BaseModel))
    for section in sections:
        for part in _BUILT:
            if part in vars(section):
                delattr(section, part)
        section.__pydantic_complete__ = False
    for section in sections:
        section.model_rebuild(force=True)


def _built(model: Any) -> Iterator[Any]:
    """The models of ours that have been built."""
    for each in model.__subclasses__():
        if each.__pydantic_complete__ and each.__module__.partition(".")[0] == "scenarios":
            yield each
        yield from _built(each)


def _owner_of(kind: str, name: str) -> str | None:
    """The plugin that has added something."""
    owners = (plugin for module, plugin in _MODULES[kind].items() if name in _adds(module, kind))
    return next((f"the plugin {each.name}" for each in owners), None)


@contextmanager
def _failures(plugin: Plugin) -> Iterator[None]:
    """Whatever a plugin does wrong while it is loaded is said in one refusal."""
    try:
        yield
    except ScenarioError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"cannot be loaded: {in_a_line(error)}{_place_in(plugin, error)}"
        raise _refusal(plugin.name, reason) from error


def blamed(error: BaseException) -> str | None:
    """What a plugin did, if an error comes from one: its name, what it was, and where."""
    for plugin in _PLUGINS.values():
        notes = getattr(error, "__notes__", ())
        where = _place_in(plugin, error)
        if where or _note(plugin) in notes:
            return f"the plugin {plugin.name} failed: {in_a_line(error)}{where}"
    return None


@contextmanager
def owner_named(*functions: Callable[..., Any]) -> Iterator[None]:
    """Let an error say of which plugin the functions are whose values led to it.

    Parameters
    ----------
    *functions : callable
    """
    try:
        yield
    except Exception as error:
        named = {each.__module__ for each in functions}
        owners = (owner for of_kind in _MODULES.values() for owner in of_kind.items())
        for note in {_note(plugin) for module, plugin in owners if module.__name__ in named}:
            error.add_note(note)
        raise


def _note(plugin: Plugin) -> str:
    return f"in the plugin {plugin.name}"


def _place_in(plugin: Plugin, error: BaseException) -> str:
    """The last line of a plugin that an error came through, here or in another process."""
    text = "".join(traceback.format_exception(error))
    lines = re.findall(r'File "(.+?)", line (\d+)', text)
    inside = [found for found in lines if plugin.place and found[0].startswith(plugin.place)]
    return f" ({Path(inside[-1][0]).name}, line {inside[-1][1]})" if inside else ""


def in_a_line(error: BaseException) -> str:
    """What an error says, of whomever it is, on one line that does nothing but show it."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return shortened(visible(line), LONGEST_LINE)


def _refusal(name: str | Path, reason: str) -> ScenarioError:
    return ScenarioError("plugin", str(name), reason)


def packed(reduced: Any) -> Any:
    """How an object is pickled that another process is to have: with the plugins, if there are any.

    Parameters
    ----------
    reduced : tuple
        As ``__reduce_ex__`` gives it, with a state.
    """
    if not _PLUGINS:
        return reduced
    files = [(each.place, each.text) for each in _PLUGINS.values() if each.text is not None]
    return _unpacked, (files, pickle.dumps(reduced))


def _unpacked(files: list[tuple[str, bytes]], content: bytes) -> Any:
    """The object, once the plugins are there that it may be made of."""
    load_installed()
    for place, text in files:
        known = _PLUGINS.get(Path(place).name)
        if known is not None and known.text is not None and known.place != place:
            forget(known.name)  # a worker of several people has what it is given last
        _used(place, text)
    make, arguments, state, *_ = pickle.loads(content)
    made = make(*arguments)
    made.__setstate__(state)
    return made
