"""What the documents say is what the code does."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analytic.index.targets import TARGETS
from crawlsim.cli import main
from crawlsim.cli.program import commands
from scenarios import MEASURES, Scenario, dumps, library_names, load, scenario_from
from scenarios.accessing import POLICIES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS += sorted((ROOT / "docs" / "how-to").glob("*.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_python_of_the_documents_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "docs" / "how-to")  # beside pages.parquet
    snippets = blocks((ROOT / "docs/from-python.md").read_text(), "python")
    assert len(snippets) == 4
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, "from-python", "exec"), names)
    assert names["row"].verdict == "agrees"
    assert names["found"].sum == pytest.approx(1.0)
    capsys.readouterr()
    names["busy"].main(["one-robot"], standalone_mode=False)
    assert capsys.readouterr().out == "59.0%\n"


def shown(page: str, begins: str) -> list[str]:
    """The lines of the block of a page that begins like this, without those of "…" alone."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    (found,) = [text for language, text in fences if not language and text.startswith(begins)]
    return [line for line in found.splitlines() if line.strip("… ")]


def missing_of(lines: list[str], printed: str) -> list[str]:
    """Those that are not printed in this order; a "…" within a line stands for anything."""
    patterns = [re.escape(line.rstrip()).replace("…", ".*") for line in lines]
    there = iter(printed.splitlines())
    return [each for each in patterns if not any(re.fullmatch(each, row.rstrip()) for row in there)]


def test_what_a_check_says_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crawlsim: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = blocks((ROOT / "docs/verdicts.md").read_text(), "toml")
    Path("four-robots.toml").write_text(text)
    code, out, _ = crawlsim("check", "four-robots.toml")
    assert code == 0
    lines = shown("docs/verdicts.md", "four-robots: agrees")
    assert len(lines) > 9
    assert missing_of(lines, out) == []
    assert missing_of(["  load: robots 45.3 % active …"], out) != []


def test_the_best_number_of_robots_is_shown_as_it_is(crawlsim: Any) -> None:
    page = "docs/pipeline.md"
    ((command, _),) = re.findall(r"^\$ (crawlsim (optimize) .*)$", (ROOT / page).read_text(), re.M)
    code, out, _ = crawlsim(*shlex.split(command)[1:])
    assert code == 0
    lines = shown(page, "$ " + command)
    assert missing_of(lines[1:], out) == []


LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def reachable_from(page: Path) -> set[Path]:
    """Every page to which links lead from this one, over others."""
    found, open_pages = {page}, [page]
    while open_pages:
        one = open_pages.pop()
        for link in LINK.findall(one.read_text() if one.suffix == ".md" else ""):
            target = (one.parent / link).resolve()
            assert target.exists(), f"{one.name} links to {link}"
            if target not in found:
                found.add(target)
                open_pages.append(target)
    return found


def test_the_readme_leads_to_every_page() -> None:
    pages = {
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/how-to").glob("*.md"),
        *(ROOT / "docs/tutorials").glob("*.md"),
        *(ROOT / "notebooks").glob("*.ipynb"),
    }
    assert len(pages) > 60
    assert pages - reachable_from(ROOT / "README.md") == set()


def test_a_page_to_which_nothing_leads_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("[b](b.md#x)")
    (tmp_path / "b.md").write_text("[a](a.md) [home](https://example.org)")
    (tmp_path / "c.md").write_text("[a](a.md)")
    assert {each.name for each in reachable_from(tmp_path / "a.md")} == {"a.md", "b.md"}


QUESTIONS = (ROOT / "docs/how-to/index.md").read_text()
CALL = r"`crawlsim (?!explore)([^`]+)`"


def test_the_questions_name_every_command_and_only_those() -> None:
    named = set(re.findall(r"crawlsim ([a-z]+)", QUESTIONS))
    assert named == set(commands.every)
    assert set(re.findall(r"crawlsim ([a-z]+)", README)) - {"takes", "simulates", "does"} <= named


