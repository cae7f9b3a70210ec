// Panels under one row of tabs. Without JavaScript they simply stand one below the other.
import { $, $$ } from "./dom.js";
import * as url from "./urlstate.js";

// `shown` gives, by tab, what is to be done each time it is opened.
export function wireTabs(root, parameter = "tab", shown = {}) {
  const tabs = $$("[role='tab']", root);
  const open = (name, push = true) => {
    for (const tab of tabs) {
      const on = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      $(`#panel-${tab.dataset.tab}`).hidden = !on;
    }
    shown[name]?.();
    if (push) url.set(parameter, name === tabs[0].dataset.tab ? "" : name);
  };
  for (const tab of tabs) tab.addEventListener("click", () => open(tab.dataset.tab));
  $("[role='tablist']", root).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    open(next.dataset.tab);
  });
  const wanted = location.hash.startsWith("#e-") ? "events" : url.get(parameter);
  open(tabs.some((tab) => tab.dataset.tab === wanted) ? wanted : tabs[0].dataset.tab, false);
  return open;
}
