"""All rows of all logs together as one history.

What a visit found follows from comparing its digest with the last one known of the page. A visit
that says itself that nothing has changed (304, a revisit) leaves the last known digest as it is.
Rows of a page at the same time are one visit; if they hold different digests, the page had either
of them, and neither is a change at the next visit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.read.columns import starts_anew
from crawlsim.logs.read.csv_lines import MOST_SHOWN
from crawlsim.logs.read.log import BrokenRows, ChangeLog, SilentVisits, VisitLog
from crawlsim.logs.read.page_names import ACTING_NAME, OTHER_SCHEME, page_named
from crawlsim.logs.read.rows import (
    CHANGED,
    DIGEST,
    FAILED,
    MOVED,
    NAMED,
    OPENING,
    REFUSED,
    REVISIT,
    SAME,
    STAMPED,
    UNTOLD,
    Rows,
)
from crawlsim.logs.read.times import DOUBTFUL_ZONES
from scenarios.arrays import Array
from scenarios.errors import MISSING, ScenarioError
from scenarios.text import counted, visible

_LARGEST = np.iinfo(np.uint64).max
_FEWEST_STAMPS = 2
_FEWEST_STAMPED, _STAMPED_SHARE = 5, 0.1
_MOST_SMALL = np.iinfo(np.int32).max


class History:
    """Rows as they come, in columns of numbers, until a log is made of them.

    Parameters
    ----------
    key : callable, optional
        From a URL to what its spellings have in common; by default each is a page of its own.
    """

    def __init__(self, key: Callable[[str], str] | None = None) -> None:
        self._key = key
        self._index: dict[str, int] = {}
        self._pages: list[NDArray[np.int32]] = []
        self._times: list[Array] = []
        self._states: list[NDArray[np.int8]] = []
        self._digests: list[NDArray[np.uint64]] = []
        self._sizes: list[tuple[NDArray[np.int32], Array]] = []
        self._broken = BrokenRows()
        self._left_out: Counter[str] = Counter()
        self._zones: set[str] = set()
        self._said: set[str] = set()
        self._signed = False
        self._dated: dict[bool, Path] = {}

    def add(self, rows: Rows, path: Path) -> None:
        """More rows of a file.

        Raises
        ------
        ScenarioError
            If their times are numbers and those of others dates.
        """
        self._take_broken(rows, path)
        self._left_out["digest"] += rows.without_digest
        self._left_out["posted"] += rows.posted
        self._zones |= rows.zones
        self._said |= set(rows.notes)
        self._signed |= rows.signed
        if not len(rows.page):
            return
        self._dated.setdefault(rows.dated, path)
        if len(self._dated) > 1:
            allowed = f"holds times that are numbers, and {self._dated[True]} dates"
            raise ScenarioError("", MISSING, allowed, str(self._dated[False]))
        index = np.full(len(rows.names), OTHER_SCHEME, np.int32)
        if rows.broken.count or rows.posted:
            used = np.unique(rows.page)
            index[used] = self._indices_of([rows.names[place] for place in used.tolist()])
        else:
            index[:] = self._indices_of(rows.names)
        page = index[rows.page]
        is_url = page >= 0
        self._left_out["scheme"] += int((page == OTHER_SCHEME).sum())
        self._left_out["acting"] += int((page == ACTING_NAME).sum())
        kept = is_url & (rows.state != NAMED)
        self._left_out["nothing"] += int((is_url & (rows.state == NAMED)).sum())
        self._pages.append(page[kept])
        self._times.append(rows.time[kept])
        self._states.append(rows.state[kept])
        self._digests.append(rows.digest[kept])
        if rows.size is not None:
            sized = kept & np.isfinite(rows.size)
            self._sizes.append((page[sized], rows.size[sized]))

    def _indices_of(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Index of each page, a new one for those not seen before; negative if it is not a page."""
        known = self._index.get
        indices = np.array([known(name, -1) for name in names], np.int32)
        for place in np.flatnonzero(indices == -1).tolist():
            page = page_named(names[place])
            if isinstance(page, str):
                page = self._index.setdefault(page, len(self._index))
            indices[place] = page
        return indices

    def _take_broken(self, rows: Rows, path: Path) -> None:
        seen = len(rows.time) + rows.broken.count + rows.posted
        known = self._broken
        more = rows.broken.lines[: MOST_SHOWN - len(known.lines)]
        self._broken = BrokenRows(
            known.count + rows.broken.count,
            known.of + seen,
            (*known.lines, *more),
            (*known.files, *(visible(path.name) for _ in more)),
        )

    def change_log(self) -> ChangeLog:
        """The rows as times of changes.

        Raises
        ------
        ScenarioError
            If there are none.
        """
        urls, page, time, state, _, sizes = self._in_order()
        has_content = state > UNTOLD
        self._left_out["nothing"] += int((state < UNTOLD).sum())
        kept = has_content & starts_anew(page, time)
        repeated = int(has_content.sum() - kept.sum())
        return ChangeLog(urls, page[kept], time[kept], sizes=sizes, **self._of_all(repeated))

    def visit_log(self) -> VisitLog:
        """The rows as visits, each with what it found.

        Raises
        ------
        ScenarioError
            If there is no URL.
        """
        urls, page, time, state, digest, sizes = self._in_order()
        resolve_revisits(page, state, digest)
        stamped = resolve_stamps(page, state, digest, len(urls))
        if stamped:
            self._said.add(
                f"The dates of {stamped} of {counted(len(urls), 'page')} follow the sitemaps, "
                "which stamp many pages at once: they say nothing of the pages, which are taken "
                "to change as the others do."
            )
        is_content = state > UNTOLD
        silent = SilentVisits(page[:0], time[:0], state[:0])
        if not is_content.all():
            silent = _silent(page[~is_content], time[~is_content], state[~is_content])
            self._left_out["nothing"] += int((silent.answer != UNTOLD).sum())
            silent = silent.where(silent.answer != REFUSED)
            page = page[is_content]
            time = time[is_content]
            state = state[is_content]
            digest = digest[is_content]
        visits = _Visits(page, time, state, digest, signed=self._signed)
        if visits.unsaid:
            self._left_out["unsaid"] += visits.unsaid
        changed = visits.changed()
        return VisitLog(
            urls,
            visits.page,
            visits.time,
            changed,
            silent,
            visits.contradicted,
            visits.compared,
            sizes=sizes,
            **self._of_all(visits.repeated),
        )

    def _of_all(self, repeated: int) -> dict[str, Any]:
        """What logs of visits and of changes have both."""
        return {
            "broken": self._broken,
            "left_out": self._counted(),
            "repeated": repeated,
            "dated": False not in self._dated,
        }

    def _in_order(
        self,
    ) -> tuple[
        NDArray[np.object_],
        NDArray[np.int32],
        Array,
        NDArray[np.int8],
        NDArray[np.uint64],
        Array | None,
    ]:
        """URLs by name, the columns by page and time, and the mean size of each page."""
        if not self._index:
            allowed = f"the logs hold no row with a URL{self.said()}"
            raise ScenarioError("", MISSING, allowed)
        names = list(self._index)
        self._index.clear()
        page = _joined(self._pages, np.int32)
        time = _joined(self._times, np.float64)
        state = _joined(self._states, np.int8)
        sized = _joined([pages for pages, _ in self._sizes], np.int32)
        if self._key is not None:
            of_name, names = _with_one_spelling(page, time, state, names, self._key)
            page = of_name[page]
            sized = of_name[sized]
        by_name = sorted(range(len(names)), key=names.__getitem__)
        urls = np.empty(len(names), object)
        urls[:] = [names[place] for place in by_name]
        rank = np.empty(len(names), np.int32)
        rank[by_name] = np.arange(len(names), dtype=np.int32)
        page = rank[page]
        sizes = None
        if self._sizes:
            total = np.bincount(
                rank[sized], _joined([each for _, each in self._sizes], np.float64), len(names)
            )
            with np.errstate(invalid="ignore"):
                sizes = total / np.bincount(rank[sized], minlength=len(names))
        order = np.lexsort((time, page))
        page = page[order]
        time = time[order]
        state = state[order]
        digest = _joined(self._digests, np.uint64)[order]
        return urls, page, time, state, digest, sizes

    def said(self) -> str:
        """All that was left out, to go on with after a refusal without its full stop."""
        notes = (*self._broken.notes(), *self._counted())
        return "".join(f". {note.removesuffix('.')}" for note in notes)

    def _counted(self) -> tuple[str, ...]:
        """What was counted and what is in doubt, in sentences."""
        notes = []
        for number, what in (
            (
                self._left_out["nothing"],
                "No successful visit (the gap between those before and after goes on)",
            ),
            (self._left_out["digest"], "Left out, since a successful visit has no digest"),
            (self._left_out["unsaid"], "Left out, since nothing says whether the page had changed"),
            (self._left_out["posted"], "Left out, since answers to POST are not what a page holds"),
            (
                self._left_out["scheme"],
                "Left out, since only http, https and ftp lead to pages (not dns:, urn:, mailto:)",
            ),
            (
                self._left_out["acting"],
                "Left out, since what begins with =, +, -, @ or a control character is not a page",
            ),
        ):
            if number > 0:
                notes.append(f"{what}: {counted(number, 'row')}.")
        notes += sorted(self._said)
        notes += [
            f"The time zone {zone} is taken for {DOUBTFUL_ZONES[zone]}."
            for zone in sorted(self._zones)
        ]
        return tuple(notes)


