"""What signals are worth as parameters of a fit: precision and recall of hosts, rates of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlsim.logs.fit.intervals import Parameter, parameters_of
from crawlsim.logs.fit.result import Fit
from crawlsim.logs.fit.shared_prior import groups_of
from crawlsim.logs.fit.signal_worth import Beside, Draws, posterior_draws, signals_beside
from crawlsim.logs.read.gaps import Gaps
from crawlsim.logs.read.log import VisitLog
from crawlsim.logs.read.signals import Heard, SignalLog, heard_in, hosts_of
from scenarios import ScenarioError
from scenarios.arrays import Array
from scenarios.text import counted

_SEED = 5
_DRAWS, _DRAWS_OF_MANY = 480, 120
_MANY = 3000
MOST_SAID = 5
"""Hosts of which notes speak."""
_ALL_SHARES = 0.05
"""Of a wide interval an end as near to 0 or 1 is 0 or 1: nothing tells the two apart."""


class HostWorth(NamedTuple):
    """What the signals of one host are worth: shares with their 95 % intervals.

    Attributes
    ----------
    host : str
        Empty where names have none.
    pages, signals : int
    precision, recall : tuple of float
        Estimate, lower and upper end.
    """

    host: str
    pages: int
    signals: int
    precision: tuple[float, float, float]
    recall: tuple[float, float, float]

    @property
    def subject(self) -> str | None:
        """What its parameters are called after."""
        return self.host or None

    def record(self) -> dict[str, Any]:
        """The entries for JSON."""
        shares = {
            f"{name}{end}": value
            for name, share in (("precision", self.precision), ("recall", self.recall))
            for end, value in zip(("", "_low", "_high"), share, strict=True)
        }
        return {"host": self.host, "pages": self.pages, "signals": self.signals} | shares

    @property
    def sentence(self) -> str:
        """The same in words."""
        where = f"Signals of {self.host}" if self.host else "Signals"
        if not self.signals:
            return f"{where}: none was heard."
        true, known = (
            f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
            for share, low, high in (self.precision, self.recall)
        )
        return f"{where}: {true} are true; of the changes {known} have one."


def _listening(system: Mapping[str, Any], pages: int) -> dict[str, Any]:
    """The robots of a system, which listen to signals if there are more pages than robots."""
    robots = system.get("robots")
    if robots is None or robots["available"] >= pages:
        return {}
    return {"robots": {**robots, "accessing": {"policy": "crawl-value"}}}


def drawn(beside: Beside, names: NDArray[np.object_]) -> Draws:
    """Draws of the rates of pages, more of a small log."""
    number = _DRAWS if beside.gaps.pages <= _MANY else _DRAWS_OF_MANY
    return posterior_draws(beside, groups_of(names), number, np.random.default_rng(_SEED))


def must_be_heard(beside: Beside, heard: Heard) -> None:
    """Raise `ScenarioError`, with what was left out and why, where visits and signals never meet.

    So it is if no page was visited twice while signals were heard, or none is of a visited page.
    """
    if not len(heard.time):
        allowed = "none is of a page that was visited and says something of it."
    elif not (beside.signals >= 0).any():
        allowed = "no page was visited twice while these signals were heard."
    else:
        return
    value = counted(int(beside.heard.sum()), "signal")
    raise ScenarioError("--signals", value, " ".join([allowed, *heard.notes]))


def worth_of_hosts(
    draws: Draws, beside: Beside, names: NDArray[np.object_], *, is_believed: bool = True
) -> list[HostWorth]:
    """What the signals of each host are worth that has a page.

    Parameters
    ----------
    draws : Draws
    beside : Beside
    names : ndarray of str, shape (pages,)
    is_believed : bool
        Whether the visits say when pages change; nothing is known otherwise.
    """
    host, hosts = hosts_of(names)
    heard = np.bincount(host, beside.heard, len(hosts)).astype(int)
    signalled = beside.signals > 0
    tried = np.bincount(host[beside.gaps.page[signalled]], minlength=len(hosts))
    sums = (np.zeros((len(hosts), draws.heard.shape[1])) for _ in range(3))
    signals, true, changes = sums
    for total, each in ((signals, draws.heard), (true, draws.true), (changes, draws.changes)):
        np.add.at(total, host, each)
    found = []
    for place, name in enumerate(hosts.tolist()):
        precision = _share(true[place] / signals[place])
        recall = _share(true[place] / changes[place])
        if not is_believed or not tried[place]:
            precision = precision[0], 0.0, 1.0
        if not is_believed:
            recall = recall[0], 0.0, 1.0
        pages = int((host == place).sum())
        found.append(HostWorth(name, pages, int(heard[place]), precision, recall))
    return found


def _share(draws: Array) -> tuple[float, float, float]:
    """Mean and ends of the 95 % interval of a share."""
    low, high = np.quantile(draws, [0.025, 0.975], method="weibull").tolist()
    if high - low > 0.5:
        low = 0.0 if low < _ALL_SHARES else low
        high = 1.0 if high > 1 - _ALL_SHARES else high
    return float(draws.mean()), low, high


def with_signals(
    fitted: Fit, log: VisitLog, gaps: Gaps, signals: SignalLog, unit: float, *, is_believed: bool
) -> Fit:
    """The fit of visits, with what signals beside them say.

    Parameters
    ----------
    fitted : Fit
        Of the visits alone.
    log : VisitLog
        The visits of the fitted pages.
    gaps : Gaps
        Theirs, in seconds, or as the log counts time.
    signals : SignalLog
    unit : float
        Of time in the fit, as the gaps count it.
    is_believed : bool
        Whether the visits say when pages change.
    """
    heard = heard_in(signals, log.urls, gaps.begin, gaps.end, dated=log.dated)
    beside = signals_beside(gaps, heard)
    must_be_heard(beside, heard)
    draws = drawn(beside, log.urls)
    hosts = worth_of_hosts(draws, beside, log.urls, is_believed=is_believed)
    total = draws.changes * unit
    ends = np.quantile(total, [0.025, 0.975], axis=1, method="weibull")
    if not is_believed:
        ends = np.zeros(len(total)), np.full(len(total), np.inf)
    names = log.urls.tolist()
    rates = total.mean(axis=1)
    true = draws.true.mean(axis=1)
    recall = (true / draws.changes.mean(axis=1)).tolist()
    precision = (true / draws.heard.mean(axis=1)).tolist()
    pages = fitted.system["pages"] | {
        "change_rates": rates.tolist(),
        "signals": {"recall": recall, "precision": precision},
    }
    return replace(
        fitted,
        parameters=(
            *(Parameter("precision", each.subject, *each.precision) for each in hosts),
            *(Parameter("recall", each.subject, *each.recall) for each in hosts),
            *parameters_of("total_change_rate", names, rates, *ends),
            *fitted.parameters,
        ),
        summary={
            **fitted.summary,
            "signals": int(beside.heard.sum()),
            "signals_between_visits": int(np.maximum(beside.signals, 0).sum()),
        },
        notes=(*heard.notes, *(each.sentence for each in hosts[:MOST_SAID]), *fitted.notes),
        changes={
            "pages.change_rates": rates.tolist(),
            "pages.signals": pages["signals"],
        },
        system={**fitted.system, "pages": pages, **_listening(fitted.system, len(names))},
    )
