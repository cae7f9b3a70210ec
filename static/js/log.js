// Event log: at most 500 rows in the page, newest last; following lets go when a person scrolls up, and what is older
// than the page knows is fetched as they go on.
import { $, $$, el, patchRows } from "./dom.js";
import { clock } from "./format.js";
import { shortName } from "./treenode.js";
import * as url from "./urlstate.js";

const ROWS = 500;
const NEAR = 120;
const AROUND = 100;

export class Log {
  constructor(root, store, address) {
    this.root = root;
    this.list = $("[data-event-log]", root);
    this.store = store;
    this.address = address;
    this.family = url.get("events");
    this.structure = Number(url.get("of")) || null;
    this.past = [];
    this.isJoined = true;
    this.first = 0;
    this.following = true;
    this.wire();
    store.subscribe(() => this.draw());
    this.restart();
    addEventListener("hashchange", () => this.restart());
  }

  wire() {
    $("[data-follow]", this.root).addEventListener("click", () => this.follow(!this.following));
    this.list.addEventListener("scroll", () => this.scrolled());
    for (const button of $$("[data-family]", this.root)) {
      button.addEventListener("click", () => { this.family = button.dataset.family; url.set("events", this.family); this.restart(false); });
    }
    const box = $("[data-log-structure]", this.root);
    this.select = $("select", box);
    this.select.addEventListener("change", () => { this.structure = Number(this.select.value) || null; url.set("of", this.select.value); this.restart(false); });
  }

  // Begins at the permalink of the address, else at the end of the log.
  restart(linked = true) {
    const wanted = linked && /^#e-\d+$/.test(location.hash) ? Number(location.hash.slice(3)) : null;
    this.past = [];
    this.isJoined = true;
    this.isWhole = false;
    const known = this.store.events[0]?.s ?? 1;
    if (wanted !== null && wanted < known) { this.jump(wanted); return; }
    this.follow(wanted === null);
    if (wanted !== null) this.show(wanted);
    else if (this.isFiltered && this.live().length < ROWS) this.older();
  }

  get isFiltered() {
    return this.family !== "" || this.structure !== null;
  }

  fits(event) {
    const { structure, candidate } = event.d;
    const number = structure?.number ?? candidate?.structure;
    return (!this.family || event.k.startsWith(this.family)) && (this.structure === null || number === this.structure);
  }

  // What the store knows. Texts of a snapshot's log carry no structure: with that filter the server is asked for them.
  live() {
    const events = this.structure === null ? this.store.events : this.store.events.filter((event) => event.s > this.asked);
    return events.filter((event) => this.fits(event));
  }

  all() {
    return this.isJoined ? [...this.past, ...this.live()] : this.past;
  }

