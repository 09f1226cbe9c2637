"""Pages of the keys of a scenario file, from its JSON Schema: type, default, what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generator.links import relinked
from generator.markdown import code, heading, page, prose, table, toctree
from generator.places import pages_of, place_of
from scenarios import schema

FOLDER = "reference/keys"

Node = dict[str, Any]

_TOLD_IN = "docs/scenario-file.md"
_SECTION = re.compile(r"\[([a-z][\w.]*)\]")

_FAR = 1e100
_LAW = "a [distribution](/reference/keys/distributions.md)"
_PROCESS = "a [process](/reference/keys/processes.md)"


@dataclass(frozen=True)
class Key:
    """A key of the scenario file.

    Parameters
    ----------
    path : str
        Such as ``buffer.waiting_places``.
    nodes : tuple of dict
        Its schema, by each of the alternatives that have it.
    required : bool
        Whether all of the alternatives ask for it.
    of : tuple of str
        The alternatives that have it, where not all do.
    """

    path: str
    nodes: tuple[Node, ...]
    required: bool
    of: tuple[str, ...] = ()

    @property
    def default(self) -> Any:
        """What it is without the key; None: nothing."""
        return self.nodes[0].get("default")


@cache
def _schema() -> Node:
    return schema()


def resolved(node: Node) -> Node:
    """A node of the schema, or the one that it refers to."""
    if "$ref" in node:
        return {**_schema()["$defs"][node["$ref"].rpartition("/")[2]], **_without_ref(node)}
    return node


def _without_ref(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "$ref"}


def alternatives(node: Node) -> list[Node]:
    """What a value may be, one node each; null is no value of a file."""
    node = resolved(node)
    for union in ("oneOf", "anyOf"):
        if union in node:
            return [each for one in node[union] for each in alternatives(one)]
    return [] if node.get("type") == "null" else [node]


def keys_below(path: str, node: Node) -> Iterator[Key]:
    """The keys of a table, of all its alternatives, and those of the tables in it.

    Those of distributions, of processes and of columns of files are left out: they have pages of
    their own, and mean the same wherever they stand.
    """
    tables = list(_tables(node))
    by_name: dict[str, list[tuple[Node, Node]]] = {}
    for one in tables:
        for name, inner in one["properties"].items():
            by_name.setdefault(name, []).append((one, inner))
    for name, found in by_name.items():
        owners = [one for one, _ in found]
        of = () if len(owners) == len(tables) else tuple(filter(None, map(_policy, owners)))
        required = not of and all(name in one.get("required", ()) for one in tables)
        key = Key(f"{path}.{name}", tuple(inner for _, inner in found), required, of)
        yield key
        for inner in _distinct(key.nodes):
            yield from keys_below(key.path, inner)


def _distinct(nodes: tuple[Node, ...]) -> list[Node]:
    return list({json.dumps(each, sort_keys=True): each for each in nodes}.values())


def _tables(node: Node) -> Iterator[Node]:
    """The tables that a value may be, but not laws, processes and columns of files."""
    options = alternatives(node)
    laws = _laws_among(options)
    for one in options:
        if one.get("type") == "array" and isinstance(one.get("items"), dict):
            yield from _tables(one["items"])
        elif "properties" in one:
            names = set(one["properties"])
            if names != {"file", "column"} and not names & laws:
                yield one


def _single_keys(options: list[Node]) -> set[str]:
    """Keys of alternatives that are tables of one key."""
    return {
        next(iter(each["properties"])) for each in options if len(each.get("properties", ())) == 1
    }


def _laws_among(options: list[Node]) -> set[str]:
    """The distributions and processes among alternatives; `uniform` is a policy of probing, too."""
    names = _single_keys(options)
    is_law = names & {"exponential", "poisson"}
    return names & (_names_of("laws") | _names_of("processes")) if is_law else set()


@cache
def _names_of(kind: str) -> frozenset[str]:
    """The names of the distributions, or of the processes."""
    services = alternatives(_schema()["$defs"]["Servers"]["properties"]["service"])
    laws = set(_single_keys([each for one in services for each in _within(one)]))
    arrivals = alternatives(_schema()["$defs"]["Servers"]["properties"]["arrivals"])
    of_robots = alternatives(_schema()["$defs"]["ThinnedProcess"]["properties"]["process"])
    processes = _single_keys(arrivals) | _single_keys(of_robots)
    return frozenset(laws if kind == "laws" else processes - laws)


def _within(node: Node) -> list[Node]:
    return alternatives(node["items"]) if node.get("type") == "array" else [node]


def _policy(table_of_one: Node) -> str | None:
    """What the constant of an alternative says, such as the name of a policy."""
    for inner in table_of_one["properties"].values():
        if "const" in inner:
            return str(inner["const"])
    return None


def sections() -> dict[str, list[Key]]:
    """The keys of each section, and those at the top of the file, by the name of the section."""
    whole = _schema()
    required = whole.get("required", ())
    found: dict[str, list[Key]] = {"top": []}
    for name, node in whole["properties"].items():
        below = list(keys_below(name, node))
        if below:
            found[name] = below
        else:
            found["top"].append(Key(name, (node,), name in required))
    return found


def parts_of_laws() -> dict[str, list[tuple[str, Node]]]:
    """The distributions and the processes: name and schema of each."""
    servers = _schema()["$defs"]["Servers"]["properties"]
    nodes = [each for one in alternatives(servers["service"]) for each in _within(one)]
    nodes += alternatives(servers["arrivals"])
    nodes += alternatives(_schema()["$defs"]["ThinnedProcess"]["properties"]["process"])
    named = {
        name: resolved(inner)
        for each in nodes
        for name, inner in each.get("properties", {}).items()
        if len(each["properties"]) == 1
    }
    return {
        "distributions": [(n, each) for n, each in named.items() if n in _names_of("laws")],
        "processes": [(n, each) for n, each in named.items() if n in _names_of("processes")],
    }


def in_words(node: Node) -> str:
    """What a value may be, as Markdown."""
    options = alternatives(node)
    known = _laws_among(options)
    words = []
    if known & _names_of("laws"):
        words.append(_LAW)
    if known & _names_of("processes"):
        words.append(_PROCESS)
    words += [_one(each) for each in options if not set(each.get("properties", ())) & known]
    return "; or ".join(dict.fromkeys(words))


def _one(node: Node) -> str:
    kind = node.get("type")
    if "const" in node or "enum" in node:
        given = node.get("enum", [node.get("const")])
        shown = [code(json.dumps(each)) for each in given]
        return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"
    if kind == "array" and "prefixItems" in node:
        return f"a list of {len(node['prefixItems'])}: {_in_turn(node['prefixItems'])}"
    if kind == "array" and "items" not in node:
        return "a list of such lists"
    if kind == "array":
        least = " with at least one entry" if node.get("minItems") == 1 else ""
        return f"a list{least}, each entry {in_words(node['items'])}"
    if kind == "boolean":
        return "`true` or `false`"
    if kind == "string":
        return "letters, digits, `-` and `_`" if "pattern" in node else "a text"
    if kind in ("integer", "number"):
        return _number(node)
    if "properties" in node:
        return code(f"{{ {', '.join(_shown(each, node) for each in node['properties'])} }}")
    return f"a table with {in_words(node['additionalProperties'])} for each name"


def _in_turn(entries: list[Node]) -> str:
    """What each entry of a list of fixed length may be; said once if it is the same for all."""
    words = [in_words(each) for each in entries]
    return f"each {words[0]}" if len(set(words)) == 1 else ", then ".join(words)


def _shown(name: str, node: Node) -> str:
    inner = node["properties"][name]
    below = alternatives(inner)
    if len(below) == 1 and "properties" in below[0]:
        return f"{name} = {{ {', '.join(below[0]['properties'])} }}"
    return name


def _number(node: Node) -> str:
    what = "a whole number" if node["type"] == "integer" else "a number"
    low, above = node.get("minimum", -_FAR), node.get("exclusiveMinimum", -_FAR)
    high, below = node.get("maximum", _FAR), node.get("exclusiveMaximum", _FAR)
    tiny = 0 < low <= 1 / _FAR
    limits = []
    if above > -_FAR:
        limits.append(f"above {above:g}")
    elif tiny:
        limits.append("above 0")
    elif low > -_FAR:
        limits.append(f"at least {low:g}")
    if below < _FAR:
        limits.append(f"below {below:g}")
    elif high < _FAR:
        limits.append(f"at most {_whole(high)}")
    return " ".join([what, *limits[:1], *(f"and {each}" for each in limits[1:])])


def _whole(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ") if number == int(number) < 1e15 else f"{number:g}"


def key_pages() -> dict[str, str]:
    """The pages by their places."""
    pages = {}
    rows = []
    for name, keys in sections().items():
        title = "Top of the file" if name == "top" else code(f"[{name}]")
        lead = _lead(name)
        place = "index-section" if name == "index" else name  # the index of this folder is another
        pages[f"{FOLDER}/{place}"] = page(
            f"# {title}", *([lead] if lead else []), *map(_section_of, keys)
        )
        rows += [[f"[`{key.path}`](#key-{key.path})", _allowed(key)] for key in keys]
    for name, laws in parts_of_laws().items():
        parts = [part for law, node in laws for part in _parts_of_law(law, node)]
        pages[f"{FOLDER}/{name}"] = page(f"# {name.title()}", *parts)
    pages[f"{FOLDER}/index"] = page(
        "# Keys of the scenario file",
        "Every key, from the schema that `crawlsim schema` prints. What they are for, with "
        "examples, is told in [](/reference/scenario-file.md). `--set KEY=VALUE` changes one.",
        table(["key", "allowed"], rows),
        toctree([each.removeprefix(f"{FOLDER}/") for each in pages], "hidden"),
    )
    return pages


def _lead(name: str) -> str:
    """What the schema says of a section."""
    if name == "top":
        return "Keys that stand above all sections."
    told = [each.get("description") for each in _tables(_schema()["properties"][name])]
    return prose(str(told[0])) if len(told) == 1 and told[0] else ""


def _section_of(key: Key) -> str:
    return page(heading(f"key-{key.path}", code(key.path), 2), *_told(key))


@cache
def meanings() -> dict[str, str]:
    """What the tables of docs/scenario-file.md say of each key, as Markdown."""
    root = Path(__file__).parents[2]
    text = (root / _TOLD_IN).read_text("utf-8")
    text = relinked(text, _TOLD_IN, pages_of(root), lambda _: None)
    text = text.replace("](#", f"](/{place_of(_TOLD_IN)}.md#")
    found: dict[str, str] = {}
    sections, in_table = [""], False
    for line in text.splitlines():
        cells = re.split(r"(?<!\\) *\| *", line.strip("| "))
        if line.startswith("## "):
            sections = [f"{each}." for each in _SECTION.findall(line)[:1]] or [""]
        elif line.startswith("| key"):
            in_table = True
            sections = [f"{each}." for each in _SECTION.findall(cells[0])] or sections
        elif not line.startswith("|"):
            in_table = False
        elif in_table and len(cells) > 1:
            for name in re.findall(r"`(\w+)", cells[0]):
                for section in sections:
                    found.setdefault(section + name, cells[-1].replace("\\|", "|"))
    return found


def _meaning(key: Key) -> str:
    """What a key means, as a sentence; empty where the reference leaves it to the schema."""
    text = meanings().get(key.path, "")
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def _told(key: Key) -> list[str]:
    about = {resolved(each).get("description") for each in key.nodes} - {None}
    lines = [f"- Allowed: {_allowed(key)}"]
    if key.required:
        lines.append("- Required")
    else:
        lines.append(f"- Default: {_default(key)}")
    if key.of:
        lines.append(f"- With: {', '.join(code(each) for each in key.of)}")
    told = [_meaning(key), prose(about.pop()) if len(about) == 1 else ""]
    return [*filter(None, told), "\n".join(lines)]


def _default(key: Key) -> str:
    if key.default in (None, "", []):
        return "none"
    return code(json.dumps(key.default))


def _allowed(key: Key) -> str:
    constants = [each["const"] for each in key.nodes if "const" in each]
    if len(constants) > 1:
        return f"one of {', '.join(code(json.dumps(each)) for each in constants)}"
    return "; or ".join(dict.fromkeys(in_words(each) for each in key.nodes))


def _parts_of_law(name: str, node: Node) -> Iterator[str]:
    yield heading(f"law-{name}", code(name), 2)
    if "description" in node:
        yield prose(node["description"])
    required = node.get("required", ())
    for key, inner in node.get("properties", {}).items():
        of_law = Key(f"{name}.{key}", (inner,), key in required)
        yield page(heading(f"key-{of_law.path}", code(f"{name} = {{ {key} }}"), 3), *_told(of_law))