def _with_one_spelling(
    page: NDArray[np.int32],
    time: Array,
    state: NDArray[np.int8],
    names: Sequence[str],
    key: Callable[[str], str],
) -> tuple[NDArray[np.int32], list[str]]:
    """The page of each name whose spellings are put together, and what each is called.

    It is called as it was spelled when it last answered with a content, else as it was last seen.
    """
    index: dict[str, int] = {}
    of_name = np.array([index.setdefault(key(name), len(index)) for name in names], np.int32)
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__))
    chosen = np.zeros(len(index), np.int64)
    chosen[of_name[by_name]] = by_name  # of several for one place the last one stays, here as below
    rank = np.empty(len(names), np.int64)
    rank[by_name] = np.arange(len(names))
    order = np.lexsort((rank[page], time, state >= UNTOLD))
    chosen[of_name[page[order]]] = page[order]
    return of_name, [names[place] for place in chosen.tolist()]


def _silent(page: NDArray[np.int32], time: Array, state: NDArray[np.int8]) -> SilentVisits:
    """Visits without a content to compare, those of a page at one time as one: a content if any."""
    order = np.lexsort((-state, time, page))
    kept = order[starts_anew(page[order], time[order])]
    return SilentVisits(page[kept], time[kept], state[kept])


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    """One array of all parts, which are let go."""
    joined = np.concatenate([np.empty(0, kind), *parts])
    parts.clear()
    return joined


