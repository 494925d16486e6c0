"use strict";
// Episodes of one iteration, or of all: groups of the same task in a row, filtered.
{
  const { h } = RL;
  const OUTCOMES = [["", "any outcome"], ["solved", "solved"], ["failed", "failed"], ["void", "broken"]];
  const ROLES = [["", "any role"], ["active", "active"], ["candidate", "candidate"]];
  const ENOUGH = 120;

  const fitting = (query) => (brief) => (!query.outcome || RL.outcome(brief.outcome) === query.outcome)
    && (!query.role || brief.role === query.role) && (!query.slot || String(brief.slot) === query.slot)
    && (!query.task || brief.task === query.task);

  const side = (view, where, query) => h("nav.iterations", { "aria-label": "iterations" },
    h("a", { href: RL.link(view.run, "episodes", ["all"], query), class: where === "all" ? "here" : "" }, h("b", "all"), h("span", "newest first")),
    [...view.overview.iterations].reverse().map((iteration) => {
      const row = view.overview.rows.find((one) => one.iteration === iteration);
      return h("a", { href: RL.link(view.run, "episodes", [iteration], query), class: String(iteration) === where ? "here" : "" },
        h("b", iteration), RL.bar(row ? row.success : null, 48), h("span.number", row ? RL.percent(row.success) : "")); }));

  const line = (view, iteration, group, all, fits) => {
    const trained = !view.overview.benchmark;
    const first = group[0], best = group.find(fits);
    const counted = group.filter((brief) => brief.outcome !== null), solved = counted.filter((brief) => brief.outcome === 1).length;
    const turns = RL.mean(group.map((brief) => brief.turns)), reward = RL.mean(group.map((brief) => brief.reward));
    return h("tr", { "data-row": true },
      all ? h("td.number.faint", iteration) : null,
      trained ? [h("td.number", h("a", { href: RL.link(view.run, "slot", [first.slot]), title: "the slot's lineage" }, first.slot)),
        h("td", RL.chip(first.role, first.role))] : null,
      h("td.goal", h("a.name", { href: RL.link(view.run, "episode", [iteration, best.n]) }, first.goal)),
      h("td", RL.squares(view.run, iteration, group, { fits })),
      h("td.number", h("b", `${solved}`), h("small", `of ${counted.length}`)), h("td.number", RL.short(turns)),
      trained ? [h("td.number", RL.signed(reward)), h("td.number", RL.signed(RL.mean(group.map((brief) => brief.votes))))] : null);
  };

  const table = (all, trained, rows) => h("div.scroll", h("table.list.groups", h("thead", h("tr", all ? h("th.number", "it.") : null,
    trained ? [h("th.number", "slot"), h("th", "role")] : null, h("th", "task"), h("th", "episodes"), h("th.number", "solved"), h("th.number", "turns"),
    trained ? [h("th.number", { title: "mean integrated reward of the turns" }, "reward"), h("th.number", { title: "mean vote of the reward model" }, "votes")] : null)), rows));

  // Fills a list from one iteration after the other until it is long enough; the rest on demand.
  const fill = (iterations, body, status, read) => {
    const wait = [...iterations];
    let stopped = false, shown = 0;
    const more = h("button.more", { type: "button", on: { click: () => { shown = 0; run(); } } }, "show more");
    const run = async () => {
      more.remove();
      while (wait.length && shown < ENOUGH && !stopped) {
        const iteration = wait.shift();
        status.textContent = iterations.length > 1 ? `reading iteration ${iteration} …` : "";
        let rows;
        try { rows = await read(iteration); } catch (error) { rows = [h("tr", h("td", { colspan: 9 }, RL.problems([error.message])))]; }
        if (stopped) return;
        shown += rows.length;
        body.append(...rows);
      }
      status.textContent = wait.length ? "" : body.children.length ? "" : "Nothing fits.";
      if (wait.length) status.after(more);
    };
    run();
    return () => { stopped = true; };
  };

  RL.pages.episodes = async (view, [given], query) => {
    const newest = view.overview.iterations[view.overview.iterations.length - 1];
    const trained = !view.overview.benchmark;
    const where = given || (newest === undefined ? "all" : String(newest)), all = where === "all";
    const iterations = all ? [...view.overview.iterations].reverse() : view.overview.iterations.filter((one) => String(one) === where);
    const go = (change) => RL.replace(RL.link(view.run, "episodes", [where], { ...query, ...change }));
    const fits = fitting(query);
    const body = h("tbody"), status = h("p.faint", { "aria-live": "polite" }), notes = h("div");
    const stop = fill(iterations, body, status, async (iteration) => {
      const index = await RL.load(`${view.key}/index/${iteration}`);
      if (index.problems.length) notes.append(RL.problems(index.problems));
      return RL.groups(index.episodes).filter((group) => group.some(fits)).map((group) => line(view, iteration, group, all, fits));
    });
    const given_filter = (name) => (query[name] ? h("button.chip.filter", { type: "button", title: "show all again",
      on: { click: () => go({ [name]: "" }) } }, `${name} ${query[name]} ×`) : null);
    return {
      title: all || !trained ? "episodes" : `iteration ${where}`, leave: stop,
      step: (step) => { const at = view.overview.iterations.indexOf(Number(where)) + step;
        if (!all && view.overview.iterations[at] !== undefined) location.hash = RL.link(view.run, "episodes", [view.overview.iterations[at]], query); },
      node: h(trained ? "div.page.split" : "div.page", trained ? side(view, where, query) : null, h("div.body",
        h("div.filters",
          RL.select("outcome", query.outcome || "", OUTCOMES, (value) => go({ outcome: value })),
          trained && RL.select("role", query.role || "", ROLES, (value) => go({ role: value })),
          given_filter("slot"), given_filter("task")),
        notes,
        view.overview.iterations.length ? null : RL.empty("The loop has not finished an iteration yet."),
        table(all, trained, body), status)),
    };
  };
}
