// Board of structures: one column per stretch of their way. Twin of `board` in kernelsite/searches/outline.py.
import { $, $$, el, patchRows, setText } from "./dom.js";
import { interval, plural, speedup } from "./format.js";
import { miniCurve } from "./inspector.js";
import { shortName } from "./treenode.js";

const COLUMNS = {
  Open: ["proposed", "probing", "open"], Retained: ["retained"], Tuning: ["tuning"], Tuned: ["tuned"], "Not retained": ["dropped", "failed"],
};
const CARDS = 5;

const worth = (row) => row.best?.speedup ?? -1;

export class Board {
  constructor(root, store, onSelect) {
    this.root = $("[data-board]", root);
    this.store = store;
    this.onSelect = onSelect;
    this.open = new Set();
    store.subscribe((change) => { if (change.structure || change.all) this.draw(); });
  }

  draw() {
    const rows = [...this.store.structures.values()].sort((a, b) => worth(b) - worth(a) || a.number - b.number);
    for (const column of $$("[data-column]", this.root)) {
      const name = column.dataset.column;
      const members = rows.filter((row) => COLUMNS[name].includes(row.status));
      setText($(".count", column), String(members.length));
      const shown = this.open.has(name) ? members : members.slice(0, CARDS);
      patchRows($("ul", column), shown, (row) => row.number, (row) => JSON.stringify(row), (row) => this.card(row));
      if (!members.length) $("ul", column).replaceChildren(el("li", { class: "none" }, "none"));
      this.rest(column, name, members.length);
    }
  }

  card(row) {
    const curve = row.retained ? miniCurve(this.store.ofStructure(row.number)) : null;
    return el("li", {}, el("button", { type: "button", class: "kanban", title: row.title, onclick: () => this.onSelect(row.number) },
      el("span", { class: "name" }, shortName(row, this.store.structures)),
      el("span", { class: "num strong" }, row.best ? speedup(row.best.speedup) : ""),
      el("span", { class: "muted small num" }, interval(row.best)),
      el("span", { class: "muted small num evaluations" }, plural(row.evaluations, "evaluation")),
      curve ? $("svg", curve) : null));
  }

  rest(column, name, count) {
    $(".rest-of-column", column)?.remove();
    $("p", column)?.remove();
    if (count <= CARDS) return;
    const isOpen = this.open.has(name);
    column.append(el("button", { type: "button", class: "button button-small button-quiet rest-of-column", onclick: () => { (isOpen ? this.open.delete(name) : this.open.add(name)); this.draw(); } }, isOpen ? "fewer" : `${count - CARDS} more`));
  }
}
