// The three tables of a search: structures (the tree's twin), candidates, failures by cause.
import { $, $$, el, icon, patchRows, setText } from "./dom.js";
import { duration, interval, knobs, microseconds, outcomeOf, plural, speedup } from "./format.js";
import { pill } from "./pill.js";
import { shortName } from "./tree.js";
import * as url from "./urlstate.js";

const FIRST_ROWS = 200;

const cell = (label, attributes, ...children) => el("td", { ...attributes, "data-label": label }, ...children);

export class StructureTable {
  constructor(root, store, onSelect) {
    this.body = $("[data-structures]", root);
    this.store = store;
    this.onSelect = onSelect;
    store.subscribe((change) => { if (change.structure || change.all) this.draw(); });
  }

  select(number) {
    this.selected = number;
    for (const row of $$("tr[data-key]", this.body)) row.setAttribute("aria-current", String(Number(row.dataset.key) === number));
  }

  draw() {
    patchRows(this.body, this.store.outline(), ({ row }) => row.number, ({ row, depth }) => JSON.stringify([row, depth]), ({ row, depth }) => this.build(row, depth));
    this.select(this.selected);
  }

  build(row, depth) {
    const name = el("button", { class: "button button-small button-quiet", type: "button", onclick: () => this.onSelect(row.number) }, shortName(row, this.store.structures));
    const branch = depth ? el("span", { class: "depth", "aria-hidden": "true" }, `${"│ ".repeat(depth - 1)}└`) : null;
    return el("tr", { title: row.title },
      el("th", { scope: "row" }, branch, name, row.retained ? icon("ring", "good") : null),
      cell("Id", {}, el("a", { class: "id", href: `/structures/${row.id}/` }, `ST-${row.id}`)),
      cell("Status", {}, pill(row.status)),
      cell("Evaluations", { class: "num" }, String(row.evaluations)),
      cell("Passed", { class: "num" }, String(row.passed)),
      cell("Best", { class: "num strong" }, row.best ? speedup(row.best.speedup) : "–"),
      cell("95 % interval", { class: "num muted" }, row.best ? interval(row.best) : ""));
  }
}

const SORTS = {
  id: (row) => [row.structure, row.number], status: (row) => [outcomeOf(row)], order: (row) => [row.order ?? 1e9], speedup: (row) => [row.speedup ?? -1],
  time: (row) => [row.median_us ?? 1e12], stage: (row) => [row.stage, row.order ?? 1e9], device: (row) => [row.device_seconds],
};

export class CandidateTable {
  constructor(root, store) {
    this.root = root;
    this.body = $("[data-candidates]", root);
    this.store = store;
    [this.sort, this.down] = this.fromUrl();
    this.filter = url.get("status");
    this.limit = FIRST_ROWS;
    this.wire();
    store.subscribe((change) => { if (change.candidate || change.all) this.draw(); });
  }

  fromUrl() {
    const text = url.get("sort", "-order");
    const key = text.replace(/^-/, "");
    return key in SORTS ? [key, text.startsWith("-")] : ["order", true];
  }

  wire() {
    for (const head of $$("th[data-sort]", this.root)) {
      const text = head.textContent.trim();
      head.replaceChildren(el("button", { type: "button", onclick: () => this.sortBy(head.dataset.sort) }, text));
    }
    $("[data-more]", this.root).addEventListener("click", () => { this.limit += 1000; this.draw(); });
  }

  sortBy(key) {
    this.down = key === this.sort ? !this.down : key !== "id" && key !== "time";
    this.sort = key;
    url.set("sort", `${this.down ? "-" : ""}${key}`);
    this.draw();
  }

  draw() {
    const all = [...this.store.candidates.values()];
    this.chips(all);
    const rows = all.filter((row) => !this.filter || outcomeOf(row) === this.filter).sort(order(SORTS[this.sort], this.down));
    patchRows(this.body, rows.slice(0, this.limit), (row) => row.id, (row) => JSON.stringify(row), (row) => this.build(row));
    for (const head of $$("th[data-sort]", this.root)) head.setAttribute("aria-sort", head.dataset.sort !== this.sort ? "none" : this.down ? "descending" : "ascending");
    const more = $("[data-more]", this.root);
    more.hidden = rows.length <= this.limit;
    setText(more, `Show more (${rows.length - this.limit} left)`);
    $("[data-no-candidates]", this.root).hidden = rows.length > 0;
  }

