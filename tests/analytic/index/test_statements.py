"""The typeset statements of the index: their symbols are explained, and they say what the functions
compute. `tests.latex_values` reads them as LaTeX, so that a wrong sign in one of them is seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from string import ascii_letters
from typing import Any

import numpy as np
import pytest
from latex_values import computed

from analytic.frontier import alone_obsolescence, closed_network_obsolescence
from analytic.index.notation import NOTATION, symbols_of, tokens_of
from analytic.indexing_queue.erlang import (
    erlang_a_throughput,
    erlang_c,
    loss_system_levels,
    mean_sojourn_without_limit,
    mmck_levels,
)
from analytic.indexing_queue.formulas import birth_death_levels, mm1k_levels
from analytic.indexing_queue.measures import control_cost
from analytic.indexing_queue.several_servers import idle_servers
from analytic.machinery.phase_type import PhaseLaw
from analytic.machinery.transforms import moments, transform
from analytic.page_refresh.golden import (
    WORST_GOLDEN_RATIO,
    golden_guarantee,
    many_pages_cost,
    worst_golden_cost,
)
from analytic.page_refresh.obsolescence import (
    crawl_rates,
    cyclic_obsolescence,
    equal_spacing_bound,
    random_rounds_obsolescence,
    randomized_obsolescence,
    robots_in_step_obsolescence,
    sequence_obsolescence,
)
from analytic.page_refresh.optimum import (
    best_random_shares,
    best_shares,
    capped_shares,
    in_time_bound,
    proportional_bound,
    schedule_bound,
)
from analytic.page_set import existing_pages, many_pages
from analytic.pipeline.approximations import moment_match
from analytic.pipeline.independence import decomposed
from analytic.pipeline.random_pages import single_place_rates
from analytic.probing.grid import grid_error
from analytic.probing.profile import Profile, expected_cost
from analytic.robot_control.static import static_cost, static_loss_rate, static_starvation
from analytic.routing.losses import map_loss, phase_type_loss, random_loss, renewal_loss
from crawlsim.formula_index import INDEX
from scenarios.laws import Deterministic, Erlang, Exponential
from scenarios.rates import Rate
from scenarios.sections import Costs

ROWS = INDEX
NAMES = [f"{row.paper} {row.number}: {row.quantity}" for row in ROWS]

GREEK = (
    "alpha beta gamma delta eta theta iota kappa lambda mu nu pi rho sigma tau phi varphi ell "
    "Delta Theta Lambda"
)
LETTERS = frozenset(f"\\{name}" for name in GREEK.split()) | frozenset(ascii_letters)
OF_EVERY_FORMULA = frozenset("edijklmntux")
"""Euler's number, the differential, and what only counts or is integrated over."""

MU = [0.3, 0.9, 0.5]
WEIGHTS = [0.5, 1.0, 0.8]
SHARES = [0.5, 0.2, 0.3]
CYCLE = [0, 1, 0, 2, 0, 1]
LAW = Erlang(shape=2, mean=0.7)
H = transform(LAW, MU).tolist()
D0 = np.array([[-3.0, 1.0], [0.5, -1.5]])
D1 = np.array([[1.0, 1.0], [0.2, 0.8]])


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_every_letter_of_a_statement_is_explained(row: Any) -> None:
    assert not _letters(row.latex) - _letters(" ".join(row.symbols)) - OF_EVERY_FORMULA
    assert row.symbols


def _letters(latex: str) -> set[str]:
    """Latin and Greek letters, without subscripts in words, expectations and probabilities."""
    return LETTERS & set(tokens_of(re.sub(r"\\math(rm|bb)\{\w+\}", " ", latex)))


def test_a_letter_that_is_not_explained_is_seen() -> None:
    latex = r"C=\gamma S+L+\tau B"
    known = symbols_of(latex, "talim2001")
    assert _letters(latex) - _letters(" ".join(known)) - OF_EVERY_FORMULA == {r"\tau", "B"}


def test_every_symbol_of_the_notation_is_used() -> None:
    used: dict[str, set[str]] = {paper: set() for paper in NOTATION}
    for row in ROWS:
        used[row.paper] |= row.symbols.keys()
    assert {paper: set(symbols) for paper, symbols in NOTATION.items()} == used