def resolve_revisits(
    page: NDArray[np.int32], state: NDArray[np.int8], digest: NDArray[np.uint64]
) -> None:
    """Put in place of each `REVISIT` what had its digest: an error, a redirect or a content.

    At this page before, else at this page later, else anywhere; a digest that was not seen with a
    status is a content's.

    Parameters
    ----------
    page, state, digest : ndarray, shape (rows,)
        In the order of page and time; `state` is changed.
    """
    revisits = np.flatnonzero(state == REVISIT)
    if not len(revisits):
        return
    state[revisits] = SAME
    failed = np.flatnonzero(np.isin(state, (FAILED, MOVED)) & (digest != 0))
    failed = failed[np.isin(digest[failed], digest[revisits])]
    if not len(failed):
        return
    seen = np.setdiff1d(np.flatnonzero(np.isin(digest, digest[failed])), revisits)
    revisits = revisits[np.isin(digest[revisits], digest[failed])]
    anywhere = dict(zip(digest[seen].tolist(), state[seen].tolist(), strict=True))
    of_page: dict[tuple[int, int], int] = {}
    for row in seen[::-1].tolist():
        of_page[int(page[row]), int(digest[row])] = int(state[row])  # the first one stays
    place = 0
    for row in revisits.tolist():
        while place < len(seen) and seen[place] < row:
            before = int(seen[place])
            of_page[int(page[before]), int(digest[before])] = int(state[before])
            place += 1
        key = int(page[row]), int(digest[row])
        found = of_page.get(key, anywhere[key[1]])
        state[row] = found if found in (FAILED, MOVED) else SAME


def resolve_stamps(
    page: NDArray[np.int32], state: NDArray[np.int8], digest: NDArray[np.uint64], pages: int
) -> int:
    """Put in place of each `STAMPED` a digest, or where dates follow the file that nothing is told.

    They do where of the dates of a page two or more, and half of all, are stamped, at a tenth of
    the pages and at five or more.

    Parameters
    ----------
    page, state, digest : ndarray, shape (rows,)
        In the order of page and time; `state` is changed.
    pages : int

    Returns
    -------
    int
        Pages whose dates follow the file.
    """
    is_stamped = state == STAMPED
    if not is_stamped.any():
        return 0
    state[is_stamped] = DIGEST
    new = starts_anew(page, digest)
    stamped = np.bincount(page[new & is_stamped], minlength=pages)
    own = np.bincount(page[new & ~is_stamped], minlength=pages)
    follows = (stamped >= _FEWEST_STAMPS) & (stamped >= own)
    number = int(follows.sum())
    if number < max(_FEWEST_STAMPED, _STAMPED_SHARE * pages):
        return 0
    state[follows[page]] = OPENING
    digest[follows[page]] = 0
    return number


