"""Commands write what is stored in `outputs`: every word, number, mark and line of a picture.

Other tests say what single numbers must be. These notice whatever else changes: a title, a unit,
two columns exchanged, a note that went. Where a change is meant, `STORE_OUTPUTS=1 pytest
tests/crawlsim/test_outputs.py` stores the outputs anew, and their difference belongs into the
commit.
"""

from __future__ import annotations

import csv
import html
import platform
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from stored import compare, numbers

from crawlsim.cli.files import package_versions
from scenarios.arrays import Array

STORED = Path(__file__).parent / "outputs"
_MOST_LINES = 30
_SUFFIXES = (".csv", ".html", ".jsonl", ".py", ".toml", ".txt", ".xml")
_SHORT = "--replications 3 --seed 5 --out out"
_SIMPY = "--engine simpy --set run.horizon=100 --set run.warmup=10 --replications 3 --seed 5"


def _cut(horizon: float, warmup: float = 10.0) -> str:
    return f"--set run.horizon={horizon} --set run.warmup={warmup} {_SHORT}"


_HELPED = (
    *("run", "check", "optimize", "sweep", "fit", "schedule", "rare", "explore"),
    *("compare", "solve", "export", "frequencies", "new", "scenarios", "repeat", "reproduce"),
)

_PAPERS = ("coffman1998", "avrachenkov2011", "talim2001", "altman2000")