def test_a_symbol_is_found_with_what_is_below_it() -> None:
    """p is no part of p_n, and the bold one is another."""
    assert list(symbols_of(r"\mathbf{p}_n\mathbf{e}=p_{n}", "avrachenkov2011")) == [
        r"\mathbf{p}_n",
        r"\mathbf{e}",
        "p_n",
    ]
    assert tokens_of(r"\text{if }p_{n}\,\begin{split}") == ("p", "_", "n")


# --- they say what the functions compute --------------------------------------------------------


def _statement(source: str, quantity: str = "") -> str:
    (row,) = [
        each
        for each in ROWS
        if f"{each.paper} {each.number}" == source and each.quantity.startswith(quantity)
    ]
    return row.latex


def _pages(**more: Any) -> dict[str, Any]:
    """What a statement says of pages, by name; i is the page that is asked for."""
    given = {r"\mu": MU, "c": WEIGHTS, "f": SHARES, "h": H, r"\mathbb{E}X": 0.7, "is": range(3)}
    return given | {"i": 0, **more}


def _periodic() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (3)")
    given = _pages(d=[2, 2, 2], js=range(3), K=6)
    return computed(latex, "r_i", given), cyclic_obsolescence(MU, CYCLE, LAW)[0]


def _sequence() -> tuple[Any, Any]:
    """Page 0 at slots 0 and 3 of 6, of which two do not count: stretches 1, 3 and 2 long."""
    latex = _statement("coffman1998 (3), slot by slot")
    given = _pages(a=[1, 0], b=[3, 2], js=range(2), n=4)
    return computed(latex, "r_i", given), sequence_obsolescence(MU, [0, 1, 2, 0, 2, 1], LAW, 2)[0]


def _in_step() -> tuple[Any, Any]:
    """Two robots on 0 1 0 2 0 1 …: rounds 01, 02, 01, so that page 0 is in each, page 1 in two."""
    latex = _statement("coffman1998 (3), robots in step")
    given = _pages(i=1, x=0.7, R=2, K=6, js=range(2), **{r"\delta": [2, 1]})
    given[r"\operatorname{lcm}"] = math.lcm
    return computed(latex, "r_i", given), robots_in_step_obsolescence(MU, CYCLE, 0.7, 2)[1]


def _random() -> tuple[Any, Any]:
    latex = _statement("coffman1998 Lemma 4.1")
    given = _pages(i=2, **{r"\mathbb{E}e^{-\mu_iX}": H[2]})
    return computed(latex, "r_i", given), randomized_obsolescence(MU, SHARES, LAW)[2]


def _random_rounds() -> tuple[Any, Any]:
    latex = _statement("coffman1998 Lemma 4.1, robots in step")
    given = _pages(i=2, x=0.7, R=3)
    return computed(latex, "r_i", given), random_rounds_obsolescence(MU, SHARES, 0.7, 3)[2]


def _spacing() -> tuple[Any, Any]:
    latex = _statement("coffman1998 Theorem 3.3")
    return computed(latex, "r_i", _pages(i=1)), equal_spacing_bound(MU, SHARES, LAW)[1]


def _proportional() -> tuple[Any, Any]:
    latex = _statement("coffman1998 Theorem 3.4")
    return computed(latex, "C", _pages(c_0=1.0)), proportional_bound(MU, LAW)


def _schedule() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (7)")
    given = _pages(f=best_shares(MU, WEIGHTS, LAW))
    return computed(latex, "C", given), schedule_bound(MU, WEIGHTS, LAW)


def _schedule_shares() -> tuple[Any, Any]:
    """The multiplier from the first page's share; then the other two satisfy their equation."""
    latex = _statement("coffman1998 (7)")
    f = best_shares(MU, WEIGHTS, LAW)
    u = -np.log(H) / f
    taken = 1 - (1 + u) * np.exp(-u)
    given = _pages(f=f, **{r"\lambda": taken[0] * WEIGHTS[0] / MU[0]})
    right = [computed(latex, "1-(1+u_i)e^{-u_i}", given | {"i": i}) for i in range(3)]
    return right, taken


