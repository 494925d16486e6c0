"""The pages in a real browser: clicked through, in both lights, with hostile texts, live and from files."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from view_runs import read_episodes, write_episodes

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.view import Site, export_site
from rlanything_agents.tools.view.server import ViewServer
from rlanything_task_pools import TaskPool

Served = Callable[[Path], ViewServer]
HOSTILE = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "javascript:window.hacked=1",
    "\x1b[31mred\x1b[0m \u202egnp.exe",
    "{{ 7*7 }} ${7*7} </td></table><iframe src='https://evil.example/'></iframe>",
    "x" * 200_000,
)


class Visit:
    """A page of a browser, and what went wrong or out of it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def go(self, address: str, wait: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector(wait)

    def until(self, true: str) -> None:
        """Wait for an expression of JavaScript; the page's own policy forbids the `eval` the driver would poll with."""
        for _ in range(1000):
            if self.page.evaluate(true):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never came true: {true}")

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 1360, "height": 860})
    context.set_default_timeout(20_000)
    found = Visit(context.new_page())
    yield found
    assert found.troubles == []
    context.close()


def test_from_the_list_of_runs_to_a_turn_and_back(runs: Path, served: Served, visit: Visit) -> None:
    server, page = served(runs), visit.page
    visit.go(server.url, "table.runs")
    assert "token" not in page.url
    assert page.locator("tbody tr").count() == 3
    page.click("text=alfworld >> nth=0")
    page.wait_for_selector(".chart text.tick")
    assert page.locator(".chart").count() >= 6
    assert "Before and after" in page.locator("h2").all_inner_texts()

    page.click("#bar nav >> text=Tasks")
    page.wait_for_selector("table.tasks tbody tr")
    assert page.locator("table.tasks tbody tr").count() == 6
    page.wait_for_selector(".rates svg.plot path.band")
    counts = [int(text) for text in page.locator(".rates .tally td.number").all_inner_texts()]
    with TaskPool.open(runs / "alfworld" / "pool.sqlite") as pool:
        assert (
            sum(counts)
            == sum(bool(pool.last_group(slot)) for slot in pool.slots)
            == page.locator(".rates .dot").count()
        )
    page.click("table.tasks tbody tr:nth-child(2) a.name")
    page.wait_for_selector("article.version.root")
    with TaskPool.open(runs / "alfworld" / "pool.sqlite") as pool:
        assert page.locator("article.version").count() == len(pool.versions(1))
        assert pool.root(1).goal in visit.text("article.version.root")
        world = page.locator("article.version.root details", has_text="world in words")
        world.locator("summary").click()
        assert "Receptacles" in world.inner_text()

    page.click("#bar nav >> text=Episodes")
    page.wait_for_selector("table.groups tbody tr")
    assert page.locator("table.groups tbody tr").count() == 4
    page.click(".iterations >> text=1")
    page.wait_for_selector(".iterations a.here >> text=1")
    page.click("table.groups tbody tr:nth-child(3) .squares a:nth-child(2)")
    page.wait_for_selector("ol.turns li.turn")
    record = read_episodes(runs / "alfworld")[9]
    assert page.locator("li.turn").count() == len(record["turns"])
    for k, turn in enumerate(record["turns"]):
        row = visit.text(f"li.turn >> nth={k}")
        for part in ("thought", "action", "observation"):
            assert turn[part] in row
        page.click(f"li.turn >> nth={k} >> .k")
        page.wait_for_selector(f"aside.panel >> text=Turn {k + 1}")
        panel = visit.text("aside.panel")
        for judgement in turn["judgements"]:
            assert judgement in panel
    page.click("aside.panel >> text=raw prompt and answer")
    page.wait_for_selector("aside.panel .raw h3")  # the browser tells of an opened part later
    raw = visit.text("aside.panel .raw")
    assert all(turn["answer"] in raw and turn["prompt"] in raw for turn in record["turns"][:-1])
    page.click("aside.panel >> text=the task's proof")
    with TaskPool.open(runs / "alfworld" / "pool.sqlite") as pool:
        assert all(step in visit.text("aside.panel .proof") for step in pool.task(record["task_id"]).proof)
    page.go_back()
    page.wait_for_selector("table.groups")
    page.click("#bar a.brand")
    page.wait_for_selector("table.runs")
    assert all(address.startswith(f"http://127.0.0.1:{server.port}/") for address in visit.asked)