def test_the_table_of_decisions_has_every_target_and_only_those() -> None:
    table = QUESTIONS.partition("| target |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {*TARGETS, "design"}


CALLS = [
    each
    for line in QUESTIONS.splitlines()
    if line.startswith("|")
    for each in re.findall(CALL, line)
    if "crawl.toml" not in each and "two-million.toml" not in each
]
"""Those of these files are run by tests/test_how_to.py, which compares what they print."""


@pytest.mark.thorough
@pytest.mark.parametrize("command", dict.fromkeys([*CALLS, *re.findall(CALL, README)]))
def test_the_commands_of_the_documents_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file that the page has a reader make, for a shorter time."""
    monkeypatch.chdir(tmp_path)
    short = load("one-robot").with_({"run.horizon": 2000.0, "run.replications": 2})
    Path("my.toml").write_text(dumps(short))
    log = (ROOT / "docs/examples/visits.csv.gz").read_bytes()
    Path("docs/examples").mkdir(parents=True)
    for name in ("visits.csv", "docs/examples/visits.csv.gz"):
        Path(name).write_bytes(log)
    Path("docs/how-to").mkdir()
    site = ("site-visits.csv.gz", "site-signals.csv.gz", "site-sizes.csv")
    for file in ("pages.parquet", "classes.csv", *site):
        for folder in ("", "docs/how-to"):
            Path(folder, file).write_bytes((ROOT / "docs/how-to" / file).read_bytes())
    Path("trace.csv").write_text("page,time\na,1\na,2\na,4\nb,1\nb,2.5\nb,5\n")
    words = shlex.split(command)
    if words[0] in {"run", "check", "sweep"}:
        words += ["--replications", "2", "--max-replications", "2"]
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0


def test_every_measure_is_explained() -> None:
    page = (ROOT / "docs/measures.md").read_text()
    for measure in MEASURES.values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{measure.name}` |"))
        assert measure.definition in row


def test_the_reference_names_every_section_key_and_policy() -> None:
    page = (ROOT / "docs/scenario-file.md").read_text()
    for name, field in Scenario.model_fields.items():
        assert f"`{name}`" in page or f"[{name}]" in page, name
        section = field.annotation
        for inner in [section, *getattr(section, "__args__", ())]:
            for key in getattr(inner, "model_fields", {}):
                assert f"`{key}`" in page or f"`{key} " in page, f"{name}.{key}"
    for policy in POLICIES:
        assert f'"{policy}"' in page


SYSTEM: dict[str, Any] = {
    "name": "example",
    "pages": {"change_rates": [0.1, 0.2, 0.3]},
    "robots": {
        "available": 4,
        "access_time": {"exponential": {"mean": 1.0}},
        "accessing": {"policy": "randomized"},
    },
    "buffer": {"waiting_places": 5, "service": {"exponential": {"mean": 1.0}}},
}
"""What an example leaves out."""


@pytest.mark.parametrize("example", blocks((ROOT / "docs/scenario-file.md").read_text(), "toml"))
def test_the_examples_of_the_reference_load(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pages.csv").write_text("page,rate,bytes\na,0.1,2000\nb,0.2,0\nc,0.3,1e6\n")
    sections = tomllib.loads(example)
    lists = {name: sections.pop(name) for name in list(sections) if type(sections[name]) is list}
    keys = {f"{name}.{key}": each for name in sections for key, each in sections[name].items()}
    absent = {"pages": None, "buffer": None} if "page_set" in sections else {}
    changed = scenario_from(SYSTEM).with_(absent | keys | lists).as_file()
    assert all(sections[name].keys() <= changed[name].keys() for name in sections)
    assert all(changed[name] == each for name, each in lists.items())


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_files_that_documents_name_exist(path: Path) -> None:
    named = re.findall(
        r"`((?:tests|sim|analytic|scenarios|docs(?!/_build))/[\w/.*-]+)`", path.read_text()
    )
    named += re.findall(r"\]\(([\w/.-]+)\)", path.read_text())
    for name in named:
        assert (ROOT / name).exists() or (path.parent / name).exists(), name


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
FILE = r"`({0}[\w./-]+\.(?:csv|js|json|md|py|toml))`(?: \(([^)]*)\))?"
PACKAGE = "(?:analytic|crawlsim|docs|experiments|papers|scenarios|sim|tests)/"


def named_files(text: str) -> Iterator[tuple[Path, list[str]]]:
    """Files that the tables and the sentences name, each with what is named in brackets behind it.

    In a table that says where things are, a path is relative to the folder that heads its column.
    """
    heads: list[str] = []
    for line in re.sub(r"\n +", " ", text).splitlines():
        cells = line.split("|")
        if line.startswith("| where is |"):
            heads = [re.sub(r"[^/]*`([\w/]+/)`.*|.*", r"\1", cell) for cell in cells]
        elif line.startswith("|") and heads:
            for folder, cell in zip(heads, cells, strict=True):
                for name, words in re.findall(FILE.format(""), cell):
                    beside = ROOT / folder / name
                    yield beside if beside.exists() else ROOT / name, re.findall(r"`(\w+)`", words)
        else:
            heads = []
            for name, words in re.findall(FILE.format(PACKAGE), line):
                if not re.search(r"NAME|gompertz", name):
                    yield ROOT / name, re.findall(r"`(\w+)`", words)


def missing_from(file: Path, words: list[str]) -> list[str]:
    """What is not there: the file itself, or what it does not define."""
    if not file.exists():
        return [file.name]
    defined = r"^ *(?:(?:async |export )*(?:def|class|function) {0}\b|{0}(?:: [^=\n]+)?(?: =|$))"
    text = file.read_text()
    return [word for word in words if not re.search(defined.format(word), text, re.MULTILINE)]


def test_what_contributing_names_is_there() -> None:
    named = list(named_files(CONTRIBUTING))
    assert sum(len(words) for _, words in named) > 150
    assert [(file.name, gone) for file, words in named if (gone := missing_from(file, words))] == []


def test_what_contributing_names_wrongly_would_be_found() -> None:
    table = "| where is | in `sim/` |\n|---|---|\n| a | `rules.py` (`admitted`, `no_rule`) |"
    ((file, words),) = named_files(table)
    assert (file, words) == (ROOT / "sim/rules.py", ["admitted", "no_rule"])
    assert missing_from(file, words) == ["no_rule"]
    assert missing_from(ROOT / "sim/no_rules.py", []) == ["no_rules.py"]


FOLDERS = ("analytic", "benchmarks", "docs", "notebooks", "scenarios", "sim", "tests")
SUFFIXES = {".py", ".md", ".toml", ".ipynb", ".html", ".css", ".js", ".txt"}
NOT_IN_THE_REPOSITORY = re.compile(
    r"\bcatalogue|\bANCHORS\b|\b(?:DESIGN|STYLE|PERFORMANCE)\.md|\bseed00\d|\bformulas/"
    r"|\bcontracts/|\.\./shared|(?<![\w.])/w[o]rk/|\bissue #?\d",
    re.IGNORECASE,
)


def texts() -> Iterator[Path]:
    """Every text of the repository but this one, which has to name what it looks for."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    for path in [*ROOT.iterdir(), *below]:
        if "_build" in path.parts:
            continue
        if path.is_file() and path.suffix in SUFFIXES and path != Path(__file__):
            yield path


def test_nothing_is_cited_that_a_reader_does_not_have() -> None:
    """Sources are papers, books and the pages of docs/, never notes from which this was built."""
    cited = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in texts()
        for found in NOT_IN_THE_REPOSITORY.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not cited


def test_citations_of_what_a_reader_does_not_have_would_be_found() -> None:
    """Negative control, and what is allowed."""
    for citation in ("the catalogue's section 2", "ANCHORS section 7", "formulas/seed001.md"):
        assert NOT_IN_THE_REPOSITORY.search(citation)
    for allowed in ("analytic/probing/formulas.py", "crawlsim formulas", "docs/derivations.md"):
        assert not NOT_IN_THE_REPOSITORY.search(allowed)


CITED_PAGES = re.compile(r"docs/(?:theory/|how-to/)?[\w-]+\.(?:md|py)")


def test_pages_that_code_cites_exist() -> None:
    for path in texts():
        for page in CITED_PAGES.findall(path.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), f"{path.relative_to(ROOT)} cites {page}"


CITED_PLACES = re.compile(r'(docs/(?:theory/[\w-]+|derivations)\.md),\s+"([^"]+)"')


def places_in(page: str) -> str:
    """Words of the headings of a page, and of the bold beginnings of its paragraphs."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return "\n".join(map("".join, re.findall(r"^###? (.+)$|^\*\*([^*]+)\*\*", text, re.M)))


def test_places_that_code_cites_in_the_derivations_exist() -> None:
    cited = [
        (path.relative_to(ROOT), page, place)
        for path in texts()
        for page, place in CITED_PLACES.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(cited) > 5
    for path, page, place in cited:
        assert place in places_in(page), f"{path} cites {place!r} of {page}"


def test_the_library_cites_known_papers() -> None:
    from analytic.index.bibliography import REFERENCES

    for name in library_names():
        assert load(name).paper.split()[0].rstrip(",") in REFERENCES, name


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_a_shell_would_expand_is_quoted(path: Path) -> None:
    """A brace expression makes several arguments of one, a bracket in some shells an error."""
    values = re.findall(r"--(?:set|vary)\s+([^\s'\"`]+)", path.read_text())
    assert not [value for value in values if set(value) & set("{}[]*?<>|;&$()")]
