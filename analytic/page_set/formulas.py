"""The index of formulas of pages that come and go, and what they say of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from analytic.index.accesses import time_per_access
from analytic.index.conditions import fleet_of
from analytic.index.formula import Formula, Values, dependent, is_covered, premise
from analytic.index.page_conditions import one_robot
from analytic.machinery.arrival_process import access_rate
from analytic.machinery.phase_type import exponential_rate
from analytic.machinery.refusal import Remembered
from analytic.machinery.transforms import mean_time
from analytic.page_set.drawn_pages import Fetched, drawn_pages, many_pages, rate_of_each
from analytic.page_set.known_pages import (
    becoming_known,
    death_rate,
    existing_pages,
    known_share,
)
from scenarios import Scenario
from scenarios.model import Gaps, present
from scenarios.page_set import PageSet


def _section(scenario: Scenario) -> PageSet:
    return present(scenario.page_set)


@premise
def has_page_set(scenario: Scenario) -> str | None:
    """Pages come and go."""
    return None if scenario.page_set is not None else "there is no [page_set]"


def memoryless_discovery(scenario: Scenario) -> str | None:
    """Pages are known from their births on, or lifetimes or delays are exponential."""
    section = _section(scenario)
    delay = section.delay
    known = delay is None or exponential_lifetimes(scenario) is None
    if known or (delay is not None and exponential_rate(delay) is not None):
        return None
    return "neither lifetimes nor the delays until pages are known are exponential"


def exponential_lifetimes(scenario: Scenario) -> str | None:
    """Lifetimes are exponential."""
    known = death_rate(_section(scenario)) is not None
    return None if known else "lifetimes are not exponential"


def drawn_at_random(scenario: Scenario) -> str | None:
    """Each access draws its page among those that are known."""
    policy = scenario.model.accessing
    drawn = policy is not None and policy.policy == "randomized"
    return None if drawn else "pages are fetched in turn, not drawn at random"


def first_accesses_at_once(scenario: Scenario) -> str | None:
    """A page is fetched as soon as it is known."""
    return None if _at_once(scenario) else "new pages are fetched in their turn"


def first_accesses_in_turn(scenario: Scenario) -> str | None:
    """A page is not preferred because it is new."""
    return "new pages are fetched at once" if _at_once(scenario) else None


def exponential_accesses(scenario: Scenario) -> str | None:
    """Access times are exponential."""
    known = access_rate(_access_time(scenario)) is not None
    return None if known else "access times are not exponential"


@dependent
def robots_keep_up(scenario: Scenario) -> str | None:
    """More accesses than pages that become known, than twice as many with first ones at once."""
    rate_of_each(_arrivals(scenario), 1.0, _accesses(scenario), _at_once(scenario))
    return None


def _at_once(scenario: Scenario) -> bool:
    return _section(scenario).first_access == "at-once"


def _access_time(scenario: Scenario) -> Gaps:
    (robots,) = fleet_of(scenario).classes
    return robots.gaps


def _accesses(scenario: Scenario) -> float:
    """Accesses per unit time of all robots."""
    return 1.0 / time_per_access(scenario)


def _arrivals(scenario: Scenario) -> float:
    section = _section(scenario)
    return becoming_known(section.birth_rate, section.lifetime, section.delay)


def only_grows(scenario: Scenario) -> bool:
    """Whether the list of known pages is known to grow on and on.

    Parameters
    ----------
    scenario : Scenario
    """
    known = (has_page_set, memoryless_discovery)
    return is_covered(known, scenario) and not is_covered((robots_keep_up,), scenario)


def list_relaxation(scenario: Scenario) -> float | None:
    """About how long the list of known pages remembers the past; None where that is not known.

    In the limit of many pages, drawn at random, a deviation of the vanished ones shrinks at rate
    ``r² / (r + mu)``: docs/page-sets.md, "Many pages". The lifetimes may be of any law, mu being
    the inverse of their mean.

    Parameters
    ----------
    scenario : Scenario
    """
    known = (has_page_set, memoryless_discovery, robots_keep_up)
    if not is_covered(known, scenario):
        return None
    death = 1.0 / mean_time(_section(scenario).lifetime)
    rate = rate_of_each(_arrivals(scenario), death, _accesses(scenario), _at_once(scenario))
    return (rate + death) / rate**2


def _existing(scenario: Scenario) -> Values:
    section = _section(scenario)
    yield "existing_pages", None, existing_pages(section.birth_rate, section.lifetime)


def _known(scenario: Scenario) -> Values:
    section = _section(scenario)
    yield "known_share", None, known_share(section.lifetime, section.delay)


def _found_gone(scenario: Scenario) -> Values:
    yield "wasted_rate", None, _arrivals(scenario)


def _fetched(means: Callable[[float, float, float, float], Fetched], scenario: Scenario) -> Values:
    section = _section(scenario)
    death = present(death_rate(section))
    found = means(_arrivals(scenario), death, section.change_rate, _accesses(scenario))
    existing = section.birth_rate / death
    yield "fresh_share", None, found.fresh / existing
    yield "indexed_share", None, found.indexed / existing
    yield "gone_share", None, found.dead / (found.live + found.dead)
    yield "wasted_share", None, found.wasted


def _solution(rates: tuple[float, float, float, float]) -> Fetched:
    return drawn_pages(*rates)


_solved = Remembered(_solution)


def _drawn(scenario: Scenario) -> Values:
    return _fetched(lambda *rates: _solved(rates), scenario)


def _of_many(scenario: Scenario) -> Values:
    return _fetched(partial(many_pages, at_once=_at_once(scenario)), scenario)


_MANY = (has_page_set, exponential_lifetimes, drawn_at_random, robots_keep_up)

_row = partial(Formula, paper="page-sets", kind="exact", origin="own")

FORMULAS: tuple[Formula, ...] = (
    _row(
        number="existing pages",
        quantity="mean number of the pages that exist",
        latex=r"N=\lambda\,\mathbb{E}X",
        function=existing_pages,
        conditions=(has_page_set,),
        evaluate=_existing,
    ),
    _row(
        number="known pages",
        quantity="share of the existing pages that the robots know",
        latex=r"K=\frac{\mathbb{E}\,(X-T)^+}{\mathbb{E}X}",
        function=known_share,
        conditions=(has_page_set, memoryless_discovery),
        evaluate=_known,
    ),
    _row(
        number="pages found gone",
        quantity="accesses per unit time that find their page gone, whatever the order of accesses",
        latex=r"W=a=\lambda\,\mathbb{P}(T<X)",
        function=becoming_known,
        conditions=(has_page_set, memoryless_discovery, one_robot, robots_keep_up),
        evaluate=_found_gone,
    ),
    _row(
        number="drawn pages",
        quantity="shares of fresh and indexed pages, of vanished ones on the list, and of accesses "
        "to them",
        latex=r"\begin{split}"
        r"F&=\frac{\mu}{\lambda}\,c_\alpha\mathbf{e},\qquad I=\frac{\mu}{\lambda}\,c_0\mathbf{e},"
        r"\qquad\alpha\,c_\alpha=c_\alpha B+s,\qquad pQ=0\\"
        r"G&=\frac{p\,\mathbf{d}}{p\,(\mathbf{d}+\mathbf{l})},\qquad "
        r"V=\frac{p_{\mathrm{gone}}}{1-p_{\mathrm{none}}}"
        r"\end{split}",
        function=drawn_pages,
        conditions=(
            has_page_set,
            exponential_lifetimes,
            exponential_accesses,
            drawn_at_random,
            first_accesses_in_turn,
            one_robot,
            robots_keep_up,
        ),
        evaluate=_drawn,
    ),
    _row(
        number="many pages",
        quantity="the same shares, of many pages and robots that are as much faster",
        latex=r"F\to\frac{a}{\lambda}\,\frac{r}{r+\mu+\alpha},\qquad "
        r"I\to\frac{a}{\lambda}\,\frac{r}{r+\mu},\qquad "
        r"G\to\frac{\mu}{r+\mu},\qquad V\to\frac{a}{\nu},\qquad "
        r"r=\mu\left(\frac{\nu}{a}-1\right)",
        function=many_pages,
        kind="asymptotic",
        conditions=(*_MANY, first_accesses_in_turn),
        evaluate=_of_many,
    ),
    _row(
        number="many pages, first accesses at once",
        quantity="the same shares, where a page is fetched as soon as it is known",
        latex=r"F\to\frac{a}{\lambda}\,\frac{r+\mu}{r+\mu+\alpha},\qquad "
        r"I\to\frac{a}{\lambda},\qquad "
        r"G\to\frac{\mu}{r+\mu},\qquad V\to\frac{a}{\nu},\qquad "
        r"r=\mu\left(\frac{\nu}{a}-2\right)",
        function=many_pages,
        kind="asymptotic",
        conditions=(*_MANY, first_accesses_at_once),
        evaluate=_of_many,
    ),
)
"""The index: paper, name, quantity, function, kind, conditions."""
