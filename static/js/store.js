// State of one search: a snapshot, then events in order. Every picture on the page is a function of it.

const EVENTS_KEPT = 2000;

export class Store {
  constructor(snapshot) {
    this.listeners = [];
    this.held = false;
    this.pending = null;
    this.load(snapshot);
  }

  // Replaces everything; draws at once the next time a frame is shown.
  load(snapshot) {
    this.epoch = snapshot.epoch;
    this.seq = snapshot.seq;
    this.serverTime = snapshot.server_time;
    this.search = snapshot.search;
    this.structures = new Map(snapshot.structures.map((row) => [row.number, row]));
    this.candidates = new Map(snapshot.candidates.map((row) => [row.id, row]));
    this.events = snapshot.events.slice();
    this.samples = { ...snapshot.samples };
    this.drafts = snapshot.drafts.slice();
    this.#changed({ all: true });
  }

  // Applies events above the last one seen. Returns false, and applies nothing past it, at the first gap.
  apply(events) {
    for (const event of events) {
      if (event.s <= this.seq) continue;
      if (event.s !== this.seq + 1) return false;
      this.seq = event.s;
      this.#merge(event);
    }
    return true;
  }

  #merge(event) {
    const { search, structure, candidate, draft } = event.d;
    if (search) this.search = { ...this.search, ...search };
    if (structure) this.structures.set(structure.number, structure);
    if (candidate) this.candidates.set(candidate.id, candidate);
    this.events.push(event);
    if (this.events.length > EVENTS_KEPT) this.events.splice(0, this.events.length - EVENTS_KEPT);
    if (candidate) this.#sample(candidate, event.d.text);
    if (draft) this.drafts.push(draft);
    this.#changed({ structure: Boolean(structure), candidate: Boolean(candidate), draft: Boolean(draft) });
  }

  // The first failure of a cause speaks for it; its event's text until the page is loaded anew.
  #sample(row, text) {
    if (row.status && row.status !== "PASSED" && !this.samples[row.status]) this.samples[row.status] = { candidate: row.id, text };
  }

  // Listeners are called at most once a frame; a hidden tab has no frames, so it draws once when shown.
  subscribe(listener) {
    this.listeners.push(listener);
    listener({ all: true, structure: true, candidate: true, draft: true });
  }

  #changed(what) {
    this.sorted = this.grouped = null;
    const first = this.pending === null;
    this.pending = { ...(this.pending || {}), ...Object.fromEntries(Object.entries(what).filter(([, on]) => on)) };
    if (first) requestAnimationFrame(() => this.flush());
  }

  flush() {
    if (this.pending === null || this.held) return;
    const change = this.pending.all ? { all: true, structure: true, candidate: true, draft: true } : this.pending;
    this.pending = null;
    for (const listener of this.listeners) listener(change);
  }

  // Holds drawing (events are still taken in) until it is let go again.
  hold(on) {
    this.held = on;
    if (!on) this.flush();
  }

  // Charged evaluations in the order in which they were charged.
  measured() {
    this.sorted ||= [...this.candidates.values()].filter((row) => row.order !== null && row.order !== undefined).sort((a, b) => a.order - b.order);
    return this.sorted;
  }

  ofStructure(number) {
    this.grouped ||= Map.groupBy(this.measured(), (row) => row.structure);
    return this.grouped.get(number) || [];
  }

  // Numbers of the structures from the root to the best one.
  lineage() {
    const best = this.search.best;
    const path = [];
    let row = best ? this.structures.get(Number(best.structure.split(".")[1])) : undefined;
    while (row && !path.includes(row.number)) {
      path.unshift(row.number);
      row = row.parent === null ? undefined : this.structures.get(row.parent);
    }
    return path;
  }

  // Structures that have work on its way right now.
  active() {
    const numbers = new Set();
    for (const row of this.candidates.values()) if (row.state === "running" || row.state === "queued") numbers.add(row.structure);
    return numbers;
  }

  // Where a structure's number stands in the tree: rows in depth-first order with their depth.
  outline() {
    const children = new Map();
    for (const row of this.structures.values()) {
      const parent = this.structures.has(row.parent) ? row.parent : null;
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(row);
    }
    const rows = [];
    const walk = (parent, depth) => {
      for (const row of (children.get(parent) || []).sort((a, b) => a.number - b.number)) {
        rows.push({ row, depth });
        walk(row.number, depth + 1);
      }
    };
    walk(null, 0);
    return rows;
  }
}

// Best so far: only the rows that improved, with x and y where `measure` says.
export function improvements(rows, x, y, better) {
  const points = [];
  let best = null;
  for (const row of rows) {
    const value = y(row);
    if (value === null || value === undefined || row.status !== "PASSED") continue;
    if (best !== null && !better(value, best)) continue;
    best = value;
    points.push({ x: x(row), y: value, row });
  }
  return points;
}

// As the server counts: whatever did not pass.
export const isFailure = (row) => row.state === "lost" || (row.status !== null && row.status !== "PASSED");
