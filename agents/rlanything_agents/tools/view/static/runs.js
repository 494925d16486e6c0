"use strict";
// The runs of a study, or of any folder.

RL.pages.runs = (list) => {
  const { h } = RL;
  const panels = [...new Set(list.runs.flatMap((run) => (run.panels || []).map((panel) => panel.name)))];
  const row = (run) => h("tr", { "data-row": true },
    h("td", h("a.name", { href: RL.link(run.name, "overview") }, run.name), run.problems && run.problems.length
      ? h("span.chip.failed", { title: run.problems.join("\n") }, "unreadable parts") : null,
      run.alarms && run.alarms.length ? h("span.chip.failed", { title: run.alarms.join("\n") }, "alarms") : null),
    h("td", run.domain || ""), h("td.number", run.seed ?? ""),
    h("td.state", run.finished ? RL.chip("finished", "solved") : run.done ? RL.chip(`${run.done} of ${run.planned}`, "trial")
      : RL.chip(run.panels && run.panels.length ? "not in the loop" : "not begun")),
    h("td", run.success && run.success.length ? RL.spark(run.success, 96) : null),
    panels.map((name) => {
      const panel = (run.panels || []).find((one) => one.name === name);
      if (!panel) return [h("td"), h("td.number")];
      const ends = panel.points, last = ends[ends.length - 1];
      return [h("td", RL.interval(ends)), h("td.number", ends.length > 1 ? `${RL.percent(ends[0].rate, 1)} → ` : "",
        h("b", RL.percent(last.rate, 1)))];
    }),
    h("td.number", run.counts ? RL.count(run.counts.accepted ?? null) : ""),
    h("td.number", run.env_steps ? RL.count(run.env_steps) : ""));
  return {
    title: list.title,
    node: h("section.wide", h("h1", list.title), h("p.faint", RL.plural(list.runs.length, "run")),
      h("div.scroll", h("table.list.runs", h("thead", h("tr", h("th", "run"), h("th", "domain"), h("th.number", "seed"),
        h("th", "state"), h("th", "training"), panels.map((name) => h("th", { colspan: 2 }, name)),
        h("th.number", "accepted"), h("th.number", "steps"))), h("tbody", list.runs.map(row))))),
  };
};
