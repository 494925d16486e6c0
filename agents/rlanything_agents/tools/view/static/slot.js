"use strict";
// What became of a slot: the trees of its roots' rewrites, each with what changed and why it was kept or not.
{
  const { h } = RL;
  const ARROWS = { harder: "▲ harder", easier: "▼ easier" };

  const rate = ([solved, played]) => (played ? `${RL.percent(solved / played)} of ${played}` : "–");

  // One small bar for each group played while a version was active.
  const series = (groups) => {
    if (!groups.length) return null;
    const width = 5 * groups.length + 2;
    return RL.s("svg.groups", { width, height: 18, viewBox: `0 0 ${width} 18`, role: "img", "aria-label": "success of its groups" },
      RL.s("rect.band", { x: 0, y: 3.2, width, height: 9.6 }),
      groups.map(([solved, played], k) => RL.s("rect.bar", { x: 5 * k + 1, width: 4,
        y: 16 - (played ? (14 * solved) / played : 0), height: (played ? (14 * solved) / played : 0) + 1 })));
  };

  const fold = (what, node) => h("details", h("summary", what), node);
  const pairs = (list) => h("dl", list.map(([key, value]) => h("div", h("dt", key), h("dd", value))));

  const card = (view, version, slot) => {
    const root = version.parent === null;
    const verdict = version.state === "root" ? RL.chip("root", "root") : RL.chip(version.state === "pending" ? "on trial" : version.state, version.state);
    return h("article.version", { class: `${version.state}${version.current ? " current" : ""}`, "data-row": true, tabindex: -1 },
      h("header", root ? null : h("b.direction", ARROWS[version.direction] || version.direction), verdict,
        version.current ? RL.chip("trained on now", "now") : null, version.replaced ? RL.chip(version.replaced, "trial") : null,
        version.reason && version.reason !== version.direction ? h("span.reason", version.reason) : null,
        root || version.state === "pending" && !version.trial[1] ? null : h("span.rates", { title: "success of the parent, and of the candidate on trial" },
          rate(version.before), " → ", h("b", rate(version.trial))),
        h("span.grow"), series(version.played),
        h("a.id", { href: RL.link(view.run, "episodes", ["all"], { slot, task: version.task }), title: "episodes of this task" }, version.task)),
      version.goal_diff && version.goal_diff.length ? RL.words(version.goal_diff) : h("p.words", version.goal),
      !root && !version.goal_diff.length && version.world_diff.length ? RL.diff(version.world_diff) : null,
      h("div.folds",
        version.critique ? fold(h("q", version.critique.split("\n")[0].slice(0, 200)), RL.text(version.critique, "quote")) : null,
        !root && version.goal_diff.length && version.world_diff.length ? fold("world compared", RL.diff(version.world_diff)) : null,
        version.change && version.change.length ? fold("proposed change", pairs(version.change)) : null,
        version.world ? fold("world in words", RL.text(version.world, "mono")) : null,
        version.proof.length ? fold(`proof: ${RL.plural(version.proof.length, "step")}`,
          h("ol.proof", version.proof.map((action) => h("li", RL.text(action, "mono"))))) : null,
        Object.keys(version.traits).length ? fold("traits", pairs(Object.entries(version.traits))) : null,
        version.author ? h("span.faint", `by ${version.author}`) : null));
  };

  const branch = (view, tree, version) => {
    const children = tree.versions.filter((one) => one.parent === version.index);
    return h("li", card(view, version, tree.slot), children.length ? h("ul", children.map((child) => branch(view, tree, child))) : null);
  };

  RL.pages.slot = async (view, [slot]) => {
    const tree = await RL.load(`${view.key}/slots/${slot}`);
    const tasks = await RL.load(`${view.key}/tasks`);
    const numbers = tasks.slots.map((row) => row.slot), place = numbers.indexOf(tree.slot);
    const other = (step) => numbers[place + step];
    const roots = tree.versions.filter((version) => version.parent === null);
    const go = (step) => { if (other(step) !== undefined) location.hash = RL.link(view.run, "slot", [other(step)]); };
    return {
      title: `slot ${tree.slot}`, up: RL.link(view.run, "tasks"), step: go,
      node: h("div.page", h("h1", h("a.up", { href: RL.link(view.run, "tasks") }, "Tasks"), ` slot ${tree.slot} `,
        h("small", `${RL.plural(tree.versions.length - 1, "candidate")}, ${RL.plural(tree.discarded.length, "proposal")} never tried`),
        h("span.grow"), h("a.more", { href: RL.link(view.run, "episodes", ["all"], { slot: tree.slot }) }, "episodes of this slot →")),
      h("ul.tree", roots.map((root) => branch(view, tree, root))),
      tree.discarded.length ? h("section.card", h("h2", "Proposals that never became candidates"), h("table.list", h("tbody",
        tree.discarded.map((event) => h("tr", h("td", RL.chip(event.reason)), h("td", RL.text(event.detail)), h("td.id", event.task)))))) : null),
    };
  };
}
