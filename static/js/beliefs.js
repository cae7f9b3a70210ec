// Panel "Beliefs": worth of each structure over the steps, and every insertion, new rating and pruning. Asked for again while it is open.
import { $, el, patchRows } from "./dom.js";
import { Chart, escapeMarkup, lineStyle } from "./charts.js";
import { Figure } from "./figure.js";

const GAP_MS = 2000;

const number = (value) => (value === null ? "" : value.toFixed(3));
const words = (name) => name.replaceAll("_", " ");

export class Beliefs {
  constructor(root, store, address) {
    this.panel = $("#panel-beliefs", root);
    if (!this.panel) return;
    this.store = store;
    this.address = address;
    this.chart = new Chart($("[data-chart='beliefs']", this.panel), () => this.picture());
    this.figure = new Figure($("[data-figure='beliefs']", this.panel), this.chart, `${store.search.short}-beliefs`, () => this.numbers());
    store.subscribe(() => this.later());
  }

  // The panel asks only while somebody looks at it, and only when there were events since.
  later() {
    if (!this.panel || this.panel.hidden || this.waiting || this.seq === this.store.seq) return;
    this.waiting = setTimeout(() => { this.waiting = null; this.fetch(); }, this.seq === undefined ? 0 : GAP_MS);
  }

  async fetch() {
    const { seq } = this.store;
    try {
      const answer = await fetch(this.address, { headers: { Accept: "application/json" } });
      if (!answer.ok || answer.redirected) return;
      this.timeline = await answer.json();
      this.seq = seq;
      this.draw();
    } catch {
      // Offline: the next event asks again.
    }
    this.later();
  }

  draw() {
    this.chart.draw();
    this.figure.draw();
    const key = (row) => `${row.step}-${row.structure}`;
    patchRows($("[data-belief-changes]", this.panel), this.timeline.changes, key, () => "", changeRow);
  }

  picture() {
    const lines = this.timeline?.lines.filter((line) => line.points.length) || [];
    if (!lines.length) return null;
    const traces = lines.map((line) => this.trace(line));
    return {
      traces, revision: `beliefs:${this.store.search.id}`,
      layout: { xaxis: { title: { text: "step" }, rangemode: "tozero" }, yaxis: { title: { text: "worth" }, rangemode: "tozero" } },
    };
  }

  numbers() {
    const lines = this.timeline?.lines || [];
    return { head: ["structure", "name", "step", "worth"], rows: lines.flatMap((line) => line.points.map(([step, worth]) => [line.structure, words(line.name), step, worth])) };
  }

  // A pruned structure's line ends; one that is still open goes on to the last step.
  trace(line) {
    const points = line.points.at(-1)[1] === null ? line.points : [...line.points, [this.timeline.steps, line.points.at(-1)[1]]];
    const name = escapeMarkup(words(line.name));
    const style = lineStyle(Math.max(0, line.structure - 1));
    return {
      x: points.map((point) => point[0]), y: points.map((point) => point[1]), mode: "lines+markers", name,
      line: { shape: "hv", width: 1.8, ...style }, marker: { size: 4, color: style.color },
      text: points.map((point) => `<b>${number(point[1])}</b> at step ${point[0]}<br>${line.structure} ${name}`), hovertemplate: "%{text}<extra></extra>",
    };
  }
}

function changeRow(row) {
  const cell = (label, kind, text) => el("td", { class: kind, "data-label": label }, text);
  return el("tr", {}, cell("Step", "num", String(row.step)), cell("Change", "", row.kind), cell("Structure", "break", `${row.structure || ""} ${words(row.name)}`),
    cell("Was", "num muted", number(row.was)), cell("Now", "num strong", number(row.now)), cell("The step", "muted small", row.why));
}
