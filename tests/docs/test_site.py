"""The pages of the site: nothing that the package has is missing, every link leads somewhere."""

from __future__ import annotations

import csv
import fnmatch
import inspect
import json
import posixpath
import re
import shlex
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import click
import pytest
from generator.examples import example_of
from generator.keys import meanings
from generator.links import BrokenLinkError, relinked
from generator.markdown import code, linked, plain, prose, slug
from generator.notation import QUANTITIES, letters
from generator.places import NoPlaceError, pages_of, place_of
from generator.public import packages, public_names
from generator.staging import downloads, generated, repository_files
from generator.works import WORKS
from pydantic import BaseModel

from analytic import FORMULAS, Formula, resolve
from analytic.index.bibliography import REFERENCES
from analytic.index.notation import NOTATION
from crawlsim.cli.loading import load_scenarios
from crawlsim.cli.options import quantile_change
from crawlsim.cli.program import commands
from experiments import make_how_to_pictures as how_to
from experiments.make_gallery import DIGESTS, FOLDER, digest_of, picture_of
from experiments.store_notebooks import all_notebooks
from papers.rows import TITLES
from scenarios import MEASURES, library_names, load, schema

ROOT = Path(__file__).parents[2]


@cache
def pages() -> dict[str, str]:
    """All pages that are generated, by their files."""
    return {name: text.decode() for name, text in generated().items()}


