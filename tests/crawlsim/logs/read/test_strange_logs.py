"""Files that are broken, hostile or of another kind: refused in three lines, or read in part."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from log_files import EXPECTED, FIRST, FORMS, HISTORY, A, at, csv, iso, read, write
from test_log_forms import nutch_csv, sitemap

from crawlsim.logs.read import read_logs
from crawlsim.logs.read.json_rows import JsonRows, take_line
from crawlsim.logs.read.log import VisitLog
from scenarios import ScenarioError

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise("abcdefghi"))
    + "]><urlset><url><loc>&i;</loc></url></urlset>"
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    "<urlset><url><loc>&a;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ([], "no log is given"),
        ([""], "no row with a URL"),
        (["url,time,digest\n"], "no row with a URL"),
        (["\n\n \n"], "no row with a URL"),
        (["just some words\n"], "is not a log that is known; --from says which"),
        ([b"\x7fELF\0\0,\0"], "is not a log that is known"),
        ([b"\x1f\x8bnot gz"], "cannot be read|not a complete gz"),
        ([gzip.compress(csv(HISTORY).encode())[:60]], "not a complete gz"),
        (
            ["url;time;digest\na;2026-01-01;x\n"],
            r"its separator is a semicolon, and must be a comma: python .*=\W;\W\)\)",
        ),
        (["a,b,c\n1,2,3\n"], "must name the columns url or page; time"),
        (['"a,b\n'], "is not a CSV file: line 1 has a quote"),
        (["url,time,digest\na,soon,x\n"], "no row can be read; line 2 time = 'soon' is not a time"),
        (["[1, 2"], "begins like a JSON array"),
        (["[" * 100_000], "begins like a JSON array"),
        (["{"], "no row can be read: JSON must be an object on each line"),
        (['{"a": 1}\n'], "must name the columns"),
        (['{"_source": 5}\n'], "must name the columns"),
        (["[[], 5, {}, null]"], "must name the columns"),
        ([" CDX N b m s\n"], "must name the columns a"),
        ([" CDX N b a m s k\nx\n"], "no row can be read; line 2 has 1 word, 6 are needed"),
        ([BOMB] * 2, "declares a document type"),
        ([OUTSIDE] * 2, "declares a document type"),
        (["<" + "a" * 10_000 + ">"] * 2, "root element|is not XML"),
        (["<urlset>" + "<a>" * 50_000] * 2, "is not XML"),
    ],
)
def test_what_is_refused(contents: list[str | bytes], why: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=why) as refused:
        read(tmp_path, *contents)
    assert len(str(refused.value).splitlines()) <= 3
    assert str(refused.value).isprintable() or "\n" in str(refused.value)


@pytest.mark.parametrize("form", ["CSV", "warc", ""])
def test_a_format_that_does_not_exist_is_refused(form: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="must be csv, cdx"):
        read(tmp_path, csv(HISTORY), form=form)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("cdx", "no row can be read"),
        ("cdxj", "no row can be read"),
        ("cdx-server", "no row can be read"),
        ("heritrix", "no row can be read"),
        ("nutch", "not a dump of a CrawlDb"),
        ("stormcrawler", "no row can be read"),
        ("sitemaps", "is not XML"),
    ],
)
def test_a_format_that_is_not_that_of_the_file_is_refused(
    form: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=why):
        read(tmp_path, csv(HISTORY), form=form)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, why in (("none", "cannot be read"), ("empty", "holds no file")):
        with pytest.raises(ScenarioError, match=why):
            read_logs([tmp_path / name])


def test_broken_rows_are_counted_and_the_first_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{A},{iso(at(day))},{FIRST},200" for day in range(3)]
    bad = ["a,soon,x,200", ",2026-01-01,x,200", "a,2026-01-01,x", "a,2026-01-01,x,fine", "a\0,,,"]
    path.write_text("\n".join(["url,time,digest,status", *rows, *bad, ""]))
    log = read_logs([path])
    assert isinstance(log, VisitLog)
    assert list(log.urls) == [A]
    assert log.notes == (
        "5 of 8 rows are broken and left out.",
        "log.csv, line 5: time = 'soon' is not a time; write 2025-01-06T01:16.",
        "log.csv, line 6: url = '' is not a name.",
        "log.csv, line 7: has 3 fields, the first line has 4.",
        "log.csv, line 8: status = 'fine' is not a status.",
        "log.csv, line 9: holds a NUL byte.",
    )


def test_words_that_are_missing_or_too_many_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.cdx"
    good = f"org,example)/ 20260101000000 {A} text/html 200 {FIRST} 1 2 3"
    bad = [f"{good} 4 5 6", "org,example)/ 20260101000000", good.replace("html", "\0")]
    path.write_text("\n".join([good, "", *bad, ""]))
    assert read_logs([path]).notes == (
        "3 of 4 rows are broken and left out.",
        "log.cdx, line 3: has 12 words, 7 to 11 are needed.",
        "log.cdx, line 4: has 2 words, 7 to 11 are needed.",
        "log.cdx, line 5: holds a NUL byte.",
    )


def test_only_the_first_broken_rows_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(csv(HISTORY) + "x\n" * 50)
    notes = read_logs([path, path]).notes
    assert notes[0] == "100 of 124 rows are broken and left out."
    assert notes[21] == "… and 80 more."


def said_of(paths: list[Path]) -> list[str]:
    """The notes of the history in these files, or the lines of the error, of which three may be."""
    try:
        return list(read_logs(paths).notes)
    except ScenarioError as error:
        lines = str(error).splitlines()
    assert len(lines) <= 3
    return lines


@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_off_anywhere_is_read_in_part_or_refused(form: str, tmp_path: Path) -> None:
    content = FORMS[form](HISTORY)
    content = content.encode() if isinstance(content, str) else content
    for end in range(0, len(content), 37):
        lines = said_of(write(tmp_path, content[:end]))
        assert all(line.isprintable() for line in lines)


@pytest.mark.by_day(every=15)
@pytest.mark.parametrize("form", [*FORMS, "nutch", "sitemap"])
@pytest.mark.parametrize("byte", [0, 27, 34, 44, 128, 255])
def test_a_strange_byte_anywhere_does_no_harm(form: str, byte: int, tmp_path: Path) -> None:
    whole = {"nutch": nutch_csv([(A, at(1), FIRST)]), "sitemap": sitemap({A: "2026-01-01"})}
    content = whole[form] if form in whole else FORMS[form](HISTORY)
    content = content.encode() if isinstance(content, str) else content
    for place in range(0, len(content), 41):
        changed = content[:place] + bytes([byte]) + content[place + 1 :]
        lines = said_of(write(tmp_path, changed, content))
        assert all(line.isprintable() for line in lines)


def test_a_url_may_hold_what_acts_on_a_terminal_and_notes_do_not(tmp_path: Path) -> None:
    red = "http://a.org/\x1b[31mred\u202e"
    path = tmp_path / "log\x1b.csv"
    path.write_text(f"url,time,digest\n{red},2026-01-01,x\n{red},{red},x\n")
    log = read_logs([path])
    assert list(log.urls) == ["http://a.org/%1B[31mred%E2%80%AE"]
    assert all(note.isprintable() for note in log.notes)


def test_bytes_that_are_no_text_keep_names_apart(tmp_path: Path) -> None:
    row = b"org,example)/ 20260101000000 http://example.org/%c text/html 200 X 1\n"
    content = b"".join(row % byte for byte in (0xE9, 0xE8))
    assert list(read(tmp_path, content)) == ["http://example.org/\\xe8", "http://example.org/\\xe9"]
    halves = json.dumps({"url": "http://example.org/\ud800", "time": "2026-01-01", "digest": "x"})
    assert list(read(tmp_path, halves)) == ["http://example.org/\\ud800"]


def test_a_field_of_many_megabytes_is_harmless(tmp_path: Path) -> None:
    url = "http://example.org/" + "a" * 9_000_000
    content = f"{csv(HISTORY)}{url},2026-01-01,x,200,text/html,GET\n"
    names = list(read(tmp_path, content))
    assert max(map(len, names)) == len(url)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_read_by_what_they_hold(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    packed = pack(csv(HISTORY).encode())
    assert read(tmp_path, packed) == EXPECTED
    with pytest.raises(ScenarioError, match=r"not a complete (gz|bz2|xz) file"):
        read(tmp_path, packed[:-20])


def test_zst_files_are_read_where_the_package_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.compress(csv(HISTORY).encode())
    assert read(tmp_path, packed) == EXPECTED
    header, *rows = csv(HISTORY).encode().splitlines(keepends=True)
    frames = [zstandard.compress(each) for each in (header, *rows)]
    assert read(tmp_path, b"".join(frames)) == EXPECTED
    damaged = bytearray(packed)
    damaged[20] ^= 0xFF
    for broken in (packed[:-1], packed[:-20], b"".join(frames)[:-1], bytes(damaged)):
        with pytest.raises(ScenarioError, match="not a complete zst file"):
            read(tmp_path, broken)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ScenarioError, match=r"pip install 'crawlsim\[zst\]'"):
        read(tmp_path, packed)


def test_a_line_that_is_no_json_counts_once() -> None:
    rows = JsonRows()
    for line, text in enumerate([b'{"url": 1}', b"{no", b"[]", b'"a"'], 1):
        take_line(rows, line, text)
    assert (rows.lines, rows.rows) == ([1], [{"url": 1}])
    assert rows.broken.count == len(rows.broken.lines) == 3