def test_two_runs_side_by_side_and_on_a_phone(runs: Path, served: Served, visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 800})
    visit.go(served(runs).url, "table.runs")
    page.click("text=alfworld >> nth=0")
    page.wait_for_selector(".verdict >> text=No measurable change")
    after = page.locator(".results tbody tr >> nth=0 >> td.number >> nth=1").bounding_box()
    assert after["x"] + after["width"] <= 390
    assert page.locator(".results .good, .results .bad").count() == 0, "8 games are noise"
    page.select_option("select[aria-label='compare with']", "coding")
    page.wait_for_selector("text=Settings that differ")
    assert page.locator("tr", has_text="rollout.max_steps").inner_text().split() == ["rollout.max_steps", "6", "1"]
    assert page.locator(".verdict").count() == 2
    assert page.locator(".chart path.dashed").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_keys_lead_everywhere(runs: Path, served: Served, visit: Visit) -> None:
    page = visit.page
    visit.go(served(runs / "alfworld").url, ".charts")
    page.keyboard.press("3")
    page.wait_for_selector("table.groups tbody tr")
    for key in "jjk":
        page.keyboard.press(key)
    page.wait_for_selector("tbody tr.here")
    page.keyboard.press("Enter")
    page.wait_for_selector("li.turn.here")
    page.keyboard.press("j")
    page.wait_for_url("**/2")
    page.wait_for_selector("li.turn.here .k >> text=2")
    page.keyboard.press("k")
    page.wait_for_url("**/1")
    page.wait_for_selector("li.turn.here .k >> text=1")
    number = int(page.url.split("/")[-2])
    page.keyboard.press("]")
    page.wait_for_url(f"**/episode/2/{number + 1}")
    page.wait_for_selector(f"text=episode {number + 1}")
    page.keyboard.press("u")
    page.wait_for_selector("table.groups tbody tr")
    page.keyboard.press("2")
    page.wait_for_selector("table.tasks")
    page.keyboard.press("/")
    page.keyboard.type("zzz no such task jjj")
    page.wait_for_selector("text=0 of 6 slots")
    assert page.evaluate("document.activeElement.value") == "zzz no such task jjj"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("dialog >> text=previous row")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.wait_for_selector(".charts")


def test_filters(runs: Path, served: Served, visit: Visit) -> None:
    page, server = visit.page, served(runs / "alfworld")
    visit.go(server.url, ".charts")
    records = [read_episodes(runs / "alfworld", iteration) for iteration in (1, 2)]
    won = sum(record["outcome"] == 1 for record in records[0])
    visit.go(f"http://127.0.0.1:{server.port}/#/alfworld/episodes/1?outcome=solved", ".filters")
    visit.until(f"document.querySelectorAll('.squares a:not(.dim)').length === {won}")
    page.select_option("select[aria-label=outcome]", "")
    visit.until("document.querySelectorAll('.squares a:not(.dim)').length === 16")
    slot = records[1][0]["slot"]
    visit.go(f"http://127.0.0.1:{server.port}/#/alfworld/episodes/all?slot={slot}", "table.groups tbody tr")
    visit.until("document.querySelector('p.faint[aria-live]').textContent === ''")
    groups = sum(any(record["slot"] == slot for record in part) for part in records)
    assert page.locator("table.groups tbody tr").count() == groups


def test_a_chart_tells_what_the_pointer_is_on_and_leads_to_it(runs: Path, served: Served, visit: Visit) -> None:
    page = visit.page
    visit.go(served(runs / "alfworld").url, ".chart text.tick")
    chart = page.locator(".chart", has_text="Tasks rewritten")
    chart.scroll_into_view_if_needed()
    box = chart.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 44, box["y"] + 60)
    chart.locator(".when", has_text="iteration 1").wait_for()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + 60)
    page.wait_for_url("**/episodes/2")


