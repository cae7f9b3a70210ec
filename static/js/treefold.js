// Which structures the tree shows: folded by hand, to the retained ones, or because there are too many to draw.
import * as url from "./urlstate.js";

export const DRAWN_AT_FIRST = 400;

const numbers = (name) => new Set(url.get(name).split(",").filter(Boolean).map(Number));

export class Folding {
  constructor(store) {
    this.store = store;
    this.mode = url.get("fold") === "retained" ? "retained" : "";
    this.drawAll = url.get("draw") === "all";
    this.hideFailed = url.get("failed") === "hidden";
    this.closed = numbers("closed");
    this.opened = numbers("opened");
  }

  remember() {
    url.set("fold", this.mode);
    url.set("draw", this.drawAll ? "all" : "");
    url.set("failed", this.hideFailed ? "hidden" : "");
    url.set("closed", [...this.closed].join(","));
    url.set("opened", [...this.opened].join(","));
  }

  choose(mode) {
    this.mode = mode;
    this.closed.clear();
    this.opened.clear();
    this.remember();
  }

  // Shows all children of a structure where some are hidden; hides them where none are.
  toggle(number) {
    this.set(number, (this.hidden.get(number) || 0) > 0);
  }

  set(number, open) {
    (open ? this.opened : this.closed).add(number);
    (open ? this.closed : this.opened).delete(number);
    this.remember();
  }

  get isCut() {
    return !this.mode && !this.drawAll && this.store.structures.size > DRAWN_AT_FIRST;
  }

  // Rows to draw in depth-first order with their depth; `this.hidden` then counts, by number, what lies folded below.
  visible(selected) {
    const children = this.children();
    const sizes = this.sizes(children);
    const wanted = this.mode || this.isCut ? this.important(selected) : null;
    const result = [];
    this.hidden = new Map();
    this.parents = new Set([...children.keys()].filter((number) => number !== null));
    const stack = (children.get(null) || []).map((row) => ({ row, depth: 0 })).reverse();
    while (stack.length) {
      const { row, depth } = stack.pop();
      result.push({ row, depth });
      const below = children.get(row.number) || [];
      const shown = below.filter((child) => this.shows(row.number, child.number, wanted));
      const folded = below.filter((child) => !shown.includes(child)).reduce((sum, child) => sum + sizes.get(child.number), 0);
      if (folded) this.hidden.set(row.number, folded);
      stack.push(...shown.map((child) => ({ row: child, depth: depth + 1 })).reverse());
    }
    return result;
  }

  shows(parent, child, wanted) {
    if (this.closed.has(parent)) return false;
    return !wanted || this.opened.has(parent) || wanted.has(child);
  }

  // Structures by their parent's number, in order; roots stand under null. Failed leaves are left out when hidden.
  children() {
    const rows = [...this.store.structures.values()].sort((a, b) => a.number - b.number);
    const parents = new Set(rows.map((row) => row.parent));
    const kept = this.hideFailed ? rows.filter((row) => row.status !== "failed" || parents.has(row.number)) : rows;
    const known = new Set(kept.map((row) => row.number));
    return Map.groupBy(kept, (row) => (known.has(row.parent) ? row.parent : null));
  }

  // Number of structures in each subtree, its root included. Parents have lower numbers than their children.
  sizes(children) {
    const sizes = new Map();
    const rows = [...children.values()].flat().sort((a, b) => b.number - a.number);
    for (const row of rows) {
      sizes.set(row.number, (children.get(row.number) || []).reduce((sum, child) => sum + (sizes.get(child.number) || 1), 1));
    }
    return sizes;
  }

  // What must stay in sight: retained, worked on, selected, the best one, and everything above them.
  important(selected) {
    const { structures } = this.store;
    const leaves = [...structures.values()].filter((row) => row.retained).map((row) => row.number);
    leaves.push(...this.store.active(), ...this.store.lineage());
    if (selected !== undefined) leaves.push(selected);
    const wanted = new Set();
    for (const leaf of leaves) {
      for (let row = structures.get(leaf); row && !wanted.has(row.number); row = structures.get(row.parent)) wanted.add(row.number);
    }
    return wanted;
  }
}
