// The three tables of a search: structures (the tree's twin), candidates, failures by cause.
import { $, $$, el, icon, patchRows, setText } from "./dom.js";
import { duration, interval, knobs, microseconds, outcomeOf, plural, speedup } from "./format.js";
import { pill } from "./pill.js";
import { draftGroups, isQuiet, wordsOf } from "./drafts.js";
import { isFailure } from "./store.js";
import { shortName } from "./treenode.js";
import * as url from "./urlstate.js";

const FIRST_ROWS = 200;

const cell = (label, attributes, ...children) => el("td", { ...attributes, "data-label": label }, ...children);

// The tree's twin as an ARIA treegrid: arrows walk, right and left open and close, Enter selects.
export class StructureTable {
  constructor(root, store, folding, { onSelect, onFold }) {
    this.box = $("[data-tree-table]", root);
    this.body = $("[data-structures]", root);
    this.store = store;
    this.folding = folding;
    this.onSelect = onSelect;
    this.onFold = onFold;
    $("[data-treegrid]", root).setAttribute("role", "treegrid");
    this.body.addEventListener("keydown", (event) => this.key(event));
    store.subscribe((change) => { if (change.structure || change.all) this.draw(); });
  }

  select(number) {
    this.selected = number;
    const rows = $$("tr[data-key]", this.body);
    for (const row of rows) {
      const on = Number(row.dataset.key) === number;
      row.setAttribute("aria-selected", String(on));
      row.tabIndex = on ? 0 : -1;
    }
    if (rows.length && !rows.some((row) => row.tabIndex === 0)) rows[0].tabIndex = 0;
  }

  draw() {
    if (this.box.hidden) return;
    const rows = this.folding.visible(this.selected);
    const { hidden, parents } = this.folding;
    const stamp = ({ row, depth }) => JSON.stringify([row, depth, hidden.get(row.number), parents.has(row.number)]);
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.key : undefined;
    patchRows(this.body, rows, ({ row }) => row.number, stamp, ({ row, depth }) => this.build(row, depth));
    this.select(this.selected);
    if (focused !== undefined && !this.body.contains(document.activeElement)) this.focus(focused);
  }

  build(row, depth) {
    const hidden = this.folding.hidden.get(row.number) || 0;
    const isParent = this.folding.parents.has(row.number);
    const branch = depth ? el("span", { class: "depth", "aria-hidden": "true" }, `${"│ ".repeat(depth - 1)}└`) : null;
    const fold = isParent ? el("button", { class: "fold-button", type: "button", tabindex: -1, "aria-label": hidden ? `Show the ${hidden} below` : "Fold what is below", onclick: () => this.fold(row.number) }, hidden ? `+${hidden}` : "−") : null;
    const name = el("button", { class: "button button-small button-quiet", type: "button", tabindex: -1, onclick: () => this.onSelect(row.number) }, shortName(row, this.store.structures));
    return el("tr", { title: row.title, role: "row", "aria-level": depth + 1, "aria-expanded": isParent ? String(!hidden) : null },
      el("th", { scope: "row", role: "rowheader" }, branch, name, fold, row.retained ? icon("ring", "good") : null),
      cell("Id", { role: "gridcell" }, el("a", { class: "id", href: `/structures/${row.id}/` }, `ST-${row.id}`)),
      cell("Status", { role: "gridcell" }, pill(row.status)),
      cell("Evaluations", { class: "num", role: "gridcell" }, String(row.evaluations)),
      cell("Passed", { class: "num", role: "gridcell" }, String(row.passed)),
      cell("Best", { class: "num strong", role: "gridcell" }, row.best ? speedup(row.best.speedup) : "–"),
      cell("95 % interval", { class: "num muted", role: "gridcell" }, row.best ? interval(row.best) : ""));
  }

  fold(number, open = null) {
    if (open === null) this.folding.toggle(number);
    else this.folding.set(number, open);
    this.onFold();
  }

  focus(number) {
    const row = $(`tr[data-key="${number}"]`, this.body);
    if (!row) return;
    for (const other of $$("tr[tabindex='0']", this.body)) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus({ preventScroll: false });
  }

