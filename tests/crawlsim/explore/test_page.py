"""The page in a browser, by the marks that it carries for tests."""

import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from chromium import CHROMIUM, DRIVER
from served import Query, Server

from crawlsim.explore.lesson import library

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
CONSTANT = ("set", "buffer.service={deterministic={value=1.0}}")
HANGS = 300.0
"""Seconds after which something is not slow but will never come."""

MANY = 20
"""Frames in which whatever moves has moved, however slow the machine."""

HURRIED = """
const speed = document.getElementById("world-speed");
speed.value = 2.0;
speed.dispatchEvent(new Event("input"));
"""
"""A hundred events a second."""

KEYS = [each.key for each in library()]


class Page:
    """The page in a browser."""

    def __init__(self, driver: Any, server: Server) -> None:
        self.driver = driver
        self.server = server

    def open(self, *query: Query) -> "Page":
        shown = [] if "first" in dict(query) else [("first", 0)]
        address = urlencode([("token", self.server.token), *shown, *query])
        self.driver.get(f"http://127.0.0.1:{self.server.port}/?{address}")
        return self

    def find(self, testid: str, more: str = "") -> Any:
        return self.driver.find_element("css selector", f'[data-testid="{testid}"]{more}')

    def data(self, testid: str, name: str, more: str = "") -> str | None:
        value: str | None = self.find(testid, more).get_attribute(f"data-{name}")
        return value

    @property
    def n(self) -> int:
        return int(self.data("estimate", "n") or 0)

    def wait(self, holds: Callable[[], object], seconds: float = HANGS) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.02)

    def frames(self, count: int) -> None:
        """Wait until the page has drawn so many more."""
        code = """
        const [count, done] = arguments;
        const next = (left) => left ? requestAnimationFrame(() => next(left - 1)) : done();
        next(count);
        """
        self.driver.execute_async_script(code, count)

    def rests(self, value: Callable[[], object]) -> None:
        """Wait until a value has been the same for many frames."""

        def is_same() -> bool:
            before = value()
            self.frames(MANY)
            return value() == before

        self.wait(is_same)

    def turn(self, key: str, value: object) -> None:
        knob = self.find("knob", f'[data-key="{key}"]')
        code = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
        self.driver.execute_script(code, knob, value)

    def resize(self, width: int, height: int = 720, scheme: str = "light") -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.driver.current_url).query)

    def said(self) -> list[str]:
        return [each["message"] for each in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    assert one.end() == ""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Page]:
    one = Page(driver, server)
    one.resize(1280)
    yield one
    assert one.said() == []


def test_it_opens_playing_and_shows_what_the_server_says(page: Page) -> None:
    page.open(("until", 12))
    page.wait(lambda: page.n == 12 and page.find("play").get_attribute("aria-pressed") == "false")
    (last,) = page.server.events(("until", 12), ("after", 11))
    own = last["estimates"][0]
    assert float(page.data("estimate", "value") or "") == own["estimate"]
    assert page.data("estimate", "measure") == "loss_probability"
    for testid, low, high in (
        ("pointwise", "low", "high"),
        ("always", "always_low", "always_high"),
    ):
        assert float(page.data(testid, "low") or "") == own[low]
        assert float(page.data(testid, "high") or "") == own[high]
    assert float(page.data("theory", "value") or "") == own["theory"]
    verdict = page.find("verdict")
    assert verdict.get_attribute("data-word") == own["verdict"]
    assert own["verdict"] in verdict.text
    assert verdict.find_element("xpath", "ancestor::*[@aria-live]")
    note = page.driver.find_element("id", "formula-note").text
    assert note == "The value is that of M/M/1/K (Kleinrock 1975, section 3.6)."
    assert page.data("lesson", "lesson", "[aria-current=true]") == "one-queue"
    assert page.find("level-chart").find_elements("css selector", "circle")
    for row in last["estimates"][1:]:
        about = f'[data-measure="{row["measure"]}"]'
        about += "" if row["subject"] is None else f'[data-subject="{row["subject"]}"]'
        assert float(page.data("estimate", "value", about) or "") == row["estimate"]


def test_play_pause_and_exactly_one_replication_more(page: Page) -> None:
    page.open(("play", 0))
    page.wait(lambda: page.n == 2)
    page.find("step").click()
    page.wait(lambda: page.n == 3)
    page.find("play").send_keys(" ")
    page.wait(lambda: page.n > 10)
    assert ("play", "0") not in page.query()
    page.find("step").click()
    page.wait(lambda: page.find("play").get_attribute("aria-pressed") == "false")
    page.rests(lambda: page.n)
    n = page.n
    page.find("step").click()
    page.wait(lambda: page.n == n + 1)
    page.frames(MANY)
    assert page.n == n + 1
    assert ("play", "0") in page.query()
    for kind in ("toml", "csv", "html"):
        assert f"until={n + 1}" in page.find(f"export-{kind}").get_attribute("href")
    assert page.find("export-command").text == "crawlsim run one-queue.toml"


