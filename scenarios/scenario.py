"""A scenario: what the whole system is, checked across its sections."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from os import PathLike
from typing import Any

from pydantic import ValidationError, model_validator

from scenarios.activation import Optimal, switches_one_at_a_time
from scenarios.changes import plain, with_changes
from scenarios.cross_checks import CHECKS
from scenarios.fleet import mean_price
from scenarios.interrupts import interrupts_watched, uninterrupted
from scenarios.messages import first_error
from scenarios.model import Model, model_of, present
from scenarios.plugins import load_installed, packed
from scenarios.sections import Costs, System


class Scenario(System):
    """One system and how to run it; frozen, and valid by construction.

    The fields are the sections of the scenario file; `scenario_from` makes one from its entries.

    Parameters
    ----------
    name : str
        Identifies it in the output.
    title, paper, time_unit : str
        Labels.
    judged : tuple of str
        Measures that a check judges; empty: all that it can.
    pages, page_set, robots, activation, buffer, index, clients : section or None
        Parts of the system; None: there is no such part.
    source, probing, servers : section or None
        Likewise.
    sources : tuple of Source, optional
        Several that share the probes of [probing], instead of `source`.
    interventions : tuple of Intervention
        Changes of the system in time.
    costs, check, run : section
        Prices, what a check overlooks, and how to run it.
    """

    @model_validator(mode="after")
    def _sections_fit(self) -> Scenario:
        for check in CHECKS:
            check(self)
        return self

    @cached_property
    def model(self) -> Model:
        """The sections decoded: what both sides read instead of the file's words."""
        return model_of(self)

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Scenario:
        """A copy, decoded anew."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("model", None)
        return copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled with the plugins that it may be made of."""
        return packed(super().__reduce_ex__(protocol))

    @property
    def prices(self) -> Costs:
        """The prices, one of each: of an active robot the mean of those that are active.

        Where that depends on the state, each class has its own.
        """
        costs = self.costs
        given = {name: price for name, price in costs if name not in ("indexer", "waiting_place")}
        if self.buffer is not None:
            places = costs.waiting_place * self.buffer.waiting_places
            given["standing"] = costs.indexer * self.buffer.servers + places
        if costs.access or costs.byte:
            given["attempts"] = present(self.model.fleet).attempts
        of_each = costs.robots
        if isinstance(of_each, tuple):
            assert self.robots is not None
            switched = switches_one_at_a_time(self.activation)
            if switched and len(set(of_each)) > 1:
                given |= {"robots": 0.0, "by_class": of_each}
            else:
                given["robots"] = mean_price(self.robots, self.activation, of_each)
        return Costs.model_construct(costs.model_fields_set, **given)

    @property
    def unresolved(self) -> dict[str, Any]:
        """The keys of what `analytic.resolve` is still to find, and their values."""
        found: dict[str, Any] = {}
        accessing, monitor = self.model.accessing, self.model.monitor
        if isinstance(self.activation, Optimal):
            found["activation.optimal"] = self.activation.family
        if accessing is not None and (key := self.model.unresolved):
            found[f"robots.accessing.{key}"] = getattr(accessing, key)
        if self.servers is not None and self.servers.routing == "optimal":
            found["servers.routing"] = "optimal"
        if monitor is not None and not monitor.is_settled:
            found["probing.policy"] = monitor.asked.policy
            if monitor.is_shared and monitor.asked.split == "optimal":
                found["probing.split"] = "optimal"
        return found

    def as_file(self) -> dict[str, Any]:
        """The entries that were given, as a scenario file would hold them."""
        dump = partial(self.model_dump, mode="json", by_alias=True, exclude_unset=True)
        with interrupts_watched():
            return uninterrupted(partial(dump, exclude_none=True), ())

    def with_(self, changes: str | Mapping[str, Any], value: Any = None) -> Scenario:
        """A changed copy.

        Parameters
        ----------
        changes : str or mapping
            ``"buffer.waiting_places"`` with a value, or ``{key: value, …}``; keys and values are
            those of the scenario file. All are applied together and the result is checked once.
            Setting one alternative of a one-of table removes the others; None removes the entry.
        value : object, optional
            The value, where `changes` is one key.

        Raises
        ------
        ScenarioError
            If a key is unknown or the changed scenario is not valid.
        """
        given = {changes: value} if isinstance(changes, str) else changes
        return scenario_from(with_changes(self.as_file(), given))


def scenario_from(entries: Mapping[str, Any], base: str = ".") -> Scenario:
    """The scenario that a parsed scenario file describes.

    Parameters
    ----------
    entries : mapping
        The tables of the file.
    base : str
        Folder from which relative paths in the file count.

    Raises
    ------
    ScenarioError
        Naming the key, its value and what is allowed.
    """
    load_installed()
    try:
        return Scenario.model_validate(plain(entries), context={"base": base})
    except ValidationError as error:
        raise first_error(error, Scenario) from None


def require_scenario(given: object) -> None:
    """Raise `TypeError` for what is not a scenario, with a hint at how to load one."""
    if isinstance(given, Scenario):
        return
    if isinstance(given, str | PathLike):
        hint = f"load it first: scenarios.load({str(given)!r})"
    else:
        hint = "scenarios.load and scenarios.scenario_from make one"
    raise TypeError(f"{given!r:.60} is not a Scenario; {hint}")