COMMANDS = {
    "run-patience": f"run stale-in-the-buffer {_cut(300)} --quantiles 0.5,0.95",
    "run-failures": f"run failing-fetches {_cut(200, 0)}",
    "run-clients": f"run client-queries {_cut(300)} --all",
    "run-page-set": f"run pages-come-and-go {_cut(200)}",
    "run-environment": f"run good-and-bad-network {_cut(300)}",
    "run-classes": f"run one-fast-three-slow {_cut(300)}",
    "run-pipeline": f"run pipeline-page-change {_cut(300)}",
    "run-probes": f"run smooth-day {_SHORT}",
    "run-surge": f"run surge {_SHORT}",
    "run-routing": f"run routing-two-servers {_cut(300)}",
    "run-json": f"run batches {_cut(300)} --json",
    "run-precise": f"run one-robot {_cut(300)} --precision 0.2 --measure loss_probability",
    "check-queue": f"check one-robot {_cut(2000)} --distributions --all",
    "check-pages": f"check round-robin-hyperexponential {_cut(500)}",
    "check-outage": f"check indexer-outage {_SHORT}",
    "check-levels": f"check one-robot --set buffer.waiting_places=60 {_cut(400)} --distributions "
    "--set robots.access_time.exponential.rate=1",
    "check-json": f"check paused-robot {_cut(300)} --json",
    "check-failing": f"check failing-fetches-queue {_cut(400)}",
    "solve-phases": "solve several-indexers-phases --quantiles 0.9",
    "solve-all": "solve lecturer-deterministic-service --all",
    "solve-json": "solve polite-hosts --json",
    "check-slides": f"check one-robot {_cut(2000)} --figures slides",
    "optimize-report": "optimize optimal-thresholds --target threshold --report best.html",
    "optimize-static": "optimize talim-static-k5 --target static --figure f.svg --out best.toml",
    "optimize-threshold": "optimize optimal-thresholds --target threshold --figure f.svg",
    "optimize-levels": "optimize four-robots-one-threshold --target levels --figure f.svg",
    "optimize-classes": "optimize one-fast-three-slow --target switching --figure f.svg",
    "optimize-free": "optimize pause-for-large-pages --target free --figure f.svg",
    "optimize-phases": "optimize optimal-switching-by-phase --target switching --figure f.svg",
    "optimize-environment": "optimize good-and-bad-network --target switching --figure f.svg",
    "optimize-frequencies": "optimize randomized-erlang --target frequencies --figure f.svg",
    "optimize-template": "optimize template-dependent-access --target template --figure f.svg",
    "optimize-probes": "optimize smooth-day --target probes --figure f.svg --json",
    "optimize-shared": "optimize three-sources --target probes --figure f.svg",
    "optimize-bound": "optimize optimal-thresholds --target levels "
    "--subject-to 'loss_probability <= 0.1'",
    "optimize-refused": "optimize one-robot --target template",
    "sweep-lines": f"sweep one-robot --vary buffer.waiting_places=1..3 {_cut(300)} "
    "--minimise loss_probability",
    "sweep-map": f"sweep one-robot --vary buffer.waiting_places=1..3 {_cut(300)} "
    "--vary robots.available=1,2 --first 'loss_probability<0.2'",
    "sweep-decisions": "sweep talim-static-k5 --set activation.optimal=static "
    "--set costs.loss=1 --vary costs.starvation=0.5,4 --vary "
    f"robots.access_time.exponential.rate=0.1,0.4 {_cut(300)} --out out",
    "rare": "rare one-robot --set buffer.waiting_places=12 --seed 3 --precision 0.5",
    "fit-changes": "fit changes.csv --report fit.html --out fitted.toml",
    "fit-source": "fit changes.csv --section source --pieces 7 --time-unit day --report fit.html",
    "fit-crawls": "fit visits.csv --report fit.html --json",
    "fit-deliveries": "fit deliveries.csv --report fit.html --out fitted.toml",
    "fit-sizes": "fit sizes.csv --rate 1000 --report fit.html",
    "schedule": "schedule visits.csv --visits 40/day --out plan.csv --report plan.html "
    "--backtest --classes classes.csv",
    "schedule-json": "schedule visits.csv --visits 40/day --out plan.csv --json "
    "--weights weights.csv --objective delay --rule-for */a*=1d:3d",
    "schedule-scrapy": "schedule visits.csv --visits 9/day --out plan.jsonl --format scrapy "
    "--tiers 1d,7d,30d",
    "frequencies": "frequencies classes-of-pages.csv --accesses 100",
    "run-fail-if": f"run one-robot {_cut(300)} --control-variates --replications 12 "
    "--fail-if 'loss_probability > 0.1' --fail-if 'throughput < 0.3' --junit failed.xml",
    "run-trace": "run one-robot --engine simpy --set run.horizon=20 --set run.warmup=0 --seed 2 "
    "--trace trace.csv --replications 2",
    "run-page-trace": "run pages-come-and-go --engine simpy --set run.horizon=8 --set run.warmup=0 "
    "--seed 2 --trace trace.csv --replications 2",
    "run-quantiles": f"run several-indexers {_cut(200)} --engine simpy --quantiles 0.5,0.9 "
    "--warmup auto --figures slides",
    "run-several": f"run one-robot stale-in-the-buffer {_cut(200)}",
    "compare": f"compare one-robot batches {_SIMPY} --figure f.svg",
    "compare-json": f"compare indexer-outage one-indexer-down {_SIMPY} --json",
    "sweep-best": f"sweep one-robot --vary buffer.waiting_places=1..3 {_cut(300)} "
    "--maximise throughput --indifference 0.05 --confidence 0.9 --replications 10",
    "sweep-one-replication": f"sweep one-robot --vary buffer.waiting_places=1..3 {_cut(300)} "
    "--minimise loss_probability --replications 1",
    "sweep-last": f"sweep one-robot --vary buffer.waiting_places=1..3 {_cut(300)} --json "
    "--last 'loss_probability>0.1' --fail-if 'starvation_probability > 0.3' --junit failed.xml",
    "sweep-no-solve": f"sweep failing-fetches --vary robots.available=1,2 {_SIMPY} --no-solve "
    "--measure crawl_rate --precision 0.5 --max-replications 6",
    "optimize-design": "optimize one-robot --target design --over buffer.waiting_places=1..4 "
    "--over robots.available=1,2 --set costs.loss=1 --set costs.waiting_place=0.02 "
    "--set costs.robots=0.1 --out best.toml --report best.html",
    "optimize-simulated": "optimize one-robot --target static --kind simulated --seed 2 "
    "--set robots.available=3 --set costs.loss=1 --set costs.starvation=1 --indifference 0.2 "
    "--replications 10 --max-replications 20 --set run.horizon=200 --set run.warmup=20 "
    "--engine simpy --figure f.svg",
    "optimize-one-by-one": "optimize regular-robot-queue --target threshold --set costs.loss=1 "
    "--set costs.starvation=1 --set costs.robots=0.1 --set buffer.waiting_places=3",
    "optimize-intervals": "optimize frontier --target frequencies --figure f.svg",
    "optimize-routing": "optimize routing-two-servers --target routing --report best.html --json",
    "optimize-kept": "optimize talim-static-k10 --target static --subject-to "
    "'loss_probability <= 0.2' --json",
    "rare-json": "rare one-robot --set buffer.waiting_places=12 --seed 3 --precision 0.5 --json",
    "export-simpy": "export stale-in-the-buffer --to simpy --out program.py",
    "export-ciw": "export heavy-tailed-service --to ciw --set activation.static=2 "
    "--set buffer.service.exponential.rate=2",
    "export-refused": "export heavy-tailed-service --to ciw",
    "export-line": "export several-indexers-phases --to line",
    "new": "new my.toml --with pages,buffer,clients,costs,interventions",
    "scenarios": "scenarios",
    "scenario-json": "scenarios batches --json",
    "solve-window": "solve one-robot --set run.warmup=0 --set run.observe=5",
    "solve-random-rounds": "solve robots-in-step --set clients.query_rate=5 --set run.observe=20 "
    "--set 'robots.accessing={policy=\"randomized\"}' --set run.horizon=100 --set run.warmup=0 "
    "--set interventions=[{at=30,until=50,robots=1,query_factor=2}] --all",
    "solve-rounds": "solve robots-in-step --set clients.query_rate=5 --set run.observe=20 --all "
    "--set interventions=[{at=30,until=50,robots=1,query_factor=2},{at=60,change_factor=3}] "
    "--set run.horizon=100 --set run.warmup=0",
    "solve-several": "solve one-robot polite-hosts talim-switching routing-two-servers",
    "fit-likelihood": "fit visits.csv --rates likelihood --time-unit week --since 2026-01-20 "
    "--until 2026-03-10 --json",
    "fit-into": "fit changes.csv --into surge --out fitted.toml --time-unit hour --shortest 60",
    "fit-breaks": "fit changes.csv --section source --breaks 0,8,20 --period 24 --time-unit hour "
    "--out fitted.toml --json",
    "fit-mmpp": "fit deliveries.csv --process mmpp --batch-gap 0.02 --longest-gap 20 --json",
    "fit-renewal": "fit deliveries.csv --process renewal --report fit.html --into batches",
    "fit-obsolescence": "fit sizes.csv --section obsolescence --mean 3 --time-unit hour --json",
    "schedule-active": "schedule visits.csv --visits 40/day --out plan.csv --active 08-20 "
    "--recheck 30d --even 0.2 --gone-after 2 --newborn 7d:1d --report plan.html",
    "schedule-bytes": "schedule visits.csv --budget 1MB/day --sizes page-sizes.csv --min 12h "
    "--unchanged-bytes 200 --max 60d --out plan.csv --report plan.html --backtest",
    "schedule-signals": "schedule visits.csv --visits 40/day --signals signals.csv --out plan.csv "
    "--report plan.html --backtest --classes classes.csv --weights weights.csv",
    "schedule-signals-json": "schedule visits.csv --visits 12/day --signals signals.csv --json "
    "--pages site-key --out plan.csv --format stormcrawler --rule-for */b*=2d:20d",
    "schedule-hosts": "schedule visits.csv --visits 20/day --host-spacing 40m --out plan.txt "
    "--host-visits hosts.csv --format nutch --until 2026-03-01",
    "schedule-harmonic": "schedule visits.csv --visits 300/week --objective harmonic "
    "--out plan.csv --format stormcrawler --recheck never --json",
    "schedule-rule": "schedule visits.csv --visits 40/day --rule uniform --out plan.csv",
    "schedule-changes": "schedule url-changes.csv --kind changes --visits 9/day --out plan.csv "
    "--report plan.html --weights weights.csv --backtest",
    "backtest": "schedule years.csv --visits 1/day --backtest --out plan.csv --report plan.html",
    "backtest-signals": "schedule years.csv --visits 1/day --signals heard.csv --backtest --json "
    "--out plan.csv",
    "schedule-simulated": "schedule visits.csv --visits 9/day --out plan.csv --simulate",
    "schedule-deaf": "schedule --signals signals.csv --visits 9/day --out plan.csv",
    "optimize-hysteresis": "optimize optimal-thresholds --target threshold --figure f.svg "
    "--set costs.switch=0.5 --set buffer.waiting_places=5 --set robots.available=4",
    "optimize-static-kept": "optimize talim-static-k10 --target static --figure f.svg "
    "--subject-to 'loss_probability <= 0.06'",
    "optimize-threshold-kept": "optimize optimal-thresholds --target threshold --figure f.svg "
    "--subject-to 'loss_probability <= 0.01'",
    "optimize-curves": "optimize talim-switching --target switching --figure f.svg",
    "optimize-targets": "optimize optimal-switching-stale --target switching --figure f.svg",
    "optimize-arriving": "optimize pipeline-best-frequencies --target frequencies --figure f.svg",
    "run-shared-probes": f"run three-sources {_SIMPY} --out out",
    "run-spacing": f"run polite-mirrors {_SIMPY} --out out",
    "run-busy": f"run routing-busy-signal {_SIMPY} --out out",
    "run-groups": f"run polite-hosts {_SIMPY} --set run.page_rows=3 --out out",
    "run-free": f"run pause-for-large-pages {_SIMPY} --out out",
    "run-by-phase": f"run optimal-switching-by-phase {_SIMPY} --out out",
    "run-levels": f"run four-robots-one-threshold {_SIMPY} --out out",
    "sweep-decades": "sweep one-robot --vary robots.access_time.exponential.rate=0.01,0.1,1,10 "
    f"--vary buffer.waiting_places=1,2 {_SIMPY} --out out --measure loss_probability "
    "--figures slides",
    "sweep-words": "sweep one-robot --vary 'buffer.service={exponential={rate=1}},"
    "{erlang={shape=2,mean=1}},{deterministic={value=1}},{uniform={low=0.5,high=1.5}}' "
    f"{_SIMPY} --out out --measure loss_probability",
    "sweep-rules": "sweep optimal-thresholds --vary costs.loss=40,900 "
    f"--vary costs.starvation=50,400 --set activation.optimal=threshold {_SIMPY} --out out "
    "--measure control_cost --set buffer.waiting_places=4",
    "check-short": "check one-robot --replications 2 --set run.horizon=50 --set run.warmup=0 "
    "--engine simpy --out out",
    "check-cold": f"check talim-static-k5 {_SIMPY} --out out",
    "check-options": f"check one-robot {_SIMPY} --quantiles 0.5,0.9 --measure loss_probability "
    "--fail-if 'loss_probability > 0.1' --junit failed.xml --precision 0.3 --max-replications 8",
    "check-negligible": f"check one-robot {_SIMPY} --negligible 0.05 --warmup auto",
    "study": f"check batches {_SIMPY} --study study && repeat study && repeat study --json",
    "study-sweep": f"sweep one-robot --vary buffer.waiting_places=1,2 {_SIMPY} --quantiles 0.5 "
    "--warmup auto --study study",
    "study-optimum": "optimize one-robot --set costs.loss=1 --set costs.robots=0.1 "
    "--target static --study study && repeat study",
    "run-limited": f"run one-robot {_SIMPY} --precision 0.01 --max-replications 5 "
    "--measure loss_probability",
    "frequencies-json": "frequencies classes-of-pages.csv --accesses 100 --out f.npy --json",
    "run-50-pages": f"run polite-hosts {_SIMPY} --set pages.change_rates.zipf.pages=50",
    "run-51-pages": f"run polite-hosts {_SIMPY} --set pages.change_rates.zipf.pages=51",
    "run-201-pages": f"run polite-hosts {_SIMPY} --set pages.change_rates.zipf.pages=201 --out out",
    "check-201-pages": f"check polite-hosts {_SIMPY} --set pages.change_rates.zipf.pages=201 "
    "--set robots.accessing.policy=randomized --set robots.host_spacing=0",
    "optimize-1001-pages": "optimize polite-hosts --set pages.change_rates.zipf.pages=1001 "
    "--set robots.accessing.policy=deadline --set robots.host_spacing=0 --target frequencies "
    "--figure f.svg --out best.toml",
    "names": "scenarios --names",
    "reproduce": "reproduce talim2001 'Figure 2' --figure f.png",
    **{f"paper-{name}": f"paper {name}" for name in _PAPERS},
    **{f"formulas-{name}": f"formulas {name}" for name in _PAPERS},
    "papers": "papers",
    "paper": "paper eckstein2005",
    **{f"help-{name}": f"{name} --help" for name in _HELPED},
}