def test_the_world_plays_and_pauses_with_the_estimates(page: Page) -> None:
    page.open()
    page.wait(lambda: float(page.data("world", "time") or 0) > 1)
    page.find("play").click()
    page.rests(lambda: page.data("world", "time"))
    paused = page.data("world", "time")
    page.driver.find_element("id", "world-step").click()
    page.wait(lambda: page.data("world", "time") != paused)
    page.find("play").click()
    later = page.data("world", "time")
    page.wait(lambda: page.data("world", "time") != later)
    page.turn("buffer.waiting_places", 7)
    page.wait(lambda: float(page.data("world", "time") or 0) < float(paused or 0) + 1)


def test_a_number_moves_both_sides_and_n_begins_anew(page: Page) -> None:
    page.open()
    page.wait(lambda: page.n > 20)
    before = float(page.data("theory", "value") or "")
    page.turn("buffer.waiting_places", 12)
    page.wait(lambda: 2 <= page.n < 20, 2)
    page.wait(lambda: page.data("theory", "value"))
    assert float(page.data("theory", "value") or "") < before / 2
    assert float(page.data("estimate", "value") or "") < before / 2
    assert ("set", "buffer.waiting_places=12") in page.query()
    assert page.find("assumption").text == ""


def test_a_law_moves_the_simulated_side_only(page: Page) -> None:
    page.open(("lesson", "break-exponential"))
    page.wait(lambda: page.data("theory", "value"))
    before = page.data("theory", "value")
    page.turn("buffer.service", "{ deterministic = { value = 1.0 } }")
    sentence = "the formula assumes exponential (mean 1), you simulate deterministic (value 1)"
    page.wait(lambda: page.find("assumption").text == sentence)
    assert page.data("assumption", "key") == "buffer.service"
    page.wait(lambda: page.data("verdict", "word") == "disagrees")
    assert page.data("theory", "value") == before
    page.turn("buffer.service", "{ exponential = { mean = 1.0 } }")
    page.wait(lambda: page.find("assumption").text == "")


def test_arrows_turn_knobs_and_the_tabulator_reaches_every_control(page: Page) -> None:
    page.open(("play", 0))
    page.wait(lambda: page.n == 2)
    page.find("knob", '[data-key="buffer.waiting_places"]').send_keys("\ue014")
    page.wait(lambda: ("set", "buffer.waiting_places=6") in page.query())
    page.wait(lambda: page.n == 2)
    reached = """
    const controls = [...document.querySelectorAll("a, button, input, select, summary")];
    return controls.filter((each) => each.checkVisibility() && (each.tabIndex < 0 || each.disabled))
      .map((each) => each.outerHTML);
    """
    assert page.driver.execute_script(reached) == []
    shown = """
    document.querySelector(".brand").scrollIntoView();
    return getComputedStyle(document.activeElement).outlineStyle;
    """
    assert page.driver.execute_script(shown) != "none"


def test_an_address_is_a_demonstration(page: Page) -> None:
    query = [
        ("lesson", "break-exponential"),
        ("seed", "5"),
        ("set", "buffer.waiting_places=3"),
        CONSTANT,
        ("until", "15"),
    ]
    page.open(*query)
    page.wait(lambda: page.n == 15)
    assert sorted(page.query()[1:]) == sorted([*query, ("first", "0")])
    assert page.find("seed").get_attribute("value") == "5"
    knob = page.find("knob", '[data-key="buffer.waiting_places"]')
    assert knob.get_attribute("value") == "3"
    shown = page.data("estimate", "value")
    page.driver.refresh()
    page.wait(lambda: page.n == 15)
    assert page.data("estimate", "value") == shown


def test_back_leads_to_the_lesson_before(page: Page) -> None:
    page.open(("seed", 4))
    page.wait(lambda: page.n > 2)
    page.find("lesson", '[data-lesson="which-urls"]').click()
    page.wait(lambda: page.data("estimate", "measure") == "weighted_obsolescence")
    page.driver.back()
    page.wait(lambda: page.data("estimate", "measure") == "loss_probability")
    assert ("seed", "4") in page.query()
    assert page.data("lesson", "lesson", "[aria-current=true]") == "one-queue"


