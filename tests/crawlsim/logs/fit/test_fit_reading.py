"""Reading logs as they are: pipes, encodings, quotes, mixed columns, broken rows, strange files."""

from __future__ import annotations

import csv
import gzip
import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import examples

from crawlsim.fitting import Trace, read_trace
from crawlsim.logs.read.csv_lines import Block, table_of
from scenarios import ScenarioError


def read(folder: Path, content: str | bytes, kind: str | None = None) -> Trace:
    path = folder / "trace.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_trace(path, kind)  # type: ignore[arg-type]


def broken_lines(trace: Trace) -> list[int]:
    return [line for line, _ in trace.broken.lines]


# Dates or numbers


def test_one_number_among_dates_is_a_broken_row(tmp_path: Path) -> None:
    trace = read(tmp_path, "page,time\na,soon\na,2020-01-01\na,5\na,2020-01-03\n")
    assert trace.dated
    assert np.diff(trace.values).tolist() == [2.0]
    assert list(trace.broken.lines) == [
        (2, "time = 'soon' is not a time; write 2025-01-06T01:16"),
        (4, "time = '5' is not a time; write 2025-01-06T01:16"),
    ]


def test_one_date_among_numbers_is_a_broken_row(tmp_path: Path) -> None:
    trace = read(tmp_path, "page,time\na,5\na,2020-01-01\na,7.5\n")
    assert not trace.dated
    assert trace.values.tolist() == [5.0, 7.5]
    assert list(trace.broken.lines) == [(3, "time = '2020-01-01' is not a number")]


def test_the_first_value_decides_for_later_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 32)
    rows = ["a,x", "a,y", "a,z", "a,2020-01-01", *["a,17"] * 30, "a,2020-01-02"]
    trace = read(tmp_path, "\n".join(["page,time", *rows]))
    assert trace.dated
    assert trace.rows == 2
    assert trace.broken.count == 33
    assert trace.broken.lines[0] == (
        2,
        "time = 'x' is not a time; write 2025-01-06T01:16",
    )


@pytest.mark.parametrize("text", ["2020", "now", "today", "2020-02-30", "12:30"])
def test_what_is_no_date(text: str, tmp_path: Path) -> None:
    trace = read(tmp_path, f"page,time\na,2020-01-01\na,{text}\n")
    assert broken_lines(trace) == [3]


