"""The symbols of the formulas, paper by paper: what each stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PRICES = {
    r"c_{\mathrm{loss}}": "price of a lost page",
    r"c_{\mathrm{starv}}": "price of the engine without a page, per unit time",
    r"c_{\mathrm{rob}}": "price of an active robot, per unit time",
}
_OBSOLETE = {r"c_{\mathrm{obs}}": "price of a page that becomes obsolete while it waits"}
_RESPONSE = {r"c_{\mathrm{resp}}": "price of the mean sojourn time of indexed pages"}
_STALE = {r"c_{\mathrm{stale}}": "price of the weighted obsolescence"}

_FATES = {
    r"P_{\mathrm{loss}}": "share of the delivered pages that are lost",
    r"P_{\mathrm{obs}}": "share of the delivered pages that become obsolete",
    r"P_{\mathrm{succ}}": "share of the delivered pages that are indexed",
    r"P_{\mathrm{starv}}": "share of time with an empty system",
    r"J": "control cost per unit time",
    r"\bar r": "mean number of active robots",
    r"V_{\mathrm{succ}}": "sojourn time of the pages that are indexed",
}

NOTATION: Mapping[str, Mapping[str, str]] = {
    "coffman1998": {
        r"C": "weighted obsolescence: the sum of the obsolescence rates times their weights",
        r"C^*": "least weighted obsolescence of all schedules",
        r"r_i": "obsolescence rate of page i: share of time in which its copy is out of date",
        r"\mu_i": "change rate of page i",
        r"c_i": "weight of page i",
        r"c_0": "weight of a change: all weights are this multiple of the change rates",
        r"X": "time of an access",
        r"x": "time of an access, the same for all",
        r"h_i": "probability that page i does not change during an access",
        r"b_i": "odds of a change of page i during an access",
        r"f_i": "share of the accesses that are of page i",
        r"g_i": "share of the rounds in which some robot accesses page i",
        r"g": "cost of the best schedule of many slow pages, per access, by their load",
        r"K": "slots in a period of the schedule",
        r"d_j": "slots from the j-th slot of page i in the period to its next one",
        r"n": "slots that count",
        r"a_j": "slots of the j-th stretch without an access of page i that do not count",
        r"b_j": "slots of this stretch, from an access (or time 0) to the next one (or the end)",
        r"\delta_j": "rounds from the j-th access of page i in the period to its next one",
        r"L": "rounds in a period",
        r"R": "number of robots",
        r"p": "probability that an access fails",
        r"a": "accesses of a slot at most: the first one and the retries",
        r"w": "mean time of a slot",
        r"M_j": "mean time from a delivery in the j-th slot of page i to its next delivery",
        r"\varphi_j": "probability that page i does not change between these two deliveries",
        r"V": "probability that page i does not change during a slot",
        r"F": "probability that all accesses of a slot fail while page i does not change",
        r"\rho": "accesses that end per unit time",
        r"J_k": "number of robots that carry page i once slot k is taken",
        r"v_{k+1}": "1 if slot k + 1 holds page i, else 0",
        r"L_k": "mean time to the next delivery of page i, with j robots that carry it",
        r"W_k": "mean time until then for which a copy that is current now is out of date",
        r"\lambda": "multiplier that makes the frequencies sum to 1",
        r"u_i": "quantile of the Erlang law of two phases",
        r"y_i": "accesses of page i per unit time",
        r"H": "pages of a host",
        r"s_H": "least time between the starts of two accesses to the host",
        r"\nu_i": "deliveries of page i per unit time",
        r"q": "load: changes of all pages during a mean access time",
        r"G": "cost of the golden-ratio policy where all pages have the same s",
        r"s": "frequency of a page, scaled by a power of the golden ratio into this interval",
        r"\kappa": "load over the square root of 5",
        r"\phi": "golden ratio",
    },
    "talim2001": {
        r"S": "starvation probability: share of time with an empty queue",
        r"L": "pages lost per unit time",
        r"C": "cost per unit time",
        r"\gamma": "price of starvation, in lost pages",
        r"\rho": "load: deliveries per service time",
        r"N": "number of robots",
        r"\lambda": "access rate of a robot",
        r"\mu": "service rate",
        r"K": "pages that the buffer holds, the one in service included",
        r"Q": "generator of the chain of levels and active robots under the rule",
        r"\pi_{q,r}": "share of time with q pages and r active robots",
        r"p_q": "share of time with q pages",
        r"r": "number of active robots",
        r"\bar r": "mean number of active robots",
        r"n_q": "target of level q",
        r"T": "sojourn time of the pages that are indexed",
        **_PRICES,
        **_RESPONSE,
        r"\theta": "least cost per unit time of any rule",
        r"q": "number of pages",
        r"1_{q>0}": "1 where what is below it holds, else 0",
        r"c_{q,r}": "cost per unit time with q pages and r active robots",
        r"V": "relative value of a state: what it costs more in the long run than another",
        r"a": "decision: 1 to switch a robot on, if there is one; 0 not to",
    },
    "kleinrock1975": {
        r"p_n": "share of time with n pages in the system",
        r"T": "sojourn time of the pages that enter",
        r"P_{\mathrm{loss}}": "share of the pages that are lost",
        r"P_{\mathrm{wait}}": "probability that a page waits (Erlang C)",
        r"B_c": "probability that all servers are busy where no page can wait (Erlang B)",
        r"\lambda": "arrivals per unit time",
        r"\mu": "service rate of a server: 1 over the mean service time",
        r"\rho": "load",
        r"a": "load in Erlang",
        r"c": "number of servers",
        r"K": "pages that the system holds, those in service included",
    },
    "garnett2002": {
        r"\Theta": "throughput: pages indexed per unit time",
        r"p_n": "share of time with n pages where any number can wait",
        r"\lambda": "arrivals per unit time",
        r"\mu": "service rate of a server",
        r"\theta": "rate at which each waiting page becomes obsolete",
        r"c": "number of servers",
    },
    "avrachenkov2011": {
        r"p_n": "share of time with n pages in the system",
        r"\mathbf{p}_n": "stationary probabilities of the states with n pages",
        r"\mathbf{p}": "stationary probabilities of all states",
        r"Q": "generator of the chain: level, phases of deliveries, service and timers",
        r"\mathbf{e}": "column of ones",
        r"I": "identity matrix, of the phases that do not matter there",
        r"\lambda": "pages delivered per unit time",
        r"\lambda_n": "deliveries per unit time at level n",
        r"\mu": "service rate",
        r"\theta": "rate at which each waiting page becomes obsolete",
        r"K": "pages that the buffer holds, the one in service included",
        r"r_n": "active robots at level n",
        r"D_k^{(r_n)}": "rates of batches of k pages, by the phases of the deliveries, "
        "with the robots that are active at level n",
        r"a_{n,k}": "pages that enter of a batch of k at level n",
        r"\mathbf{h}_l": "obsolescence rates by the phase of the timer of the l-th waiting page",
        r"\mathbf{s}": "rates at which a service ends, by its phase",
        r"\mathbf{s}_n": "rates at which services end, by the state of the busy servers",
        r"\Theta": "throughput: pages indexed per unit time",
        r"V_c": "sojourn time of a page of class c: indexed, obsolete, or all that enter",
        r"v_c": "q-quantile of the sojourn time of class c",
        r"q": "share between 0 and 1",
        r"\mathbf{a}": "rates at which pages enter, by the state that they find",
        r"T": "rates at which a page that is followed moves, from its entry to its end",
        r"\mathbf{t}_c": "rates at which a page that is followed ends as one of class c",
        r"\mathbf{f}_c": "probabilities that a page that is followed ends as one of class c",
        r"\bar\iota": "mean share of the servers without a page",
        r"c": "number of servers",
        r"\theta_k": "rate at which the page in position k becomes obsolete, given n, ν, m",
        r"F_k": "probability of n, ν, m and of timer phase η of the page in position k",
        r"F_l": "probability of n, ν, m and of timer phase η of the page in position l",
        r"h": "obsolescence rate in a phase of the timer",
        r"\eta": "phase of a timer",
        r"p(n,\nu,m)": "probability of level n and of the phases ν of deliveries and m of service",
        **_PRICES,
        **_OBSOLETE,
        **_RESPONSE,
        **_FATES,
    },
    "courtois1971": {
        r"p_n": "share of time with n pages in the system",
        r"p_0": "share of time with an empty system",
        r"p_K": "share of time with a full system",
        r"\pi": "distribution of the level at the start of a service",
        r"P": "levels at the end of a service, given those at its start",
        r"A": "mean times at each level during a service, given the level at its start",
        r"G": "generator of the level during a service",
        r"X": "service time",
        r"Z": "mean time from the start of a service to the next",
        r"\lambda": "pages delivered per unit time",
        r"\lambda_n": "deliveries per unit time at level n; K is the highest",
        r"\lambda_0": "deliveries per unit time at level 0",
        r"\theta": "rate at which each waiting page becomes obsolete",
        r"D": "deliveries at each level, on the diagonal; 0 at the highest",
        r"B": "rates at which a waiting page moves up or becomes obsolete, by its position",
        r"I": "identity matrix",
        r"w_0": "pages that wait at the end of a service, by position",
        r"w_1": "these pages times how long they have waited",
        r"w_2": "these pages times half the square of how long they have waited",
        r"j_{c,k}": "rate of the pages of class c, times the k-th power of their sojourn "
        "time over k!, summed over the services that they see",
        r"j_{c,0}": "rate of the pages of class c",
        r"V_c^k": "k-th power of the sojourn time of a page of class c",
        **_PRICES,
        **_OBSOLETE,
        **_RESPONSE,
        **_FATES,
    },
    "altman2000": {
        r"g": "share of the packets that are lost",
        r"g^*": "least share of the packets that are lost, over all orders",
        r"n": "length of the period, or of a word",
        r"f_m": "probability that a packet at server m is lost if the next one is the k-th after",
        r"f_1": "probability of a loss at the slower server, by the distance",
        r"f_2": "probability of a loss at the faster server, by the distance",
        r"\delta_j^m": "slots from the j-th packet of server m in the period to its next one",
        r"\delta": "distances between the packets of each server",
        r"\mu_m": "service rate of server m; of a page its change rate",
        r"h": "transform of the gap between packets",
        r"\tau": "gap between packets; of pages the time of an access",
        r"q": "phases of the arrivals just after a packet",
        r"C": "rates of the phases of the arrivals without a packet",
        r"D": "rates of the phases of the arrivals with a packet",
        r"I": "identity matrix",
        r"\mathbf{e}": "column of ones",
        r"\alpha_m": "phases in which a service of server m begins",
        r"T_m": "rates of the phases of a service of server m",
        r"p_m": "probability that a packet is sent to server m",
        r"\ell_m": "share of its packets that server m loses",
        r"A_m": "phases of the arrivals and of the service, from one packet to the next",
        r"n_m": "packets of server m in the period",
        r"\pi_j": "phases just before the j-th packet of server m, the idle server included",
        r"\pi_1": "phases just before the first packet of server m",
        r"\mathbf{b}": "1 in the phases in which the server is busy, 0 where it is idle",
        r"E_m": "start of a service where the server is idle",
        r"x_m": "share of the packets that go to server m, or of the accesses to page m",
        r"\varphi_m": "least cost of server or page m alone with that share",
        r"r_m": "obsolescence rate of page m: share of time in which its copy is out of date",
        r"c_m": "weight of page m",
        r"G": "cost of a word, a function of its letters",
        r"x": "word: a vector of whole numbers",
        r"y": "any word",
        r"b_i": "vector of the multimodular base",
        r"b_0": "first vector of the multimodular base",
        r"b_j": "another vector of the base",
        r"b_n": "last vector of the base",
        r"e_i": "unit vector",
        r"e_1": "first unit vector",
        r"F": "set of indices of the base",
    },
    "eckstein2005": {
        r"C": "expected cost of the updates in an interval, which wait for the probe at its end",
        r"C_{\mathrm{grid}}": "least expected cost of n probes on the grid",
        r"C^*": "least expected cost of n probes at any times",
        r"\lambda": "update rate of the source",
        r"a": "importance: cost of an unseen update per unit time",
        r"A": "integral of the importance",
        r"\Lambda": "expected number of updates in an interval",
        r"p_i": "time of the i-th probe; the last one is at the end",
        r"p": "times of all probes",
        r"n": "number of probes",
        r"T": "horizon",
        r"N": "slots of the grid",
        r"w": "width of a slot",
        r"s": "beginning of an interval",
        r"v": "time in the interval",
        r"f": "end of the interval",
        r"t_i": "i-th time of the grid",
        r"t_j": "another time of the grid",
        r"D_m": "least expected cost after a probe at a time of the grid, with m probes left",
        r"k": "slots between two probes at least",
        r"i_l": "slot of the l-th probe",
        r"p_l": "time of the l-th probe",
        r"\nu": "price of a probe",
        r"D_{n-l}": "least expected cost after a probe, with n - l probes left",
        r"D_\nu": "least cost after a probe at a time of the grid, prices of probes included",
        r"\Delta_i": "what a move of the i-th probe saves",
        r"\tilde p_i": "time of the i-th probe after the move",
        r"\mu": "share of the way to the neighbour, at first mu_0",
        r"\rho": "share of it that is left once no move saves enough",
        r"h": "length of a step of a smooth rate",
        r"e_\lambda": "most by which the steps change the number of updates up to a time",
        r"e_a": "most by which the steps change the integral of the importance up to a time",
        r"\tilde C": "expected cost with the rates in steps",
        r"\tilde A": "integral of the importance in steps",
        r"\tilde\Lambda": "expected number of updates in an interval, with the rate in steps",
        r"t": "time",
        r"\delta": "least time between two probes",
        r"\iota": "least saving for which a probe is moved",
    },
    "pipeline": {
        r"r_i": "obsolescence rate of page i: share of time in which its copy in the index "
        "is out of date",
        r"\mu_i": "change rate of page i",
        r"\mu_j": "change rate of page j",
        r"f_i": "share of the deliveries that are of page i",
        r"f_j": "share of the deliveries that are of page j",
        r"c_i": "weight of page i",
        r"p": "stationary probabilities of the states",
        r"p_n": "share of time with n pages in the system",
        r"Q": "generator of the queue",
        r"A": "rates of the deliveries that enter, from state to state",
        r"B_i": "rates of the deliveries of page i that enter, from state to state",
        r"z_i": "probability, by the state now, that page i changes before a copy delivered "
        "from now on is indexed",
        r"y_i": "probability that page i does not change from the delivery of a copy that enters "
        "to the end of its indexing",
        r"g_i": "probability, by the phase m, that page i does not change during the rest of "
        "a service",
        r"\beta": "phases in which a service begins",
        r"S": "rates of the phases of a service",
        r"\mathbf{s}": "rates at which a service ends, by its phase",
        r"\mathbf{e}": "column of ones",
        r"I": "identity matrix",
        r"\circ": "product entry by entry",
        r"G_i": "rates of the queue with old and new pages told apart, without the ends of "
        "indexings of a new copy of page i",
        r"Q_i": "generator of: labels of the waiting pages in order, what is in service, "
        "whether the copy of page i is current",
        r"\mathbf{u}_i": "1 in the states in which the copy of page i is out of date, else 0",
        r"\mathbf{e}_n": "1 in the states with n pages in the system, else 0",
        r"\mathbf{d}": "rates at which a service ends, by the state",
        r"\lambda": "pages delivered per unit time",
        r"\lambda_n": "deliveries per unit time that enter at level n",
        r"\lambda_K": "deliveries per unit time that enter a full buffer",
        r"\lambda_i": "deliveries of page i per unit time",
        r"\mathbb{E}[W^k;c]": "rate of the pages whose wait ends as c, times the k-th moment of it",
        r"\mathbf{a}": "rates at which pages begin to wait, by the state that they find",
        r"T": "rates at which a waiting page that is followed moves",
        r"\mathbf{t}_c": "rates at which its wait ends as c: served, dropped, and so on",
        r"W": "waiting time",
        r"V": "sojourn time of a page",
        r"\sigma": "service time",
        r"\pi": "distribution of the queue just after an access",
        r"X": "time of an access",
        r"G": "generator of the queue between accesses",
        r"\Delta": "what a delivery does to the queue",
        r"\mathbf{b}": "1 in the states with a full buffer, else 0",
        r"h_i": "probability that page i does not change during an access",
        r"H_i": "the queue from access to access, on the event that page i does not change",
        r"w_j": "probability, by the state just before the delivery of slot j, that page i changes "
        "before a copy delivered from then on is indexed",
        r"\bar w": "mean over the slots of the probabilities w",
        r"x_i": "probability, in the empty system, that page i is delivered and indexed before "
        "it changes",
        r"s": "service rate",
        r"z_n": "probability, at level n, that page i changes before a copy delivered from now on "
        "is indexed",
        r"y_n": "probability that page i does not change from the delivery of a copy at level n "
        "to the end of its indexing",
        r"\theta_n": "rate at which pages leave level n",
        r"D_i": "time from any instant to the next delivery of a copy of page i that enters",
        r"l_i": "services that end before that of this copy begins",
        r"\alpha_i": "mean age of the copy of page i in the index",
        r"\theta_w": "rate at which pages are dropped while w wait",
        r"W_w": "weight of w waiting pages",
        r"W_0": "weight of no waiting page",
        r"Y": "timer of a waiting page",
        r"F": "integral of the tail of the timer",
        r"\tilde r_i": "obsolescence rate of page i without a buffer where each access fails with "
        "the probability of a page not to be indexed",
        r"Z": "access time, service time or timer that has no phases, or too many",
        r"\tilde Z": "time of phase type in place of another one",
        r"R": "phases allowed",
        r"J_{\mathrm{end}}": "control cost per unit time, that of staleness included",
        **_PRICES,
        **_OBSOLETE,
        **_RESPONSE,
        **_STALE,
        **_FATES,
    },
    "courses": {
        r"a": "beginning of the window",
        r"b": "end of the window",
        r"p": "probabilities of the states of the queue at time t",
        r"Q": "generator of the queue with the settings of that time",
        r"p_n": "probability of n pages in the system at time t",
        r"p_0": "probability of an empty system at time t",
        r"\bar p_n": "share of the window with n pages in the system",
        r"P_{\mathrm{loss}}": "share of the pages delivered in the window that are lost",
        r"\ell": "pages lost per unit time",
        r"o": "pages that become obsolete per unit time",
        r"r": "active robots, on average",
        r"\lambda": "pages delivered per unit time",
        r"J": "control cost per unit time over the window",
        **_PRICES,
        **_OBSOLETE,
        **_STALE,
        r"c_i": "weight of page i",
        r"t_0": "time of the last change",
        r"\bar n": "mean number of pages in the system",
        r"\bar r_i": "share of the window in which the copy of page i is out of date",
        r"\phi": "probabilities of the phases of the deliveries",
        r"s_i": "probabilities of these phases, with the copy of page i out of date",
        r"D_k": "rates of deliveries of k pages, from phase to phase",
        r"f_i": "share of the deliveries that are of page i",
        r"\mu_i": "change rate of page i at that time",
        r"u_i": "probabilities of the states of the queue, with the copy of page i in the index "
        "current",
        r"w_i": "probabilities of the states, with no change of page i since the page in service "
        "was delivered",
        r"B": "rates at which services end, from state to state",
        r"\mathbf{e}": "column of ones",
        r"\bar\lambda_i": "deliveries of page i per unit time in the window",
    },
}
"""What the symbols stand for: one meaning for each in all formulas of a paper, as LaTeX."""

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\s]")
_SPACES = frozenset({r"\,", r"\ ", r"\!", r"\;", r"\quad", r"\qquad", "&", r"\\"})
_WORDS = re.compile(r"\\(?:text|begin|end|operatorname\*?)\{[^{}]*\}")


def symbols_of(latex: str, paper: str) -> dict[str, str]:
    """What stands for what in a statement: symbols as LaTeX, in the order of their occurrence.

    Parameters
    ----------
    latex : str
    paper : str
        A key of `NOTATION`.
    """
    known = {tokens_of(symbol): symbol for symbol in NOTATION[paper]}
    longest = max(map(len, known))
    tokens = tokens_of(latex)
    found: dict[str, str] = {}
    place = 0
    while place < len(tokens):
        for length in range(min(longest, len(tokens) - place), 0, -1):
            symbol = known.get(tokens[place : place + length])
            if symbol is not None and tokens[place + length : place + length + 1] != ("_",):
                found[symbol] = NOTATION[paper][symbol]
                break
        else:
            length = 1
        place += length
    return found


def tokens_of(latex: str) -> tuple[str, ...]:
    """The commands and letters of LaTeX, without words, spaces and braces around one of them."""
    tokens: list[str] = []
    for token in _TOKEN.findall(_WORDS.sub(" ", latex)):
        if token in _SPACES:
            continue
        tokens.append(token)
        if token == "}" and len(tokens) > 2 and tokens[-3] == "{":
            tokens[-3:] = [tokens[-2]]
    return tuple(tokens)
