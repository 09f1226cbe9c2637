"""The cells of a table, put back into it, or told in one line."""

from __future__ import annotations

from papers.cells import FEW, Place, grid_of, in_few_lines, place_of
from papers.rows import TITLES, Row, rows_of


def cell(item: str, status: str = "reproduced", **rest: str | None) -> Row:
    filled = {"printed": "1.0", "ours": "1.0", "shown": None, "note": None} | rest
    return Row(item=item, kind="table cell", status=status, **filled)


def square() -> list[Row]:
    """Two lines and two columns, of which one cell is printed wrongly and one is lost."""
    return [
        cell("Table 1, (1, 2), C_s"),
        cell("Table 1, (1, 2), N", "corrected", printed="3", ours="4 of 5", note="Miscounted."),
        cell("Table 1, (2, 2), C_s", ours="2.5 %, from the costs"),
        cell("Table 1, (2, 2), N", "data lost", ours=None, note="Not in our copy."),
    ]


def test_the_place_of_a_cell() -> None:
    place = place_of(cell("Table 2, [0:00, 24:00), Sunday"))
    assert place == Place("Table 2", "[0:00, 24:00)", "Sunday")
    assert place_of(cell("Table 2, N_max")) is None
    assert place_of(cell("Theorem 2")) is None


def test_cells_become_their_table() -> None:
    rows = [*square(), cell("Table 1, N_max")]
    grid = grid_of(rows, lambda row: row.ours or "")
    assert grid.columns == ["C_s", "N"]
    assert grid.lines == [["(1, 2)", "1.0", "4 [3]"], ["(2, 2)", "2.5 %", ""]]
    assert grid.notes == [
        "(1, 2), N: corrected: Miscounted.",
        "(2, 2), N: data lost: Not in our copy.",
    ]
    assert grid.others == rows[-1:]


def test_few_cells_are_no_table() -> None:
    rows = square()[:FEW]
    assert grid_of(rows, lambda row: row.ours or "") == ([], [], [], rows)


def test_every_cell_of_a_table_is_in_its_grid() -> None:
    """None is lost, whatever its name: of all papers and tables."""
    for paper in TITLES:
        rows = [row for row in rows_of(paper).values() if row.item.startswith("Table ")]
        for table in {row.item.split(",")[0] for row in rows}:
            of_table = [row for row in rows if row.item.split(",")[0] == table]
            grid = grid_of(of_table, lambda _: "x")
            shown = sum(text != "" for line in grid.lines for text in line[1:])
            assert shown + len(grid.others) == len(of_table)


def test_what_is_said_of_many_cells_is_said_once() -> None:
    lost = [cell(f"Table 4, ({n}), J", "data lost", ours=None, note="Lost.") for n in range(6)]
    other = cell("Theorem 1")
    short = in_few_lines([*lost[:2], other, *lost[2:]])
    assert [row.item for row in short] == ["Table 4: 6 cells", "Theorem 1"]
    assert short[0].note == "Lost."


def test_each_wrong_cell_has_its_line() -> None:
    wrong = [cell(f"Table 4, ({n}), J", "corrected", note="Misprinted.") for n in range(6)]
    assert in_few_lines(wrong) == wrong