@pytest.mark.parametrize("text", ["2020-01-02", "2020-01-02 ", " 2020-01-02T00:00:00+00:00"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_blanks_around_a_date_do_no_harm(text: str, quote: str, tmp_path: Path) -> None:
    trace = read(tmp_path, f"page,time\n{quote}a{quote},2020-01-01\na,{text}\n")
    assert np.diff(trace.values).tolist() == [1.0]


@pytest.mark.parametrize("header", ["page,time", "time"])
def test_digits_of_a_day_and_unix_seconds_are_dates(header: str, tmp_path: Path) -> None:
    """As in schedules; sizes are never dates."""
    page = "a," if header != "time" else ""
    days = read(tmp_path, f"{header}\n{page}20200130\n{page}20200131\n{page}1580601600\n")
    assert days.dated
    assert np.diff(days.values).tolist() == [1.0, 2.0]
    for text in ("1\na,2\na,3", "20200299\na,1\na,2"):
        assert not read(tmp_path, f"page,time\na,{text}\n").dated
    assert read(tmp_path, "size\n20200130\n20200131\n").values.tolist() == [20200130, 20200131]


@pytest.mark.parametrize("text", ["1e51", "-1e51", "1e-51", "inf", "nan", "1e400"])
def test_numbers_that_nothing_can_reckon_with_are_broken(text: str, tmp_path: Path) -> None:
    trace = read(tmp_path, f"page,time\na,0\na,1e50\na,{text}\na,-1e-50\n")
    assert trace.values.tolist() == [-1e-50, 0.0, 1e50]
    assert broken_lines(trace) == [4]
    if text != "nan":
        assert "from 1e-50 to 1e+50" in trace.broken.lines[0][1]


# Pipes


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_gives_the_same_as_the_file(packed: bool, tmp_path: Path) -> None:
    """More than a pipe holds at once, and its first byte comes alone."""
    text = "page,time\n" + "".join(f"page-{n % 97},{n}\n" for n in range(20_000))
    content = gzip.compress(text.encode(), 1) if packed else text.encode()
    whole = read(tmp_path, content)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def fill() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(content[:1])
            for start in range(1, len(content), 5000):
                pipe.write(content[start : start + 5000])

    writer = threading.Thread(target=fill)
    writer.start()
    found = read_trace(path)
    writer.join()
    assert found.rows == whole.rows == 20_000
    assert found.values.tolist() == whole.values.tolist()
    assert found.pages == whole.pages


# Bytes


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_marks_and_ends_of_lines_make_no_difference(
    mark: bytes, end: bytes, packed: bool, tmp_path: Path
) -> None:
    content = mark + end.join([b"page,time", b"a,1", b"b,2", b"a,3"])
    trace = read(tmp_path, gzip.compress(content) if packed else content)
    assert (trace.kind, trace.pages) == ("changes", ("a", "b"))
    assert trace.values.tolist() == [1.0, 3.0, 2.0]
    assert trace.broken.count == 0


@pytest.mark.parametrize("quote", [b"", b'"'])
def test_different_names_that_are_no_utf8_stay_different(quote: bytes, tmp_path: Path) -> None:
    names = ["café", "cafè"]
    rows = [quote + name.encode("latin-1") + quote + b",%d" % n for n, name in enumerate(names * 2)]
    trace = read(tmp_path, b"page,time\n" + b"\n".join(rows))
    assert trace.pages == (r"caf\xe8", r"caf\xe9")
    assert trace.page.tolist() == [0, 0, 1, 1]
    assert trace.values.tolist() == [1.0, 3.0, 0.0, 2.0]


def test_a_line_with_a_nul_byte_is_broken(tmp_path: Path) -> None:
    for quoted in (b"c,4\n", b'"c",4\n', b'"c""d",4\n'):
        trace = read(tmp_path, b"page,time\na,1\na\0b,2\na,3\0\n" + quoted)
        assert list(trace.broken.lines) == [(3, "holds a NUL byte"), (4, "holds a NUL byte")]
        assert trace.values.tolist() == [1.0, 4.0]


@pytest.mark.parametrize("blank", ["", " ", "\t ", "\r", "  \r"])
@pytest.mark.parametrize("header", ["page,time", "time", "page,time,changed"])
def test_blank_lines_are_no_rows(blank: str, header: str, tmp_path: Path) -> None:
    """Nor is one before the header; lines are counted with them."""
    row = {"page,time": "a,1", "time": "1", "page,time,changed": "a,1,0"}[header]
    for one in (row, row.replace("a", '"a"'), row.replace("a", '"a""b"')):
        trace = read(tmp_path, "\n".join([blank, header, one, blank, "x,x,x,x", blank, one, blank]))
        assert trace.rows == 2
        assert broken_lines(trace) == [5]


def test_quotes(tmp_path: Path) -> None:
    """Whole fields in quotes, quotes within, and such as are not closed."""
    text = 'page,time\n"a, b",1\n"c",2\n"d ""e""",3\nf"g,4\n"h,5\n"i"j,6\nk,"7"\n'
    trace = read(tmp_path, text)
    assert trace.pages == ("a, b", "c", 'd "e"', 'f"g', "k")
    assert trace.values.tolist() == [1.0, 2.0, 3.0, 4.0, 7.0]
    wrong = "has a quote that is not closed, or out of place"
    assert list(trace.broken.lines) == [(6, wrong), (7, wrong)]
    trace = read(tmp_path, 'time\n"5\n6\n')
    assert list(trace.broken.lines) == [(2, wrong)]
    assert trace.values.tolist() == [6.0]


FIELDS = st.lists(st.sampled_from(["a, b", "c", '"', 'd"e', "", "f,", "8"]), min_size=2, max_size=3)


@settings(max_examples=examples(60))
@given(
    st.lists(FIELDS, min_size=1, max_size=6), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
)
def test_fields_are_those_of_the_csv_module(rows: list[list[str]], quoting: int) -> None:
    stream = io.StringIO()
    csv.writer(stream, quoting=quoting, lineterminator="\n").writerows(rows)
    table = table_of(Block(1, stream.getvalue().encode()), 2, (0, 1))
    wanted = [[field.strip() for field in row] for row in rows if len(row) == 2]
    columns = [[value.strip() for value in column] for column in table.columns] or [[], []]
    assert [list(row) for row in zip(*columns, strict=True)] == wanted
    assert table.broken.count == len(rows) - len(wanted)


def test_quotes_around_fields_are_not_taken_apart_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f'"page, {n % 7}",{n}\n' for n in range(100))

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("crawlsim.logs.read.csv_lines._by_line", refuse)
    assert len(read(tmp_path, 'page,"time"\n' + rows).pages) == 7


# Broken rows


def test_pages_of_broken_rows_only_are_no_pages(tmp_path: Path) -> None:
    trace = read(tmp_path, "page,time\nb,x\na,1\nc,\nb,2\na,3\n")
    assert trace.pages == ("a", "b")
    assert trace.page.tolist() == [0, 0, 1]
    assert trace.values.tolist() == [1.0, 3.0, 2.0]


def test_many_broken_rows_are_counted_and_the_first_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 1000)
    kinds = ["a,1,1", "a,x,1", "a,1", "a,1,maybe", ",1,1"]
    rows = [kinds[n % 5] for n in range(500)]
    trace = read(tmp_path, "\n".join(["page,time,changed", *rows]))
    assert trace.rows == 100
    assert trace.broken.count == 400
    assert broken_lines(trace) == [n + 2 for n in range(500) if n % 5][:20]
    assert [reason.split()[0] for _, reason in trace.broken.lines[:4]] == [
        "time", "has", "changed", "page",
    ]  # fmt: skip