@pytest.mark.parametrize(
    ("module", "expression", "value"),
    [
        ("numbers", "all.number(0.0053254)", "0.005325"),
        ("numbers", "all.number(123456)", "123456"),
        ("numbers", "all.number(-3.2e-6, 2)", "−3.2 · 10⁻⁶"),
        ("numbers", "all.number(null)", "–"),
        ("numbers", "all.number(0.9999999)", "1.000"),
        ("numbers", "all.interval(0.09929, 0.10731)", "0.0993 to 0.1073"),
        ("numbers", "all.interval(-12.4, 151.2)", "−12 to 151"),
        (
            "svg",
            "all.ticks(0.13, 0.52, 5).map((each) => each.toFixed(1)).join()",
            "0.1,0.2,0.3,0.4,0.5,0.6",
        ),
        (
            "course",
            "Array.from(Array(5000).keys()).filter((n) => !(all.untilOf(n) > n)).join()",
            "",
        ),
        ("svg", "all.tickText(0.0050, 0.0005)", "0.0050"),
    ],
)
def test_numbers_are_written_for_people(
    page: Page, module: str, expression: str, value: str
) -> None:
    page.open(("play", 0))
    assert in_module(page, module, expression) == value


def test_a_long_run_is_remembered_in_constant_memory(page: Page) -> None:
    page.open(("play", 0))
    seen = "(() => { const seen = new all.Seen(); for (let n = 2; n < 1e5; n += 1) seen.add({ n });"
    ends = in_module(
        page, "history", f"{seen} return [seen.all().length, seen.all().at(-1).n]; }})()"
    )
    assert ends[0] <= 601
    assert ends[1] == 99_999


def in_module(page: Page, module: str, expression: str) -> Any:
    """The value of an expression with `all` that a module of the page exports."""
    code = f"import('/page/{module}.js').then((all) => arguments[0]({expression}))"
    return page.driver.execute_async_script(code)


def test_what_is_refused_is_said_and_taken_back(page: Page) -> None:
    page.open(("play", 0))
    page.wait(lambda: page.n == 2)
    page.driver.find_element("css selector", ".any summary").click()
    field = page.driver.find_element("id", "any-text")
    field.send_keys("buffer.waiting_places = -1\n")
    alert = page.driver.find_element("id", "refused")
    page.wait(lambda: "waiting_places" in alert.text)
    page.wait(lambda: page.n == 2)
    assert not [value for name, value in page.query() if name == "set"]
    refused = [each for each in page.said() if "400" in each]  # the browser reports the answer
    assert refused


def test_two_systems_beside_each_other(page: Page) -> None:
    page.open(("other", "buffer.waiting_places=6"), ("until", 12))
    page.wait(lambda: page.n == 12)
    (last,) = page.server.events(("until", 12), ("after", 11), ("other", "buffer.waiting_places=6"))
    shown = page.driver.find_element("id", "compared").text
    assert f"{last['other']['estimates'][0]['estimate']:.4g}" in shown


def test_what_was_saved_replays_without_a_server(page: Page, tmp_path: Path) -> None:
    saved = tmp_path / "saved.html"
    saved.write_text(page.server.text("/api/export.html", CONSTANT, ("until", 40)))
    page.driver.get(saved.as_uri())
    n = page.driver.find_element("id", "n")
    page.wait(lambda: n.text == "40")
    assert page.driver.find_element("id", "verdict").text == "disagrees"
    page.driver.find_element("id", "play").click()
    page.wait(lambda: n.text != "40")
    page.wait(lambda: n.text == "40")
    assert page.driver.find_elements("css selector", "#chart polyline.estimate")


def test_a_guess_is_veiled_until_it_is_made_and_then_drawn(page: Page) -> None:
    page.open()
    page.wait(lambda: page.n > 2)
    field = page.driver.find_element("id", "guess-value")
    field.send_keys("0.11")
    veiled = "return document.body.classList.contains('veiled')"
    assert page.driver.execute_script(veiled)
    field.send_keys("\n")
    assert not page.driver.execute_script(veiled)
    page.wait(lambda: page.driver.find_elements("css selector", "#course line.guess"))
    assert ("guess", "0.11") in page.query()


def test_numbers_wait_for_the_guess_and_then_say_how_far_it_was(page: Page) -> None:
    page.open(("first", 1), ("lesson", "more-robots"))
    page.wait(lambda: page.n >= 2 and page.find("play").get_attribute("aria-pressed") == "false")
    veiled = "return document.body.classList.contains('veiled')"
    assert page.driver.execute_script(veiled)
    assert not page.driver.find_element("id", "after").is_displayed()
    page.driver.find_element("id", "guess-value").send_keys("0.2\n")
    assert not page.driver.execute_script(veiled)
    page.wait(lambda: page.n > 10)
    said = page.driver.find_element("id", "guess-said")
    page.wait(lambda: said.text.endswith(": 2.6 times too low."))
    assert said.text.startswith("You said 0.2; it is 0.52")
    assert "waits longer" in page.driver.find_element("id", "after").text
    page.find("lesson", '[data-lesson="thresholds"]').click()
    page.wait(lambda: page.driver.execute_script(veiled))


