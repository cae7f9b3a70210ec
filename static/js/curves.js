// The two charts of a search: best so far of the whole search, and one tuning curve per structure.
import { $, $$ } from "./dom.js";
import { Chart, escapeMarkup, faded, lineStyle, referenceLines, themeColour } from "./charts.js";
import { Figure } from "./figure.js";
import { interval, knobs, microseconds, outcomeOf, speedup } from "./format.js";
import { Legend } from "./legend.js";
import { improvements } from "./store.js";
import { shortName } from "./treenode.js";
import * as url from "./urlstate.js";

const DOTS = 1200;
const LETTER = 6.2; // pixels of a letter at the size of reference lines

const since = (row, search) => (search.started_at ? (Date.parse(row.at) - Date.parse(search.started_at)) / 1000 : null);

export const AXES = {
  evaluations: { title: "evaluations", of: (row) => row.order },
  device: { title: "device time of the search (s)", of: (row) => row.spent_device_seconds },
  wall: { title: "wall clock since the start (s)", of: since },
  tokens: { title: "model tokens of the search", of: (row) => row.spent_tokens ?? null },
  cost: { title: "model cost of the search ($)", of: (row) => row.spent_cost_usd ?? null },
};
export const METRICS = {
  speedup: { title: "speed-up over the baseline (×)", of: (row) => row.speedup, better: (a, b) => a > b },
  latency: { title: "time per call (µs)", of: (row) => row.median_us, better: (a, b) => a < b },
};

// What a person chose above the charts; kept in the URL.
export class Choice {
  constructor(root, onChange) {
    this.onChange = onChange;
    this.x = url.get("x") in AXES ? url.get("x") : "evaluations";
    this.y = url.get("y") in METRICS ? url.get("y") : "speedup";
    this.log = url.get("log") === "1";
    for (const button of $$("[data-x], [data-y], [data-log]", root)) button.addEventListener("click", () => this.press(button.dataset));
    this.show = () => {
      for (const button of $$("[data-x]", root)) button.setAttribute("aria-pressed", String(button.dataset.x === this.x));
      for (const button of $$("[data-y]", root)) button.setAttribute("aria-pressed", String(button.dataset.y === this.y));
      for (const button of $$("[data-log]", root)) button.setAttribute("aria-pressed", String(this.log));
    };
    this.show();
  }

  press({ x, y, log }) {
    if (x) this.x = x;
    if (y) this.y = y;
    if (log !== undefined) this.log = !this.log;
    url.set("x", this.x === "evaluations" ? "" : this.x);
    url.set("y", this.y === "speedup" ? "" : this.y);
    url.set("log", this.log ? "1" : "");
    this.show();
    this.onChange();
  }
}

