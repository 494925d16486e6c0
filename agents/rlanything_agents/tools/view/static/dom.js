"use strict";
// Elements are made of names and texts; no markup is ever read from a text, so a text cannot become anything else.

const RL = { pages: {} };

RL.fill = (node, children) => {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
};

const SAFE = new Set([
  "title", "href", "src", "alt", "type", "placeholder", "value", "role", "tabindex", "colspan", "rowspan", "loading",
  "aria-label", "aria-current", "aria-pressed", "aria-live", "aria-hidden", "data-row", "open", "selected", "checked",
  "autocomplete", "spellcheck", "maxlength", "scope", "width", "height", "disabled", "lang",
]);

// h("td.number", {title: "…", on: {click: f}}, "text", node, [more]): an element with classes, attributes and children.
RL.h = (name, first, ...rest) => {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  const plain = first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first);
  if (!plain) return RL.fill(node, [first, ...rest]);
  for (const [key, value] of Object.entries(first)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (key === "class") node.className = `${node.className} ${value}`.trim();
    else if (!SAFE.has(key)) throw new Error(`attribute ${key} is not one of those a page uses`);
    else if (key === "href" && !String(value).startsWith("#")) throw new Error("links lead to pages of this site only");
    else if (key === "src" && !String(value).startsWith("data/")) throw new Error("pictures come from this site only");
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  return RL.fill(node, rest);
};

RL.s = (name, attributes, ...children) => {
  const [tag, ...classes] = name.split(".");
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else node.setAttribute(key, String(value));
  }
  return RL.fill(node, children);
};

// The address of a page: run, page, its arguments, and what is filtered.
RL.link = (run, page, args = [], query = {}) => {
  const path = [run, page, ...args].map((part) => encodeURIComponent(part)).join("/");
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#/${path}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
};