def test_the_formula_that_holds_stands_beside_the_one_that_is_broken(page: Page) -> None:
    page.open(("lesson", "break-exponential"))
    legend = page.driver.find_element("id", "legend")
    page.wait(lambda: "load: mean indexing time" in legend.text)
    assert page.find("holds").text == ""
    page.turn("buffer.service", "{ deterministic = { value = 1.0 } }")
    page.wait(lambda: page.data("holds", "value"))
    assert float(page.data("holds", "value") or 0) == pytest.approx(0.0472033, rel=1e-5)
    page.driver.back()
    page.wait(lambda: page.find("holds").text == "" and page.n > 2)
    law = "{lognormal={mean=1.0,sd=2.0}}"
    both = [("set", f"{key}={law}") for key in ("robots.access_time", "buffer.service")]
    page.open(("lesson", "break-exponential"), *both)
    page.wait(lambda: "No formula is known" in page.find("holds").text)


def test_the_frontier_grows_in_an_outage_and_empties(page: Page) -> None:
    """Which breaks what the formula assumes, in the words of the knob."""
    outage = "[{at=96.0,until=104.0,robots=1}]"
    page.open(("lesson", "due-pages"), ("set", f"interventions={outage}"))
    page.wait(lambda: page.data("verdict", "word") == "disagrees")
    said = "the formula assumes no outage, you simulate one fetcher for eight hours"
    assert page.find("assumption", '[data-key="interventions"]').text == said
    knob = page.find("knob", '[data-key="interventions"]')
    assert "one fetcher for eight hours" in knob.find_element("css selector", "option:checked").text
    page.driver.execute_script(HURRIED)
    page.wait(lambda: int(page.data("world", "waiting") or 0) > 15)
    assert float(page.data("world", "time") or 0) > 96.0
    page.wait(lambda: int(page.data("world", "waiting") or 0) < 3)


def test_a_link_of_yesterday_says_what_to_do_and_keeps_what_it_shows(page: Page) -> None:
    lost = urlencode([("token", "of-yesterday-0123"), ("lesson", "peeking"), ("first", 0)])
    page.driver.get(f"http://127.0.0.1:{page.server.port}/?{lost}")
    field = page.driver.find_element("id", "address")
    field.send_keys(f"http://127.0.0.1:{page.server.port}/?token={page.server.token}\n")
    page.wait(lambda: page.driver.find_elements("css selector", '[data-lesson="peeking"]'))
    assert ("lesson", "peeking") in page.query()
    refused = [each for each in page.said() if "403" not in each]
    assert refused == []


def test_on_a_telephone_the_lessons_unfold(page: Page) -> None:
    page.resize(390)
    page.open()
    page.wait(lambda: page.n > 2)
    assert not page.find("lesson").is_displayed()
    page.driver.find_element("id", "lessons-button").click()
    page.find("lesson", '[data-lesson="probing"]').click()
    page.wait(lambda: page.data("estimate", "measure") == "obsolescence_cost")
    assert not page.find("lesson").is_displayed()


def test_twenty_students_watch_the_lesson_on_peeking(page: Page) -> None:
    page.open(("lesson", "peeking"), ("play", 0))
    query: list[Query] = [("lesson", "peeking"), ("after", 299), ("until", 300)]
    (last,) = page.server.events(*query, ("seed", 21))
    left = last["estimates"][0]["interval_left_at"] is not None
    page.wait(lambda: page.n == 2)
    page.driver.find_element("id", "students-go").click()
    said = page.driver.find_element("id", "students-said")
    first = "Of 1, with the seeds from 21 on and 300 replications each"
    page.wait(lambda: said.text.startswith(f"{first}, {left:d} saw"), 30)