def test_programs_have_a_matrix_of_tests_and_verdicts(runs: Path, served: Served, visit: Visit) -> None:
    page, server = visit.page, served(runs / "coding")
    visit.go(server.url, ".charts")
    visit.go(f"http://127.0.0.1:{server.port}/#/coding/episode/1/1", "table.matrix")
    group = read_episodes(runs / "coding")[:4]
    assert page.locator("table.matrix tbody tr").count() == 4
    for kind, score in (("pass", 1), ("fail", -1), ("none", None)):
        wanted = sum(record["turns"][0]["votes"].count(score) for record in group)
        assert page.locator(f"table.matrix i.{kind}").count() == wanted
    place = next((k for k, test in enumerate(group[0]["tests"]) if test["stdin"]), None)
    if place is not None:
        page.hover(f"table.matrix tbody tr:nth-child(1) td:nth-child({place + 2})")
        page.locator(".detail", has_text=group[0]["tests"][place]["stdin"].split()[0]).wait_for()
    verdicts = visit.text("table.verdicts")
    assert all(name in verdicts for record in group for name in record["verdicts"])
    assert "SUBMIT" in visit.text("li.turn")


def test_a_desktop_shows_its_screen(runs: Path, served: Served, visit: Visit) -> None:
    page, server = visit.page, served(runs / "osworld")
    visit.go(server.url, ".charts")
    visit.go(f"http://127.0.0.1:{server.port}/#/osworld/episode/1/0/1", "img.screen")
    visit.until("document.querySelector('img.screen').naturalWidth > 300")
    page.click("img.screen")
    page.wait_for_selector("dialog img")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_lights_can_be_read(runs: Path, served: Served, chromium: Any, scheme: str) -> None:
    """Text and ground differ by 4.5 to 1 or more, as WCAG asks of small text."""
    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(served(runs / "alfworld").url)
    page.wait_for_selector(".charts")
    ratio = page.evaluate(
        """(names) => {
          const light = (name) => {
            const probe = document.createElement('i');
            probe.style.color = `var(--${name})`;
            document.body.append(probe);
            const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
              .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
          };
          return names.map(([one, other]) => {
            const pair = [light(one), light(other)].sort((a, b) => b - a);
            return (pair[0] + 0.05) / (pair[1] + 0.05);
          });
        }""",
        [["ink", "ground"], ["soft", "ground"], ["faint", "ground"], ["blue", "ground"], ["green", "wash-green"],
         ["red", "wash-red"], ["amber", "wash-amber"], ["blue", "wash-blue"], ["soft", "wash"], ["faint", "wash-blue"]],
    )  # fmt: skip
    assert min(ratio) >= 4.5, ratio
    context.close()


def spoil(run: Path) -> None:
    """Hostile texts wherever a model, a task or a file can put one."""
    episodes = read_episodes(run)
    for k, text in enumerate(HOSTILE):
        turn = {
            "thought": text, "action": text, "observation": text, "judgements": [text, text], "votes": [1, -1],
            "reward": 1, "advantage": -1,
        }  # fmt: skip
        episodes[k] |= {
            "goal": text[:5000], "opening": text, "role": text[:30], "task_id": text[:90], "error": text,
            "turns": [turn] * 3, "verdicts": {text[:60]: 3},
            "tests": [{"stdin": text, "stdout": text, "complaint": "", "reward": 1}] * 2,
        }  # fmt: skip
    write_episodes(run, episodes)
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, HOSTILE[0]: HOSTILE[1], "name": HOSTILE[1]}))
    summary = json.loads((run / "summary.json").read_text())
    summary |= {"command": HOSTILE[0], "note": HOSTILE[1], "feedback": HOSTILE[0]}
    summary["table"].append(dict.fromkeys(("what", "on", "before", "after", "change"), HOSTILE[4]))
    (run / "summary.json").write_text(json.dumps(summary))


