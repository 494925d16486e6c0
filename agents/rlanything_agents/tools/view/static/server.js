"use strict";
// Resources of a live viewer: asked for when they are needed, kept until the run writes something new.
{
  const kept = new Map();

  const ask = async (address) => {
    const response = await fetch(address, { credentials: "same-origin" });
    if (response.ok) return response.json();
    const kind = response.headers.get("Content-Type") || "";
    if (kind.startsWith("application/json")) throw new Error((await response.json()).error);
    if (response.status === 403) throw new Error("The viewer was started anew: open the address it printed last.");
    throw new Error(response.status === 404 ? "There is nothing of this name." : `The viewer answered ${response.status}.`);
  };

  RL.live = true;
  RL.fresh = (name) => ask(`data/${name}.json`);
  RL.load = (name) => {
    if (!kept.has(name)) {
      if (kept.size > 400) kept.delete(kept.keys().next().value);
      kept.set(name, RL.fresh(name).catch((error) => { kept.delete(name); throw error; }));
    }
    return kept.get(name);
  };
  RL.forget = () => kept.clear();
}