@cache
def labels() -> dict[str, tuple[str, str]]:
    """Label -> file, and the page from the heading under the label to the next label."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in pages().items():
        for part in re.split(r"^(?=\([^)\n]+\)=$)", text, flags=re.MULTILINE)[1:]:
            label, heading = part.splitlines()[:2]
            assert heading.startswith("#"), f"{label} stands before no heading"
            assert label[1:-2] not in found, f"{label} twice"
            found[label[1:-2]] = (name, part)
    return found


def keys_of_schema() -> set[str]:
    """SECTION.KEY of all tables one level below the top, found by a walk of its own."""
    whole = schema()

    def below(node: dict[str, Any]) -> set[str]:
        if "$ref" in node:
            node = whole["$defs"][node["$ref"].rpartition("/")[2]]
        found = set(node.get("properties", ()))
        for union in ("anyOf", "oneOf"):
            for each in node.get(union, ()):
                found |= below(each)
        return found | (below(node["items"]) if "items" in node else set())

    keys = set()
    for section, node in whole["properties"].items():
        inner = below(node)
        keys |= {f"{section}.{key}" for key in inner} if inner else {section}
    return keys


def test_every_key_has_its_type_its_default_and_what_is_allowed() -> None:
    assert len(keys_of_schema()) > 60
    for key in keys_of_schema():
        _, text = labels()[f"key-{key}"]
        assert "- Allowed: " in text
        assert "- Default: " in text or "- Required" in text


def test_limits_of_keys_are_those_of_the_schema() -> None:
    """By hand, from what the loader refuses."""
    _, places = labels()["key-buffer.waiting_places"]
    assert "a whole number at least 0 and at most 1 000 000" in places
    _, failure = labels()["key-robots.failure.probability"]
    assert "a number at least 0 and below 1" in failure
    assert "- Required" in failure
    _, servers = labels()["key-buffer.servers"]
    assert "- Default: `1`" in servers
    _, policy = labels()["key-robots.accessing.policy"]
    assert '`"golden-ratio"`' in policy
    assert "- Required" in policy


THIN = {
    *("robots.deliveries.thinned.process", "robots.deliveries.thinned.keep"),
    *("robots.deliveries.marked.D0", "robots.deliveries.marked.robots"),
    *("activation.threshold.robots", "activation.threshold.at", "activation.switching.targets"),
    *("buffer.service.page-size.time_per_unit", "buffer.service.page-size.constant"),
}
"""Parts of a value; the key above them says what they mean."""


def test_every_key_says_what_it_means() -> None:
    told = {key: labels()[f"key-{key}"][1].splitlines()[3] for key in keys_of_schema()}
    assert {key for key, line in told.items() if line.startswith("- Allowed")} <= THIN
    assert told["run.seed"].startswith("Of the random numbers, below 2^128")
    assert meanings()["source.updates.period"] == meanings()["source.importance.period"]


def test_every_measure_has_its_definition_and_unit() -> None:
    for measure in MEASURES.values():
        _, text = labels()[f"measure-{measure.name}"]
        assert plain(measure.definition)[1:] in text
        assert f"- Unit: {plain(measure.unit_in('time'))}" in text


def test_every_command_has_a_page_with_every_option() -> None:
    for name, lazy in commands.every.items():
        file, text = labels()[f"command-{name}"]
        assert file == f"reference/commands/{name}.md"
        command = lazy.loaded  # type: ignore[attr-defined]
        for option in command.params:
            if isinstance(option, click.Option):
                assert f"`{option.opts[0]}" in text, option.opts
        assert f"\ncrawlsim {name}" in text


def test_every_formula_has_its_kind_and_conditions(crawlsim: Any) -> None:
    code, out, _ = crawlsim("formulas", "--json")
    assert code == 0
    rows = json.loads(out)
    assert len(rows) > 90
    for row in rows:
        _, text = labels()[f"formula-{row['paper']}-{slug(row['number'])}"]
        assert f"- Kind: {plain(row['kind'])}" in text
        words = [each for each in row["conditions"] if "`" not in each]
        assert all(f"- {plain(each)}\n" in text for each in words)
        assert "crawlsim " in text
        assert (row["origin"] != "corrected") or "Erratum" in text


def test_every_scenario_has_a_page_and_a_picture_of_its_present_file() -> None:
    with DIGESTS.open(newline="") as file:
        made_of = {row["scenario"]: row["made of"] for row in csv.DictReader(file)}
    for name in library_names():
        assert f"scenario-{name}" in labels()
        assert (FOLDER / f"{name}.png").exists(), name
        assert made_of[name] == digest_of(name), f"{name}: python -m experiments.make_gallery"


def test_the_gallery_draws_a_measure_whose_subjects_tell_most() -> None:
    ax = picture_of(load("sojourn-quantiles", {"run.replications": 2}))
    assert ax.get_ylabel() == "sojourn quantile (time unit)"


def test_every_page_of_the_how_to_has_a_picture_of_its_command_or_a_reason() -> None:
    with how_to.DIGESTS.open(newline="") as file:
        made_of = {row["page"]: row["made of"] for row in csv.DictReader(file)}
    commands_of = how_to.commands_of_pages()
    assert set(made_of) | set(how_to.WITHOUT) == set(commands_of)
    for name, digest in made_of.items():
        text = (how_to.PAGES / f"{name}.md").read_text("utf-8")
        assert f"](../pictures/how-to/{name}.png)" in text
        assert (how_to.FOLDER / f"{name}.png").exists()
        told = f"{name}: python -m experiments.make_how_to_pictures"
        assert digest == how_to.digest_of(commands_of[name]), told
    words = commands_of["how-many-robots"]
    assert made_of["how-many-robots"] != how_to.digest_of([*words, "--set", "costs.loss=2.0"])


def test_every_symbol_of_the_notation_is_one_of_its_paper() -> None:
    assert {paper for _, _, symbols in QUANTITIES for paper in symbols} == set(TITLES)
    for words, _, symbols in QUANTITIES:
        for paper, symbol in symbols.items():
            assert symbol in NOTATION[paper], f"{words}: {symbol} is not in {paper}"
    _, page = labels()["notation-talim2001"]
    assert all(f"{{math}}`{symbol}`" in page for symbol in NOTATION["talim2001"])


def test_letters_with_several_meanings_are_named() -> None:
    """By hand: K is a number of slots, and the capacity of the buffer."""
    found = letters()["K"]
    assert ("K", "slots in a period of the schedule") in found["coffman1998"]
    assert ("K", "pages that the buffer holds, the one in service included") in found["talim2001"]
    assert "altman2000" not in found


def test_every_source_is_in_the_bibliography() -> None:
    for key, reference in REFERENCES.items():
        file, text = labels()[f"reference-{key}"]
        assert file == "reference/bibliography.md"
        assert linked(reference) in text
    for name in library_names():
        key = re.split(r"[ ,]", load(name).paper)[0]
        assert f"(#scenario-{name})" in labels()[f"reference-{key}"][1]


CITED = re.compile(
    r"\b([A-Z][^\W\d_A-Z]\w*(?:-[A-Z]\w+)?(?:(?:, [A-Z]\w+)* and [A-Z][\w-]+| et al\.)?),? "
    r"\(?((?:19|20)\d\d)\b"
)


def not_in_the_bibliography(text: str) -> set[str]:
    """Authors with a year whose first one is named with that year in no reference."""
    references = [*REFERENCES.values(), *WORKS.values()]
    cited = [(authors.split()[0].strip(","), year) for authors, year in CITED.findall(text)]
    return {
        f"{author} {year}"
        for author, year in cited
        if author not in NO_AUTHORS
        and not any(author in each and year in each for each in references)
    }


NO_AUTHORS = {
    *("In", "Internet", "July", "NeurIPS"),
    *("Nov", "November", "September", "Technology", "Where"),
}
"""Words before a year of other kinds."""


def test_what_pages_cite_is_in_the_bibliography() -> None:
    pages = sorted(
        page for at in ("", "how-to", "theory") for page in (ROOT / "docs" / at).glob("*.md")
    )
    found = {page.name: not_in_the_bibliography(page.read_text()) for page in pages}
    assert {name: cited for name, cited in found.items() if cited} == {}
    assert not_in_the_bibliography("as Nobody (1950) says, unlike Moran (1951)") == {"Nobody 1950"}


def test_pages_that_texts_name_are_links() -> None:
    assert linked("see docs/errata.md, A.") == r"see [](/reference/errata.md), A\."
    assert prose("proved in `docs/how-to/bottleneck.md`") == "proved in [](/howto/bottleneck.md)"


LONG = ("pipeline decomposition",)
"""Minutes, on a large chain."""


@pytest.mark.parametrize(
    "formula",
    [
        pytest.param(
            each,
            id=f"{each.source}: {each.quantity}",
            marks=[pytest.mark.nightly] if each.source in LONG else [],
        )
        for each in FORMULAS
    ],
)
def test_the_example_of_a_formula_is_covered_by_it(formula: Formula) -> None:
    words = shlex.split(example_of(formula))
    assert words[:2] == ["crawlsim", "solve"]
    changes = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    if "--quantiles" in words:
        changes += quantile_change(words[words.index("--quantiles") + 1])
    (scenario,) = load_scenarios((words[2],), tuple(changes))
    assert formula.reason_against(resolve(scenario)) is None


def undescribed(thing: Any) -> set[str]:
    """Parameters that a docstring does not describe under that heading."""
    text = inspect.getdoc(thing) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    named = re.findall(r"^([\w*][\w*, ]*?)(?: *:.*)?$", section[1] if section else "", re.MULTILINE)
    known = {each.strip().lstrip("*") for names in named for each in names.split(",")}
    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        thing.model_rebuild()  # its signature is made with its validator, which waits for a use
    return set(inspect.signature(thing).parameters) - known


@pytest.mark.thorough
def test_every_public_name_is_documented_with_all_its_parameters() -> None:
    missing = {
        f"{package}.{name}": undescribed(thing)
        for package in packages()
        for name, thing in public_names(package)
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception))
    }
    assert len(missing) > 170
    assert {name: which for name, which in missing.items() if which} == {}
    for package in packages():
        page = pages()[f"reference/python/{package}.md"]
        page += pages().get(f"reference/python/{package}-classes.md", "")
        assert all(
            f"{package}.{name}" in page or f"## {name}\n" in page
            for name, _ in public_names(package)
        )


def test_a_parameter_that_is_not_described_is_found() -> None:
    def example(one: int, two: int) -> None:
        """An example.

        Parameters
        ----------
        one : int

        Returns
        -------
        two : int
        """

    assert undescribed(example) == {"two"}


def test_slugs_are_as_agreed() -> None:
    assert slug("(6), Example 2.1") == "6-example-2-1"
    assert slug("(12)-(15)") == "12-15"


def test_no_letter_of_a_text_is_a_mark() -> None:
    assert plain("a*b*_c_ [x](y) <b> `d` $e$") == r"a\*b\*\_c\_ \[x\](y) \<b\> \`d\` \$e\$"
    assert code("a `b` c") == "``a `b` c``"


def test_every_page_of_the_repository_has_a_place_and_its_links_lead_on() -> None:
    files = repository_files(ROOT)
    assert {"index.md", "howto/index.md", "theory/index.md", "howto/nutch.md"} <= set(files)
    places = pages_of(ROOT)
    assert len(set(places.values())) == len(places)
    assert not set(files) & set(pages())


def test_every_notebook_can_be_downloaded_from_its_page() -> None:
    files, found = repository_files(ROOT), downloads(ROOT)
    assert len(found) == len(all_notebooks())
    for path in all_notebooks():
        name = path.relative_to(ROOT).as_posix()
        assert found[f"downloads/{name}"] == path.read_bytes()
        page = json.loads(files[name])
        assert f"</downloads/{name}>" in "".join(page["cells"][0]["source"])


def test_every_solution_folds_out_under_its_exercise() -> None:
    files = repository_files(ROOT)
    for path in all_notebooks():
        name = path.relative_to(ROOT).as_posix()
        cells = json.loads(files[name])["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        words = "\n".join(texts)
        if "solutions" in path.parts:
            assert "<details>" not in words
            continue
        solved = json.loads((path.parent / "solutions" / path.name).read_text("utf-8"))["cells"]
        headings = "\n".join("".join(each["source"]) for each in solved)
        titles = re.findall(r"^## \d\. (.*)$", headings, re.MULTILINE)
        marks = r"^(?:(\d)\. \*\*|<summary>Solution: (.*)</summary>|(</)details>)"
        order = re.findall(marks, words, re.MULTILINE)
        assert ["".join(each) for each in order] == [
            "</",
            *(part for n, title in enumerate(titles, 1) for part in (str(n), escape(title), "</")),
        ]
        codes = [[e["outputs"] for e in part if "outputs" in e] for part in (cells, solved)]
        assert codes[0][-len(codes[1]) :] == codes[1]
        assert len({each["id"] for each in cells}) == len(cells)


def left_out(texts: dict[str, str], notebooks: set[str]) -> set[str]:
    """Pages to which no table of contents leads."""
    known = {name.rpartition(".")[0] for name in texts} | notebooks
    listed = {"index"}
    for name, text in texts.items():
        for tree in re.findall(r"```{toctree}\n(.*?)```", text, flags=re.DOTALL):
            for row in tree.splitlines():
                if row and not row.startswith(":"):
                    line = row.partition("<")[2].rstrip(">") or row
                    at = posixpath.join("/", posixpath.dirname(name), line.strip())[1:]
                    listed |= set(fnmatch.filter(known, at)) or {f"{name}: {line}"}
    return listed ^ known


def test_tables_of_contents_lead_to_every_page() -> None:
    files = repository_files(ROOT)
    texts = pages() | {name: files[name].decode() for name in files if name.endswith(".md")}
    notebooks = {name.removesuffix(".ipynb") for name in files if name.endswith(".ipynb")}
    assert left_out(texts, notebooks) == set()
    assert left_out(texts, notebooks | {"notebooks/new"}) == {"notebooks/new"}
    del texts["howto/nutch.md"]
    assert left_out(texts, notebooks) == {"howto/index.md: nutch"}


def test_a_page_without_a_place_is_found() -> None:
    with pytest.raises(NoPlaceError):
        place_of("docs/" + "new-page.md")


def test_a_link_that_leads_nowhere_is_found_and_code_is_left_alone() -> None:
    places = {"docs/x/a.md": "howto/a", "notebooks/b.ipynb": "notebooks/b"}

    def link(text: str) -> str:
        return relinked(text, "docs/x/a.md", places, {"docs/x/c.png": "c.png"}.get)

    assert link("[x](a.md#y)") == "[x](/howto/a.md#y)"
    assert link("[x](../../notebooks/b.ipynb)") == "[x](/notebooks/b.ipynb)"
    assert link("[a.md](a.md), [a.md](a.md#y)") == "[](/howto/a.md), [](/howto/a.md#y)"
    assert link("![x](c.png)") == "![x](/c.png)"
    assert link("[x](https://example.org)") == "[x](https://example.org)"
    assert link("```\n[x](gone.md)\n```") == "```\n[x](gone.md)\n```"
    with pytest.raises(BrokenLinkError, match="gone"):
        link("[x](gone.md)")