export class Curves {
  constructor(root, store) {
    this.store = store;
    this.root = root;
    this.floor = Number($("#curves", root).dataset.floor) || null;
    this.choice = new Choice(root, () => this.draw());
    this.best = new Chart($("[data-chart='best']", root), () => this.bestPicture());
    this.tuning = new Chart($("[data-chart='tuning']", root), () => this.tuningPicture());
    this.legend = new Legend(root, store, (number) => lineStyle(number - 1), () => this.draw());
    const figure = (name) => $(`[data-figure='${name}']`, root);
    this.figures = [
      new Figure(figure("best"), this.best, `${store.search.short}-best-so-far`, () => this.bestNumbers()),
      new Figure(figure("tuning"), this.tuning, `${store.search.short}-tuning-curves`, () => this.tuningNumbers()),
    ];
    for (const chart of [this.best, this.tuning]) chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });
    store.subscribe((change) => { if (change.candidate || change.structure) this.draw(); });
  }

  draw() {
    const { budget } = this.store.search;
    for (const [name, key] of [["tokens", "tokens"], ["cost", "cost_usd"]]) $(`[data-x='${name}']`, this.root).hidden = !budget[key]?.spent && this.choice.x !== name;
    this.best.draw();
    this.legend.draw();
    this.tuning.draw();
    for (const figure of this.figures) figure.draw();
  }

  // uirevision: a zoom lives until a person changes what the axes mean.
  revision() {
    return `${this.store.search.id}:${this.choice.x}:${this.choice.y}:${this.choice.log}`;
  }

  axis() {
    const axis = AXES[this.choice.x];
    return { title: axis.title, of: (row) => axis.of(row, this.store.search) };
  }

  layout(xTitle, box, note = "") {
    const metric = METRICS[this.choice.y];
    const yaxis = { title: { text: metric.title }, type: this.choice.log ? "log" : "linear", rangemode: this.choice.log ? "normal" : "tozero" };
    const lines = this.references(box);
    if (note) lines.annotations.push({ xref: "paper", yref: "paper", x: 0, y: 1, xanchor: "left", yanchor: "bottom", text: note, showarrow: false, font: { size: 11, color: themeColour("--muted") } });
    return { xaxis: { title: { text: xTitle }, rangemode: "tozero" }, yaxis, ...lines };
  }

  // Baseline, and the floor where the search's settings name one.
  references(box) {
    const { best } = this.store.search;
    if (!best) return { shapes: [], annotations: [] };
    const base = best.median_us * best.speedup;
    const isSpeed = this.choice.y === "speedup";
    const lines = [{ value: isSpeed ? 1 : base, name: fitting(isSpeed ? `1.0× ${best.baseline}` : `${microseconds(base)}, ${best.baseline}`, box), colour: themeColour("--muted"), dash: "dash" }];
    if (this.floor) lines.push({ value: isSpeed ? this.floor : base / this.floor, name: `floor: ${speedup(this.floor)}`, colour: themeColour("--good"), dash: "dot" });
    return referenceLines(lines, this.choice.log);
  }

  searched() {
    return this.store.measured().filter((row) => row.purpose === "search");
  }

  bestPicture() {
    const rows = this.store.measured();
    const axis = this.axis();
    const metric = METRICS[this.choice.y];
    const searched = this.searched();
    const points = improvements(searched, axis.of, metric.of, metric.better);
    if (!rows.some((row) => row.status === "PASSED")) return null;
    const accent = themeColour("--accent");
    const passed = searched.filter((row) => row.status === "PASSED");
    const dots = thinned(passed);
    const path = line(points, axis, rows);
    const traces = [
      { ...scatter(dots, axis, metric), name: "candidates", marker: { size: 5, color: faded(themeColour("--muted"), 0.45) } },
      { x: path.map((p) => p.x), y: path.map((p) => p.y), mode: "lines", line: { shape: "hv", color: accent, width: 2.4 }, hoverinfo: "skip", name: "best so far" },
      { ...scatter(points.map((point) => point.row), axis, metric), name: "record", marker: { size: 8, color: accent, line: { width: 1.5, color: themeColour("--surface") } } },
      this.confirmed(rows, axis, metric),
    ];
    const note = dots.length < passed.length ? `${dots.length} of ${passed.length} dots drawn; the line holds every record` : "";
    return { traces, layout: this.layout(axis.title, this.best.box, note), revision: this.revision() };
  }

  bestNumbers() {
    const axis = this.axis();
    const metric = METRICS[this.choice.y];
    const searched = this.searched().filter((row) => row.status === "PASSED");
    let best = null;
    const rows = searched.map((row) => {
      const value = metric.of(row);
      if (best === null || metric.better(value, best)) best = value;
      return [`C-${row.id}`, axis.of(row), value, row.low, row.high, best];
    });
    return { head: ["candidate", axis.title, metric.title, "95 % low", "95 % high", "best so far"], rows };
  }

  // Confirmations are fresh measurements at the full tier: shown with their interval, not mixed into the line.
  confirmed(rows, axis, metric) {
    const confirmed = rows.filter((row) => row.purpose === "confirm" && row.status === "PASSED");
    const trace = { ...scatter(confirmed, axis, metric), name: "confirmed", marker: { size: 10, symbol: "diamond", color: themeColour("--good") } };
    if (this.choice.y === "speedup") {
      trace.error_y = { type: "data", symmetric: false, array: confirmed.map((row) => row.high - row.speedup), arrayminus: confirmed.map((row) => row.speedup - row.low), color: themeColour("--good"), thickness: 1.4, width: 4 };
    }
    return trace;
  }

  // Charged evaluations of a structure, numbered within it: `own` is its own first, second, …
  own(number) {
    return this.store.ofStructure(number).filter((row) => row.purpose === "search").map((row, index) => ({ ...row, own: index + 1 }));
  }

  tuningAxis() {
    return this.choice.x === "evaluations" ? { title: "evaluations of the structure", of: (row) => row.own } : this.axis();
  }

  tuningPicture() {
    const metric = METRICS[this.choice.y];
    const axis = this.tuningAxis();
    const traces = [];
    for (const row of this.legend.drawn()) {
      const style = lineStyle(row.number - 1);
      const rows = this.own(row.number);
      const points = improvements(rows, axis.of, metric.of, metric.better);
      if (!points.length) continue;
      const path = line(points, axis, rows);
      const name = shortName(row, this.store.structures);
      traces.push({
        x: path.map((p) => p.x), y: path.map((p) => p.y), customdata: path.map((p) => [p.row.id]), mode: "lines+markers", name: escapeMarkup(name),
        line: { shape: "hv", width: row.retained ? 2.4 : 1.5, ...style }, marker: { size: row.retained ? 6 : 4, color: style.color },
        text: path.map((p) => hover(p.row, name)), hovertemplate: "%{text}<extra></extra>",
      });
    }
    return traces.length ? { traces, layout: this.layout(axis.title, this.tuning.box), revision: this.revision() } : null;
  }

  tuningNumbers() {
    const metric = METRICS[this.choice.y];
    const axis = this.tuningAxis();
    const rows = this.legend.drawn().flatMap((structure) => {
      const name = shortName(structure, this.store.structures);
      return improvements(this.own(structure.number), axis.of, metric.of, metric.better).map((point) => [`ST-${structure.id}`, name, `C-${point.row.id}`, point.x, point.y]);
    });
    return { head: ["structure", "name", "candidate", axis.title, `best so far: ${metric.title}`], rows };
  }
}