class _Visits:
    """Rows of one page and time put together, and what each visit found.

    Parameters
    ----------
    page, time, state, digest : ndarray, shape (rows,)
        In the order of page and time.
    signed : bool
        Whether some have a sign of a change of their own, beside a digest or not.
    """

    def __init__(
        self,
        page: NDArray[np.int32],
        time: Array,
        state: NDArray[np.int8],
        digest: NDArray[np.uint64],
        *,
        signed: bool = False,
    ) -> None:
        self._signed = signed
        starts = np.flatnonzero(starts_anew(page, time))
        self.page = page[starts]
        self.time = time[starts]
        self.repeated = len(page) - len(starts)
        if len(starts) == len(page):
            self._state = state
            self._low = digest
            self._high = digest
        else:
            self._put_together(starts, state, digest)
        self.unsaid = 0
        self.contradicted = 0
        self.compared = 0
        first = starts_anew(self.page)
        kept = (self._state != OPENING) | first
        if not kept.all():
            self.unsaid = int((~kept).sum())
            self.page = self.page[kept]
            self.time = self.time[kept]
            self._state = self._state[kept]
            self._low = self._low[kept]
            self._high = self._high[kept]

    def _put_together(
        self, starts: NDArray[np.int64], state: NDArray[np.int8], digest: NDArray[np.uint64]
    ) -> None:
        """One state of each visit: a digest says more than that nothing has changed.

        That a page has changed is believed whoever says so.
        """
        own = (state == DIGEST) | ((state == CHANGED) & (digest != 0))
        is_told = np.logical_or.reduceat((state == DIGEST) | (state == CHANGED), starts)
        size = np.diff(np.append(starts, len(state)))
        usable = (own | ~np.repeat(is_told, size)) & (digest != 0)
        self._low = np.minimum.reduceat(np.where(usable, digest, _LARGEST), starts)
        self._high = np.maximum.reduceat(np.where(usable, digest, np.uint64(0)), starts)
        self._low[self._high == 0] = 0
        changed = np.logical_or.reduceat(state == CHANGED, starts)
        same = np.logical_or.reduceat(state == SAME, starts)
        digested = np.logical_or.reduceat(state == DIGEST, starts)
        self._state = np.select([changed, digested, same], [CHANGED, DIGEST, SAME], OPENING).astype(
            np.int8
        )

    def changed(self) -> NDArray[np.bool_]:
        """Whether each visit found another state than the visit before; False for the first."""
        first = starts_anew(self.page)
        start = np.maximum.accumulate(np.where(first, self._places(), 0))
        seen = (self._state == CHANGED) | (self._state == DIGEST)
        last = self._last(seen, start)
        # A revisit's own digest is taken where no other is known.
        hinted = (self._state == SAME) & (self._high != 0)
        hinted &= ~self._is_known(last)
        if hinted.any():
            earlier = self._last(seen | hinted, start)
            hinted &= ~self._is_known(earlier)
            last = self._last(seen | hinted, start)
        if self._signed:
            signed = self._last(self._high != 0, start)
            both = np.isin(self._state, (SAME, CHANGED)) & (self._high != 0) & ~first
            both &= self._is_known(signed)
            self.compared = int(both.sum())
            says = self._state == CHANGED
            self.contradicted = int((both & (says != self._differs_from(signed))).sum())
        found = (self._state == CHANGED) | ((self._state == DIGEST) & self._differs_from(last))
        return found & ~first

    def _differs_from(self, earlier: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the digests of each visit are known, and others than those of an earlier one."""
        low = self._low[earlier]
        high = self._high[earlier]
        alike = (self._low == low) | (self._low == high)
        alike &= (self._high == low) | (self._high == high)
        return self._is_known(earlier) & ~alike

    def _places(self) -> NDArray[Any]:
        """Place of each visit, in half the memory where that is enough."""
        number = len(self.page)
        return np.arange(number, dtype=np.int32 if number < _MOST_SMALL else np.int64)

    def _last(self, telling: NDArray[np.bool_], start: NDArray[Any]) -> NDArray[Any]:
        """The last earlier visit of the page that is one of those, or -1."""
        last = np.maximum.accumulate(np.where(telling, self._places(), -1))
        last[1:] = last[:-1].copy()
        last[:1] = -1
        last[last < start] = -1
        return last

    def _is_known(self, last: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether there is such a visit, and its digest is known."""
        return (last >= 0) & (self._high[last] != 0)
