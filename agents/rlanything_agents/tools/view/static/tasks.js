"use strict";
// The pool of a run: one row for each slot.
{
  const { h } = RL;
  const STATES = [["", "all slots"], ["rewritten", "rewritten"], ["trial", "on trial"], ["tried", "tried, still the root"],
    ["untouched", "untouched"]];
  const ORDERS = [["slot", "slot"], ["depth", "depth"], ["success", "success"], ["rejected", "rejections"]];
  const PAGE = 400;

  const fits = (row, state, words) => {
    if (words && ![row.goal, row.root, row.trial, row.task, String(row.slot)].some((text) => text.toLowerCase().includes(words))) return false;
    if (state === "rewritten") return row.depth > 0;
    if (state === "trial") return row.trial !== "";
    if (state === "tried") return row.depth === 0 && row.rejected > 0;
    return state !== "untouched" || (row.depth === 0 && row.rejected + row.discarded === 0 && row.trial === "");
  };

  const rate = (row) => (row.played ? row.solved / row.played : null);
  const KEYS = { slot: (row) => row.slot, depth: (row) => -row.depth, rejected: (row) => -row.rejected, success: (row) => rate(row) ?? 2 };

  const line = (row, run) => h("tr", { "data-row": true },
    h("td.number", h("a.name", { href: RL.link(run, "slot", [row.slot]) }, row.slot)),
    h("td.goal", h("div", row.goal), row.root ? h("div.was", "was: ", row.root) : null,
      row.trial ? h("div.trying", "on trial: ", row.trial) : null),
    h("td", h("span.depth", { title: `${row.depth} accepted rewrites deep` }, Array.from({ length: Math.min(row.depth, 12) }, () => h("i")))),
    h("td", RL.bar(rate(row))), h("td.number", RL.percent(rate(row)), h("small", `of ${row.played}`)),
    h("td.number.good", row.accepted || ""), h("td.number.bad", row.rejected || ""), h("td.number.faint", row.discarded || ""));

  RL.pages.tasks = async (view, args, query) => {
    const tasks = await RL.load(`${view.key}/tasks`);
    const state = query.state || "", words = (query.q || "").toLowerCase(), order = KEYS[query.by] ? query.by : "slot";
    const rows = tasks.slots.filter((row) => fits(row, state, words)).sort((a, b) => KEYS[order](a) - KEYS[order](b) || a.slot - b.slot);
    const go = (change) => RL.replace(RL.link(view.run, "tasks", [], { ...query, ...change }));
    return {
      title: "tasks",
      node: h("div.page",
        RL.rates(tasks.slots, (row) => { location.hash = RL.link(view.run, "slot", [row.slot]); }),
        h("div.filters",
          h("input", { type: "search", placeholder: "words of a task", value: query.q || "", "aria-label": "words of a task",
            spellcheck: "false", on: { input: RL.later((event) => go({ q: event.target.value })) } }),
          RL.select("show", state, STATES, (value) => go({ state: value })),
          RL.select("sort by", order, ORDERS, (value) => go({ by: value === "slot" ? "" : value })),
          h("span.faint", `${RL.count(rows.length)} of ${RL.plural(tasks.slots.length, "slot")}`)),
        tasks.slots.length ? h("div.scroll", h("table.list.tasks", h("thead", h("tr", h("th.number", "slot"), h("th", "task now"),
          h("th", "depth"), h("th", { colspan: 2 }, "solved since it is active"), h("th.number", { title: "accepted" }, "accepted"),
          h("th.number", "rejected"), h("th.number", { title: "proposals that were no valid harder or easier task" }, "never tried"))),
        h("tbody", rows.slice(0, PAGE).map((row) => line(row, view.run)))))
          : RL.empty("The run has no pool of tasks yet."),
        rows.length > PAGE ? h("p.faint", `${RL.count(rows.length - PAGE)} more: search for some of their words.`) : null),
    };
  };
}
