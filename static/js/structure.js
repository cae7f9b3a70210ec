// Tuning curve of a structure: its evaluations in order, and the best so far.
import { $, $$, readJson } from "./dom.js";
import { Chart, baselineLine, escapeMarkup, faded, themeColour } from "./charts.js";
import { interval, knobs, microseconds, speedup } from "./format.js";
import * as url from "./urlstate.js";

const root = $("#tuning");
const rows = readJson("candidates");
const passed = rows.filter((row) => row.status === "PASSED");
const choice = { x: url.get("cx", "own"), y: url.get("cy", "speedup"), log: url.get("clog") === "1" };

let spent = 0;
for (const row of rows) {
  spent += row.device_seconds;
  row.device = spent;
}

const AXES = { own: ["evaluations of the structure", (row) => row.own], device: ["seconds on the device, of the drawn evaluations", (row) => row.device] };
const METRICS = { speedup: ["speed-up over the baseline", (row) => row.speedup, Math.max, ""], time: ["time per call", (row) => row.median_us, Math.min, " µs"] };
if (!AXES[choice.x]) choice.x = "own";
if (!METRICS[choice.y]) choice.y = "speedup";

// Corners of the best-so-far staircase; it runs on to the last evaluation.
function staircase(list, x, y, better) {
  const path = [];
  let best = null;
  for (const row of list) {
    const value = best === null ? y(row) : better(best, y(row));
    if (value !== best) path.push([x(row), value]);
    best = value;
  }
  if (path.length) path.push([x(rows.at(-1)), best]);
  return path;
}

const hover = (row) => escapeMarkup(`C-${row.id} ${row.stage}`) + `<br>${speedup(row.speedup)} (${interval(row)}), ${microseconds(row.median_us)}<br>${escapeMarkup(knobs(row.knobs))}`;

function dots(list, x, y, marker) {
  return { x: list.map(x), y: list.map(y), customdata: list.map((row) => [row.id]), mode: "markers", marker, text: list.map(hover), hovertemplate: "%{text}<extra></extra>" };
}

function picture() {
  if (!passed.length) return null;
  const [xTitle, x] = AXES[choice.x];
  const [yTitle, y, better, unit] = METRICS[choice.y];
  const searched = passed.filter((row) => row.purpose === "search");
  const path = staircase(searched, x, y, better);
  const accent = themeColour("--accent");
  const base = choice.y === "speedup" ? 1 : passed[0].median_us * passed[0].speedup;
  return {
    traces: [
      { x: path.map((point) => point[0]), y: path.map((point) => point[1]), mode: "lines", line: { shape: "hv", color: accent, width: 2.4 }, hoverinfo: "skip" },
      dots(searched, x, y, { size: 7, color: faded(accent, 0.65) }),
      dots(passed.filter((row) => row.purpose !== "search"), x, y, { size: 10, symbol: "diamond", color: themeColour("--good") }),
    ],
    layout: {
      xaxis: { title: { text: xTitle }, rangemode: "tozero" },
      yaxis: { title: { text: yTitle }, ticksuffix: choice.y === "speedup" ? "×" : unit, type: choice.log ? "log" : "linear", rangemode: choice.log ? "normal" : "tozero" },
      ...baselineLine(base, `1.0× ${root.dataset.baseline || "baseline"}`, choice.log),
    },
    revision: `${choice.x}:${choice.y}:${choice.log}`,
  };
}

const box = $("[data-chart]", root);
const chart = new Chart(box, picture);

function show() {
  for (const axis of ["x", "y"]) for (const button of $$(`[data-${axis}]`, root)) button.setAttribute("aria-pressed", String(button.dataset[axis] === choice[axis]));
  $("[data-log]", root).setAttribute("aria-pressed", String(choice.log));
  chart.draw();
}

for (const [axis, name, usual] of [["x", "cx", "own"], ["y", "cy", "speedup"]]) {
  for (const button of $$(`[data-${axis}]`, root)) {
    button.addEventListener("click", () => {
      choice[axis] = button.dataset[axis];
      url.set(name, choice[axis] === usual ? "" : choice[axis]);
      show();
    });
  }
}
$("[data-log]", root).addEventListener("click", () => {
  choice.log = !choice.log;
  url.set("clog", choice.log ? "1" : "");
  show();
});
chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });
show();
