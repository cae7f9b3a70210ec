// Structure tree, left to right: d3-hierarchy lays it out, patches by id draw it. The table beside it says the same.
import { $, el, icon, svg } from "./dom.js";
import { interval, plural, speedup, tone } from "./format.js";
import * as url from "./urlstate.js";
import { View } from "./view.js";

const WIDTH = 150;
const HEIGHT = 46;
const ROW = 56;
const COLUMN = 172;

export class Tree {
  // onSelect(number) is called when a person picks a node.
  constructor(root, store, onSelect) {
    this.root = root;
    this.store = store;
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
    const hide = $("[data-hide-failed]", this.root);
    hide.addEventListener("click", () => {
      const on = hide.getAttribute("aria-pressed") !== "true";
      hide.setAttribute("aria-pressed", String(on));
      url.set("failed", on ? "hidden" : "");
      this.draw();
    });
    hide.setAttribute("aria-pressed", String(url.get("failed") === "hidden"));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { if (!this.touched) this.fit(); }).observe(this.svg);
  }

  select(number) {
    this.selected = number;
    for (const [id, node] of this.drawn) this.mark(id, node);
  }

  rows() {
    const hide = $("[data-hide-failed]", this.root).getAttribute("aria-pressed") === "true";
    const rows = [...this.store.structures.values()];
    if (!hide) return rows;
    const parents = new Set(rows.map((row) => row.parent));
    return rows.filter((row) => row.status !== "failed" || parents.has(row.number));
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
    const rows = this.rows();
    $("[data-tree-empty]", this.root).hidden = rows.length > 0;
    const before = this.places;
    this.places = this.layout(rows);
    const fresh = rows.filter((row) => !before.has(row.number)).length;
    this.hold(before);
    this.drawEdges();
    this.drawNodes(rows);
    if (!this.touched) this.fit();
    else if (fresh && before.size) this.announce(fresh);
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
    const all = [...this.places.values()];
    const x = Math.min(...all.map((place) => place.x));
    const y = Math.min(...all.map((place) => place.y));
    const width = Math.max(...all.map((place) => place.x)) + WIDTH - x;
    const height = Math.max(...all.map((place) => place.y)) + HEIGHT - y;
    const focus = this.places.get(this.store.lineage().at(-1)) || all[0];
    this.view.fit({ x, y, width, height: height + 44 }, { x: focus.x + WIDTH / 2, y: focus.y + HEIGHT / 2 }, least);
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
    const range = spread(rows);
    for (const [number, node] of this.drawn) if (!this.places.has(number)) { node.remove(); this.drawn.delete(number); }
    for (const row of rows) {
      const stamp = JSON.stringify([row.status, row.retained, row.evaluations, row.best?.speedup, active.has(row.number), best === row.number, range]);
      let node = this.drawn.get(row.number);
      if (!node || node.dataset.stamp !== stamp) {
        const next = drawNode(row, { active: active.has(row.number), best: best === row.number, range, siblings: this.store.structures });
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

// Half width of the colour scale in octaves: 1.0× is the middle, so the colour says slower or faster than the baseline.
function spread(rows) {
  const octaves = rows.filter((row) => row.best).map((row) => Math.abs(Math.log2(row.best.speedup)));
  return Math.max(1, ...octaves.map(Math.ceil));
}

// What this structure adds to its parent, e.g. "online_reduction".
export function shortName(row, structures) {
  const parent = structures.get(row.parent);
  const added = parent ? row.actions.filter((action) => !parent.actions.includes(action)) : row.actions;
  const name = (added.length ? added : row.actions).join(" + ") || "direct";
  return name.replaceAll("_", " ");
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function drawNode(row, { active, best, range, siblings }) {
  const [shape, colour] = tone(row.status);
  const name = shortName(row, siblings);
  const says = row.best ? speedup(row.best.speedup) : row.status === "failed" ? "failed" : "";
  const label = `ST-${row.id} ${row.title}: ${row.status}, ${plural(row.evaluations, "evaluation")}${row.best ? `, best ${says} (${interval(row.best)})` : ""}`;
  const classes = ["node", `is-${row.status}`, row.retained && "is-retained", active && "is-active"].filter(Boolean).join(" ");
  const node = svg("g", { class: classes, role: "button", "aria-label": label, "data-number": row.number },
    svg("title", {}, label),
    svg("rect", { class: "ring", x: -4, y: -4, width: WIDTH + 8, height: HEIGHT + 8, rx: 12 }),
    svg("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 8 }),
    row.best ? tint(row.best.speedup, range) : null,
    svg("use", { class: `mark tone-${colour}`, href: `#i-${shape}`, x: 12, y: 9, width: 12, height: 12 }),
    svg("text", { class: "label", x: 30, y: 19 }, cut(name, best ? 16 : 19)),
    svg("text", { class: "sub", x: 12, y: 36 }, `${row.status} · ${plural(row.evaluations, "eval")}`),
    svg("text", { class: "speed", x: WIDTH - 11, y: 36 }, says),
    best ? svg("use", { class: "crown", href: "#i-star", x: WIDTH - 24, y: 8, width: 13, height: 13 }) : null,
    svg("circle", { class: "pulse", cx: WIDTH - 1, cy: 1, r: 4.5 }));
  return node;
}

function tint(value, range) {
  const share = Math.max(-1, Math.min(1, Math.log2(value) / range));
  const bar = svg("path", { d: `M0 8 a8 8 0 0 1 6 -7.7 V${HEIGHT - 0.3} a8 8 0 0 1 -6 -7.7 Z` });
  bar.style.fill = `color-mix(in oklab, var(${share < 0 ? "--slow-end" : "--fast-end"}) ${Math.round(Math.abs(share) * 100)}%, var(--line-strong))`;
  return bar;
}
