"use strict";
// Resources of an exported viewer: scripts beside the page, each handing over one packed resource.
{
  const waiting = new Map();
  const kept = new Map();
  const NAME = /^(runs|r[0-9]{1,6}\/[a-z]+(\/[0-9]{1,9}){0,2})$/;
  const refuse = () => { throw new Error("only data files of this folder are loaded"); };
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy("data-files", { createScriptURL: (name) => (NAME.test(name) ? `data/${name}.js` : refuse()) })
    : { createScriptURL: (name) => (NAME.test(name) ? `data/${name}.js` : refuse()) };

  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const value = await new Response(stream).json();
    if (value.error) throw new Error(value.error);
    return value;
  };

  RL.take = (name, packed) => waiting.get(name)?.(unpack(packed));

  RL.live = false;
  RL.fresh = (name) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    waiting.set(name, (value) => { resolve(value); script.remove(); });
    script.addEventListener("error", () => reject(new Error("This was not exported.")));
    script.src = policy.createScriptURL(name);
    document.head.append(script);
  });
  RL.load = (name) => {
    if (!kept.has(name)) {
      if (kept.size > 400) kept.delete(kept.keys().next().value);
      kept.set(name, RL.fresh(name));
    }
    return kept.get(name);
  };
  RL.forget = () => kept.clear();
}