def _in_time() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (7) in time")
    caps = [0.3, math.inf]
    shares = capped_shares(MU, WEIGHTS, Deterministic(value=0.7), [0, 0, 1], caps).shares
    value = computed(latex, "C", _pages(y=shares / 0.7))
    return value, in_time_bound(MU, WEIGHTS, 0.7, [0, 0, 1], caps)


def _random_shares() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (12)-(15)")
    f = best_random_shares(MU, WEIGHTS, LAW)
    b = 1 / np.array(H) - 1
    multiplier = WEIGHTS[0] / (MU[0] * (f[0] / b[0] + 1) ** 2)
    given = _pages(b=b, **{r"\lambda": multiplier})
    shares = [computed(latex, "f_i", given | {"i": i}) for i in range(3)]
    cost = computed(latex, "C", given | {"f": f})
    stale = randomized_obsolescence(MU, f, LAW)
    return [*shares, cost], [*f, np.dot(WEIGHTS, stale)]


def _deliveries() -> tuple[Any, Any]:
    latex = _statement("coffman1998 section 2")
    return computed(latex, r"\nu_i", _pages(R=3, p=0.1)), crawl_rates(SHARES, LAW, 3, 0.1)[0]


def _many_pages() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (17)")
    return computed(latex, "C^*", _pages(c_0=0.7)), many_pages_cost(0.7 * sum(MU))


def _golden() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (18) corrected")
    cost, s = worst_golden_cost(0.7 * sum(MU))
    return computed(latex, r"\limsup C", _pages(c_0=0.7, s=s)), cost


def _golden_ratio() -> tuple[Any, Any]:
    latex = _statement("coffman1998 (19) corrected")
    cost, s = worst_golden_cost(1.2)
    known = {"q": 1.2, "s": s, "G": lambda *_: cost}
    left = r"\limsup\frac{C}{C^*}"
    value = [computed(latex, left, known, side) for side in (0, 1)]
    return value, [golden_guarantee(1.2), WORST_GOLDEN_RATIO]


TALIM = {"N": 3.0, r"\lambda": 0.4, r"\mu": 1.5, "K": 4, r"\gamma": 1.3}


def _static() -> tuple[Any, Any]:
    latex = _statement("talim2001 section 4")
    value = [computed(latex, left, TALIM) for left in ("S", "L")]
    return value, [static_starvation(0.8, 4), static_loss_rate(0.8, 4, 1.5)]


def _static_costs() -> tuple[Any, Any]:
    latex = _statement("talim2001 (9)")
    balanced = TALIM | {r"\lambda": 0.5}
    value = [computed(latex, "C", TALIM), computed(latex, "C", balanced)]
    return value, [static_cost(0.8, 4, 1.5, 1.3), static_cost(1.0, 4, 1.5, 1.3)]


def _one_server() -> tuple[Any, Any]:
    latex = _statement("kleinrock1975 section 3.6")
    given = {r"\lambda": 1.2, r"\mu": 1.5, "K": 4}
    levels = mm1k_levels(0.8, 4)
    value = [computed(latex, "p_n", given | {"n": n}) for n in range(5)]
    mean = computed(latex, r"\mathbb{E}T", given | {"p": levels})
    lost = computed(latex, r"P_{\mathrm{loss}}", given | {"p": levels})
    return [*value, lost, mean], [
        *(*levels, levels[4]),
        levels @ np.arange(5) / (1.2 * (1 - levels[4])),
    ]


def _servers() -> tuple[Any, Any]:
    latex = _statement("kleinrock1975 section 3.4, with a capacity")
    levels = mmck_levels(2.4, 2, 5)
    given = {r"\lambda": 3.6, r"\mu": 1.5, "c": 2, "p": levels}
    return [computed(latex, "p_n", given | {"n": n}) for n in range(1, 6)], levels[1:]


def _erlang_b() -> tuple[Any, Any]:
    latex = _statement("kleinrock1975 section 3.5, Erlang B", "levels")
    births = np.array([3.6, 3.6, 2.0, 1.0])
    levels = loss_system_levels(births, 1 / 1.5)
    given = {r"\lambda": births, r"\mu": 1.5, "c": 3, "p": levels}
    return [computed(latex, "p_n", given | {"n": n}) for n in (1, 2, 3)], levels[1:]


