// Legend of the tuning curves as a table: which lines are drawn, sortable, all of it kept in the URL.
import { $, $$, el, icon, patchRows, setText } from "./dom.js";
import { plural, speedup } from "./format.js";
import { shortName } from "./treenode.js";
import * as url from "./urlstate.js";

export const LINES = 24;
const SHOWN_AT_FIRST = 8;
const ROWS_AT_FIRST = 60;
const SORTS = {
  best: (row) => row.best.speedup, evaluations: (row) => row.evaluations, name: null,
};

const numbers = (name) => new Set(url.get(name).split(",").filter(Boolean).map(Number));

export class Legend {
  // styleOf(number) gives {color, dash} of a structure's line; onChange() draws the chart again.
  constructor(root, store, styleOf, onChange) {
    this.box = $("[data-lines]", root);
    this.store = store;
    this.styleOf = styleOf;
    this.onChange = onChange;
    this.hidden = numbers("hide");
    this.shown = numbers("lines");
    const sort = url.get("lsort", "-best");
    this.sort = sort.replace(/^-/, "") in SORTS ? sort : "-best";
    this.limit = ROWS_AT_FIRST;
    for (const head of $$("[data-line-sort]", this.box)) {
      head.replaceChildren(el("button", { type: "button", onclick: () => this.sortBy(head.dataset.lineSort) }, head.textContent.trim()));
    }
  }

  sortBy(key) {
    this.sort = this.sort === `-${key}` ? key : `-${key}`;
    url.set("lsort", this.sort === "-best" ? "" : this.sort);
    this.draw();
  }

  // Structures that have a line, best first, retained ones before all others.
  rows() {
    const rows = [...this.store.structures.values()].filter((row) => row.best);
    return rows.sort((a, b) => b.retained - a.retained || b.best.speedup - a.best.speedup);
  }

  // Those that are drawn: what a person chose, else retained ones and the best few; 24 at most.
  drawn() {
    const wanted = this.rows().filter((row, index) => !this.hidden.has(row.number) && (index < SHOWN_AT_FIRST || row.retained || this.shown.has(row.number)));
    const chosen = wanted.filter((row) => this.shown.has(row.number));
    return [...chosen, ...wanted.filter((row) => !this.shown.has(row.number))].slice(0, LINES);
  }

  toggle(number, on) {
    (on ? this.shown : this.hidden).add(number);
    (on ? this.hidden : this.shown).delete(number);
    url.set("hide", [...this.hidden].join(","));
    url.set("lines", [...this.shown].join(","));
    this.onChange();
  }

  draw() {
    const all = this.sorted();
    const drawn = new Set(this.drawn().map((row) => row.number));
    this.box.hidden = all.length === 0;
    const wanted = all.filter((row) => !this.hidden.has(row.number) && (row.retained || this.shown.has(row.number))).length;
    const full = wanted > LINES ? `; no more than ${LINES} lines are drawn at a time` : "";
    setText($("[data-lines-said]", this.box), `${drawn.size} of ${plural(all.length, "structure")} drawn${full}`);
    const stamp = (row) => JSON.stringify([row.best.speedup, row.evaluations, row.retained, drawn.has(row.number)]);
    patchRows($("tbody", this.box), all.slice(0, this.limit), (row) => row.number, stamp, (row) => this.row(row, drawn.has(row.number)));
    const key = this.sort.replace(/^-/, "");
    for (const head of $$("[data-line-sort]", this.box)) head.setAttribute("aria-sort", head.dataset.lineSort !== key ? "none" : this.sort.startsWith("-") ? "descending" : "ascending");
    this.more(all.length);
  }

  more(count) {
    $(".more-lines", this.box)?.remove();
    if (count > this.limit) this.box.append(el("button", { type: "button", class: "button button-small button-quiet more-lines", onclick: () => { this.limit += 500; this.draw(); } }, `Show more (${count - this.limit} left)`));
  }

  sorted() {
    const key = this.sort.replace(/^-/, "");
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const value = SORTS[key];
    return this.rows().sort((a, b) => sign * (value ? value(a) - value(b) : this.name(a).localeCompare(this.name(b))) || a.number - b.number);
  }

  name(row) {
    return shortName(row, this.store.structures);
  }

  row(row, on) {
    const swatch = el("span", { class: "swatch" });
    const style = this.styleOf(row.number);
    swatch.style.background = style.color;
    const toggle = el("button", { type: "button", class: "line-toggle", "aria-pressed": String(on), "aria-label": `Line of ${this.name(row)}`, onclick: () => this.toggle(row.number, !on) }, swatch);
    return el("tr", { title: row.title, class: on ? "" : "is-off" },
      el("td", {}, toggle), el("th", { scope: "row" }, el("span", { class: "faint num" }, `${row.number} `), this.name(row), row.retained ? icon("ring", "good") : null),
      el("td", { class: "num" }, String(row.evaluations)), el("td", { class: "num strong" }, speedup(row.best.speedup)));
  }
}
