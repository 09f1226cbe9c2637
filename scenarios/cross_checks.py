"""The rules between sections of a scenario file, one small check each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from scenarios.accessing.cyclic import Cyclic
from scenarios.accessing.due import Due
from scenarios.accessing.policy import Policy
from scenarios.activation import (
    Free,
    Levels,
    Optimal,
    Static,
    Switching,
    These,
    Threshold,
    switches_one_at_a_time,
)
from scenarios.base import LARGEST, QUOTE, SMALLEST, listed, one_of
from scenarios.choices import check_choices, check_targets
from scenarios.columns import Column, given_entries
from scenarios.deliveries import Independent, Marked, joint_size
from scenarios.errors import refused
from scenarios.fleet import access_times, numbers_by_class, priced_alone
from scenarios.laws import Exponential, Law
from scenarios.measures import MEASURES
from scenarios.page_data import PageData, page_service_times
from scenarios.probing import check_probing
from scenarios.processes import gap_law
from scenarios.sections import Buffer, PageSize, Robots, System, Zipf
from scenarios.service_phases import seen_phases
from scenarios.validity import check_length, check_probabilities

_SEARCH_ENGINE = ("pages", "page_set", "robots", "activation", "buffer", "index", "clients")


def _one_system(scenario: System) -> None:
    kinds = {
        "pages or page_set, robots, activation, buffer, index, clients": _SEARCH_ENGINE,
        "source or sources, probing": ("source", "sources", "probing"),
        "servers": ("servers",),
    }
    present = {
        name: [section for section in sections if getattr(scenario, section) is not None]
        for name, sections in kinds.items()
    }
    systems = [sections for sections in present.values() if sections]
    if not systems:
        raise refused(f"describes no system; needs the sections of one of: {'; '.join(kinds)}")
    if len(systems) > 1:
        names = [section for sections in systems for section in sections]
        raise refused(f"mixes the sections of several systems: {', '.join(names)}")


def _one_or_several_sources(scenario: System) -> None:
    if scenario.source is not None and scenario.sources is not None:
        raise refused("does not go with [source]; put that into the list", key="sources")


def _known_measures(scenario: System) -> None:
    for index, name in enumerate(scenario.judged):
        if name not in MEASURES:
            allowed = f"must be a measure: {one_of(name, MEASURES)}"
            raise refused(allowed, key=f"judged[{index}]", value=name)


def _needs(section: str, others: tuple[str, ...]) -> Callable[[System], None]:
    def check(scenario: System) -> None:
        present = any(getattr(scenario, other) is not None for other in others)
        if getattr(scenario, section) is not None and not present:
            raise refused(f"needs {listed(f'[{other}]' for other in others)}", key=section)

    return check


def _accessing_with_pages(scenario: System) -> None:
    if scenario.robots is None:
        return
    named = "pages" if scenario.pages is not None else "page_set"
    if getattr(scenario, named) is None:
        if scenario.robots.accessing is not None:
            raise refused("needs [pages] or [page_set]", key="robots.accessing")
    elif scenario.robots.accessing is None:
        raise refused(f"is missing; [{named}] needs it", key="robots.accessing")


def _freshness_needs_pages(scenario: System) -> None:
    if scenario.pages is not None:
        return
    buffer = scenario.buffer
    if buffer is not None and buffer.obsolescence == "page-change":
        raise refused("needs [pages]", key="buffer.obsolescence", value="page-change")
    if buffer is not None and buffer.replace_older_copy:
        raise refused("needs [pages]", key="buffer.replace_older_copy", value=True)
    if scenario.costs.staleness:
        raise refused("needs [pages]", key="costs.staleness", value=scenario.costs.staleness)


_POLICIES_OF_PAGE_SET = ("randomized", "round-robin")


def _page_set_stands_alone(scenario: System) -> None:
    """Pages that come and go are fetched straight into the index, by robots that are all alike."""
    if scenario.page_set is None:
        return
    for section in ("pages", "buffer", "index", "clients"):
        if getattr(scenario, section) is not None:
            raise refused("does not go with [page_set]", key=section)
    if scenario.interventions:
        raise refused("do not go with [page_set]", key="interventions")
    if "costs" in scenario.model_fields_set:
        raise refused("does not go with [page_set], where nothing has a price", key="costs")
    if scenario.run.observe is not None:
        value = scenario.run.observe
        raise refused("does not go with [page_set]", key="run.observe", value=value)
    if scenario.activation is not None and not isinstance(scenario.activation, Static):
        allowed = "does not go with [page_set]; a fixed number of robots does, activation.static"
        raise refused(allowed, key=f"activation.{scenario.activation.key}")
    if scenario.robots is not None:
        _robots_fit_page_set(scenario.robots)


def _robots_fit_page_set(robots: Robots) -> None:
    for key in ("classes", "deliveries", "host_spacing", "failure", "environment"):
        if getattr(robots, key) is not None:
            raise refused("does not go with [page_set]", key=f"robots.{key}")
    policy = robots.accessing
    if policy is None:
        return
    key = "robots.accessing"
    if policy.policy not in _POLICIES_OF_PAGE_SET:
        allowed = f"must be {one_of(policy.policy, _POLICIES_OF_PAGE_SET, QUOTE)} with [page_set]"
        raise refused(allowed, key=f"{key}.policy", value=policy.policy)
    if getattr(policy, "frequencies", "uniform") != "uniform":
        allowed = 'must be "uniform" with [page_set], whose pages are all alike'
        raise refused(allowed, key=f"{key}.frequencies")


def _policy_fits_pages(scenario: System) -> None:
    if scenario.pages is None or scenario.robots is None:
        return
    policy = scenario.robots.accessing
    count = scenario.pages.count
    if isinstance(policy, Cyclic) and max(policy.template) >= count:
        allowed = f"pages are numbered 0 … {count - 1}"
        raise refused(allowed, key="robots.accessing.template", value=policy.template)
    for name in ("frequencies", "exponents", "values", "intervals", "levels"):
        given = given_entries(getattr(policy, name, None))
        if name == "frequencies" and isinstance(given, tuple):
            check_probabilities("robots.accessing.frequencies", given)
        if isinstance(given, tuple):
            check_length(f"robots.accessing.{name}", given, count, "page")


def _signals_fit(scenario: System) -> None:
    """Some policies hear signals, and need them; robots that hear take no page from a sequence."""
    robots, pages = scenario.robots, scenario.pages
    policy = robots.accessing if robots else None
    if robots is None or policy is None:
        return
    heard = pages is not None and pages.signals is not None
    levels = getattr(policy, "levels", None)
    if not heard:
        if levels is not None:
            raise refused("needs pages.signals", key="robots.accessing.levels", value=levels)
        if policy.policy == "on-signal":
            key = "robots.accessing.policy"
            raise refused("needs pages.signals", key=key, value=policy.policy)
    elif policy.policy in ("crawl-value", "on-signal"):
        _check_listeners(robots, policy, pages.count if pages else 0)


def _check_listeners(robots: Robots, policy: Policy, pages: int) -> None:
    if robots.host_spacing is not None:
        allowed = f'does not go with policy = "{policy.policy}" beside pages.signals; "due" does'
        raise refused(allowed, key="robots.host_spacing", value=robots.host_spacing)
    if policy.policy == "on-signal":
        return
    if robots.available >= pages:
        allowed = f"needs more pages than robots ({robots.available}) beside pages.signals"
        raise refused(allowed, key="robots.accessing.policy", value=policy.policy)
    for name in ("exponents", "values"):
        if getattr(policy, name) is not None:
            allowed = "goes without pages.signals, beside which nothing is given"
            raise refused(allowed, key=f"robots.accessing.{name}")


def _spacing_fits(scenario: System) -> None:
    """A spacing of accesses needs hosts, accesses that each have a start, and a fixed fleet."""
    robots = scenario.robots
    pages = scenario.pages
    rule = scenario.activation
    if robots is None or robots.host_spacing is None:
        return
    key = "robots.host_spacing"
    given = robots.host_spacing
    if pages is None or pages.hosts is None:
        raise refused("needs pages.hosts", key=key, value=given)
    if robots.deliveries is not None:
        raise refused("needs robots.access_time", key=key, value=given)
    fixed = isinstance(robots.accessing, Due) or isinstance(rule, Static | These)
    if rule is not None and not fixed:
        allowed = f"goes with a fixed number of robots, not with activation.{rule.key}"
        raise refused(allowed, key=key, value=given)
    if isinstance(given, tuple):
        check_length(key, given, pages.host_count, "host")


_MOST_CLASSES = 100
"""Classes of pages that are served one after the other."""


def _classes_of_pages_fit(scenario: System) -> None:
    """Pages that are served by class have one each: their own, or one that is drawn."""
    robots, pages, buffer = scenario.robots, scenario.pages, scenario.buffer
    shares = robots.deliveries.shares if robots and robots.deliveries else None
    key = "robots.deliveries.shares"
    if shares is not None and pages is not None:
        raise refused("is of pages without identity; see pages.priority", key=key, value=shares)
    if buffer is None or buffer.discipline != "priority":
        return
    if shares is None and (pages is None or pages.priority is None):
        allowed = f"needs pages.priority, or {key} without pages"
        raise refused(allowed, key="buffer.discipline", value="priority")
    allowed = f'must be whole, from 0 to {_MOST_CLASSES - 1}, with buffer.discipline = "priority"'
    for page, number in enumerate(given_entries(pages.priority) if pages else ()):
        if number != int(number) or number >= _MOST_CLASSES:
            raise refused(allowed, key=f"pages.priority[{page}]", value=number)
    if shares is not None and len(shares) > _MOST_CLASSES:
        raise refused(f"must have at most {_MOST_CLASSES} entries", key=key)


def _unchanged_fits(scenario: System) -> None:
    """Whether a page has changed is known of pages that are there from the start, else drawn."""
    robots = scenario.robots
    if robots is None or robots.unchanged is None:
        return
    key, unchanged = "robots.unchanged.share", robots.unchanged
    if scenario.page_set is not None or (scenario.pages is None and unchanged.share is None):
        raise refused("needs [pages], or share without them", key="robots.unchanged")
    if unchanged.share is not None and scenario.pages is not None:
        allowed = "is of pages without identity; of [pages] it follows from their change rates"
        raise refused(f"{allowed}, and all of them are delivered", key=key, value=unchanged.share)
    if unchanged.share is not None and robots.failure is not None:
        allowed = "does not go with robots.failure: a failed access is one that delivers nothing"
        raise refused(allowed, key=key, value=unchanged.share)
    by_itself = unchanged.shortens or unchanged.share is not None
    if by_itself and robots.deliveries is not None:
        allowed = "goes with access_time or classes, not with deliveries"
        wrong = key if unchanged.share is not None else "robots.unchanged.share_of_time"
        value = unchanged.share if unchanged.share is not None else unchanged.share_of_time
        raise refused(allowed, key=wrong, value=value)
    if unchanged.share and unchanged.shortens and scenario.costs.access:
        allowed = "does not go with a robots.unchanged.share whose share_of_time is below 1"
        raise refused(allowed, key="costs.access", value=scenario.costs.access)


def _frontier_fits(scenario: System) -> None:
    """Robots that rest while no page is due are switched by the level, not one at a time."""
    rule = scenario.activation
    policy = scenario.robots.accessing if scenario.robots else None
    if not isinstance(policy, Due):
        return
    if isinstance(rule, Free | Switching | Optimal):
        allowed = 'does not go with policy = "due"; static, threshold or levels do'
        raise refused(allowed, key=f"activation.{rule.key}")
    if policy.order == "priority" and (scenario.pages is None or scenario.pages.priority is None):
        key = "robots.accessing.order"
        raise refused("needs pages.priority", key=key, value="priority")


def _change_rate_needs_changes(scenario: System) -> None:
    """Shares by change rate exist only where some page changes."""
    if scenario.pages is None or scenario.robots is None:
        return
    frequencies = getattr(scenario.robots.accessing, "frequencies", None)
    if frequencies == "change-rate" and not _some_positive(scenario.pages.change_rates):
        key = "robots.accessing.frequencies"
        raise refused("needs a page with a positive change rate", key=key, value=frequencies)


def _some_positive(numbers: tuple[float, ...] | Zipf | Column) -> bool:
    return isinstance(numbers, Zipf) or any(given_entries(numbers))


def _clients_need_weights(scenario: System) -> None:
    """Queries draw their page by weight: some weight must be positive."""
    if scenario.clients is None or scenario.pages is None:
        return
    weights = scenario.pages.weights
    numbers = scenario.pages.change_rates if weights == "change-rate" else weights
    if not isinstance(numbers, str) and not _some_positive(numbers):
        allowed = "[clients] needs a page with a positive weight"
        raise refused(allowed, key="pages.weights", value=weights)


def _pages_have_service_times(scenario: System) -> None:
    """A service by size needs pages with sizes, each of which takes some time."""
    service = scenario.buffer.service if scenario.buffer else None
    pages = scenario.pages
    if not isinstance(service, PageSize):
        return
    key = f"buffer.service.{service.key}"
    if pages is None:
        raise refused("needs [pages]", key=key)
    if pages.sizes is None:
        raise refused(f"is missing; {key} needs it", key="pages.sizes")
    times = page_service_times(service, PageData(pages))
    outside = (times < SMALLEST) | (times > LARGEST)
    if outside.any():
        page = int(outside.argmax())
        allowed = f"makes page {page} take {times[page]:g}; must be {SMALLEST:g} to {LARGEST:g}"
        raise refused(allowed, key=key)


def _robots_available(scenario: System) -> None:
    rule = scenario.activation
    robots = scenario.robots
    if robots is None:
        return
    if isinstance(rule, Static):
        numbers_by_class(robots, rule.root, "activation.static")
    if isinstance(rule, Static) and rule.robots > robots.available:
        raise refused(_at_most(robots), key="activation.static", value=rule.root)
    if isinstance(rule, Threshold):
        _no_class_increases(rule, robots)
    if isinstance(rule, These):
        _these_are_told_apart(rule, robots)
    if isinstance(rule, Threshold) and rule.robots[0] > robots.available:
        key = "activation.threshold.robots"
        raise refused(_at_most(robots), key=key, value=rule.robots)
    if isinstance(rule, Levels | Free) and max(rule.robots, default=0) > robots.available:
        raise refused(_at_most(robots), key=f"activation.{rule.key}", value=rule.root)
    most = max(map(max, rule.targets), default=0) if isinstance(rule, Switching) else 0
    if isinstance(rule, Switching) and most > robots.available:
        key = "activation.switching.targets"
        raise refused(_at_most(robots), key=key, value=rule.root.targets)


def _no_class_increases(rule: Threshold, robots: Robots) -> None:
    key = "activation.threshold.robots"
    by_class = [
        numbers_by_class(robots, step, f"{key}[{index}]")
        for index, step in enumerate(rule.threshold.robots)
    ]
    for index, (before, after) in enumerate(pairwise(by_class)):
        if any(a < b for a, b in zip(before, after, strict=True)):
            allowed = "must not have more robots of a class than the entry before it"
            raise refused(allowed, key=f"{key}[{index + 1}]")


def _these_are_told_apart(rule: These, robots: Robots) -> None:
    key = "activation.these"
    if not isinstance(robots.deliveries, Independent | Marked):
        allowed = "goes with robots.deliveries = independent or marked, which tell robots apart"
        raise refused(allowed, key=key, value=rule.root)
    if any(robot >= robots.available for robot in rule.root):
        allowed = f"must be numbers of robots from 0 to {robots.available - 1}"
        raise refused(allowed, key=key, value=rule.root)


def _at_most(robots: Robots) -> str:
    if robots.classes is not None:
        return f"must be at most {robots.available}, the robots of all classes"
    return f"must be at most robots.available ({robots.available})"


def _control_needs_buffer(scenario: System) -> None:
    rule = scenario.activation
    if rule is not None and not isinstance(rule, Static | These) and scenario.buffer is None:
        raise refused("needs [buffer]", key=f"activation.{rule.key}")


def _switching_needs_access_time(scenario: System) -> None:
    rule = scenario.activation
    robots = scenario.robots
    if rule is None or robots is None or robots.deliveries is None:
        return
    if switches_one_at_a_time(rule):
        raise refused("needs robots.access_time", key=f"activation.{rule.key}")


def _switching_fits(scenario: System) -> None:
    rule = scenario.activation
    buffer = scenario.buffer
    if not isinstance(rule, Switching) or buffer is None or scenario.robots is None:
        return
    if rule.choices is not None:
        check_choices(rule, buffer, scenario.robots)
        return
    check_targets(rule, buffer, scenario.robots)


def _environment_fits(scenario: System) -> None:
    """An environment changes the pace of pages without a name, and of nothing else."""
    robots = scenario.robots
    rule = scenario.activation
    if robots is None or robots.environment is None:
        return
    key = "robots.environment"
    if scenario.pages is not None:
        raise refused("does not go with [pages]", key=key)
    if scenario.interventions:
        raise refused("does not go with [[interventions]]", key=key)
    if rule is not None and "free" in (rule.key, rule.family if isinstance(rule, Optimal) else ""):
        raise refused("does not go with free switching", key=key)


def _levels_fit(scenario: System) -> None:
    rule = scenario.activation
    buffer = scenario.buffer
    robots = scenario.robots
    if isinstance(rule, Levels | Free) and buffer is not None and robots is not None:
        _one_entry_per_level(rule, buffer, robots)


def _one_entry_per_level(rule: Levels | Free, buffer: Buffer, robots: Robots) -> None:
    levels = buffer.capacity + 1
    last = buffer.capacity_in_words
    if buffer.admission == "complete" and robots.deliveries is not None:
        levels += joint_size(robots.deliveries)[1] - 1
        last += " + largest batch - 1"
    check_length(f"activation.{rule.key}", rule.root, levels, f"level 0 … {last}")


def _free_fits(scenario: System) -> None:
    rule = scenario.activation
    buffer = scenario.buffer
    robots = scenario.robots
    if not isinstance(rule, Free) or buffer is None or robots is None:
        return
    key = "activation.free"
    if buffer.servers > 1:
        raise refused(f"goes with one server, not with {buffer.servers}", key=key)
    if buffer.batches is not None:
        raise refused("goes with one page at a time, not with buffer.batch", key=key)
    if (resting := buffer.resting) is not None:
        raise refused(f"does not go with buffer.{resting}", key=key)
    if not all(_is_exponential(gap_law(time)) for time, _ in access_times(robots)):
        allowed = "needs exponential access times, or robots.deliveries, which have phases"
        raise refused(allowed, key=key)
    order = 1 if robots.deliveries is None else joint_size(robots.deliveries)[0]
    seen = seen_phases(buffer.service)
    phases = 1 if seen is None else len(seen.alpha)
    for level, rows in enumerate(rule.root):
        check_length(f"{key}[{level}]", rows, order, "phase of the deliveries")
        for phase, row in enumerate(rows):
            place = f"{key}[{level}][{phase}]"
            if level:
                check_length(place, row, phases, "phase of the service")
            elif len(row) != 1:
                allowed = "must have one entry: no page is in service at level 0"
                raise refused(allowed, key=place, value=row)


def _is_exponential(law: Law | None) -> bool:
    return law is not None and isinstance(law.simplest, Exponential)


def _optimal_needs_costs(scenario: System) -> None:
    rule = scenario.activation
    if rule is not None and rule.key == "optimal" and not scenario.costs.model_fields_set:
        raise refused("needs [costs]", key="activation.optimal")


def _prices_of_robots_fit(scenario: System) -> None:
    """A price for each class or robot goes with a fixed set of them, or robots that are switched.

    Under other rules the first robots are active: the price of a mean robot is not one number.
    """
    robots = scenario.robots
    given = scenario.costs.robots
    if not isinstance(given, tuple):
        return
    key = "costs.robots"
    kinds = None if robots is None else priced_alone(robots)
    if kinds is None:
        needs = "robots.classes, or robots.deliveries = independent or marked"
        raise refused(f"must be one number; a list needs {needs}", key=key, value=given)
    check_length(key, given, kinds[1], kinds[0])
    rule = scenario.activation
    sought = isinstance(rule, Optimal) and rule.family in ("static", "switching")
    if not (rule is None or sought or isinstance(rule, Static | These | Switching)):
        allowed = f"must be one number with activation.{rule.key}"
        allowed += "; a list goes with static, these or switching"
        raise refused(allowed, key=key, value=given)
    if any(each.robots is not None for each in scenario.interventions):
        allowed = "must be one number where interventions limit the robots"
        raise refused(allowed, key=key, value=given)


_MOST_CHANGES = 100_000
"""Begins and ends of interventions up to the horizon."""

_NEEDED = {
    "indexers": "buffer",
    "service_speed": "buffer",
    "change_factor": "pages",
    "query_factor": "clients",
}
"""The section that an effect of an intervention changes."""


def _interventions_fit(scenario: System) -> None:
    if scenario.interventions and scenario.robots is None:
        raise refused("needs [robots]", key="interventions")
    for index, each in enumerate(scenario.interventions):
        place = f"interventions[{index}]"
        for effect, section in _NEEDED.items():
            value = getattr(each, effect)
            if value is not None and getattr(scenario, section) is None:
                raise refused(f"needs [{section}]", key=f"{place}.{effect}", value=value)
        if each.robots is not None:
            _robots_can_be_limited(scenario, f"{place}.robots", each.robots)
        if each.indexers is not None and scenario.buffer is not None:
            _indexers_can_stop(scenario.buffer, f"{place}.indexers", each.indexers)
        if each.every and (scenario.run.horizon - each.at) / each.every > _MOST_CHANGES / 2:
            allowed = f"must not make more than {_MOST_CHANGES} changes up to run.horizon"
            raise refused(allowed, key=f"{place}.every", value=each.every)


def _indexers_can_stop(buffer: Buffer, key: str, working: int) -> None:
    if working > buffer.servers:
        raise refused(f"must be <= buffer.servers ({buffer.servers})", key=key, value=working)
    other = "batch" if buffer.batches is not None else buffer.resting
    if other is not None:
        allowed = f"does not go with buffer.{other}; service_speed = 0 stops all indexers"
        raise refused(allowed, key=key, value=working)


def _robots_can_be_limited(scenario: System, key: str, limit: int) -> None:
    rule = scenario.activation
    if switches_one_at_a_time(rule):
        allowed = "does not go with switching, which never recalls a robot"
        raise refused(allowed, key=key, value=limit)
    if isinstance(rule, Free):
        raise refused("does not go with activation.free", key=key, value=limit)
    robots = scenario.robots
    if robots is None or isinstance(robots.accessing, Due):
        return
    if robots.host_spacing is not None:
        raise refused("does not go with robots.host_spacing", key=key, value=limit)


def _priced_things_are_there(scenario: System) -> None:
    """Each price is of something that the system has."""
    costs, robots, pages = scenario.costs, scenario.robots, scenario.pages
    for name in ("indexer", "waiting_place"):
        if getattr(costs, name) and scenario.buffer is None:
            raise refused("needs [buffer]", key=f"costs.{name}", value=getattr(costs, name))
    if costs.access and robots is None:
        raise refused("needs [robots]", key="costs.access", value=costs.access)
    if costs.byte and (
        robots is None or robots.unchanged is None or pages is None or pages.sizes is None
    ):
        allowed = "needs pages.sizes and robots.unchanged, which say what an access fetches"
        raise refused(allowed, key="costs.byte", value=costs.byte)


def _switches_can_be_counted(scenario: System) -> None:
    """Switches have a price, or take a time, where thresholds say who is active."""
    rule = scenario.activation
    robots = scenario.robots
    kind = rule.family if isinstance(rule, Optimal) else rule.key if rule else "static"
    if scenario.costs.switch and kind not in ("static", "these", "threshold"):
        allowed = f"goes with activation.threshold, not with activation.{kind}"
        raise refused(allowed, key="costs.switch", value=scenario.costs.switch)
    if not isinstance(rule, Threshold) or rule.start_up is None or robots is None:
        return
    key = "activation.start_up"
    if robots.access_time is None and robots.classes is None:
        raise refused("needs robots.access_time or robots.classes: robots one by one", key=key)
    if isinstance(robots.accessing, Due):
        raise refused("does not go with pages that fall due", key=key)


def _course_needs_robots(scenario: System) -> None:
    if scenario.run.observe is not None and scenario.robots is None:
        raise refused("needs [robots]", key="run.observe", value=scenario.run.observe)


CHECKS: tuple[Callable[[System], None], ...] = (
    _one_system,
    _known_measures,
    _page_set_stands_alone,
    _needs("robots", ("pages", "page_set", "buffer")),
    _needs("pages", ("robots",)),
    _needs("page_set", ("robots",)),
    _needs("buffer", ("robots",)),
    _needs("activation", ("robots",)),
    _needs("index", ("pages",)),
    _needs("clients", ("pages",)),
    _needs("source", ("probing",)),
    _needs("sources", ("probing",)),
    _needs("probing", ("source", "sources")),
    _one_or_several_sources,
    check_probing,
    _accessing_with_pages,
    _freshness_needs_pages,
    _policy_fits_pages,
    _signals_fit,
    _spacing_fits,
    _frontier_fits,
    _classes_of_pages_fit,
    _unchanged_fits,
    _change_rate_needs_changes,
    _clients_need_weights,
    _pages_have_service_times,
    _robots_available,
    _control_needs_buffer,
    _switching_needs_access_time,
    _switching_fits,
    _environment_fits,
    _levels_fit,
    _free_fits,
    _optimal_needs_costs,
    _prices_of_robots_fit,
    _priced_things_are_there,
    _switches_can_be_counted,
    _interventions_fit,
    _course_needs_robots,
)
"""Every rule between sections, in the order in which they are reported."""