def _erlang_c() -> tuple[Any, Any]:
    latex = _statement("kleinrock1975 section 3.4, Erlang C")
    given = {r"\lambda": 3.6, r"\mu": 1.5, "c": 3}
    value = [computed(latex, left, given) for left in (r"\mathbb{E}T", r"P_{\mathrm{wait}}")]
    return value, [mean_sojourn_without_limit(3.6, 1.5, 3), erlang_c(2.4, 3)]


def _erlang_a() -> tuple[Any, Any]:
    """The levels from the statement, one after the other; the sum as far as it matters."""
    latex = _statement("garnett2002 section 2, Erlang A")
    given = {r"\lambda": 3.6, r"\mu": 1.5, "c": 3, r"\theta": 0.4}
    levels = [1.0]
    for n in range(1, 60):
        levels.append(computed(latex, "p_n", given | {"n": n, "p": levels}))
    levels = (np.array(levels) / sum(levels)).tolist()
    value = computed(latex, r"\Theta", given | {"p": levels, r"\infty": 59})
    return value, erlang_a_throughput(3.6, 1.5, 0.4, 3)


def _birth_death() -> tuple[Any, Any]:
    latex = _statement("avrachenkov2011 section 3, one phase")
    births = np.array([2.0, 1.5, 1.0, 0.5])
    levels = birth_death_levels(births, 1.2, 0.3, 3)
    given = {r"\lambda": births, r"\mu": 1.2, r"\theta": 0.3, "K": 3, "p": levels}
    value = [computed(latex, "p_n", given | {"n": n}) for n in (1, 2, 3)]
    return value, levels[1:]


def _cost() -> tuple[Any, Any]:
    latex = _statement("avrachenkov2011 (2)")
    prices = {"loss": 1.0, "obsolescence": 2.0, "starvation": 3.0, "robots": 4.0, "response": 5.0}
    prices["switch"] = 6.0
    short = ("loss", "obs", "starv", "rob", "resp", "sw")
    given = {f"c_{{\\mathrm{{{s}}}}}": p for s, p in zip(short, prices.values(), strict=True)}
    given |= {r"\lambda": 0.8, r"\bar{r}": 2.5, r"\mathbb{E}V_{\mathrm{succ}}": 1.7}
    given |= {r"\varsigma": 0.6, r"c_{\mathrm{acc}}": 1.4, r"c_{\mathrm{fix}}": 0.9}
    given |= {f"P_{{\\mathrm{{{s}}}}}": v for s, v in (("loss", 0.1), ("obs", 0.2), ("starv", 0.3))}
    others = {"starvation": 0.3, "robots": 2.5, "response": 1.7, "switch": 0.6}
    rates = {"delivered": 0.8, "lost": 0.08, "obsolete": 0.16}
    prices |= {"access": 0.7, "attempts": 2.0, "standing": 0.9}
    return computed(latex, "J", given), control_cost(rates, others, Costs(**prices))


def _idle() -> tuple[Any, Any]:
    latex = _statement("avrachenkov2011 section 3, idle server")
    levels = np.array([0.4, 0.3, 0.2, 0.1])
    value = [
        computed(latex, r"\bar\iota", {"c": 2, "p": levels}, 0),
        computed(latex, r"\bar\iota", {"c": 1, "p": levels}),
    ]
    return value, [idle_servers(levels, 2), idle_servers(levels, 1)]


def _renewal() -> tuple[Any, Any]:
    latex = _statement("altman2000 (6), Example 2.1")
    given = {"h": lambda rate: transform(LAW, rate), r"\mu_m": 0.9, "k": 3}
    return computed(latex, "f_m(k)", given), renewal_loss(transform(LAW, 0.9), 3)


def _map() -> tuple[Any, Any]:
    latex = _statement("altman2000 (6), section 5")
    jumps = np.linalg.solve(-D0, D1)
    start = np.linalg.matrix_power(jumps, 200)[0]
    given = {"q": start, "C": D0, "D": D1, "I": np.eye(2), r"\mathbf{e}": np.ones(2)}
    value = computed(latex, "f_m(k)", given | {r"\mu_m": 0.9, "k": 3})
    return value, map_loss(D0, D1, 0.9, 3)


