"""The reports of a run, a check and a sweep: one page each, that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from analytic.index.bibliography import REFERENCES
from analytic.index.formula import Prediction
from analytic.index.names import by_name, citation_of
from analytic.index.predictions import NotApplicable
from analytic.verdicts.crosscheck import Comparison, overall, scope_of
from analytic.verdicts.law_check import LawComparison, with_laws
from crawlsim.report.course_figures import (
    SHOWN,
    interventions_in_words,
    plot_course,
    theory_between,
)
from crawlsim.report.drawing import Drawing, svg_text
from crawlsim.report.page_set_figure import is_measured, plot_page_set
from crawlsim.report.region_figures import numbered_decisions, region_figure
from crawlsim.report.rule_figures import has_map, plot_rule
from crawlsim.report.run_figures import (
    ROWS_OF_A_PAGE,
    is_drawable,
    plot_comparison,
    plot_groups,
    plot_law,
    plot_levels,
    plot_obsolescence_rates,
    plot_probes,
    plot_shared_probes,
    plot_spacing_costs,
)
from crawlsim.report.sweep_figures import Key, SweepRows, heat_figure, sweep_figure, text_of
from crawlsim.report.words import (
    ComparisonRow,
    meaning_of,
    meaning_of_laws,
    name_of,
    number,
    percent,
    rows_of,
    summary_of,
    with_unit,
)
from crawlsim.summary import (
    Naming,
    names_of_worst_pages,
    naming_of,
    opening_lines,
    worst_pages,
)
from scenarios import MEASURES, Results, Scenario, dumps
from scenarios.infinite import tail_lines
from scenarios.measures import PAGE_MEASURES, Subject
from scenarios.page_groups import is_group, is_tenth, only_sums
from scenarios.results import Estimate
from scenarios.sections import Period
from scenarios.text import shortened, things, units, visible

_ROUNDING = 1e-12
_MOST_ROWS = 150
_FIRST_ROWS = 40
_FIRST_PAGES = 20
_MOST_LINES = 300
_LONGEST_DECISION = 2000
_MOST_CELLS = 300
_DISTINCT_RATES = 20


@dataclass(frozen=True, slots=True)
class Doubled:
    """What twice the warm-up would change in a measure.

    Attributes
    ----------
    measure, subject
        Which number.
    estimate : float
        Its mean over some replications.
    change, half_width : float
        By how much the longer warm-up changes it, with the half-width of a 95 % interval.
    """

    measure: str
    subject: Subject
    estimate: float
    change: float
    half_width: float

    @property
    def is_clear(self) -> bool:
        """Whether the warm-up was clearly too short for this measure; last bits do not count."""
        return abs(self.change) > max(self.half_width, _ROUNDING * abs(self.estimate))


@dataclass(frozen=True)
class Entry:
    """One scenario of a report: what was run, and what came out.

    Attributes
    ----------
    scenario : Scenario
    results : Results
    predictions : sequence of Prediction
    comparisons : sequence of Comparison
        Empty where nothing was compared.
    not_applicable : sequence of NotApplicable
        Formulas that do not cover the scenario.
    doubled : sequence of Doubled
        What twice the warm-up would change.
    laws : sequence of LawComparison
        Distributions, where they were compared.
    course : sequence of Comparison
        Numbers at times, where those were compared.
    """

    scenario: Scenario
    results: Results
    predictions: Sequence[Prediction] = ()
    comparisons: Sequence[Comparison] = ()
    not_applicable: Sequence[NotApplicable] = ()
    doubled: Sequence[Doubled] = ()
    laws: Sequence[LawComparison] = ()
    course: Sequence[Comparison] = ()

    @property
    def verdict(self) -> str:
        """The overall verdict, or "simulated" where nothing was compared."""
        if not self.comparisons and not self.laws and not self.course:
            return "simulated"
        return with_laws(overall([*self.comparisons, *self.course]), self.laws)

    @cached_property
    def rows(self) -> list[ComparisonRow]:
        """The comparisons, each distinct prediction once."""
        return rows_of(self.comparisons)

    @property
    def judged(self) -> list[ComparisonRow]:
        """Rows with a verdict; levels and the pages that matter least come last."""
        rows = [row for row in self.rows if row.comparison.verdict != "not judged"]
        return sorted(rows, key=lambda row: self._comes_late(row.comparison))

    @cached_property
    def opening(self) -> list[str]:
        """The lines that the report opens with."""
        return list(opening_lines(self.scenario, self.results))

    @cached_property
    def estimates(self) -> list[Estimate]:
        """All of them; the pages that matter least come last."""
        return sorted(self.results.estimates, key=self._comes_late)

    def name_of(self, measure: str, subject: Subject) -> str:
        """A measure and its subject in words, a page by its name."""
        return name_of(measure, self.naming(measure, subject))

    @cached_property
    def naming(self) -> Naming:
        """How subjects are shown."""
        return naming_of(self.scenario)

    @cached_property
    def _worst(self) -> set[int]:
        rows = self.results.rows.of_measure("obsolescence_rate")
        rates = ((row.subject, row.estimate) for row in rows if isinstance(row.subject, int))
        return {page for page, _ in worst_pages(self.scenario, rates, _FIRST_PAGES)}

    def _comes_late(self, row: Comparison | Estimate) -> bool:
        """Whether a row is a level on which all agree, or a page that is none of the worst."""
        if isinstance(row, Comparison) and row.verdict != "agrees":
            return False
        if row.measure == "level_probability":
            return isinstance(row, Comparison)
        is_page = row.measure in PAGE_MEASURES
        return is_page and bool(self._worst) and row.subject not in self._worst

    @property
    def others(self) -> list[ComparisonRow]:
        """Rows for information."""
        return [row for row in self.rows if row.comparison.verdict == "not judged"]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Formulas that do not apply, and why: each once, also of several quantities."""
        return list(dict.fromkeys((each.shown, each.reason) for each in self.not_applicable))

    @property
    def meaning(self) -> str:
        """The verdict in a sentence."""
        verdict = overall(self.comparisons) if self.comparisons else "simulated"
        numbers = meaning_of(verdict, self.rows, self.results.count)
        tails = (f"{line}.".capitalize() for line in tail_lines(self.scenario))
        scope = scope_of(self.comparisons, self.results)
        about = f"Compared: {scope}." if scope else ""
        return " ".join(filter(None, (numbers, about, meaning_of_laws(self.laws), *tails)))