REFUSED = [
    "run one-robot stale-in-the-buffer --trace trace.csv",
    "run one-robot --trace trace.csv --precision 0.1",
    "run one-robot --trace trace.csv --control-variates --replications 20",
    "run one-robot --set buffer.waiting_places",
    "run one-robot --set buffer.waiting_places=1 --set buffer.waiting_places=2",
    "run one-robot --set buffer=1 --set buffer.waiting_places=2",
    "run one-robot --set run.horizon=1e300",
    "run one-robot --quantiles 0.5,1.5",
    "run one-robot --warmup soon",
    "run one-robot --fail-if 'loss_probability > much'",
    "run one-robot --fail-if 'loss > 0.1'",
    "run one-robot --measure losses --precision 0.1",
    "run one-robot --pages pages.csv",
    "run one-robot --study study --out out",
    "run no-robot",
    "run visits.csv",
    "check one-robot --set robots.available=0",
    "check one-robot --set robots.classes=[]",
    "check one-robot --set activation.these=[0]",
    "check one-robot --set activation.levels=[1]",
    "check one-robot --set activation.levels=[2,1,1,1]",
    "check one-robot --set buffer.service.weibull.mean=1",
    "check one-robot --set buffer.service.uniform.low=3",
    "check one-robot --set buffer.discipline=priority",
    "check one-robot --set buffer.when_full=push-out-lowest",
    "check one-robot --set costs.staleness=1",
    "check one-robot --set costs.access=1 --set costs.byte=1",
    "check one-robot --set source.updates.poisson.rate=1",
    "check surge --set interventions=[{at=1}]",
    "check surge --set interventions=[{at=2,until=1,robots=1}]",
    "check surge --set interventions=[{at=1,until=3,every=1,robots=1}]",
    "check surge --set interventions=[{at=-1,robots=1}]",
    "check surge --set interventions=[{at=1,robots=1.5}]",
    "check surge --set interventions=[{at=1,robot_speed=-1}]",
    "check surge --set interventions=[{at=1,service_speed=2}]",
    "check big-and-small-pages --set pages.sizes=[1]",
    "check big-and-small-pages --set pages.hosts=[1]",
    "check big-and-small-pages --set pages.change_rates=[]",
    "check polite-hosts --set robots.host_spacing=-1",
    "check polite-hosts --set robots.accessing.policy=best",
    "check golden-ratio-246 --set robots.accessing.template=[0,9]",
    "check talim-switching --set activation.switching.targets=[1]",
    "check talim-switching --set activation.switching.targets=[[1]]",
    "check good-and-bad-network --set robots.environment.Q=[[1]]",
    "check routing-two-servers --set servers.count=0",
    "check routing-two-servers --set servers.routing.period=[5]",
    "check sitemap-half-true --set pages.signals.recall=1.5",
    "check sitemap-half-true --set pages.signals.precision=1.5",
    "check sitemap-half-true --set pages.signals.false_rate=1",
    "check one-robot --set buffer.service.lognormal.mu=1 --set buffer.service.lognormal.sigma=5",
    "check one-robot --set buffer.service.lognormal.mu=200 --set buffer.service.lognormal.sigma=1",
    "check one-robot --set buffer.service.lognormal.mu=201 --set buffer.service.lognormal.sigma=1",
    "check one-robot --set buffer.service.lognormal.mu=1 --set buffer.service.lognormal.sigma=5.1",
    "check smooth-day --set probing.times=[1,1]",
    "check smooth-day --set probing.probes=0",
    "check batches --set robots.deliveries.modes=[]",
    "solve one-robot --set run.observe=[1]",
    "optimize one-robot --target static --subject-to 'loss_probability <= 2'",
    "optimize talim-static-k5 --target static --subject-to 'loss_probability <= 1e-9'",
    "optimize talim-static-k5 --target static --subject-to 'loss_probability < x'",
    "optimize talim-static-k5 --target routing --subject-to 'loss_probability < 0.1'",
    "optimize talim-static-k5 --target static --kind approximation",
    "optimize talim-static-k5 --target static --over robots.available=1,2",
    "optimize talim-static-k5 --target design",
    "optimize talim-static-k5 --target design --over robots.available=1..x",
    "optimize randomized-erlang --target frequencies --kind simulated",
    "optimize talim-static-k5 polite-hosts --target static --study study",
    "optimize talim-static-k5 --target static --figure f.txt",
    "optimize talim-static-k5 --target static --report f.txt",
    "optimize one-robot --target probes --figure f.svg",
    "compare one-robot surge",
    "compare one-robot one-robot --figure f.txt",
    "sweep one-robot --vary buffer.waiting_places=",
    "sweep one-robot --vary buffer.waiting_places=1..200000",
    "sweep one-robot --vary buffer.places=1,2",
    "sweep one-robot --vary buffer.waiting_places=1,2 --minimise losses",
    "sweep one-robot --vary buffer.waiting_places=1,2 --minimise loss_rate --maximise loss_rate",
    "sweep one-robot --vary buffer.waiting_places=1,2 --indifference 0.1",
    "sweep one-robot --vary buffer.waiting_places=1,2 --first 'loss_rate'",
    "sweep one-robot --vary buffer.waiting_places=1,2 --minimise loss_rate --confidence 0.2",
    "rare surge",
    "export surge --to ciw",
    "export one-robot --to arena",
    "frequencies classes-of-pages.csv --accesses 10 --out f.csv",
    "frequencies classes-of-pages.csv --accesses 0",
    "fit sizes.csv --kind changes",
    "fit sizes.csv deliveries.csv --kind sizes",
    "fit sizes.csv --section pages",
    "fit sizes.csv --mean 3 --rate 2",
    "fit deliveries.csv --process cox",
    "fit changes.csv --time-unit fortnight",
    "fit changes.csv --into one-robot",
    "fit changes.csv --shortest 1e9",
    "fit changes.csv --since 2026-01-01",
    "fit changes.csv --section source --breaks 8,0",
    "fit changes.csv --section source --breaks 0,8 --pieces 3",
    "fit changes.csv --signals signals.csv",
    "fit visits.csv --kind changes",
    "fit visits.csv --time-unit round",
    "fit visits.csv --since soon",
    "fit visits.csv --since 2026-03-01 --until 2026-02-01",
    "fit visits.csv --since 2030-01-01",
    "fit visits.csv --signals sizes.csv",
    "fit visits.csv --pages some",
    "schedule visits.csv --out plan.csv",
    "schedule visits.csv --visits 40 --out plan.csv",
    "schedule visits.csv --visits 40/day --budget 1MB/day --out plan.csv",
    "schedule visits.csv --visits 40/day --sizes page-sizes.csv --out plan.csv",
    "schedule visits.csv --budget 1MB/day --objective delay --out plan.csv",
    "schedule visits.csv --budget 1MB/day --active 08-20 --out plan.csv",
    "schedule visits.csv --budget 1MB/day --sizes weights.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --active 20-08-10 --out plan.csv",
    "schedule visits.csv --visits 40/day --active 08-20 --simulate --out plan.csv",
    "schedule visits.csv --visits 48/day --host-spacing 40m --host-visits hosts.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --min 3d --max 1d --out plan.csv",
    "schedule visits.csv --visits 40/day --min 9x --out plan.csv",
    "schedule visits.csv --visits 40/day --tiers 1d,soon --out plan.csv",
    "schedule visits.csv --visits 40/day --rule-for news --out plan.csv",
    "schedule visits.csv --visits 40/day --newborn 7d --out plan.csv",
    "schedule visits.csv --visits 40/day --recheck rarely --out plan.csv",
    "schedule visits.csv --visits 40/day --rule best --out plan.csv",
    "schedule visits.csv --visits 40/day --rule uniform --objective delay --out plan.csv",
    "schedule visits.csv --visits 40/day --weights sizes.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --weights strangers.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --weights nothing.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --weights negative.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --weights short.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --classes no-class.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --host-visits no-host.csv --out plan.csv",
    "schedule visits.csv --visits 40/day --robots nowhere --out plan.csv",
    "schedule visits.csv --visits 40/day --until 2020-01-01 --out plan.csv",
    "schedule visits.csv --visits 40/day --from warc --out plan.csv",
    "schedule visits.csv --visits 40/day --out plan.csv --format excel",
    "schedule visits.csv --visits 40/day --out visits.csv",
    "schedule visits.csv --visits 40/day --report plan.txt --out plan.csv",
    "schedule sizes.csv --visits 40/day --out plan.csv",
    "schedule --visits 40/day --out plan.csv",
    "schedule --signals signals.csv --visits 40/day --backtest --out plan.csv",
    "schedule visits.csv --signals sizes.csv --visits 40/day --out plan.csv",
    "schedule visits.csv --signals signals.csv --visits 40/day --rule uniform --out plan.csv",
    "schedule visits.csv --signals signals.csv --visits 40/day --tiers 1d,7d --out plan.csv",
    "new visits.csv",
    "new my.toml --with pages,clouds",
    "scenarios no-robot",
    "formulas talim1999",
    "paper talim1999",
    "reproduce talim2001 '(99)'",
    "reproduce talim2001 '(5)' --figure f.svg",
]
"""Commands that have one error each, or ask for what there is not."""