  // One chip per outcome that occurs, with its count.
  chips(all) {
    const counts = new Map();
    for (const row of all) counts.set(outcomeOf(row), (counts.get(outcomeOf(row)) || 0) + 1);
    const stamp = JSON.stringify([[...counts], this.filter]);
    const box = $("[data-status-chips]", this.root);
    if (box.dataset.stamp === stamp) return;
    box.dataset.stamp = stamp;
    const button = (word, text) => el("button", { type: "button", "aria-pressed": String(this.filter === word), onclick: () => { this.filter = word; url.set("status", word); this.draw(); } }, text);
    box.replaceChildren(button("", `all ${all.length}`), ...[...counts].sort().map(([word, count]) => button(word, `${word} ${count}`)));
  }

  build(row) {
    const structure = this.store.structures.get(row.structure);
    return el("tr", {},
      el("th", { scope: "row" }, el("a", { class: "id", href: `/candidates/${row.id}/` }, `C-${row.id}`)),
      cell("Outcome", {}, pill(outcomeOf(row))),
      cell("#", { class: "num muted" }, row.order === null ? "" : String(row.order)),
      cell("Structure", { class: "break" }, structure ? shortName(structure, this.store.structures) : String(row.structure)),
      cell("Stage", { class: "muted" }, row.purpose === "search" ? row.stage : row.purpose),
      cell("Speed-up", { class: "num strong" }, speedup(row.speedup)),
      cell("95 % interval", { class: "num muted" }, interval(row)),
      cell("Time", { class: "num" }, microseconds(row.median_us)),
      cell("Device", { class: "num muted" }, row.device_seconds ? duration(row.device_seconds) : ""),
      cell("Knobs", { class: "mono wide break" }, knobs(row.knobs)));
  }
}

const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

function order(key, down) {
  return (one, other) => {
    const [left, right] = [key(one), key(other)];
    const first = left.map((value, index) => compare(value, right[index])).find((result) => result !== 0) || 0;
    return (down ? -first : first) || compare(one.id, other.id);
  };
}

// As the server counts: whatever did not pass.
export const isFailure = (row) => row.state === "lost" || (row.status !== null && row.status !== "PASSED");

// Failures grouped by cause, each with its candidates and what the log said of one of them.
export class Failures {
  constructor(root, store) {
    this.box = $("[data-failures]", root);
    this.store = store;
    store.subscribe((change) => { if (change.candidate || change.all) this.draw(); });
  }

  draw() {
    const groups = new Map();
    for (const row of this.store.candidates.values()) if (isFailure(row)) groups.set(outcomeOf(row), [...(groups.get(outcomeOf(row)) || []), row]);
    const rows = [...groups].sort((a, b) => b[1].length - a[1].length);
    setText($("[data-failure-count]"), String([...groups.values()].flat().length));
    patchRows(this.box, rows, ([cause]) => cause, ([, list]) => String(list.length), ([cause, list]) => this.build(cause, list));
    if (!rows.length) this.box.replaceChildren(el("p", { class: "muted body" }, "Nothing has failed."));
  }

  build(cause, rows) {
    const was = $(`details[data-key="${cause}"]`, this.box);
    const sample = rows.find((row) => this.store.texts.has(row.id)) || rows[0];
    const text = this.store.texts.get(sample.id);
    return el("details", { class: "failure", open: was?.open },
      el("summary", {}, pill(cause), el("span", {}, plural(rows.length, "candidate")), el("span", { class: "muted small break" }, text || "")),
      el("div", { class: "inside" }, el("ul", { class: "chips" }, ...rows.slice(0, 40).map((row) => el("li", {}, el("a", { class: "chip id", href: `/candidates/${row.id}/` }, `C-${row.id}`)))), rows.length > 40 ? el("p", { class: "muted small" }, `and ${rows.length - 40} more`) : null));
  }
}