Picture = tuple[Markup, str]
"""A figure as SVG, and what it shows."""


def html(entries: Sequence[Entry], *, provenance: Mapping[str, str], folder: str = ".") -> str:
    """The report as one HTML page: no script, nothing fetched, the same text for the same input.

    Parameters
    ----------
    entries : sequence of Entry
    provenance : mapping
        What else is needed to repeat the run, such as versions: name -> value.
    folder : str
        Where the page will lie; paths in the scenario files count from it.
    """
    return rendered(
        "template.html",
        {"number": number, "percent": percent, "anchor": _anchor, "units": units},
        entries=entries,
        summary=summary_of([entry.verdict for entry in entries]),
        pictures=_pictures_of,
        file_of=lambda scenario: beginning(dumps(scenario, folder)),
        unit_of=_unit_of,
        definition=lambda measure: MEASURES[measure].definition if measure in MEASURES else "",
        by_name=by_name,
        citation_of=citation_of,
        references=_references(entries),
        provenance=provenance,
        only_sums=only_sums,
        most_rows=_MOST_ROWS,
        first_rows=_FIRST_ROWS,
    )


def _unit_of(scenario: Scenario, measure: str) -> str:
    """The unit of a measure; nothing for one of a user's own."""
    return MEASURES[measure].unit_in(scenario.time_unit) if measure in MEASURES else ""


def beginning(text: str) -> str:
    """A scenario file as a page shows it: of a long one the beginning."""
    lines = text.splitlines()
    more = len(lines) - _MOST_LINES
    if more <= 0:
        return text
    return "\n".join([*lines[:_MOST_LINES], f"… {more} more {things(more, 'line')}"])


def _pictures_of(entry: Entry) -> list[Picture]:
    """The figures that apply to a scenario."""
    return [
        (Markup(svg_text(each.ax, f"{entry.scenario.name}-{each.name}")), each.caption)
        for each in drawings_of(entry)
    ]


