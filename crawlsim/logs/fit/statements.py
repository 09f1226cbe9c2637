"""What is estimated from traces, for the index of formulas."""

from __future__ import annotations

from analytic import Statement
from crawlsim.logs.fit.hyper_erlang import maximum_likelihood
from crawlsim.logs.fit.order_two import fit_modulated, map_of_order_two

ESTIMATES: tuple[Statement, ...] = (
    Statement(
        paper="avrachenkov2011",
        number="section 7, deliveries by moments",
        quantity="a process of two phases with the mean, variance and correlations of the gaps "
        "between batches of deliveries",
        latex=r"\mathbb{E}X=\boldsymbol\varphi(-D_0)^{-1}\mathbf{e},\quad "
        r"\mathbb{E}X^2=2\,\boldsymbol\varphi(-D_0)^{-2}\mathbf{e},\quad "
        r"\mathbb{E}X_0X_j=\boldsymbol\varphi(-D_0)^{-1}\left((-D_0)^{-1}D_1\right)^{j}"
        r"(-D_0)^{-1}\mathbf{e}",
        function=map_of_order_two,
        kind="algorithm",
        origin="own",
    ),
    Statement(
        paper="avrachenkov2011",
        number="section 7, deliveries by likelihood",
        quantity="the Poisson process modulated by two phases under which the gaps between batches "
        "of deliveries are most likely",
        latex=r"\max\limits_{D_0,D_1}\ \ln\left(\boldsymbol\varphi\prod_ie^{D_0x_i}D_1\,"
        r"\mathbf{e}\right)",
        function=fit_modulated,
        kind="algorithm",
        origin="own",
    ),
    Statement(
        paper="avrachenkov2011",
        number="section 7, sizes",
        quantity="the mixture of Erlang laws under which page sizes, or services, are most likely",
        latex=r"\max\limits_{w,\,m}\ \sum_i\ln\sum_jw_j\,\frac{(l_j/m_j)^{l_j}\,x_i^{l_j-1}}"
        r"{(l_j-1)!}\,e^{-l_jx_i/m_j}",
        function=maximum_likelihood,
        kind="algorithm",
        origin="own",
    ),
)
