"use strict";
// Small things that several pages show.
{
  const { h } = RL;
  const LONG = 1500;

  RL.chip = (text, kind = "", title = null) => h("span.chip", { class: kind, title }, text);

  RL.outcomeChip = (outcome) => RL.chip(RL.outcome(outcome), RL.outcome(outcome),
    outcome === null ? "An infrastructure failure ended this episode: it counts for nothing" : null);

  // A text of a model: as it is, long ones folded.
  RL.text = (text, kind = "") => {
    if (text.length <= LONG) return h("div.text", { class: kind }, text);
    const body = h("div.text", { class: kind }, `${text.slice(0, LONG - 300)} …`);
    const more = h("button.more", { type: "button", on: { click: () => { body.textContent = text; more.remove(); } } },
      `show all ${RL.count(text.length)} characters`);
    return h("div", body, more);
  };

  RL.votes = (votes) => h("span.votes", { title: votes.map((vote) => RL.signed(vote.score, Number.isInteger(vote.score) ? 0 : 2)).join(" ") },
    votes.slice(0, 32).map((vote) => h("i", { class: vote.score > 0 ? "up" : vote.score < 0 ? "down" : "none" })));

  // The episodes of a group as squares, each a link; ``where`` is the iteration.
  RL.squares = (run, where, episodes, { here = null, fits = () => true } = {}) =>
    h("span.squares", episodes.map((brief) => h("a", {
      class: `${RL.outcome(brief.outcome)}${brief.n === here ? " here" : ""}${fits(brief) ? "" : " dim"}`,
      href: RL.link(run, "episode", [where, brief.n]), "aria-label": `episode ${brief.n}, ${RL.outcome(brief.outcome)}`,
      title: `episode ${brief.n} · ${RL.outcome(brief.outcome)} · ${RL.plural(brief.turns, "turn")}`
        + `${brief.score === null || brief.score === 0 || brief.score === 1 ? "" : ` · score ${RL.short(brief.score)}`}`,
    })));

  // Pairs of a mark and words: what went, what came, what stayed.
  RL.words = (pieces) => h("p.words", pieces.map(([mark, words]) =>
    mark === "-" ? h("del", words) : mark === "+" ? h("ins", words) : words));

  RL.diff = (lines) => h("div.diff", lines.map(([mark, line]) =>
    h("div", { class: mark === "-" ? "went" : mark === "+" ? "came" : "" }, h("i", mark || " "), line)));

  RL.problems = (problems) => (problems && problems.length
    ? h("aside.problems", h("b", "Not everything could be read. "), h("ul", problems.map((problem) => h("li", problem)))) : null);

  RL.empty = (text) => h("p.empty", text);

  RL.fact = (label, value, title = null) => h("div.fact", { title }, h("span", label), h("b", value));

  // Horizontal bars for a few counts by name; the longest possible one stands for `most`.
  RL.tally = (pairs, colour, most) => h("table.tally", h("tbody", pairs.map(([name, number]) => h("tr", h("th", { scope: "row" }, name),
      h("td", RL.s("svg", { width: 100, height: 8, viewBox: "0 0 100 8", "aria-hidden": "true" },
        RL.s(`rect.fill.${colour}`, { x: 0, y: 1, width: number ? Math.max(2, (100 * number) / most) : 0, height: 6, rx: 1.5 }))),
      h("td.number", number)))));

  // Groups of episodes: those that lie together and have slot, role and task in common.
  RL.groups = (episodes) => {
    const groups = [];
    for (const brief of episodes) {
      const last = groups[groups.length - 1];
      const same = last && last[0].slot === brief.slot && last[0].role === brief.role && last[0].task === brief.task;
      if (same) last.push(brief); else groups.push([brief]);
    }
    return groups;
  };

  RL.mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };

  RL.select = (label, value, choices, change) => h("label.select", h("span", label),
    h("select", { "aria-label": label, on: { change: (event) => change(event.target.value) } },
      choices.map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
}