def drawings_of(entry: Entry, rows: int = ROWS_OF_A_PAGE) -> Iterator[Drawing]:
    """The figures that apply to what was run: differences, levels, laws, pages, courses, rules."""
    scenario = entry.scenario
    results = entry.results
    measures = {block.measure for block in results.rows.blocks}
    if any(is_drawable(row) for row in entry.comparisons):
        yield Drawing(
            "differences",
            plot_comparison(entry.comparisons, naming=entry.naming, most=rows),
            "Differences from the predictions. Within the grey band they count as agreement; "
            "bars are two standard errors to each side.",
        )
    yield from _course_figures(entry)
    if "level_probability" in measures:
        caption = "How many pages are in the system."
        yield Drawing("levels", plot_levels(results, entry.predictions), caption)
    for law in entry.laws:
        if any(math.isfinite(point.standard_error) for point in law.points):
            of = (
                law.law.measure
                if law.law.subject is None
                else f"{law.law.measure}-{law.law.subject}"
            )
            yield Drawing(
                f"distribution-{of}",
                plot_law(law, scenario.time_unit),
                f"Share of the {law.law.counted} up to each value: {law.law.definition}. Above it "
                "the difference from the exact distribution, with 95 % intervals; it agrees within "
                "the grey band.",
            )
    if "obsolescence_rate" in measures:
        yield from _figures_of_pages(entry)
    if scenario.page_set is not None and is_measured(results):
        yield Drawing(
            "page-set",
            plot_page_set(results, entry.predictions),
            "What the index has of the pages that exist, and how many of the listed pages, and of "
            "the accesses, are of pages that have vanished.",
        )
    yield from _decisions(scenario)


def _decisions(scenario: Scenario) -> Iterator[Drawing]:
    """What the scenario itself decides: a rule, times of probes, an order."""
    if has_map(scenario):
        caption = "The rule by which robots are switched on and off."
        yield Drawing("rule", plot_rule(scenario), caption)
    if scenario.source is not None and scenario.probing is not None:
        caption = "Updates of the source, their importance, and the probes."
        yield Drawing("probes", plot_probes(scenario), caption)
    if scenario.sources is not None and scenario.probing is not None:
        caption = "What is at stake at each source, and its probes."
        yield Drawing("probes", plot_shared_probes(scenario), caption)
    if scenario.servers is not None and scenario.servers.spacing_cost is not None:
        caption = "What a packet costs by its distance from the one before at its server"
        is_ordered = isinstance(scenario.servers.routing, Period)
        marked = "dots: the distances in the order" if is_ordered else "dotted: mean distances"
        yield Drawing("spacing-costs", plot_spacing_costs(scenario), f"{caption}; {marked}.")


def _figures_of_pages(entry: Entry) -> Iterator[Drawing]:
    scenario = entry.scenario
    results = entry.results
    shown = "How often the copy of each page is out of date."
    if only_sums(scenario):
        shown = (
            "How often the copies of single pages are out of date: of those with the largest "
            "weight times change rate, and of the worst."
        )
        rows = results.rows.of_measure("obsolescence_rate")
        by_host = any(is_group(row.subject) and not is_tenth(row.subject) for row in rows)
        yield Drawing(
            "groups",
            plot_groups(results, entry.predictions),
            "How often copies are out of date, on average over the pages of each group: tenths by "
            f"change rate, the slowest first{', and hosts' if by_host else ''}.",
        )
    yield Drawing(
        "obsolescence-rates",
        plot_obsolescence_rates(
            results,
            entry.predictions,
            change_rates=_change_rates(scenario),
            time_unit=scenario.time_unit,
            names=names_of_worst_pages(scenario, results),
        ),
        shown,
    )


def _course_figures(entry: Entry) -> Iterator[Drawing]:
    """The measures over time, where they were observed."""
    changed = interventions_in_words(entry.scenario)
    shaded = f" Shaded: {changed}." if changed else ""
    theory = theory_between(entry.scenario) if entry.course else None
    for measure in SHOWN:
        if (measure, None) in entry.results.course.columns:
            yield Drawing(
                f"course-{measure}",
                plot_course(entry.results, entry.scenario, measure, entry.course, theory=theory),
                f"{name_of(measure, None).capitalize()} over time. The band holds the whole curve, "
                f"a bar one point.{shaded}",
            )


def _change_rates(scenario: Scenario) -> Sequence[float] | None:
    """Change rates where many differ; None where page numbers are clearer on an axis."""
    pages = scenario.model.pages
    rates = [] if pages is None else pages.change_rates.tolist()
    return rates if len(set(rates)) > _DISTINCT_RATES else None


def _anchor(source: str) -> str | None:
    """The key of the bibliography that a source begins with."""
    key = source.partition(" ")[0]
    return key if key in REFERENCES else None


