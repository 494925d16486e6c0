"use strict";
// Two runs side by side: what they came to, the settings in which they differ, and their curves in the same charts.
{
  const { h } = RL;

  const differences = (one, other) => {
    const [left, right] = [one, other].map((o) => new Map(o.settings));
    return [...new Set([...left.keys(), ...right.keys()])].filter((key) => key !== "name" && left.get(key) !== right.get(key))
      .map((key) => [key, left.get(key) ?? "–", right.get(key) ?? "–"]);
  };

  // The charts that either run has; the second run's lines are dashed.
  const charts = (one, other, xs) => {
    const spread = (o, chart, dashed) => (chart ? chart.lines : []).map((line) => {
      const points = new Map(o.rows.map((row, k) => [row.iteration, line.points[k]]));
      return { ...line, dashed, points: xs.map((x) => points.get(x) ?? null) };
    });
    const titles = [...new Set([...one.charts, ...other.charts].map((chart) => chart.title))];
    return titles.map((title) => {
      const [a, b] = [one, other].map((o) => o.charts.find((chart) => chart.title === title));
      const kind = (a || b).kind === "stack" ? "share" : (a || b).kind;
      return { ...(a || b), kind, lines: [...spread(one, a, false), ...spread(other, b, true)] };
    });
  };

  const results = (names, runs) => {
    const panels = [...new Set(runs.flatMap((o) => o.panels.map((panel) => panel.name)))];
    const cell = (o, name) => {
      const panel = o.panels.find((one) => one.name === name);
      return panel ? [h("td", RL.interval(panel.points)), h("td.number", RL.percent(panel.points[0].rate, 1), " → ",
        h("b", RL.percent(panel.points[panel.points.length - 1].rate, 1)))] : [h("td"), h("td.number", "–")];
    };
    return h("div.scroll", h("table.results.two", h("thead", h("tr", h("th"), names.map((name) => h("th", { colspan: 2 }, name)))),
      h("tbody", panels.map((name) => h("tr", h("th", { scope: "row" }, `success, ${name}`), runs.map((o) => cell(o, name)))))));
  };

  const heldOut = (one, other, xs) => {
    const line = (panel, k, dashed) => ({ label: panel.name, colour: ["blue", "amber", "green", "violet"][k % 4], dots: true, dashed,
      points: xs.map((x) => panel.points.find((point) => point.at === x)?.rate ?? null) });
    const lines = [one, other].flatMap((o, n) => o.panels.map((panel, k) => line(panel, k, n === 1)));
    return lines.length ? RL.chart({ title: "Success on panels", unit: "share of tasks", kind: "share", lines }, xs, null) : null;
  };

  RL.compareWith = (view) => {
    const others = view.runs.filter((run) => run.name !== view.run && !(run.problems && run.problems.length));
    return others.length ? RL.select("compare with", "", [["", "compare with …"], ...others.map((run) => [run.name, run.name])],
      (name) => { if (name) location.hash = RL.link(view.run, "compare", [name]); }) : null;
  };

  RL.pages.compare = async (view, [name]) => {
    const found = view.runs.find((run) => run.name === name);
    if (!found) throw new Error(`There is no run ${name} here.`);
    const one = view.overview, other = await RL.load(`${found.key}/overview`), names = [view.run, name];
    const xs = [...new Set([one, other].flatMap((o) => o.rows.map((row) => row.iteration)))].sort((a, b) => a - b);
    const measured = [...new Set([one, other].flatMap((o) => o.panels.flatMap((panel) => panel.points.map((point) => point.at))))].sort((a, b) => a - b);
    const settings = differences(one, other);
    return {
      title: `${view.run} and ${name}`, up: RL.link(view.run, "overview"),
      node: h("div.page", h("h1", h("a", { href: RL.link(view.run, "overview") }, view.run), " and ", h("a", { href: RL.link(name, "overview") }, name)),
        [one, other].map((o, k) => (o.verdict ? h("div", h("h3", names[k]), RL.verdict(o.verdict)) : null)),
        h("section.card", h("h2", "Success on held-out tasks"), results(names, [one, other])),
        h("section.card", h("h2", "Settings that differ"), settings.length ? h("div.scroll", h("table.list", h("thead", h("tr", h("th", "key"),
          names.map((run) => h("th", run)))), h("tbody", settings.map((row) => h("tr", row.map((cell, k) => h(k ? "td.mono" : "td", cell)))))))
          : h("p", "None: the runs have the same settings.")),
        xs.length ? h("section", h("h2", "Curves ", h("small", `solid: ${view.run}, dashed: ${name}`)),
          h("div.charts", heldOut(one, other, measured), charts(one, other, xs).map((chart) => RL.chart(chart, xs, null)))) : null),
    };
  };
}