  key(event) {
    const row = event.target.closest("tr[data-key]");
    if (!row || event.target !== row) return;
    const number = Number(row.dataset.key);
    const open = row.getAttribute("aria-expanded");
    const actions = {
      ArrowDown: () => row.nextElementSibling && this.focus(row.nextElementSibling.dataset.key),
      ArrowUp: () => row.previousElementSibling && this.focus(row.previousElementSibling.dataset.key),
      ArrowRight: () => open === "false" && this.fold(number, true),
      ArrowLeft: () => (open === "true" ? this.fold(number, false) : this.focus(this.store.structures.get(number)?.parent)),
      Enter: () => this.onSelect(number),
      " ": () => this.onSelect(number),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
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
      cell("Structure", { class: "named" }, structure ? shortName(structure, this.store.structures) : String(row.structure)),
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

// Failures grouped by cause: candidates, each group with what the judge or the log said of one of them, then drafts
// that brought no program.
export class Failures {
  constructor(root, store) {
    this.box = $("[data-failures]", root);
    this.store = store;
    this.calls = root.dataset.calls;
    store.subscribe((change) => { if (change.candidate || change.draft || change.all) this.draw(); });
  }

  draw() {
    const causes = new Map();
    for (const row of this.store.candidates.values()) {
      if (!isFailure(row)) continue;
      if (!causes.has(outcomeOf(row))) causes.set(outcomeOf(row), []);
      causes.get(outcomeOf(row)).push(row);
    }
    const groups = [...causes].sort((a, b) => b[1].length - a[1].length).map(([cause, rows]) => ({ key: cause, rows, build: () => this.build(cause, rows) }));
    for (const [cause, rows] of draftGroups(this.store.drafts)) groups.push({ key: `draft ${cause}`, rows, build: () => this.buildDrafts(cause, rows) });
    setText($("[data-failure-count]"), String(groups.reduce((sum, { rows }) => sum + rows.length, 0)));
    patchRows(this.box, groups, ({ key }) => key, ({ rows }) => String(rows.length), (group) => group.build());
    if (!groups.length) this.box.replaceChildren(el("p", { class: "muted body" }, "Nothing has failed."));
  }

  build(cause, rows) {
    const sample = this.store.samples[cause];
    const said = sample?.text ? el("span", { class: "muted small break" }, el("a", { class: "id", href: `/candidates/${sample.candidate}/` }, `C-${sample.candidate}`), ` ${sample.text}`) : null;
    const chips = (row) => el("a", { class: "chip id", href: `/candidates/${row.id}/` }, `C-${row.id}`);
    return this.group(cause, rows, false, [pill(cause), el("span", {}, plural(rows.length, "candidate")), said], null, chips);
  }

  buildDrafts(cause, rows) {
    const { title, advice } = wordsOf(cause);
    const link = (row, text, name) => (row.call ? el("a", { class: `${name} id`, href: `${this.calls}${row.call}/` }, text) : el("span", { class: name }, text));
    const said = el("span", { class: "muted small break" }, link(rows[0], `step ${rows[0].step}`, ""), ` ${rows[0].text}`);
    const chips = (row) => link(row, `step ${row.step} ${row.kind}`, "chip");
    return this.group(`draft ${cause}`, rows, true, [pill(isQuiet(cause) ? "dropped" : "failed", title), el("span", {}, plural(rows.length, "draft")), said], el("p", { class: "small muted" }, advice), chips);
  }

  group(key, rows, open, summary, advice, chip) {
    const was = $(`details[data-key="${key}"]`, this.box);
    const more = rows.length > 40 ? el("p", { class: "muted small" }, `and ${rows.length - 40} more`) : null;
    return el("details", { class: "failure", open: was ? was.open : open },
      el("summary", {}, ...summary),
      el("div", { class: "inside" }, advice, el("ul", { class: "chips" }, ...rows.slice(0, 40).map((row) => el("li", {}, chip(row)))), more));
  }
}
