// Structure tree, left to right: d3-hierarchy lays it out, patches by id draw it. The table beside it says the same.
import { $, icon, svg } from "./dom.js";
import { csvBlob, save } from "./exports.js";
import { wholeDrawing } from "./pictures.js";
import { COLOURS } from "./treecolour.js";
import { HEIGHT, WIDTH, drawNode } from "./treenode.js";
import * as url from "./urlstate.js";
import { View } from "./view.js";

const ROW = 56;
const COLUMN = 188;

export class Tree {
  // onSelect(number) is called when a person picks a node, onFold() when something was folded.
  constructor(root, store, folding, { onSelect, onFold }) {
    this.root = root;
    this.store = store;
    this.folding = folding;
    this.onFold = onFold;
    this.onSelect = onSelect;
    this.svg = $("svg.tree", root);
    this.edges = svg("g");
    this.nodes = svg("g");
    this.svg.replaceChildren(this.edges, this.nodes);
    this.places = new Map();
    this.drawn = new Map();
    this.touched = false;
    this.view = new View(this.svg, () => { this.touched = true; });
    this.wire();
    store.subscribe((change) => change.structure || change.candidate || change.all ? this.draw() : undefined);
  }

  wire() {
    $("[data-fit]", this.root).addEventListener("click", () => { this.touched = false; this.fit(0.3); });
    $("[data-zoom-in]", this.root).addEventListener("click", () => { this.touched = true; this.view.zoom(1.3); });
    $("[data-zoom-out]", this.root).addEventListener("click", () => { this.touched = true; this.view.zoom(1 / 1.3); });
    $("[data-new]", this.root).addEventListener("click", () => { this.touched = false; this.fit(); });
    $("[data-focus-best]", this.root).addEventListener("click", () => this.focusBest());
    this.colour = url.get("colour") in COLOURS ? url.get("colour") : "speedup";
    const colour = $("[data-colour]", this.root);
    colour.value = this.colour;
    colour.addEventListener("change", () => { this.colour = colour.value; url.set("colour", colour.value === "speedup" ? "" : colour.value); this.draw(); });
    $("[data-tree-csv]", this.root).addEventListener("click", () => save(`${this.store.search.short}-structures.csv`, csvBlob(this.numbers())));
    $("[data-tree-png]", this.root).addEventListener("click", async () => save(`${this.store.search.short}-structures.png`, await this.picture()));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { if (!this.touched) this.fit(); }).observe(this.svg);
  }

  select(number) {
    this.selected = number;
    if (number !== undefined && this.places.size && !this.places.has(number) && this.store.structures.has(number)) this.draw();
    for (const [id, node] of this.drawn) this.mark(id, node);
  }

  // Places of the nodes; forests hang from an unseen root.
  layout(rows) {
    const known = new Set(rows.map((row) => row.number));
    const parent = (row) => (row.number === "root" ? null : known.has(row.parent) ? row.parent : "root");
    const order = [{ number: "root" }, ...rows.slice().sort((a, b) => a.number - b.number)];
    const hierarchy = d3.stratify().id((row) => row.number).parentId(parent)(order);
    d3.tree().nodeSize([ROW, COLUMN]).separation(() => 1)(hierarchy);
    const places = new Map();
    for (const node of hierarchy.descendants()) {
      if (node.data.number !== "root") places.set(node.data.number, { x: (node.depth - 1) * COLUMN, y: node.x - HEIGHT / 2, parent: node.parent.data.number });
    }
    return places;
  }

  draw() {
    const rows = this.folding.visible(this.selected).map(({ row }) => row);
    $("[data-tree-empty]", this.root).hidden = rows.length > 0;
    const before = this.places;
    this.places = this.layout(rows);
    const fresh = this.countNew();
    this.hold(before);
    this.drawEdges();
    this.drawNodes(rows);
    if (!this.touched) this.fit();
    else if (fresh && before.size) this.announce(fresh);
  }

  // What all drawn nodes cover.
  box() {
    const all = [...this.places.values()];
    const x = Math.min(...all.map((place) => place.x));
    const y = Math.min(...all.map((place) => place.y));
    return { x, y, width: Math.max(...all.map((place) => place.x)) + WIDTH - x, height: Math.max(...all.map((place) => place.y)) + HEIGHT - y };
  }

  // The whole tree, wherever it is panned to; folded parts stay folded.
  picture() {
    return wholeDrawing(this.svg, this.box(), $("[data-tree-legend]", this.root));
  }

  // Every structure, folded or not.
  numbers() {
    const rows = this.store.outline().map(({ row, depth }) => [`ST-${row.id}`, row.parent === null ? "" : `ST-${this.store.search.id}.${row.parent}`, depth, row.title, row.actions.join(" "), row.status, row.retained ? 1 : 0, row.evaluations, row.passed, row.best?.speedup, row.best?.low, row.best?.high]);
    return { head: ["structure", "parent", "depth", "title", "actions", "status", "retained", "evaluations", "passed", "best speed-up", "95 % low", "95 % high"], rows };
  }

  countNew() {
    const known = this.seen || new Set();
    this.seen = new Set(this.store.structures.keys());
    return [...this.seen].filter((number) => !known.has(number)).length;
  }

  // After a relayout, the selected (or first) node stays where it was on the screen.
  hold(before) {
    const anchor = before.has(this.selected) ? this.selected : [...before.keys()][0];
    const was = before.get(anchor);
    const is = this.places.get(anchor);
    if (this.touched && was && is) this.view.shift(is.x - was.x, is.y - was.y);
  }

  announce(count) {
    const chip = $("[data-new]", this.root);
    this.unseen = (this.unseen || 0) + count;
    chip.hidden = false;
    chip.replaceChildren(`${this.unseen} new`, icon("arrow"));
  }

  // Shows everything down to the scale `least`; below that the lineage of the best stays in the middle.
  fit(least = 0.56) {
    if (!this.places.size) return;
    $("[data-new]", this.root).hidden = true;
    this.unseen = 0;
    const box = this.box();
    const focus = this.places.get(this.store.lineage().at(-1)) || [...this.places.values()][0];
    this.view.fit({ ...box, height: box.height + 44 }, { x: focus.x + WIDTH / 2, y: focus.y + HEIGHT / 2 }, least);
  }

  drawEdges() {
    const path = this.store.lineage();
    const lines = [];
    for (const [number, place] of this.places) {
      const from = this.places.get(place.parent);
      if (!from) continue;
      const x0 = from.x + WIDTH;
      const y0 = from.y + HEIGHT / 2;
      const y1 = place.y + HEIGHT / 2;
      const middle = (x0 + place.x) / 2;
      const bold = path.includes(number) ? " is-lineage" : "";
      lines.push(svg("path", { class: `edge${bold}`, d: `M${x0} ${y0} C${middle} ${y0} ${middle} ${y1} ${place.x} ${y1}` }));
    }
    this.edges.replaceChildren(...lines);
  }

  drawNodes(rows) {
    const active = this.store.active();
    const best = this.store.lineage().at(-1);
    const colours = COLOURS[this.colour]([...this.store.structures.values()]);
    this.legend(colours);
    for (const [number, node] of this.drawn) if (!this.places.has(number)) { node.remove(); this.drawn.delete(number); }
    for (const row of rows) {
      const hidden = this.folding.hidden.get(row.number) || 0;
      const isParent = this.folding.parents.has(row.number);
      const stamp = JSON.stringify([row.status, row.retained, row.evaluations, row.best?.speedup, active.has(row.number), best === row.number, this.colour, colours.stamp, hidden, isParent]);
      let node = this.drawn.get(row.number);
      if (!node || node.dataset.stamp !== stamp) {
        const onFold = isParent ? () => { this.touched = true; this.folding.toggle(row.number); this.onFold(); } : null;
        const next = drawNode(row, { active: active.has(row.number), best: best === row.number, colour: colours.of(row), hidden, structures: this.store.structures, onFold });
        next.dataset.stamp = stamp;
        next.addEventListener("click", () => { if (this.view.moved < 4) { this.touched = true; this.onSelect(row.number); } });
        this.replace(node, next, row.number);
        node = next;
      }
      const place = this.places.get(row.number);
      node.setAttribute("transform", `translate(${place.x} ${place.y})`);
      this.mark(row.number, node);
    }
  }

  legend(colours) {
    const box = $("[data-tree-legend]", this.root);
    const entries = colours.legend();
    const stamp = entries.map((entry) => entry.textContent).join("|");
    if (box.dataset.stamp === stamp) return;
    box.dataset.stamp = stamp;
    box.replaceChildren(...entries);
  }

  focusBest() {
    const best = this.store.lineage().at(-1);
    const place = this.places.get(best);
    if (!place) return;
    this.touched = true;
    this.view.centre({ x: place.x + WIDTH / 2, y: place.y + HEIGHT / 2 });
    this.onSelect(best);
  }

  replace(node, next, number) {
    const focused = node && document.activeElement === node;
    if (node) node.replaceWith(next);
    else this.nodes.append(next);
    this.drawn.set(number, next);
    if (focused) next.focus({ preventScroll: true });
  }

  mark(number, node) {
    const on = number === this.selected;
    node.classList.toggle("is-selected", on);
    node.setAttribute("aria-pressed", String(on));
    node.setAttribute("tabindex", on || (this.selected === undefined && number === 1) ? "0" : "-1");
  }

  // Arrow keys walk the tree: left to the parent, right to the first child, up and down between neighbours.
  key(event) {
    const here = Number(event.target.dataset?.number);
    if (!here) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.onSelect(here); return; }
    if (event.key === "+" || event.key === "-") { this.folding.set(here, event.key === "+"); this.onFold(); return; }
    const next = this.neighbour(here, event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.onSelect(next);
    this.drawn.get(next)?.focus({ preventScroll: true });
  }

  neighbour(here, key) {
    const place = this.places.get(here);
    const all = [...this.places].map(([number, at]) => ({ number, ...at }));
    if (key === "ArrowLeft") return place.parent === "root" ? undefined : place.parent;
    if (key === "ArrowRight") return all.filter((node) => node.parent === here).sort((a, b) => a.y - b.y)[0]?.number;
    const level = all.filter((node) => node.x === place.x).sort((a, b) => a.y - b.y);
    const index = level.findIndex((node) => node.number === here);
    if (key === "ArrowUp") return level[index - 1]?.number;
    if (key === "ArrowDown") return level[index + 1]?.number;
    return undefined;
  }
}
