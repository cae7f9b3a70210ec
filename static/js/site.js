// On every page: theme, rail, keys, running searches, copy buttons, menus that close, toasts.
import { $, $$, el } from "./dom.js";
import { onKey, wireKeys } from "./keys.js";
import { wireRail } from "./rail.js";
import { wireTheme } from "./theme.js";
import * as url from "./urlstate.js";

const COUNT_MS = 20000;

export function toast(text) {
  const node = el("div", { class: "toast", role: "status" }, text);
  $("#toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}

async function copy(button) {
  const text = button.dataset.copy || document.getElementById(button.dataset.copyFrom)?.textContent || "";
  try {
    await navigator.clipboard.writeText(text.trim());
    toast("Copied.");
  } catch {
    toast("The browser does not allow copying here; select the text instead.");
  }
}

// The chip of running searches; while the site does not answer it shows no number rather than an old one.
async function count(chip) {
  if (document.visibilityState !== "visible") return;
  const number = $(".num", chip);
  try {
    const { running, unread } = await (await fetch(chip.dataset.count)).json();
    number.textContent = running;
    chip.hidden = running === 0;
    ring(unread);
  } catch {
    number.textContent = "?";
  }
}

function ring(unread) {
  const bell = $("#bell");
  if (!bell || unread === undefined) return;
  bell.setAttribute("aria-label", unread ? `Notifications, ${unread} unread` : "Notifications");
  $(".badge", bell).textContent = unread;
  $(".badge", bell).hidden = unread === 0;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
  for (const menu of $$("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" ? $("details.menu[open]") : null;
  if (menu) { menu.open = false; $("summary", menu).focus(); }
});
for (const time of $$("time[data-local]")) time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
for (const form of $$("[data-keep-view]")) form.addEventListener("submit", () => { form.elements.query.value = url.text(); });
$("#open-shortcuts")?.addEventListener("click", () => $("#shortcuts").showModal());
wireTheme();
wireRail();
const chip = $("#running-chip");
if (chip) setInterval(() => count(chip), COUNT_MS);
for (const link of $$("[data-shortcut]")) onKey(link.dataset.shortcut, () => link.click());
wireKeys();