// A name that would run into the axis on a narrow chart is cut; the page's head has all of it.
function fitting(name, box) {
  const most = Math.max(12, Math.floor((box.clientWidth - 100) / LETTER));
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

// Evenly chosen dots when there are too many to draw; which ones does not depend on when they are drawn.
function thinned(rows) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(rows.length / DOTS)));
  return step === 1 ? rows : rows.filter((row) => row.order % step === 0);
}

// The step line goes on to the last evaluation, so that a plateau is seen as one.
export function line(points, axis, rows) {
  if (!points.length) return [];
  const last = rows.at(-1);
  const end = last ? axis.of(last) : null;
  const tail = points.at(-1);
  return end !== null && end > tail.x ? [...points, { ...tail, x: end }] : points;
}

function scatter(rows, axis, metric) {
  return {
    x: rows.map(axis.of), y: rows.map(metric.of), customdata: rows.map((row) => [row.id]), mode: "markers",
    text: rows.map((row) => hover(row, `structure ${row.structure}`)), hovertemplate: "%{text}<extra></extra>",
  };
}

export function hover(row, name) {
  return [`<b>C-${escapeMarkup(row.id)}</b> ${speedup(row.speedup)} ${interval(row)}`, escapeMarkup(name), microseconds(row.median_us), escapeMarkup(knobs(row.knobs)), outcomeOf(row) === "PASSED" ? "" : escapeMarkup(outcomeOf(row))]
    .filter(Boolean).join("<br>");
}
