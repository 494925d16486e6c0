"use strict";
// Which page is shown, the keys, and what a run that goes on writes meanwhile.
{
  const { h } = RL;
  const TABS = [["overview", "Overview"], ["tasks", "Tasks"], ["episodes", "Episodes"]];
  const TAB_OF = { slot: "tasks", episode: "episodes", compare: "overview" };
  const POLL = 3000;
  const KEYS = [["j  k", "next, previous row or turn"], ["Enter", "open it"], ["[  ]", "previous, next episode, slot or iteration"], ["u", "up"],
    ["1 2 3", "overview, tasks, episodes"], ["0", "all runs"], ["/", "search"], ["t", "light, dark, as the system"], ["?", "this list"]];

  const bar = document.getElementById("bar"), main = document.getElementById("main");
  let page = null, view = null, list = null, turn = 0, here = -1;

  RL.later = (f, pause = 220) => { let timer; return (event) => { clearTimeout(timer); timer = setTimeout(f, pause, event); }; };
  RL.quietly = (hash) => history.replaceState(null, "", hash);
  RL.replace = (hash) => { RL.quietly(hash); route(); };
  RL.show = (node) => {
    const dialog = h("dialog.light", node);
    dialog.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  const read = () => {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const decode = (part) => { try { return decodeURIComponent(part); } catch { return part; } };
    return { parts: path.split("/").filter(Boolean).map(decode), query: Object.fromEntries(new URLSearchParams(query)) };
  };

  const drawBar = (name) => {
    const o = view && view.overview, share = o && o.planned ? Math.min(1, o.done / o.planned) : null;
    bar.replaceChildren();
    RL.fill(bar, [
      list.single ? h("b.brand", list.runs[0].name) : h("a.brand", { href: "#/", title: "all runs (key 0)" }, list.title),
      view && !list.single ? h("span.run", view.run) : null,
      o ? h("span.progress", { title: o.finished ? "finished" : `${o.done} of ${o.planned} iterations` },
        o.finished ? RL.chip("finished", "solved") : [RL.bar(share, 64), h("span", `${o.done} of ${o.planned}`), RL.live ? h("i.pulse", { title: "new iterations appear by themselves" }) : null]) : null,
      h("span.grow"),
      view ? h("nav", { "aria-label": "pages" }, TABS.filter(([key]) => key !== "tasks" || !view.overview.benchmark).map(([key, text]) => h("a", { href: RL.link(view.run, key),
        "aria-current": (TAB_OF[name] || name) === key ? "page" : null }, text))) : null,
      h("button.tool", { type: "button", title: "light or dark (key t)", "aria-label": "light or dark", on: { click: turnTheme } }, "◐"),
      h("button.tool", { type: "button", title: "keys (key ?)", "aria-label": "keys", on: { click: help } }, "?")]);
  };

  const help = () => RL.show(h("div.help", h("h2", "Keys"), h("table", h("tbody", KEYS.map(([key, what]) => h("tr", h("td", h("kbd", key)), h("td", what)))))));

  const THEMES = ["", "light", "dark"];
  const theme = (name) => { if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme; };
  const stored = (value) => { try { if (value !== undefined) localStorage.setItem("rlanything-theme", value); return localStorage.getItem("rlanything-theme") || ""; } catch { return value || ""; } };
  const turnTheme = () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, now = document.documentElement.dataset.theme || "";
    const next = THEMES[(THEMES.indexOf(now) + 1) % 3];
    theme(stored(next === (dark ? "dark" : "light") && now === "" ? (dark ? "light" : "dark") : next));
  };
  theme(stored());

  const ofRun = async (name) => {
    const found = list.runs.find((run) => run.name === name);
    if (!found) throw new Error(`There is no run ${name} here.`);
    const overview = await RL.load(`${found.key}/overview`);
    RL.chunk = overview.chunk;
    return { key: found.key, run: found.name, overview, runs: list.runs };
  };

  const route = async (again = false) => {
    const mine = ++turn;
    const { parts: [run, name = "overview", ...args], query } = read();
    const typing = document.activeElement && document.activeElement.type === "search" ? document.activeElement : null;
    const caret = typing && [typing.selectionStart, typing.selectionEnd];
    const place = again ? [scrollX, scrollY] : null;
    let next;
    const slow = setTimeout(() => main.classList.add("busy"), 150);
    try {
      list = list || (await RL.load("runs"));
      if (!run && list.single) { clearTimeout(slow); RL.replace(RL.link(list.runs[0].name, "overview")); return; }
      const around = run ? await ofRun(run) : null;
      if (mine !== turn) { clearTimeout(slow); return; }
      view = around;
      const draw = run ? RL.pages[name] : null;
      if (run && (!draw || name === "runs")) throw new Error(`There is no page ${name}.`);
      next = run ? await draw(view, args, query) : RL.pages.runs(list);
    } catch (error) {
      next = { title: "RLAnything", node: h("div.page", h("aside.problems", h("b", "This cannot be shown. "), error.message)) };
    }
    clearTimeout(slow);
    if (mine !== turn) { if (next.leave) next.leave(); return; }
    main.classList.remove("busy");
    if (page && page.leave) page.leave();
    page = next;
    here = -1;
    if (list) drawBar(name);
    document.title = `${next.title} · ${view ? view.run : "runs"}`;
    main.replaceChildren(next.node);
    if (place) scrollTo(...place); else if (!typing) scrollTo(0, 0);
    if (typing) {
      const field = main.querySelector("input[type=search]");
      if (field) { field.focus(); field.setSelectionRange(...caret); }
    }
    if (next.ready && !again) next.ready();
    main.dataset.page = run ? name : "runs";
  };

  const rows = () => [...main.querySelectorAll("[data-row]")];
  const move = (by) => {
    if (page.move) { page.move(by); return; }
    const all = rows();
    if (!all.length) return;
    all[here]?.classList.remove("here");
    here = Math.max(0, Math.min(all.length - 1, here + by));
    all[here].classList.add("here");
    all[here].scrollIntoView({ block: "nearest" });
  };
  const open = () => rows()[here]?.querySelector("a.name, a.id")?.click();

  const actions = {
    j: () => move(1), k: () => move(-1), Enter: open,
    "[": () => page.step?.(-1), "]": () => page.step?.(1),
    u: () => { if (page.up) location.hash = page.up; else if (view) location.hash = RL.link(view.run, "overview"); },
    0: () => { location.hash = "#/"; },
    1: () => view && (location.hash = RL.link(view.run, "overview")),
    2: () => view && (location.hash = RL.link(view.run, "tasks")),
    3: () => view && (location.hash = RL.link(view.run, "episodes")),
    "/": (event) => { const field = main.querySelector("input[type=search]"); if (field) { event.preventDefault(); field.focus(); field.select(); } },
    t: turnTheme, "?": help,
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !page) return;
    const target = event.target;
    if (target.matches("input, select, textarea")) { if (event.key === "Escape") target.blur(); return; }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && target.matches("a, button, summary")) return;
    actions[event.key]?.(event);
  });
  addEventListener("hashchange", () => route());

  // A run that goes on: look whether it has written something, and show the page anew where it is.
  let polling = false;
  const poll = async () => {
    if (document.hidden || !list || polling) return;
    polling = true;
    try {
      if (!view) {
        const fresh = await RL.fresh("runs");
        if (JSON.stringify(fresh) !== JSON.stringify(list)) { list = fresh; RL.forget(); if (!view) route(true); }
        return;
      }
      const { stamp } = await RL.fresh(`${view.key}/stamp`);
      if (view && stamp !== view.overview.stamp) {
        RL.forget();
        const steady = page && page.steady, name = read().parts[1] || "overview";
        if (steady) { view = await ofRun(view.run); drawBar(name); }
        else if (!document.activeElement || document.activeElement.type !== "search") await route(true);
      }
    } catch { /* the viewer has ended; what is shown stays */ } finally { polling = false; }
  };
  if (RL.live) setInterval(poll, POLL);
  route();
}