def _date(day: int, time: str) -> str:
    return f"2026-{1 + day // 31:02}-{1 + day % 31 % 28:02}T{time}:00Z"


def write_inputs(folder: Path) -> None:
    """Small logs of pages that are unlike, one of them gone, and lists beside them."""
    rng = np.random.default_rng(11)
    visits, changes = ["url,time,changed,status"], ["page,time"]
    for page in range(24):
        rate = 0.02 * 1.25**page
        for day in range(2, 90, 2):
            changed = int(rng.random() < -np.expm1(-2 * rate))
            status = 404 if page == 5 and day > 60 else 200
            when = _date(day, f"0{page % 9}:30")
            url = f"https://{'ab'[page % 2]}.example/{'ab'[page % 3 // 2]}{page}"
            visits.append(f"{url},{when},{changed},{status}")
        gaps = rng.exponential(1 / rate, 6)
        changes += [f"page{page},{time:.4f}" for time in np.cumsum(gaps)]
    sizes = ["size", *(f"{size:.1f}" for size in rng.lognormal(7, 1.2, 200))]
    phases = np.repeat(rng.choice([0.2, 3.0], 40), 6)
    deliveries = ["time", *(f"{time:.4f}" for time in np.cumsum(rng.exponential(phases)))]
    weights = ["url,weight", "https://a.example/a0,5", "https://b.example/a1,0"]
    classes = ["class,pattern", "news,https://a.example/*"]
    alike = ["class,pages,rate,weight", "news,50,6,2", "rest,900,0.1,1"]
    urls = sorted({row.partition(",")[0] for row in visits[1:]})
    signals, url_changes, page_sizes = ["url,time"], ["url,time"], ["url,bytes"]
    for number, url in enumerate(urls):
        days = np.cumsum(rng.exponential(2 + 40 / (number + 1), 9))
        dates = [_date(int(day), f"12:{number:02}") for day in days if day < 90]
        signals += [f"{url},{date}" for date in dates[::2]]
        url_changes += [f"{url},{date}" for date in sorted(dates)]
        page_sizes.append(f"{url},{10_000 + 7_000 * number}")
    years, heard = ["url,time,changed"], ["url,time"]
    begin = np.datetime64("2022-03-01T06:00:00")
    for page in range(4):
        times = np.cumsum(rng.exponential(8.0 * 1.6**page, 400))
        url = f"https://long.example/{'ab'[page % 2]}/{page}"
        for day in range(page, 900, 10):
            changed = int(((times > day - 10) & (times <= day)).any())
            years.append(f"{url},{begin + np.timedelta64(day, 'D')}Z,{changed}")
        for day in times[times < 900][:: 1 + page % 3]:
            heard.append(f"{url},{begin + np.timedelta64(int(86400 * day), 's')}Z")
    for name, lines in {
        "years": years,
        "heard": heard,
        "signals": signals,
        "url-changes": url_changes,
        "page-sizes": page_sizes,
        "hosts": ["host,visits", "a.example,9/day"],
        "strangers": ["url,weight", *(f"{url},0" for url in urls), "https://c.example/c,1"],
        "nothing": ["url,weight", "https://a.example/a0,0"],
        "negative": ["url,weight", "https://a.example/a0,-1"],
        "short": ["url,weight", "https://a.example/a0"],
        "no-class": ["class,pattern"],
        "no-host": ["host,visits"],
        "visits": visits,
        "changes": changes,
        "sizes": sizes,
        "deliveries": deliveries,
        "weights": weights,
        "classes": classes,
        "classes-of-pages": alike,
    }.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", "utf-8")


