// The two charts of a search: best so far of the whole search, and one tuning curve per structure.
import { $, $$, el, icon } from "./dom.js";
import { Chart, baselineLine, escapeMarkup, faded, lineStyle, themeColour } from "./charts.js";
import { interval, knobs, microseconds, outcomeOf, plural, speedup } from "./format.js";
import { improvements } from "./store.js";
import { shortName } from "./tree.js";
import * as url from "./urlstate.js";

const LINES = 24;
const SHOWN_AT_FIRST = 8;
const CHIPS_AT_FIRST = 10;

export const AXES = {
  evaluations: { title: "evaluations", of: (row) => row.order },
  device: { title: "device time of the search (s)", of: (row) => row.spent_device_seconds },
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
    this.hidden = new Set(url.get("hide").split(",").filter(Boolean).map(Number));
    this.shown = new Set(url.get("lines").split(",").filter(Boolean).map(Number));
    this.choice = new Choice(root, () => this.draw());
    this.best = new Chart($("[data-chart='best']", root), () => this.bestPicture());
    this.tuning = new Chart($("[data-chart='tuning']", root), () => this.tuningPicture());
    for (const chart of [this.best, this.tuning]) chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });
    store.subscribe((change) => { if (change.candidate || change.structure) this.draw(); });
  }

  draw() {
    this.legend();
    this.best.draw();
    this.tuning.draw();
  }

  // uirevision: a zoom lives until a person changes what the axes mean.
  revision() {
    return `${this.store.search.id}:${this.choice.x}:${this.choice.y}:${this.choice.log}`;
  }

  layout(xTitle, bottom) {
    const metric = METRICS[this.choice.y];
    const yaxis = { title: { text: metric.title }, type: this.choice.log ? "log" : "linear", rangemode: this.choice.log ? "normal" : "tozero" };
    return { xaxis: { title: { text: xTitle }, rangemode: "tozero" }, yaxis, ...this.baseline(bottom) };
  }

  baseline() {
    const best = this.store.search.best;
    if (!best) return {};
    if (this.choice.y === "speedup") return baselineLine(1, `1.0× ${best.baseline}`, this.choice.log);
    return baselineLine(best.median_us * best.speedup, `${best.baseline}, ${microseconds(best.median_us * best.speedup)}`, this.choice.log);
  }

  bestPicture() {
    const rows = this.store.measured();
    const axis = AXES[this.choice.x];
    const metric = METRICS[this.choice.y];
    const searched = rows.filter((row) => row.purpose === "search");
    const points = improvements(searched, axis.of, metric.of, metric.better);
    if (!rows.some((row) => row.status === "PASSED")) return null;
    const accent = themeColour("--accent");
    const passed = searched.filter((row) => row.status === "PASSED");
    const traces = [
      { ...scatter(passed, axis, metric), name: "candidates", marker: { size: 5, color: faded(themeColour("--muted"), 0.45) } },
      { x: line(points, axis, rows).map((p) => p.x), y: line(points, axis, rows).map((p) => p.y), mode: "lines", line: { shape: "hv", color: accent, width: 2.4 }, hoverinfo: "skip", name: "best so far" },
      { ...scatter(points.map((point) => point.row), axis, metric), name: "record", marker: { size: 8, color: accent, line: { width: 1.5, color: themeColour("--surface") } } },
      this.confirmed(rows, axis, metric),
    ];
    return { traces, layout: this.layout(axis.title), revision: this.revision() };
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

  tuningPicture() {
    const metric = METRICS[this.choice.y];
    const traces = [];
    for (const { row, style } of this.lines()) {
      const rows = this.store.ofStructure(row.number).filter((each) => each.purpose === "search").map((each, index) => ({ ...each, own: index + 1, order: index + 1 }));
      const axis = this.choice.x === "evaluations" ? { of: (each) => each.own } : AXES.device;
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
    if (!traces.length) return null;
    const title = this.choice.x === "evaluations" ? "evaluations of the structure" : AXES.device.title;
    return { traces, layout: this.layout(title), revision: this.revision() };
  }

  // Structures with a line, best first; each keeps its colour for good. At most 24 are drawn.
  lines() {
    const all = [...this.store.structures.values()].filter((row) => row.best).map((row) => ({ row, style: lineStyle(row.number - 1) }));
    all.sort((a, b) => b.row.retained - a.row.retained || b.row.best.speedup - a.row.best.speedup);
    this.candidates = all;
    return all.filter(({ row }, index) => !this.hidden.has(row.number) && (index < SHOWN_AT_FIRST || row.retained || this.shown.has(row.number))).slice(0, LINES);
  }

  legend() {
    const box = $("[data-lines]", this.root);
    const drawn = new Set(this.lines().map(({ row }) => row.number));
    const chips = this.allChips ? this.candidates : this.candidates.filter(({ row }, index) => index < CHIPS_AT_FIRST || drawn.has(row.number));
    const stamp = JSON.stringify([chips.map(({ row }) => [row.number, row.best.speedup, row.retained, drawn.has(row.number)]), this.candidates.length]);
    if (box.dataset.stamp === stamp) return;
    box.dataset.stamp = stamp;
    box.replaceChildren(...chips.map(({ row, style }) => this.legendButton(row, style, drawn.has(row.number))), ...this.legendRest(chips.length, drawn.size));
  }

  legendRest(chips, drawn) {
    const all = this.candidates.length;
    const more = el("button", { type: "button", class: "more", onclick: () => { this.allChips = !this.allChips; this.legend(); } }, this.allChips ? "fewer" : `${all - chips} more`);
    return [chips < all || this.allChips ? more : null, drawn < all ? el("span", { class: "muted small" }, `${drawn} of ${plural(all, "structure")} drawn`) : null].filter(Boolean);
  }

  legendButton(row, style, on) {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = style.color;
    return el("button", { type: "button", "aria-pressed": String(on), title: row.title, onclick: () => this.toggle(row.number, on) },
      swatch, el("span", { class: "faint num" }, String(row.number)), el("span", { class: "name" }, shortName(row, this.store.structures)), el("span", { class: "num muted" }, speedup(row.best.speedup)), row.retained ? icon("ring") : null);
  }

  toggle(number, on) {
    (on ? this.hidden : this.shown).add(number);
    (on ? this.shown : this.hidden).delete(number);
    url.set("hide", [...this.hidden].join(","));
    url.set("lines", [...this.shown].join(","));
    this.draw();
  }
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