def test_hostile_texts_are_texts(run: Path, served: Served, visit: Visit) -> None:
    spoil(run)
    page, server = visit.page, served(run)
    visit.go(server.url, ".charts")
    start = f"http://127.0.0.1:{server.port}/#/copy"
    for address, wait in [
        (f"{start}/episodes/1", "table.groups tbody tr"),
        *[(f"{start}/episode/1/{k}", "li.turn") for k in range(len(HOSTILE))],
        (f"{start}/%3Cimg%20src=x%20onerror=window.hacked=1%3E/1", ".problems"),
        (f"{start}/overview", "details.settings"),
    ]:
        visit.go(address, wait)
        assert page.evaluate("window.hacked") is None
        assert page.locator("iframe, main script, main img:not(.screen)").count() == 0
    assert all(address.startswith(f"http://127.0.0.1:{server.port}/") for address in visit.asked)
    visit.go(f"{start}/episode/1/0", "li.turn")
    assert HOSTILE[0] in visit.text("li.turn >> nth=0")
    visit.go(f"{start}/episode/1/3", "li.turn")
    page.wait_for_selector("text=episode 3")
    assert "\\x1b[31mred" in visit.text("li.turn >> nth=0")
    visit.go(f"{start}/episode/1/5", "li.turn button.more")
    assert len(visit.text("li.turn >> nth=0")) < 10_000
    page.click("li.turn >> nth=0 >> button.more >> nth=0")
    assert len(visit.text("li.turn >> nth=0")) > 90_000


def test_the_browser_itself_refuses_markup_and_foreign_code(runs: Path, served: Served, chromium: Any) -> None:
    """Should a page ever make markup of a text, the policy still stops it."""
    context = chromium.new_context()
    page = context.new_page()
    server = served(runs / "alfworld")
    page.goto(server.url)
    page.wait_for_selector(".charts")
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "eval('1')",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked = 1'}))",
        "RL.h('a', {href: 'javascript:1'})",
        "RL.h('img', {src: 'https://evil.example/x.png'})",
        "RL.h('b', {onclick: 'x'})",
    ):
        assert (
            page.evaluate(f"() => {{ try {{ {attempt}; return window.hacked === 1; }} catch {{ return false; }} }}")
            is False
        )
    refused = "fetch('https://evil.example/').then(() => 'went', () => 'refused')"
    assert page.evaluate(refused) == "refused"
    context.close()


def test_a_run_that_goes_on_shows_its_new_iteration(run: Path, served: Served, visit: Visit, tmp_path: Path) -> None:
    folder = RunFolder(run)
    rows = folder.rows()
    kept = shutil.copy(run / "trajectories" / "0002.jsonl.gz", tmp_path)
    folder.summary.unlink()
    folder.rewind(1)
    page = visit.page
    visit.go(served(run).url, ".charts")
    assert "1 of 2" in visit.text("#bar")
    shutil.copy(kept, run / "trajectories")
    folder.append_metrics(rows[1])
    page.wait_for_selector("#bar >> text=2 of 2")
    page.keyboard.press("3")
    page.wait_for_selector(".iterations a >> text=2")


def test_an_export_opens_without_a_server(runs: Path, visit: Visit, tmp_path: Path) -> None:
    export_site(Site(runs), tmp_path / "site")
    page, start = visit.page, (tmp_path / "site" / "index.html").as_uri()
    visit.go(start, "table.runs")
    page.click("text=osworld >> nth=0")
    page.wait_for_selector(".chart text.tick")
    visit.go(f"{start}#/osworld/episode/1/0/1", "img.screen")
    visit.until("document.querySelector('img.screen').naturalWidth > 300")
    visit.go(f"{start}#/alfworld/slot/0", "article.version.root")
    visit.go(f"{start}#/alfworld/episode/1/3", "li.turn")
    assert page.evaluate("fetch('data/runs.js').then(() => 'went', () => 'refused')") == "refused"
    visit.troubles = [
        trouble for trouble in visit.troubles if "Refused to connect" not in trouble and "connect-src" not in trouble
    ]
    assert all(address.startswith("file:") for address in visit.asked)
