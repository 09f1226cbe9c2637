"""docs/errata.md, written from the ledger of the papers: python -m experiments.make_errata."""

from __future__ import annotations

from pathlib import Path

from papers.rows import TITLES, Row, rows_of

ERRATA = Path(__file__).parents[1] / "docs/errata.md"

_HEAD = """# Errata in the papers

Written from the ledger of the papers by `python -m experiments.make_errata`; `crawlsim paper KEY
--verify` computes each number anew, and `crawlsim reproduce KEY ITEM` shows one. *Refuted* is what
is false, with a counterexample; all else is to be read as it stands here.
"""


def text() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_of_paper(paper) for paper in TITLES)])


def _of_paper(paper: str) -> str:
    """A section: a row for each note, with the items that it explains."""
    wrong = [row for row in rows_of(paper).values() if row.status in ("corrected", "refuted")]
    by_note: dict[tuple[str | None, str], list[Row]] = {}
    for row in wrong:
        by_note.setdefault((row.note, row.status), []).append(row)
    lines = [f"## {paper}", "", f"{TITLES[paper]}.", ""]
    lines += ["| place | printed | right | how we know |", "|---|---|---|---|"]
    for (note, status), rows in by_note.items():
        refuted = " *Refuted.*" if status == "refuted" else ""
        places = _joined([row.item for row in rows])
        printed = _joined([row.printed or "" for row in rows])
        ours = _joined([row.ours or "" for row in rows])
        lines.append(f"| {places} | {printed} | {ours} | {_cell(note or '')}{refuted} |")
    return "\n".join([*lines, ""])


def _joined(texts: list[str]) -> str:
    """The texts of several rows, each once."""
    return "; ".join(dict.fromkeys(_cell(each) for each in texts if each))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


if __name__ == "__main__":
    ERRATA.write_text(text(), encoding="utf-8")