# Files that are no trace


NO_TRACES = {
    "blank-lines": (b"\n \n\r\n", "is empty"),
    "mark-alone": (b"\xef\xbb\xbf", "is empty"),
    "nothing-packed": (gzip.compress(b"", mtime=0), "is empty"),
    "header-alone": (b"page,time\n\n", "the logs hold no row with a URL"),
    "fields-missing": (b"page,time\na\nb,\n", "line 2 has 1 field, the first line has 2"),
    "utf-16": ("page,time\na,1\n".encode("utf-16"), "is in UTF-16, which no log is"),
    "carriage-returns": (b"page,time\ra,1\r", "line 1 holds a carriage return alone"),
    "open-quote": (b'"page,time\na,1\n', "line 1 has a quote that is not closed"),
    "packed-mark-alone": (b"\x1f\x8b", "is not a complete gz file"),
    "packed-nonsense": (b"\x1f\x8b\x08\x00" + 50 * b"x", "is not a complete gz file"),
    "packed-then-junk": (
        gzip.compress(b"page,time\na,1\n", mtime=0) + b"junk",
        "cannot be read: Not a gzipped file",
    ),
}


@pytest.mark.parametrize("name", NO_TRACES)
def test_files_that_are_no_trace(name: str, tmp_path: Path) -> None:
    content, said = NO_TRACES[name]
    with pytest.raises(ScenarioError, match=said):
        read(tmp_path, content)


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="holds no file"):
        read_trace(tmp_path)
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        read_trace(tmp_path, "sizes")
    (tmp_path / "log.csv").write_text("page,time\na,1\na,2\n")
    assert read_trace(tmp_path).values.tolist() == [1.0, 2.0]


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 64)
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._LONGEST_LINE", 256)
    with pytest.raises(ScenarioError, match="line 3 has no end"):
        read(tmp_path, "page,time\na,1\n" + 1000 * "x")


