"""Where formulas come from: full references of papers and books, and what was done to them."""

from __future__ import annotations

ORIGINS: dict[str, str] = {
    "printed": "as the paper has it.",
    "corrected": "the paper's is wrong or incomplete; docs/errata.md says what was changed.",
    "re-derived": "not legible in the text of the paper at hand; derived anew from the model "
    "that its words describe (docs/theory/indexing-queue.md).",
    "own": "a result of this project; its proof is in the docstring or in docs/.",
}
"""Where a formula comes from, as words for a reader."""

REFERENCES: dict[str, str] = {
    "altman2000": (
        "E. Altman, S. Bhulai, B. Gaujal, A. Hordijk, Open-loop routeing to M parallel servers "
        "with no buffers. J. Appl. Prob. 37 (2000)."
    ),
    "avrachenkov2011": (
        "K. Avrachenkov, A. Dudin, V. Klimenok, P. Nain, O. Semenova, Optimal threshold control "
        "by the robots of Web search engines with obsolescence of documents. Computer Networks "
        "(2011)."
    ),
    "coffman1998": (
        "E. G. Coffman, Z. Liu, R. R. Weber, Optimal robot scheduling for Web search engines. "
        "J. Scheduling 1 (1998)."
    ),
    "courtois1971": (
        "P. J. Courtois, J. Georges, On a single-server finite queueing model with state-dependent "
        "arrival and service processes. Operations Research 19 (1971)."
    ),
    "courses": (
        "Systems over time, under interventions: results of this project, with their proofs in "
        "docs/theory/changing-systems.md."
    ),
    "eckstein2005": (
        "J. Eckstein, A. Gal, S. Reiner, Optimal information monitoring under a politeness "
        "constraint. RUTCOR Research Report 16-2005."
    ),
    "garnett2002": (
        "O. Garnett, A. Mandelbaum, M. Reiman, Designing a call center with impatient customers. "
        "Manufacturing and Service Operations Management 4 (2002)."
    ),
    "kleinrock1975": "L. Kleinrock, Queueing Systems, volume I: Theory. Wiley, New York (1975).",
    "kolobov2019": (
        "A. Kolobov, Y. Peres, E. Lubetzky, E. Horvitz, Optimal freshness crawl under politeness "
        "constraints. Proc. ACM SIGIR (2019)."
    ),
    "page-sets": (
        "Pages that come and go: results of this project, with their proofs in docs/page-sets.md."
    ),
    "pipeline": (
        "End-to-end freshness, pages, robots and buffer joined: results of this project, with "
        "their proofs in docs/theory/through-the-buffer.md."
    ),
    "talim2001": (
        "J. Talim, Z. Liu, P. Nain, E. G. Coffman, Controlling the robots of Web search engines. "
        "Proc. ACM SIGMETRICS / Performance (2001)."
    ),
}