# --- what is compared -----------------------------------------------------------------------------


def pictured(figure: Figure) -> Iterator[str]:
    """What a picture shows, and how, in lines."""
    yield f"picture {numbers(figure.get_size_inches())}"
    for text in figure.texts:
        yield f"  text {_written(text)}"
    for legend in figure.legends:
        yield f"  legend {_keys(legend)}"
    for ax in figure.axes:
        yield from _drawn_on(ax)


def _drawn_on(ax: Axes) -> Iterator[str]:
    yield f"  axes {ax.get_title()!r} {_sides(ax)}"
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        ticks = [text.get_text() for text in axis.get_ticklabels()][:12]
        label = axis.get_label_text()
        yield f"    axis {label!r} {axis.get_scale()} {numbers(limits)} {ticks}"
        yield f"      {_lettered(axis)}"
    for line in ax.lines:
        style = f"{to_hex(line.get_color())} {line.get_linestyle()} {line.get_marker()}"
        yield f"    line {line.get_label()!r} {style} {line.get_drawstyle()}"
        marks = (line.get_markersize(), line.get_markeredgewidth())
        yield f"      drawn {_shown(line)} {numbers((line.get_linewidth(), *marks))}"
        yield f"      filled {line.get_markerfacecolor()} clipped {line.get_clip_on()}"
        yield f"      x {numbers(line.get_xdata())}"
        yield f"      y {numbers(line.get_ydata())}"
    for patch in ax.patches:
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        edge = f"{to_hex(patch.get_facecolor())} {numbers(patch.get_edgecolor())}"
        yield f"    patch {edge} {patch.get_hatch()} {numbers(box.get_points())}"
        yield f"      drawn {_shown(patch)} {numbers(patch.get_linewidth())}"
    for drawn in ax.collections:
        colours = [to_hex(colour) for colour in drawn.get_facecolor()[:2]]
        yield f"    {type(drawn).__name__} {drawn.get_label()!r} {colours}"
        sizes = drawn.get_sizes()[:2] if isinstance(drawn, PathCollection) else ()
        widths = np.atleast_1d(np.asarray(drawn.get_linewidth(), dtype=float))[:2]
        yield f"      drawn {_shown(drawn)} {numbers([*widths, *sizes])}"
        yield f"      at {numbers(drawn.get_offsets())}"
        for path in drawn.get_paths()[:3]:
            yield f"      path {numbers(path.vertices)}"
    for image in ax.images:
        values: Array = np.ma.asarray(image.get_array())
        yield f"    image {values.shape} {numbers(values)} shaded {numbers(image.get_clim())}"
        yield f"      drawn {image.get_cmap().name} {image.get_interpolation()} {_shown(image)}"
    for text in ax.texts:
        yield f"    text {_written(text)} {numbers(text.get_position())}"
    if legend := ax.get_legend():
        yield f"    legend {_keys(legend)}"


