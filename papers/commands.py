"""The commands that this package gives to `crawlsim`: a line of each, for the list of all."""

from __future__ import annotations

from crawlsim.cli.later import Later

papers = Later(
    "papers", "papers.cli:papers", "List the papers, and how much of them is reproduced."
)
paper = Later("paper", "papers.cli:paper", "List the items of a paper, and which of them are true.")
reproduce = Later(
    "reproduce", "papers.cli:reproduce", "Compute a formula, table or figure of a paper."
)
