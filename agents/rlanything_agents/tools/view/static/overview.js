"use strict";
// The first page of a run: what it came to, its curves, what it was told to do.
{
  const { h } = RL;

  const head = (o, compare) => h("div.facts",
    RL.fact("domain", o.domain), RL.fact("seed", o.seed), o.feedback ? RL.fact("feedback", o.feedback.replace(/ with .*/, ", changed")) : null,
    o.benchmark ? null : RL.fact("iterations", o.finished || !o.planned ? o.done : `${o.done} of ${o.planned}`),
    o.benchmark ? null : RL.fact("environment steps", RL.count(o.env_steps)), RL.fact("time", RL.duration(o.seconds)),
    o.counts.slots ? RL.fact("tasks accepted", RL.count(o.counts.accepted)) : null,
    o.counts.slots ? RL.fact("rejected after a trial", RL.count(o.counts.rejected)) : null,
    o.counts.errors ? RL.fact("without outcome", RL.count(o.counts.errors)) : null, compare);

  // "67.7 % [60.1, 72.0]" as numbers from 0 to 1, in the older style with a sign each too; null for what is no share.
  const share = (text) => {
    const found = /^([\d.]+) ?%(?: \[([\d.]+)%?, ([\d.]+)%?\])?$/.exec(text);
    return found ? { rate: found[1] / 100, low: found[2] ? found[2] / 100 : null, high: found[3] ? found[3] / 100 : null } : null;
  };

  // Green and red only where the intervals are apart: what lies within the noise is grey.
  const clear = (first, last) => {
    if ([first, last].some((point) => point.low === null || point.high === null)) return "";
    return last.low > first.high ? "better" : last.high < first.low ? "worse" : "";
  };
  const COLOUR = { better: "good", worse: "bad" };

  const result = (what, on, points, change = null, told = null) => {
    const first = points[0], last = points[points.length - 1], moved = change ?? (points.length > 1 ? 100 * (last.rate - first.rate) : null);
    return h("tr", h("th", { scope: "row" }, what, h("small", on)), h("td", RL.interval(points)),
      h("td.number.old", moved === null ? "" : RL.percent(first.rate, 1)), h("td.number", h("b", RL.percent(last.rate, 1))),
      h("td.number", { class: COLOUR[told ?? clear(first, last)] || "faint", title: "grey: within the noise" }, moved === null ? "" : RL.signed(moved, 1)));
  };

  const results = (o, run) => {
    if (!o.panels.length && !o.table.length) return null;
    const panels = o.panels.map((panel) => result(`success, ${panel.name}`, RL.plural(panel.points[0].episodes, o.rates.length ? "episode" : "task"), panel.points));
    const measures = o.table.filter((line) => !o.panels.some((panel) => line.on.endsWith(`, ${panel.name}`)))
      .map((line) => [line, share(line.before), share(line.after)]).filter(([, before, after]) => before && after)
      .map(([line, before, after]) => result(line.what, line.on, [before, after], Number.parseFloat(line.change), line.clear));
    return h("section.card", h("h2", o.benchmark ? "Benchmark" : o.finished ? "Before and after" : "Success so far", " ",
      o.benchmark ? h("a.more", { href: RL.link(run, "episodes") }, "all episodes →") : null),
      h("div.scroll", h("table.results", h("thead", h("tr", h("th"), h("th", "0 to 100 %, with 95 % intervals"),
        h("th.number", o.benchmark ? "" : "before"), h("th.number", o.benchmark ? "rate" : o.finished ? "after" : "last"),
        h("th.number", o.benchmark ? "" : "points"))),
      h("tbody", panels, measures))), o.note ? h("p.faint.small", o.note) : null);
  };

  const reasons = (tasks, run) => {
    const { counts } = tasks;
    if (!counts.slots) return null;
    const most = Math.max(1, ...Object.values(tasks.reasons).flat().map(([, n]) => n));
    const part = (title, pairs, colour) => (pairs && pairs.length ? [h("h3", title), RL.tally(pairs, colour, most)] : null);
    return h("section.card", h("h2", "Tasks ", h("a.more", { href: RL.link(run, "tasks") }, "all slots →")),
      h("p.small", `${RL.count(counts.rewritten)} of ${RL.plural(counts.slots, "slot")} hold a rewrite, `
        + `${RL.count(counts.pending)} on trial; ${RL.count(counts.proposed)} proposed.`),
      part("Accepted", tasks.reasons.accepted, "green"), part("Rejected after a trial", tasks.reasons.rejected, "red"),
      part("Never tried", tasks.reasons.discarded, "grey"));
  };

  const evaluations = (o, xs) => {
    const drawn = o.panels.filter((panel) => panel.points.length > 2);
    const at = [...new Set(drawn.flatMap((panel) => panel.points.map((point) => point.at)))].sort((a, b) => a - b);
    if (!drawn.length) return null;
    const colours = ["blue", "amber", "green", "violet"];
    const pick = (panel, key) => at.map((x) => panel.points.find((point) => point.at === x)?.[key] ?? null);
    return RL.chart({ title: "Success on panels", unit: "share of tasks, 95 % intervals", kind: "share",
      lines: drawn.map((panel, k) => ({ label: panel.name, colour: colours[k % 4], dots: true,
        points: pick(panel, "rate"), low: pick(panel, "low"), high: pick(panel, "high") })) }, at, null);
  };

  const judge = (o) => {
    const keys = [["likeliest", "process accuracy of its most probable votes", "violet"], ["outcome_auc", "outcome AUC", "blue"],
      ["mid_auc", "outcome AUC in mid-episode", "green"], ["calibration", "calibration error", "amber"], ["ut", "tests every correct program passes", "green"],
      ["detect", "and every wrong one fails", "red"], ["unparsable", "votes that cannot be read", "grey"],
      ["unreadable", "answers without a test", "grey"]];
    if (o.judge.length < 3) return null;
    const lines = keys.filter(([key]) => o.judge.some((point) => key in point)).map(([key, label, colour]) => ({
      label, colour, dots: true, points: o.judge.map((point) => point[key] ?? null) }));
    return RL.chart({ title: "Reward model on its panel", unit: "share", kind: "share", lines }, o.judge.map((point) => point.at), null);
  };

  const settings = (o) => h("details.card.settings", h("summary", "Settings and versions"),
    o.command ? h("pre", o.command) : null,
    h("dl", o.settings.map(([key, value]) => h("div", h("dt", key), h("dd", value)))),
    h("p.faint.small", Object.entries(o.versions).map(([name, version]) => `${name} ${version}`).join(" · ")));

  // What the monitors saw, in the words of the run.
  const health = (o) => (o.health.length ? h("section.card", h("h2", "Health"),
    h("dl.health", o.health.map((line) => [h("dt", h("b.bad", line.meaning), h("small", `iterations ${line.when}`)),
      h("dd", line.said)]))) : null);

  const KINDS = { learnt: "solved", worse: "failed", mixed: "trial" };
  RL.verdict = ({ kind, text, why }) => h("section.card.verdict", { class: KINDS[kind] || "" }, h("p", h("b", text)),
    why.length ? [h("p.small", "Why, and what to turn:"), h("ul.small", why.map((reason) => h("li", reason)))] : null);

  RL.pages.overview = async (view) => {
    const o = view.overview, xs = o.rows.map((row) => row.iteration);
    // The pool takes longest to read: the rest does not wait for it.
    const beside = h("div", h("section.card.waiting"));
    RL.load(`${view.key}/tasks`).then((tasks) => beside.replaceChildren(...[reasons(tasks, view.run)].filter(Boolean)),
      (error) => beside.replaceChildren(RL.problems([error.message])));
    const open = (iteration) => { location.hash = RL.link(view.run, "episodes", [iteration]); };
    return {
      title: o.run || o.name,
      node: h("div.page", RL.problems(o.problems), o.verdict && o.done ? RL.verdict(o.verdict) : null, head(o, RL.compareWith(view)),
        h("div.columns", results(o, view.run), beside), health(o),
        o.rates.length ? h("section", RL.rates(o.rates)) : null,
        xs.length ? h("section", h("h2", "Curves ", h("small", "click a point to read its episodes")),
          h("ul.small", o.reading.map((line) => h("li", line))),
          h("div.charts", evaluations(o, xs), judge(o), o.charts.map((chart) => RL.chart(chart, xs, open))))
          : o.benchmark ? null : RL.empty("The loop has not finished an iteration yet."),
        settings(o)),
    };
  };
}
