// Keyboard: / find, ? help, g then a letter to go somewhere, and what a page adds.
import { $ } from "./dom.js";

const PLACES = { h: "/", s: "/searches/", w: "/workloads/", l: "/libraries/", c: "/compare/", d: "/workers/", n: "/searches/new/" };
const extra = new Map();
let leader = 0;

export const onKey = (key, action) => extra.set(key, action);

const typing = (target) => target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog[open]")) return;
  const { key } = event;
  if (Date.now() - leader < 1200 && PLACES[key]) { location.href = PLACES[key]; return; }
  leader = key === "g" ? Date.now() : 0;
  if (key === "/") { event.preventDefault(); $("#find")?.focus(); }
  else if (key === "?") $("#shortcuts")?.showModal();
  else if (extra.has(key)) { event.preventDefault(); extra.get(key)(); }
}

export function wireKeys() {
  document.addEventListener("keydown", press);
}
