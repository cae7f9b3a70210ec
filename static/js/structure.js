// Tuning tab of a structure: every evaluation in order, and the best so far.
import { $, readJson } from "./dom.js";
import { Chart, baselineLine, faded, themeColour } from "./charts.js";
import { AXES, Choice, METRICS, hover, line } from "./curves.js";
import { improvements } from "./store.js";

const root = $("#tuning");
const rows = readJson("candidates").filter((row) => row.order !== null).map((row, index) => ({ ...row, own: index + 1 }));
const passed = rows.filter((row) => row.status === "PASSED");
const own = { title: "evaluations of the structure", of: (row) => row.own };

function picture() {
  if (!passed.length) return null;
  const axis = choice.x === "evaluations" ? own : AXES.device;
  const metric = METRICS[choice.y];
  const points = (purpose) => passed.filter((row) => (row.purpose === "search") === purpose);
  const path = line(improvements(points(true), axis.of, metric.of, metric.better), axis, rows.filter((row) => row.purpose === "search"));
  const accent = themeColour("--accent");
  const dots = (list, marker) => ({ x: list.map(axis.of), y: list.map(metric.of), customdata: list.map((row) => [row.id]), mode: "markers", marker, text: list.map((row) => hover(row, row.stage)), hovertemplate: "%{text}<extra></extra>" });
  const base = choice.y === "speedup" ? 1 : passed[0].median_us * passed[0].speedup;
  return {
    traces: [
      { x: path.map((point) => point.x), y: path.map((point) => point.y), mode: "lines", line: { shape: "hv", color: accent, width: 2.4 }, hoverinfo: "skip" },
      dots(points(true), { size: 7, color: faded(accent, 0.65) }),
      dots(points(false), { size: 10, symbol: "diamond", color: themeColour("--good") }),
    ],
    layout: {
      xaxis: { title: { text: axis.title }, rangemode: "tozero" }, yaxis: { title: { text: metric.title }, type: choice.log ? "log" : "linear", rangemode: choice.log ? "normal" : "tozero" },
      ...baselineLine(base, `1.0× ${root.dataset.baseline || "baseline"}`, choice.log),
    },
    revision: `${choice.x}:${choice.y}:${choice.log}`,
  };
}

const choice = new Choice(root, () => chart.draw());
const chart = new Chart($("[data-chart]", root), picture);
chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });
chart.draw();
