"""The metadata of a study as a research object: RO-Crate 1.1 (https://w3id.org/ro/crate/1.1).

Written out here rather than by a library: it is one JSON document, which every study then has
without another package; a test reads it with the library.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

METADATA = "ro-crate-metadata.json"

_PROFILE = "https://w3id.org/ro/crate/1.1"
_TYPES = {".toml": "application/toml", ".md": "text/markdown"}
"""Those that not every machine knows."""

_SUFFICES = {
    "inputs/": "What the command reads.",
    "plugins/": "Code of the author's own, which the command executes.",
    "results/": "What the command wrote.",
    "figures/": "A figure, in the shape of a slide.",
}


def crate(
    title: str,
    description: str,
    sizes: Mapping[str, int],
    command: Sequence[str],
    inputs: Sequence[str],
    made: Sequence[str],
    versions: Mapping[str, str],
    written: str,
) -> str:
    """The metadata file of a folder.

    Parameters
    ----------
    title, description : str
    sizes : mapping name -> bytes
        All files of the folder.
    command : sequence of str
        What made the results.
    inputs, made : sequence of str
        The files that it read, and those that it wrote.
    versions : mapping
        Of the program and of what its numbers depend on.
    written : str
        When, as ISO 8601 has it.
    """
    program = {"@id": "#crawlsim"}
    entities: list[dict[str, Any]] = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _PROFILE},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": title,
            "description": description,
            "datePublished": written,
            "license": "To be stated by the author: see item 6.1 of report.md.",
            "hasPart": _those(sizes),
            "mentions": [{"@id": "#run"}],
        },
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": " ".join(["crawlsim", *command]),
            "endTime": written,
            "instrument": program,
            "object": _those(inputs),
            "result": _those(made),
        },
        program
        | {
            "@type": "SoftwareApplication",
            "name": "crawlsim",
            "version": versions["crawlsim"],
            "softwareRequirements": [f"{name} {what}" for name, what in versions.items()],
        },
    ]
    entities += [_file(name, size) for name, size in sizes.items()]
    document = {"@context": f"{_PROFILE}/context", "@graph": entities}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _those(names: Sequence[str] | Mapping[str, int]) -> list[dict[str, str]]:
    return [{"@id": name} for name in names]


def _file(name: str, size: int) -> dict[str, Any]:
    ending = f".{name.rpartition('.')[2]}"
    of = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    said = next((words for folder, words in _SUFFICES.items() if name.startswith(folder)), "")
    entity = {"@id": name, "@type": "File", "name": name, "encodingFormat": of}
    entity |= {"contentSize": str(size)}
    return entity | ({"description": said} if said else {})