def _shown(artist: Artist) -> str:
    alpha = artist.get_alpha()
    how = " as an image" * bool(artist.get_rasterized())
    return f"alpha {'full' if alpha is None else numbers(alpha)} order {artist.get_zorder():g}{how}"


def _sides(ax: Axes) -> str:
    sides = [side for side, spine in ax.spines.items() if spine.get_visible()]
    return f"{sides} below {ax.get_axisbelow()} aspect {ax.get_aspect()} box {ax.axison}"


def _lettered(axis: Axis) -> str:
    label = axis.label
    major, minor = axis.get_major_formatter(), axis.get_minor_formatter()
    ticks = axis.get_tick_params()
    grid = [line for line in axis.get_gridlines()[:1] if line.get_visible()]
    lines = [f"{line.get_color()} {line.get_linewidth():g}" for line in grid]
    return (
        f"label {label.get_fontsize():g} {to_hex(label.get_color())} "
        f"ticks {ticks.get('labelsize')} {ticks.get('labelcolor')} {ticks.get('length')} "
        f"by {type(major).__name__} {type(minor).__name__} grid {lines}"
    )


def _written(text: Text) -> str:
    at = f"{text.get_horizontalalignment()} {text.get_verticalalignment()} {text.get_rotation():g}"
    return f"{text.get_text()!r} {text.get_fontsize():g} {to_hex(text.get_color())} {at}"


