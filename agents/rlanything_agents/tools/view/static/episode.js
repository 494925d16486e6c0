"use strict";
// One episode: its turns to be read in a row, and beside them what was said about the one that is looked at.
{
  const { h } = RL;
  const MANY = 600;

  const isProgram = (text) => text.includes("\n");

  // Advantages of all turns as bars that lead to them.
  const skyline = (turns, most, choose) => {
    const width = 12, all = turns.length * width + 2;
    return RL.s("svg.skyline", { width: all, height: 46, viewBox: `0 0 ${all} 46`, role: "img", "aria-label": "advantage of each turn" },
      RL.s("line.zero", { x1: 0, x2: all, y1: 23, y2: 23 }),
      turns.map((turn, k) => {
        const size = turn.advantage === null || !most ? 0 : (20 * Math.abs(turn.advantage)) / most;
        return RL.s("g", { "data-turn": k, on: { click: () => choose(k) } },
          RL.s("rect.glass", { x: k * width, y: 0, width, height: 46 }, RL.s("title", {}, `turn ${k + 1}: ${RL.signed(turn.advantage)}`)),
          RL.s(turn.advantage > 0 ? "rect.up" : "rect.down", { x: k * width + 2, width: width - 3, height: Math.max(size, 0.6),
            y: turn.advantage > 0 ? 23 - size : 23 }));
      }));
  };

  // A screen, which a click shows in its full size.
  const picture = (view, where, name, alt) => (name ? h("a.shot", { href: location.hash, title: alt, on: { click: (event) => {
    event.preventDefault();
    RL.show(event.currentTarget.firstChild.cloneNode());
  } } }, h("img.screen", { src: `data/${view.key}/screens/${String(where).padStart(4, "0")}/${name}`, alt, loading: "lazy" })) : null);

  const turnRow = (view, where, turn, k, most, choose) => h("li.turn", { class: turn.screen ? "seen" : "", "data-row": true, tabindex: -1, on: { click: () => {
    if (!String(getSelection())) choose(k);
  } } },
  h("span.k", k + 1),
  picture(view, where, turn.screen, `the screen of turn ${k + 1}, with a mark where it clicked`),
  h("div.said", turn.thought ? RL.text(turn.thought, "thought") : null,
    RL.text(turn.action, isProgram(turn.action) ? "action program" : "action"),
    turn.command && turn.command !== "ok" ? h("span.faint", turn.command) : null, turn.observation ? RL.text(turn.observation, "observation") : null),
  h("div.worth", RL.votes(turn.votes), most > 0 ? [h("span.number", { title: "advantage" }, RL.signed(turn.advantage)), RL.diverging(turn.advantage, most, 56)] : null));

  // The whole prompt of a turn: what each turn added to the one before it and its answer, or the lines that it kept of it.
  const promptOf = (turns, k) => {
    let before = "", answer = "";
    for (const turn of turns.slice(0, k + 1)) {
      before = turn.kept < 0 ? before + answer + turn.prompt : [...before.split("\n").slice(0, turn.kept), turn.prompt].join("\n");
      answer = turn.answer;
    }
    return before;
  };
  const raw = (turns, k) => (turns[k].answer || turns[k].prompt ? h("details.inner.raw", { on: { toggle: (event) => {
    if (event.target.open && event.target.children.length < 2) event.target.append(h("h3", "prompt"), RL.text(promptOf(turns, k), "mono"),
      h("h3", "answer"), RL.text(turns[k].answer, "mono"));
  } } }, h("summary", "raw prompt and answer")) : null);

  // The solution that proves the task, from the lineage of its slot.
  const proof = (view, episode, node) => RL.load(`${view.key}/slots/${episode.slot}`).then((tree) => {
    const version = tree.versions.find((one) => one.task === episode.task);
    if (version && version.proof.length) node.replaceChildren(h("details.inner", h("summary", `the task's proof: ${RL.plural(version.proof.length, "step")}`),
      h("ol.proof", version.proof.map((action) => h("li", RL.text(action, "mono"))))));
  }, () => {});

  const judgements = (turns, k, tests) => { const turn = turns[k]; return h("div",
    h("h2", `Turn ${k + 1}`),
    h("dl.worth", h("div", h("dt", "integrated reward"), h("dd", RL.signed(turn.reward, 3))), h("div", h("dt", "advantage"), h("dd", RL.signed(turn.advantage, 3))),
      tests ? null : h("div", h("dt", "votes"), h("dd", turn.votes.length ? RL.signed(RL.mean(turn.votes.map((vote) => vote.score))) : "none"))),
    tests ? null : turn.votes.length ? h("ol.judgements", turn.votes.map((vote) => h("li", { class: vote.score > 0 ? "up" : vote.score < 0 ? "down" : "none" },
      h("b", RL.signed(vote.score, Number.isInteger(vote.score) ? 0 : 2)), vote.text ? RL.text(vote.text) : h("span.faint", "no words"))))
      : h("p.faint", "The reward model was not asked about this turn."), raw(turns, k)); };

  // Programs against the tests the reward model wrote for their task.
  const matrix = (view, where, group, here, tests) => {
    const detail = h("div.detail", { "aria-live": "polite" });
    const tell = (k) => detail.replaceChildren(h("h3", `test ${k + 1} `, h("small", tests[k].reward === null ? "no reward" : `reward ${RL.signed(tests[k].reward)}`)),
      tests[k].complaint ? h("p.bad", tests[k].complaint) : h("dl", h("div", h("dt", "input"), h("dd", RL.text(tests[k].stdin, "mono"))),
        h("div", h("dt", "wanted output"), h("dd", RL.text(tests[k].stdout, "mono")))));
    const cell = (episode, k) => {
      const score = episode.turns.length ? episode.turns[episode.turns.length - 1].votes[k]?.score ?? 0 : 0;
      return h("td", { on: { mouseenter: () => tell(k), click: () => tell(k) } },
        h("i", { class: score > 0 ? "pass" : score < 0 ? "fail" : "none", title: score > 0 ? "passed" : score < 0 ? "failed" : "not known" }));
    };
    tell(Math.max(0, tests.findIndex((test) => !test.complaint)));
    return h("section", h("h2", "Programs against written tests"),
      h("div.scroll", h("table.matrix", h("thead", h("tr", h("th"), tests.map((test, k) => h("th", { title: "reward of the test", on: { mouseenter: () => tell(k) } },
        h("span", { class: test.reward > 0 ? "good" : test.reward < 0 ? "bad" : "faint" }, k + 1))))),
      h("tbody", group.map((episode) => h("tr", { class: episode.n === here ? "here" : "" },
        h("th", { scope: "row" }, h("a", { href: RL.link(view.run, "episode", [where, episode.n]) }, h("i.dot", { class: RL.outcome(episode.outcome) }), `episode ${episode.n}`)),
        tests.map((_, k) => cell(episode, k))))))), detail);
  };

  const verdicts = (group, here, view, where) => {
    const names = [...new Set(group.flatMap((episode) => Object.keys(episode.verdicts)))];
    if (!names.length) return null;
    return h("section", h("h2", "Verdicts on hidden tests"), h("div.scroll", h("table.list.verdicts", h("thead", h("tr", h("th", "program"),
      names.map((name) => h("th.number", name)), h("th.number", "score"))),
    h("tbody", group.map((episode) => h("tr", { class: episode.n === here ? "here" : "" },
      h("td", h("a", { href: RL.link(view.run, "episode", [where, episode.n]) }, h("i.dot", { class: RL.outcome(episode.outcome) }), `episode ${episode.n}`)),
      names.map((name) => h("td.number", episode.verdicts[name] ?? "")), h("td.number", RL.short(episode.score))))))));
  };

  const whole = async (view, where, briefs) => {
    const chunks = [...new Set(briefs.map((brief) => Math.floor(brief.n / view.overview.chunk)))];
    const loaded = await Promise.all(chunks.map((chunk) => RL.load(`${view.key}/episodes/${where}/${chunk}`)));
    const wanted = new Set(briefs.map((brief) => brief.n));
    return loaded.flatMap((chunk) => chunk.episodes).filter((episode) => wanted.has(episode.n));
  };

  RL.pages.episode = async (view, [where, number, at], query) => {
    const n = Number(number), index = await RL.load(`${view.key}/index/${where}`);
    const place = index.episodes.findIndex((brief) => brief.n === n);
    if (place < 0) throw new Error(`Iteration ${where} has no episode ${number} that can be read.`);
    const briefs = RL.groups(index.episodes).find((one) => one.some((brief) => brief.n === n));
    const [first] = await whole(view, where, [index.episodes[place]]);
    const group = first.tests.length || Object.keys(first.verdicts).length ? await whole(view, where, briefs.slice(0, 64)) : [first];
    const turns = first.turns, most = Math.max(0, ...turns.map((turn) => Math.abs(turn.advantage ?? 0)));
    const tests = first.tests.length > 0, benchmark = view.overview.benchmark;
    const panel = h("aside.panel"), proven = h("div"), list = h("ol.turns");
    let shown = Math.min(turns.length - 1, Math.max(0, Number(at || 1) - 1));

    const choose = (k, quiet = false) => {
      if (!turns.length) return;
      shown = Math.max(0, Math.min(turns.length - 1, k));
      list.querySelector(".here")?.classList.remove("here");
      bars.querySelector(".here")?.classList.remove("here");
      const row = list.children[shown];
      row.classList.add("here");
      bars.querySelector(`[data-turn="${shown}"]`)?.classList.add("here");
      panel.replaceChildren(judgements(turns, shown, tests), proven);
      if (!quiet) {
        row.scrollIntoView({ block: "nearest" });
        RL.quietly(RL.link(view.run, "episode", [where, n, shown + 1], query));
      }
    };
    const bars = skyline(turns, most, choose);
    list.append(...turns.slice(0, MANY).map((turn, k) => turnRow(view, where, turn, k, most, choose)),
      ...(first.screen && turns.length <= MANY ? [h("li.turn.seen", h("span.k"), picture(view, where, first.screen, "the screen at the end"), h("div.said.faint", "the end"))] : []));
    const other = (step) => index.episodes[place + step];
    const step = (by) => { if (other(by)) location.hash = RL.link(view.run, "episode", [where, other(by).n]); };
    const page = h("div.page.episode",
      h("h1", h("a.up", { href: RL.link(view.run, "episodes", [where]) }, benchmark ? "Episodes" : `Iteration ${where}`), ` episode ${n} `, RL.outcomeChip(first.outcome),
        RL.chip(first.role, first.role), h("span.grow"),
        other(-1) ? h("a.more", { href: RL.link(view.run, "episode", [where, other(-1).n]), title: "key [" }, "← before") : null,
        other(1) ? h("a.more", { href: RL.link(view.run, "episode", [where, other(1).n]), title: "key ]" }, "next →") : null),
      h("p.goal", first.goal),
      h("div.facts.tight", h("div.fact", h("span", "its group"), RL.squares(view.run, where, briefs, { here: n })),
        benchmark ? null : h("div.fact", h("span", "slot"), h("b", h("a", { href: RL.link(view.run, "slot", [first.slot]) }, first.slot))),
        RL.fact("turns", turns.length), RL.fact("score", RL.short(first.score)),
        h("div.fact", h("span", "task"), h("a.id", { href: RL.link(view.run, "episodes", ["all"], { task: first.task }) }, first.task)),
        turns.length > 1 && most > 0 ? h("div.fact.wide", h("span", "advantage of each turn"), bars) : null),
      first.error ? h("aside.problems", h("b", "The infrastructure failed: "), first.error) : null,
      first.opening ? h("details.inner.opening", { open: turns.length === 1 }, h("summary", "what the agent saw first"), RL.text(first.opening, "mono")) : null,
      h("div.reader", { class: benchmark ? "alone" : "" }, turns.length ? list : RL.empty("The episode has no turns."), benchmark ? null : panel),
      tests ? matrix(view, where, group, n, first.tests) : null, verdicts(group, n, view, where));
    choose(shown, true);
    if (!benchmark) proof(view, first, proven);
    return { title: `episode ${n}`, node: page, up: RL.link(view.run, "episodes", [where]), step, move: (by) => choose(shown + by), steady: true,
      ready: () => { if (at) list.children[shown]?.scrollIntoView({ block: "nearest" }); } };
  };
}