@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_wider_than_the_window(page: Page, key: str) -> None:
    page.open(("lesson", key), ("until", 12))
    page.wait(lambda: page.n == 12)
    wider = """
    return [...document.body.querySelectorAll("*")]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5)
      .map((each) => each.outerHTML.slice(0, 200));
    """
    for width in (390, 1280):
        page.resize(width)
        time.sleep(0.1)
        assert page.driver.execute_script(wider) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(page: Page, scheme: str) -> None:
    axe = (resources.files("axe_core_python") / "axe.min.js").read_text()
    page.open(CONSTANT, ("other", "buffer.waiting_places=6"), ("until", 12))
    page.wait(lambda: page.n == 12)
    page.driver.execute_script(axe)
    for width in (390, 1280):
        page.resize(width, scheme=scheme)
        found = page.driver.execute_async_script(
            "axe.run(document).then((found) => arguments[0](found.violations))"
        )
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_a_closed_page_leaves_the_server_at_rest(page: Page) -> None:
    page.open()
    page.wait(lambda: page.n > 5)
    page.driver.get("about:blank")
    time.sleep(1.0)
    before = cpu_seconds(page.server.process.pid)
    time.sleep(1.0)
    assert cpu_seconds(page.server.process.pid) - before < 0.1
    page.driver.back()
    page.wait(lambda: page.n > 5)


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.parametrize("key", KEYS)
def test_the_world_plays_pauses_and_goes_on_event_by_event(page: Page, key: str) -> None:
    def time_of_world() -> float:
        return float(page.data("world", "time") or 0.0)

    def goes_on(since: float) -> None:
        page.wait(lambda: time_of_world() > since)

    page.open(("lesson", key))
    goes_on(0.0)
    goes_on(time_of_world())
    page.find("play").click()
    page.rests(time_of_world)
    paused = time_of_world()
    step = page.driver.find_element("id", "world-step")
    page.wait(lambda: step.click() or time_of_world() > paused)  # some events are at the same time
    assert page.find("world").is_displayed()


PLAYED = """
const [query, speed, seconds, done] = arguments;
const canvas = document.createElement("canvas");
canvas.style = "position: fixed; inset: 0; width: 700px; height: 420px";
document.body.append(canvas);
const { openWorld } = await import("/page/world.js");
const world = await openWorld(canvas, { query, legend: document.createElement("div") });
world.speed(speed);
world.play();
setTimeout(() => {
  world.close();
  const drawn = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const inked = drawn.data.some((each) => each > 0);
  canvas.remove();
  done({ ...world.stats, time: Number(canvas.dataset.time), inked });
}, 1000 * seconds);
"""


@pytest.mark.parametrize("speed", [30, 3000])
def test_the_world_is_smooth(page: Page, speed: int) -> None:
    """Eighteen robots and sixty places: thirty frames a second, which take eight milliseconds each.

    The best of three, on a machine that may be busy.
    """
    page.open(("lesson", "more-robots"), ("play", 0))
    sets = [("set", "robots.available=18"), ("set", "buffer.waiting_places=60")]
    query = urlencode([("token", page.server.token), ("lesson", "more-robots"), *sets])
    plays = [page.driver.execute_async_script(PLAYED, query, speed, 2) for _ in range(3)]
    assert all(each["inked"] and each["time"] > 0 for each in plays)
    assert max(each["frames"] for each in plays) >= 2 * 30
    assert min(each["milliseconds"] / each["frames"] for each in plays) < 8


def test_a_world_that_cannot_be_had_says_why(page: Page) -> None:
    page.open(("lesson", "one-queue"), ("play", 0))
    query = urlencode([("token", page.server.token), ("set", "robots.available=-1")])
    code = """
    const [query, done] = arguments;
    const { openWorld } = await import("/page/world.js");
    const opened = openWorld(document.createElement("canvas"), { query });
    opened.then(done, (error) => done(error.message));
    """
    said = page.driver.execute_async_script(code, query)
    assert "robots.available" in said
    assert page.said()  # the browser, of the status 400


FOLLOWED = """
const [query, done] = arguments;
const { Model } = await import("/page/world-model.js");
const part = await (await fetch(`/api/world?${query}`)).json();
const model = new Model(part.setup);
model.hear(part.events);
const wrong = [];
let answers = 0;
for (const event of part.events) {
  if (event.kind.endsWith("-answer")) {
    answers += 1;
    const fresh = model.index[event.page] === model.web[event.page];
    if (fresh !== (event.kind === "fresh-answer")) wrong.push(event);
  }
  model.apply(event);
  if (event.kind === "service" && model.inside.size !== event.level) wrong.push(event);
}
done({ answers, wrong });
"""


def test_the_world_goes_stale_as_the_engine_says(page: Page) -> None:
    """Which copy in the index is out of date, by the events, is what the searchers find there."""
    page.open(("lesson", "more-robots"), ("play", 0))
    query = urlencode([("token", page.server.token), ("lesson", "more-robots")])
    found = page.driver.execute_async_script(FOLLOWED, query)
    assert found["answers"] > 500
    assert found["wrong"] == []