def _keys(legend: Legend) -> str:
    title = legend.get_title()
    texts = [text.get_text() for text in legend.get_texts()]
    sizes = [f"{text.get_fontsize():g}" for text in (title, *legend.get_texts()[:1])]
    columns = legend._ncols  # type: ignore[attr-defined]
    frame = legend.get_frame_on()
    return f"{title.get_text()!r} {texts} in {columns} of {sizes} at {legend._loc} framed {frame}"  # type: ignore[attr-defined]


def read(path: Path) -> list[str]:
    """The words of a file that a command has written, and how they are marked."""
    text = path.read_text("utf-8")
    marks: list[str] = []
    if path.suffix in (".html", ".svg"):
        text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        counted = Counter(re.findall(r"<\w+ [^>]*>", text))
        marks = [f"{count} times {mark}" for mark, count in sorted(counted.items())]
        text = html.unescape(re.sub(r"<[^>]*>", "\n", text))
    for package, version in (package_versions() | {"Python": platform.python_version()}).items():
        text = re.sub(rf"^({package}\s+){re.escape(version)}$", r"\1VERSION", text, flags=re.M)
    text = text.replace(platform.platform(), "SYSTEM").replace(
        f"Python {platform.python_version()}", "PYTHON"
    )
    text = re.sub(r"took [\d.]+ seconds", "took SECONDS", text)
    text = re.sub(r"^[\w-]+==.*\n", "", text, flags=re.M)
    text = re.sub(r"(SHA-256 of the rest: )\w+", r"\1DIGEST", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if path.suffix == ".csv" and len(lines) > _MOST_LINES:
        rows = list(csv.reader(lines[1:]))
        some = rows[:: len(rows) // (_MOST_LINES // 2)]
        return [f"{len(lines)} lines", lines[0], *(",".join(row) for row in some)]
    return [*lines, *marks]


# --- the test -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_what_is_stored(
    name: str, crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures: list[str] = []

    def draw(figure: Figure, stream: Any, **_: Any) -> None:
        pictures.extend(pictured(figure))
        empty = "<svg></svg>"
        stream.write(empty if hasattr(stream, "encoding") else empty.encode())

    monkeypatch.setattr(Figure, "savefig", draw)
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    given = set(tmp_path.iterdir())
    found = []
    for command in COMMANDS[name].split(" && "):
        code, *texts = crawlsim(*shlex.split(command))
        out, err = (text.replace(str(tmp_path), "HERE").splitlines() for text in texts)
        said = [line for line in err if "compiling" not in line]
        found += [f"exit code {code}", *out, "--- stderr", *said]
    for path in sorted(tmp_path.glob("**/*")):
        if path.suffix in _SUFFIXES and path not in given:
            found += [f"--- {path.relative_to(tmp_path).as_posix()}", *read(path)]
    found += ["--- pictures", *pictures]
    compare(STORED / f"{name}.txt", found)


def test_what_is_refused_is_said_as_is_stored_and_nothing_is_written(
    crawlsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    found = []
    for command in REFUSED:
        code, out, err = crawlsim(*shlex.split(command))
        found += [f"$ {command}", f"exit code {code}", *out.splitlines(), *err.splitlines()]
    compare(STORED / "refused.txt", found)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_every_stored_output_is_of_a_command() -> None:
    assert {path.stem for path in STORED.iterdir()} == {*COMMANDS, "refused"}
