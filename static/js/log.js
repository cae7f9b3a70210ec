// Event log: at most 500 rows in the page, newest last; following lets go when a person scrolls up.
import { $, $$, el, patchRows } from "./dom.js";
import { clock } from "./format.js";
import * as url from "./urlstate.js";

const ROWS = 500;

export class Log {
  constructor(root, store) {
    this.root = root;
    this.list = $("[data-event-log]", root);
    this.store = store;
    this.family = url.get("events");
    this.following = !location.hash.startsWith("#e-");
    this.wire();
    store.subscribe(() => this.draw());
    document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: "center" });
  }

  wire() {
    const follow = $("[data-follow]", this.root);
    follow.addEventListener("click", () => this.follow(!this.following));
    this.list.addEventListener("scroll", () => {
      const atEnd = this.list.scrollTop + this.list.clientHeight >= this.list.scrollHeight - 24;
      if (!atEnd && this.following && !this.scrolling) this.follow(false);
    });
    for (const button of $$("[data-family]", this.root)) {
      button.addEventListener("click", () => { this.family = button.dataset.family; url.set("events", this.family); this.draw(); });
    }
    this.follow(this.following);
  }

  follow(on) {
    this.following = on;
    $("[data-follow]", this.root).setAttribute("aria-pressed", String(on));
    if (on) this.toEnd();
  }

  toEnd() {
    this.scrolling = true;
    this.list.scrollTop = this.list.scrollHeight;
    requestAnimationFrame(() => { this.scrolling = false; });
  }

  draw() {
    for (const button of $$("[data-family]", this.root)) button.setAttribute("aria-pressed", String(button.dataset.family === this.family));
    const rows = this.store.events.filter((event) => !this.family || event.k.startsWith(this.family)).slice(-ROWS);
    patchRows(this.list, rows, (event) => event.s, () => "", build);
    if (this.following) this.toEnd();
  }
}

function build(event) {
  const at = new Date(event.at);
  return el("li", { id: `e-${event.s}`, "data-kind": event.k },
    el("a", { class: "seq", href: `#e-${event.s}`, title: "Link to this event" }, String(event.s)),
    el("time", { datetime: event.at, title: event.at }, clock(at)),
    el("span", { class: "text" }, event.d.text || event.k));
}