SERVICE = PhaseLaw(np.array([0.4, 0.6]), np.array([[-2.0, 1.0], [0.5, -1.0]]))
PHASES = {
    "q": np.ones(1),
    "C": np.array([[-1.5]]),
    "D": np.array([[1.5]]),
    "I": np.eye(2),
    r"\alpha_m": SERVICE.start,
    "T_m": SERVICE.generator,
    r"\mathbf{e}": np.ones(2),
}
POISSON = Exponential(mean=1 / 1.5)


def _phase_type() -> tuple[Any, Any]:
    latex = _statement("altman2000 (6), phase-type services")
    value = computed(latex, "f_m(k)", PHASES | {"k": 3})
    return value, phase_type_loss(POISSON, SERVICE, 3)


def _random_routing() -> tuple[Any, Any]:
    latex = _statement("altman2000 section 2, random routing")
    value = computed(latex, r"\ell_m", PHASES | {"p_m": 0.3})
    return value, random_loss(POISSON, SERVICE, 0.3)


def _updates() -> tuple[Profile, dict[str, Callable[..., float]]]:
    """A source, and C, A and Lambda of it."""
    profile = Profile(
        Rate(period=4.0, breaks=[0.0, 1.0], values=[2.0, 0.5]),
        Rate(period=4.0, breaks=[0.0, 2.5], values=[1.0, 3.0]),
        4.0,
    )
    return profile, {
        "C": lambda s, f: float(profile.between(s, f).cost),
        "A": lambda s, f: float(profile.between(s, f).importance),
        r"\Lambda": lambda s, f: float(profile.between(s, f).updates),
    }


def _probes() -> tuple[Any, Any]:
    profile, known = _updates()
    latex = _statement("eckstein2005 (5)")
    times = [0.0, 1.3, 2.9, 4.0]
    return computed(latex, "C", known | {"p": times, "n": 3}), expected_cost(profile, times[1:])


def _two_intervals() -> tuple[Any, Any]:
    _, known = _updates()
    latex = _statement("eckstein2005 Lemma 3")
    given = known | {"s": 0.4, "v": 1.7, "f": 3.2}
    return computed(latex, "C(s,f)", given), known["C"](0.4, 3.2)


def _grid_error() -> tuple[Any, Any]:
    latex = _statement("eckstein2005 Proposition 8")
    profile, _ = _updates()
    left = r"C_{\mathrm{grid}}-C^*"
    given = {r"\lambda": lambda _: 2.0, "a": lambda _: 3.0, "t": 0.0, "T": 4.0, "n": 5}
    aligned = given | {"a": lambda _: 1.0, "N": 8, "case": 0}
    value = [computed(latex, left, aligned), computed(latex, left, given | {"N": 7, "case": 1})]
    return value, [grid_error(profile, 8, 5)[0], grid_error(profile, 7, 5)[0]]


def _existing_pages() -> tuple[Any, Any]:
    given = {r"\lambda": 0.5, r"\mathbb{E}X": 40.0}
    life = Exponential(mean=40.0)
    return computed(_statement("page-sets existing pages"), "N", given), existing_pages(0.5, life)


def _robot_for_each_page() -> tuple[Any, Any]:
    latex = _statement("frontier a robot for each page")
    given = {
        r"\mu_i": 0.5,
        "I_i": 2.0,
        r"\mathbb{E}X": 1.5,
        r"\sigma": 0.4,
        r"\mathbb{E}e^{-\mu_i\sigmaX}": 1.0 / 1.3,
    }
    stale = alone_obsolescence([0.5], [2.0], Exponential(mean=1.5), 0.4)[0]
    rate = 1.0 / (2.0 + 1.5 * (1.0 - 0.6 * math.exp(-1.0)))
    return [computed(latex, each, given) for each in ("r_i", "y_i")], [stale, rate]


def _pages_that_wait() -> tuple[Any, Any]:
    """Page 0 of three, of which the law of the others is worked out by hand."""
    latex = _statement("frontier closed network").replace("q_i(k)", "q_k")
    weights = [3.0 * 2.0, 3.0 + 2.0, 2.0]
    found = np.array(weights) / sum(weights)
    given = {
        "q": found.tolist(),
        "m": [0.0, 1.0, 2.0],
        "N": 3,
        "R": 1,
        r"\nu": 1.0,
        r"\mu_i": 0.5,
        "I_i": 1.0,
    }
    wait = computed(latex, "W_i", given)
    rate = computed(latex, "y_i", given | {"W_i": wait})
    unchanged = computed(latex, "L_i", given)
    stale = computed(latex, "r_i", given | {"y_i": rate, "L_i": unchanged})
    law = Exponential(mean=1.0)
    expected = closed_network_obsolescence([0.5, 0.0, 0.0], [1.0, 2.0, 3.0], 1, law)[0]
    return stale, expected