def _references(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Key and full reference of every paper that the report cites."""
    cited: set[str | None] = {_anchor(entry.scenario.paper) for entry in entries}
    for entry in entries:
        cited |= {_anchor(each.source) for each in entry.predictions}
        cited |= {_anchor(each.source) for each in entry.comparisons}
    return [(key, REFERENCES[key]) for key in sorted(filter(None, cited))]


def sweep_html(
    scenario: Scenario,
    sweep: SweepRows,
    *,
    best: str | None,
    facts: Mapping[str, Any],
    folder: str,
) -> str:
    """The report as one HTML page; the same text for the same input.

    Parameters
    ----------
    scenario : Scenario
        Before anything was varied.
    sweep : SweepRows
    best : str or None
        The best cell in words, where one was asked for.
    facts : mapping name -> value
        What else is needed to repeat it.
    folder : str
        Where the page will lie; paths in the scenario file count from it.
    """
    drawings = sweep_drawings(sweep)
    cells = _cells(sweep)
    decisions = numbered_decisions(sweep.rows, sweep.keys)
    return rendered(
        "sweep.html",
        {"number": number},
        scenario=scenario,
        keys=sweep.keys,
        measures=[with_unit(*key, sweep.unit) for key in sweep.shown],
        cells=cells[:_MOST_CELLS],
        left_out=max(len(cells) - _MOST_CELLS, 0),
        count=len(cells),
        best=best,
        facts=facts,
        pictures=[(Markup(svg_text(each.ax, each.name)), each.caption) for each in drawings],
        decisions=[shortened(each, _LONGEST_DECISION) for each in decisions],
        file=beginning(dumps(scenario, folder)),
    )


def sweep_drawings(sweep: SweepRows) -> list[Drawing]:
    """The figures of a sweep: curves, and maps over two entries where there are two."""
    return [*_of_measures(sweep), *_of_decisions(sweep)]


def sweep_slides(sweep: SweepRows) -> Iterator[Drawing]:
    """The figures of a sweep, each measure in one of its own."""
    for key in sweep.panels:
        of = name_of(*key).replace("\N{NO-BREAK SPACE}", " ").replace(" ", "-")
        for each in _of_measures(replace(sweep, shown=[key])):
            yield each._replace(name=f"{of}-{each.name}")
    yield from _of_decisions(sweep)


def _of_measures(sweep: SweepRows) -> Iterator[Drawing]:
    curves = sweep_figure(sweep)
    caption = f"What is shown against {sweep.keys[0]}: formulas as lines, simulation as points"
    yield Drawing("lines", curves.axes[0], f"{caption} with 95 % intervals.")
    if (heat := heat_figure(sweep)) is not None:
        over = " and ".join(sweep.keys[:2])
        caption = f"The estimates over {over}; the least of each map is framed."
        yield Drawing("heat", heat.axes[0], caption)


def _of_decisions(sweep: SweepRows) -> Iterator[Drawing]:
    if (regions := region_figure(sweep.rows, sweep.keys, sweep.unit)) is not None:
        over = " and ".join(sweep.keys[:2])
        yield Drawing("regions", regions.axes[0], f"The best decision over {over}.")


def _cells(
    sweep: SweepRows,
) -> list[tuple[list[str], list[tuple[float, float, float | None]]]]:
    """Of each cell the varied values, and estimate, half-width and prediction of what is shown."""
    cells: dict[tuple[str, ...], dict[Key, tuple[float, float, float | None]]] = {}
    for row in sweep.rows:
        varied = tuple(text_of(row[key]) for key in sweep.keys)
        half = row["high"] - row["estimate"]
        numbers = (row["estimate"], half, row["predicted"])
        cells.setdefault(varied, {})[row["measure"], row["subject"]] = numbers
    nothing = (math.nan, math.nan, None)
    return [
        (list(varied), [values.get(key, nothing) for key in sweep.shown])
        for varied, values in cells.items()
    ]


def _text_of_file(name: str) -> str:
    return (resources.files("crawlsim.report") / name).read_text(encoding="utf-8")


@lru_cache(16)
def _template(name: str, filters: frozenset[tuple[str, Callable[..., Any]]]) -> Template:
    """To compile it takes longer than to fill it in."""
    environment = Environment(
        loader=FunctionLoader(_text_of_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= dict(filters)
    return environment.get_template(name)


def rendered(name: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """A page: a template with values, which are escaped, in it.

    Parameters
    ----------
    name : str
        File of the template.
    filters : mapping name -> callable
        What the template may apply to its values.
    **values
        What it shows, `style` aside.

    Returns
    -------
    str
        Without characters that would act rather than show (`scenarios.text.visible`).
    """
    template = _template(name, frozenset(filters.items()))
    style = _text_of_file("colours.css") + _text_of_file("style.css")
    return visible(template.render(style=Markup(style), **values))