# Crawl logs as archives write them


def crawls_by_digest(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """The same visits with digests and with signs, in no order."""
    digests = []
    signs = []
    for page in "ab":
        version = 0
        for day in range(40):
            changed = bool(rng.random() < 0.3) and day > 0
            version += changed
            digests.append(f"{page},2020-01-{1 + day // 2:02}T{12 * (day % 2):02}:00,v{version}")
            signs.append(f"{page},2020-01-{1 + day // 2:02}T{12 * (day % 2):02}:00,{changed:d}")
    order = rng.permutation(len(digests))
    return [digests[n] for n in order], [signs[n] for n in order]


@pytest.mark.parametrize(
    "name", ["digest", "Content_Digest", "SIGNATURE", "hash", "sha1", "md5", "ETag"]
)
def test_a_column_of_digests_makes_a_crawl_log(tmp_path: Path, name: str) -> None:
    digests, signs = crawls_by_digest(np.random.default_rng(8))
    by_digest = read(tmp_path, "\n".join([f"Page,time,status,{name}", *with_status(digests)]))
    by_sign = read(tmp_path, "\n".join(["page,time,changed", *signs]))
    assert by_digest.kind == by_sign.kind == "crawls"
    assert by_digest.log.changed.tolist() == by_sign.log.changed.tolist()
    assert by_digest.pages == by_sign.pages


def with_status(rows: list[str]) -> list[str]:
    return [",200,".join(row.rsplit(",", 1)) for row in rows]


def test_signs_go_before_digests_and_both_are_visits_whatever_is_said(tmp_path: Path) -> None:
    text = "page,time,digest,changed\na,1,x,0\na,2,y,0\na,3,z,1\n"
    assert read(tmp_path, text).log.changed.tolist() == [False, False, True]
    with pytest.raises(ScenarioError, match="says what each visit found, so these are crawls"):
        read(tmp_path, text, "changes")
    assert read(tmp_path, text, "deliveries").values.tolist() == [1.0, 2.0, 3.0]


def test_a_visit_without_a_digest_is_left_out_and_counted(tmp_path: Path) -> None:
    trace = read(tmp_path, "page,time,digest\na,1,x\na,2,-\na,3,\na,4,x\na,5,y\n")
    assert trace.values.tolist() == [1.0, 4.0, 5.0]
    assert trace.log.changed.tolist() == [False, False, True]
    assert trace.doubts == ("Left out, since a successful visit has no digest: 2 rows.",)


def test_digests_are_compared_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 24)
    rows = [f"p{n % 3},{n},d{n // 9}" for n in range(36)]
    trace = read(tmp_path, "\n".join(["page,time,digest", *rows]))
    assert trace.values[trace.log.changed].tolist() == [9, 18, 27, 10, 19, 28, 11, 20, 29]


def test_two_digests_at_one_time_do_not_depend_on_the_order_of_the_rows(tmp_path: Path) -> None:
    rows = ["a,1,x", "a,2,x", "a,2,y", "a,3,y", "b,1,y"]
    found = [
        read(tmp_path, "\n".join(["page,time,digest", *order])) for order in (rows, rows[::-1])
    ]
    assert (
        found[0].log.changed.tolist()
        == found[1].log.changed.tolist()
        == [False, True, False, False]
    )
    assert found[0].values.tolist() == found[1].values.tolist() == [1.0, 2.0, 3.0, 1.0]
    assert found[0].rows == 5