def _many_known_pages() -> tuple[Any, Any]:
    value, matched = [], []
    known = {r"\lambda": 0.5, "a": 0.4, r"\mu": 0.02, r"\alpha": 0.03, r"\nu": 1.0}
    for number, at_once in (("many pages", False), ("many pages, first accesses at once", True)):
        latex = _statement(f"page-sets {number}").replace(r"\to", "=")
        given = known | {"r": computed(latex, "r", known)}
        value += [computed(latex, each, given) for each in "FIGV"]
        found = many_pages(0.4, 0.02, 0.03, 1.0, at_once)
        existing = 0.5 / 0.02
        listed = found.live + found.dead
        matched += [found.fresh / existing, found.indexed / existing, found.dead / listed]
        matched.append(found.wasted)
    return value, matched


def _no_waiting_place() -> tuple[Any, Any]:
    latex = _statement("pipeline no waiting place")
    given = _pages(s=1.4, i=1, **{r"\lambda": 2.0})
    return computed(latex, "1-r_i", given), 1 - single_place_rates(MU, SHARES, 2.0, 1.4)[1]


def _decomposition() -> tuple[Any, Any]:
    latex = _statement("pipeline decomposition")
    given = {r"\mathbb{E}e^{-\mu_iV_{\mathrm{succ}}}": 0.8, r"\tilde{r}_i": 0.3}
    return computed(latex, "1-r_i", given), 1 - decomposed(0.3, 0.8)


def _match() -> tuple[Any, Any]:
    """Of a law that varies as little as three phases can, and of one that does not."""
    latex = _statement("pipeline moment match")
    value, matched = [], []
    for law in (Erlang(shape=2, mean=1.3), Deterministic(value=1.3)):
        mean, second = moments(law)
        given = {r"\operatorname{Var}Z": second - mean**2, r"\mathbb{E}Z": mean, "R": 3}
        left = r"\frac{\operatorname{Var}\tilde Z}{(\mathbb{E}Z)^2}"
        value.append(computed(latex, left, given))
        mean, second = moments(moment_match(law, 3))
        matched.append(second / mean**2 - 1)
    return value, matched


@pytest.mark.parametrize(
    "both",
    [
        _periodic,
        _sequence,
        _in_step,
        _random,
        _random_rounds,
        _spacing,
        _proportional,
        _schedule,
        _schedule_shares,
        _in_time,
        _random_shares,
        _deliveries,
        _many_pages,
        _golden,
        _golden_ratio,
        _static,
        _static_costs,
        _one_server,
        _servers,
        _erlang_b,
        _erlang_c,
        _erlang_a,
        _birth_death,
        _cost,
        _idle,
        _renewal,
        _map,
        _phase_type,
        _random_routing,
        _probes,
        _two_intervals,
        _grid_error,
        _no_waiting_place,
        _decomposition,
        _match,
        _existing_pages,
        _robot_for_each_page,
        _pages_that_wait,
        _many_known_pages,
    ],
)
def test_a_statement_says_what_the_function_computes(
    both: Callable[[], tuple[Any, Any]],
) -> None:
    stated, value = both()
    assert np.array(stated, float) == pytest.approx(np.array(value, float), rel=1e-9)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [("1-h_i", "1+h_i"), ("h_i^{d_j}", "h_i"), (r"\frac{1}{K", r"\frac{2}{K"), (r"\mu_i", "c_i")],
)
def test_a_wrong_statement_is_seen(monkeypatch: pytest.MonkeyPatch, said: str, wrong: str) -> None:
    latex = _statement("coffman1998 (3)")
    assert said in latex
    monkeypatch.setitem(globals(), "_statement", lambda _: latex.replace(said, wrong, 1))
    stated, value = _periodic()
    assert stated != pytest.approx(value, rel=1e-3)
