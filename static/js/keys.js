// Keyboard: / find, ? help, g then a letter to go somewhere, j and k through the rows of a list, and what a page adds.
import { $, $$ } from "./dom.js";

const ROWS = "main tbody tr, main .rows > li";
const extra = new Map();
let leader = 0;

export const onKey = (key, action) => extra.set(key, action);

const typing = (target) => target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);

// Focus goes from row to row, by each row's first link; rows that are not drawn are passed over.
function step(by) {
  const links = $$(ROWS).map((row) => $("a[href]", row)).filter((link) => link && link.offsetParent);
  const row = document.activeElement.closest(ROWS);
  const held = links.findIndex((link) => row?.contains(link));
  const next = links[held < 0 ? (by > 0 ? 0 : links.length - 1) : held + by];
  next?.focus();
}

function press(event) {
  if (document.documentElement.dataset.shortcuts === "off") return;
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog[open]")) return;
  const { key } = event;
  const place = Date.now() - leader < 1200 && /^[a-z]$/.test(key) ? $(`[data-go="${key}"]`) : null;
  if (place) { location.href = place.href; return; }
  leader = key === "g" ? Date.now() : 0;
  if (key === "/") { event.preventDefault(); $("#find")?.focus(); }
  else if (key === "?") $("#shortcuts")?.showModal();
  else if (extra.has(key)) { event.preventDefault(); extra.get(key)(); }
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
}

export function wireKeys() {
  document.addEventListener("keydown", press);
}
