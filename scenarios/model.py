"""A scenario decoded once: what the system is, as both sides read it.

The file says some things in words, and leaves some out; here each is a small frozen class that says
what it means, so that whoever asks for it cannot forget a case. What follows from it, a draw or a
transform, is for each side to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scenarios.laws import Distribution
from scenarios.sections import Buffer, PageSize, System


@dataclass(frozen=True)
class Never:
    """A page waits until its service starts."""


@dataclass(frozen=True)
class OnChange:
    """All waiting copies of a page are dropped when the original changes."""


Patience: TypeAlias = Never | OnChange | Distribution
"""How long a page waits before it is obsolete; with a law, each draws its own time."""


@dataclass(frozen=True)
class QueueDiscipline:
    """Which waiting page is served next, and which leaves without service.

    Attributes
    ----------
    newest_first : bool
        The newest waiting page is served next, else the oldest one.
    pushes_out : bool
        A page that finds the buffer full pushes out the oldest waiting page, else it is lost.
    replaces : bool
        A delivered copy takes the place of a waiting older copy of its page.
    drops_changed : bool
        All waiting copies of a page are dropped when the original changes.
    """

    newest_first: bool = False
    pushes_out: bool = False
    replaces: bool = False
    drops_changed: bool = False

    @property
    def is_ordered(self) -> bool:
        """First come first served, and whoever waits is not pushed out."""
        return not self.newest_first and not self.pushes_out


@dataclass(frozen=True)
class Queue:
    """What waits for the indexing engine, and how.

    Attributes
    ----------
    servers, waiting_places : int
    admission : {"partial", "reject", "complete"}
        What of a batch enters that is larger than the room there is.
    discipline : QueueDiscipline
    service : Distribution or PageSize
        A law, or the time that the page itself takes.
    patience : Never, OnChange or Distribution
    """

    servers: int
    waiting_places: int
    admission: Literal["partial", "reject", "complete"]
    discipline: QueueDiscipline
    service: Distribution | PageSize
    patience: Patience

    @property
    def capacity(self) -> int:
        """Pages that there is room for, those in service included."""
        return self.waiting_places + self.servers

    @property
    def timer(self) -> Distribution | None:
        """The law of the obsolescence timers; None where waiting pages have none."""
        return None if isinstance(self.patience, Never | OnChange) else self.patience


@dataclass(frozen=True)
class Model:
    """What a system is; None: it has no such part.

    Attributes
    ----------
    queue : Queue or None
        In front of the indexing engine.
    """

    queue: Queue | None


def model_of(system: System) -> Model:
    """The sections of a scenario, decoded; `Scenario.model` keeps it."""
    return Model(queue=None if system.buffer is None else _queue(system.buffer))


_KINDS: dict[str, Patience] = {"never": Never(), "page-change": OnChange()}


def _queue(buffer: Buffer) -> Queue:
    given = buffer.obsolescence
    patience = _KINDS[given] if isinstance(given, str) else given
    discipline = QueueDiscipline(
        newest_first=buffer.discipline == "lifo",
        pushes_out=buffer.when_full == "push-out",
        replaces=buffer.replace_older_copy,
        drops_changed=isinstance(patience, OnChange),
    )
    return Queue(
        servers=buffer.servers,
        waiting_places=buffer.waiting_places,
        admission=buffer.admission,
        discipline=discipline,
        service=buffer.service,
        patience=patience,
    )