def test_fourteen_digits_are_a_time(tmp_path: Path) -> None:
    trace = read(tmp_path, "page,time\na,20170730223850\nb,20170731223850\na, 20170731103850 \n")
    assert trace.dated
    assert trace.time_unit == "day"
    assert np.diff(trace.values).tolist() == [0.5, 0.5]
    written = read(tmp_path, "page,time\na,2017-07-30T22:38:50Z\n")
    assert trace.values[0] == written.values[0]


@pytest.mark.parametrize(
    ("unit", "elapsed"),
    [
        ("second", 366 * 24 * 60 * 60.0),
        ("minute", 366 * 24 * 60.0),
        ("hour", 366 * 24.0),
        ("day", 366.0),
        ("week", 366 / 7),
        ("year", 366 / 365.25),
    ],
)
def test_a_leap_year_in_every_unit(tmp_path: Path, unit: str, elapsed: float) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("page,time\na,2020-01-01\na,2021-01-01\n")
    trace = read_trace(path, time_unit=unit)
    assert trace.time_unit == unit
    assert np.diff(trace.values).tolist() == [pytest.approx(elapsed, rel=1e-12)]


@pytest.mark.parametrize("digits", ["20171330223850", "20170730243850", "12345678901234"])
def test_fourteen_digits_that_are_no_time_are_a_number(tmp_path: Path, digits: str) -> None:
    trace = read(tmp_path, f"time\n{digits}\n5\n")
    assert not trace.dated
    assert trace.values.tolist() == [float(digits), 5.0]


def test_a_first_row_of_fourteen_digits_that_are_no_time_is_a_broken_row(tmp_path: Path) -> None:
    rows = ["20170230223850", "20170301000000", "20170302000000", "20170303000000"]
    trace = read(tmp_path, "page,time\n" + "".join(f"a,{row}\n" for row in rows))
    assert trace.dated
    assert np.diff(trace.values).tolist() == [1.0, 1.0]
    assert broken_lines(trace) == [2]


def test_a_field_that_is_too_long_is_called_so(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="a field of more than 131,072 characters"):
        read(tmp_path, "page,time," + "x" * 200_000 + "\na,1,2\n")


def test_the_first_visit_of_a_page_need_not_say_whether_it_changed(tmp_path: Path) -> None:
    rows = ["b,5,1", "a,1,", "a,2,0", "b,4,", "a,3,", "a,4,1"]
    trace = read(tmp_path, "\n".join(["page,time,changed", *rows]))
    assert trace.doubts == ("Left out, since nothing says whether the page had changed: 1 row.",)
    assert trace.broken.count == 0
    assert trace.values.tolist() == [1.0, 2.0, 4.0, 4.0, 5.0]
    assert trace.log.changed.tolist() == [False, False, True, False, True]
    assert [trace.pages[each] for each in trace.page] == ["a", "a", "a", "b", "b"]


@pytest.mark.parametrize(
    "start",
    ["{", "[", " \n\t[", "\ufeff{"],
    ids=["object", "array", "after blanks", "after a byte order mark"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_json_is_refused_as_json(tmp_path: Path, start: str, packed: bool) -> None:
    content = (start + '"url": "a", "timestamp": 1}\n').encode()
    for kind in ("deliveries", "sizes"):
        with pytest.raises(ScenarioError, match="is JSON; a trace is CSV") as refused:
            read(tmp_path, gzip.compress(content) if packed else content, kind)
        assert "jq -r" in str(refused.value)


def test_json_lines_of_crawlers_are_read(tmp_path: Path) -> None:
    trace = read(tmp_path, '{"url": "a", "timestamp": 1}\n{"url": "a", "timestamp": 3}\n')
    assert (trace.kind, trace.values.tolist()) == ("changes", [1.0, 3.0])


def test_json_on_one_endless_line_is_refused_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._BLOCK", 32)
    monkeypatch.setattr("crawlsim.logs.read.csv_lines._LONGEST_LINE", 64)
    with pytest.raises(ScenarioError, match="is JSON"):
        read(tmp_path, "[" + "1," * 1000 + "1]", "sizes")