  async fetch(query) {
    const address = new URL(this.address, location.href);
    const filters = { family: this.family, structure: this.structure ?? "", ...query };
    for (const [name, value] of Object.entries(filters)) if (value !== "") address.searchParams.set(name, value);
    this.loading = true;
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      return answer.ok && !answer.redirected ? await answer.json() : null;
    } catch {
      return null; // Offline: scrolling asks again.
    } finally {
      this.loading = false;
    }
  }

  async older() {
    if (this.loading || this.isWhole) return;
    const before = this.past[0]?.s ?? (this.structure === null ? this.store.events[0]?.s : this.store.seq + 1);
    if (before === undefined) return;
    if (!this.past.length) this.asked = this.structure === null ? 0 : before - 1;
    this.boundary ??= this.store.events[0]?.s;
    const kept = this.anchor();
    const body = await this.fetch({ before });
    if (!body) return;
    this.isWhole = body.events.length < body.limit;
    this.past = [...body.events, ...this.past];
    this.first = Math.max(0, this.first + body.events.length - ROWS / 2);
    this.draw();
    this.restore(kept);
    if (this.following) this.toEnd();
  }

  async newer() {
    if (this.loading || this.isJoined) return;
    const body = await this.fetch({ after: this.past.at(-1)?.s ?? 0 });
    if (!body) return;
    const known = this.store.events[0]?.s ?? Infinity;
    const fresh = body.events.filter((event) => event.s < known);
    this.past.push(...fresh);
    this.isJoined = fresh.length < body.events.length || body.events.length < body.limit;
    this.draw();
  }

  async jump(number) {
    this.follow(false);
    this.isJoined = false;
    const body = await this.fetch({ after: Math.max(0, number - AROUND) });
    if (!body) return;
    this.past = body.events;
    this.isWhole = number <= AROUND;
    this.first = 0;
    this.draw();
    this.show(number);
  }

  show(number) {
    const index = this.all().findIndex((event) => event.s === number);
    if (index >= 0 && (index < this.first || index >= this.first + ROWS)) { this.first = Math.max(0, index - ROWS / 2); this.draw(); }
    const row = document.getElementById(`e-${number}`);
    if (!row) return;
    for (const other of $$(".is-linked", this.list)) other.classList.remove("is-linked");
    row.classList.add("is-linked");
    this.quietly(() => { this.list.scrollTop = row.offsetTop - this.list.offsetTop - this.list.clientHeight / 2; });
  }

  follow(on) {
    this.following = on;
    $("[data-follow]", this.root).setAttribute("aria-pressed", String(on));
    if (!on) return;
    this.isJoined = true;
    this.past = this.past.at(-1)?.s + 1 === this.store.events[0]?.s || this.isFiltered ? this.past : [];
    this.draw();
  }

  toEnd() {
    this.quietly(() => { this.list.scrollTop = this.list.scrollHeight; });
  }

  // Scrolls without taking it for a person's scrolling. A person's own that came meanwhile is looked at afterwards.
  quietly(move) {
    this.scrolling = true;
    move();
    requestAnimationFrame(() => { this.scrolling = false; if (!this.following) this.reach(); });
  }

  scrolled() {
    if (this.scrolling) return;
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    const atEnd = scrollTop + clientHeight >= scrollHeight - 24;
    if (!atEnd && this.following) this.follow(false);
    this.reach();
  }

  // Goes on with what lies beyond the end of the window that is in sight.
  reach() {
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    if (clientHeight === 0) return;
    if (scrollTop < NEAR) this.up();
    else if (scrollTop + clientHeight > scrollHeight - NEAR) this.down();
  }

  up() {
    if (this.first === 0) { this.older(); return; }
    this.slide(Math.max(0, this.first - ROWS / 2));
  }

  down() {
    const count = this.all().length;
    if (this.first + ROWS < count) this.slide(Math.min(count - ROWS, this.first + ROWS / 2));
    else this.newer();
  }

  // Moves the window over the rows; the row that a person reads stays where it is on the screen.
  slide(first) {
    const kept = this.anchor();
    this.first = first;
    this.draw();
    this.restore(kept);
  }

  anchor() {
    const top = this.list.scrollTop + this.list.offsetTop;
    const row = [...this.list.children].find((child) => child.offsetTop + child.offsetHeight > top);
    return row ? { key: row.dataset.key, offset: row.offsetTop - this.list.scrollTop } : null;
  }

  restore(kept) {
    const row = kept && $(`[data-key="${kept.key}"]`, this.list);
    if (row) this.quietly(() => { this.list.scrollTop = row.offsetTop - kept.offset; });
  }

  draw() {
    if (this.list.closest("[hidden]") && this.wasDrawn) return;
    this.wasDrawn = true;
    for (const button of $$("[data-family]", this.root)) button.setAttribute("aria-pressed", String(button.dataset.family === this.family));
    this.choices();
    this.checkGap();
    const all = this.all();
    if (this.following) this.first = Math.max(0, all.length - ROWS);
    this.first = Math.min(this.first, Math.max(0, all.length - 1));
    patchRows(this.list, all.slice(this.first, this.first + ROWS), (event) => event.s, () => "", build);
    if (this.following) this.toEnd();
  }

  // The store forgets its oldest events; somebody who reads further back then goes on by asking the server.
  checkGap() {
    const first = this.store.events[0]?.s;
    if (this.past.length && this.isJoined && !this.following && this.boundary !== undefined && first > this.boundary) this.isJoined = false;
    this.boundary = this.past.length ? this.boundary : first;
  }

  choices() {
    const rows = [...this.store.structures.values()].filter((row) => row.evaluations).sort((a, b) => a.number - b.number);
    const box = this.select.parentElement;
    box.hidden = rows.length < 2;
    if (this.select.options.length === rows.length + 1) return;
    this.select.replaceChildren(el("option", { value: "" }, "all"), ...rows.map((row) => el("option", { value: row.number }, `${row.number} ${shortName(row, this.store.structures)}`)));
    this.select.value = this.structure ?? "";
  }
}

function build(event) {
  const at = new Date(event.at);
  return el("li", { id: `e-${event.s}`, "data-kind": event.k },
    el("a", { class: "seq", href: `#e-${event.s}`, title: "Link to this event" }, String(event.s)),
    el("time", { datetime: event.at, title: event.at }, clock(at)),
    el("span", { class: "text" }, event.d.text || event.k));
}
