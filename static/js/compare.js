// Comparison: best so far of every group and seed against a budget; asked for again while a search runs.
import { $, $$, el, icon, readJson } from "./dom.js";
import { Chart, PALETTE, baselineLine, escapeMarkup, faded } from "./charts.js";
import { clock, speedup } from "./format.js";
import { wireExports } from "./exports.js";
import * as url from "./urlstate.js";

const POLL_MS = 3000;
const MOST_LINES = 24;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star"];

const root = $("#compare");
const pill = $("[data-live-pill]");
const x = root.dataset.axis;
let data = readJson("curves");
let etag = "";
let log = url.get("log") === "1";
const hidden = new Set(url.get("hide").split(",").filter(Boolean).map(Number));

const colour = (group) => PALETTE[group.index % PALETTE.length];

// One seed's steps, carried on to where its budget stands now.
function steps(seed) {
  const points = seed.points.map((point) => [point.spent[x], point.speedup, point.candidate]);
  if (points.length && seed.spent[x] > points.at(-1)[0]) points.push([seed.spent[x], points.at(-1)[1], null]);
  return points;
}

function seedTrace(group, seed, thin) {
  const points = steps(seed);
  const name = `${group.name}, seed ${seed.seed}`;
  return {
    x: points.map((point) => point[0]), y: points.map((point) => point[1]), customdata: points.map((point) => [point[2]]), mode: thin ? "lines" : "lines+markers",
    line: { shape: "hv", width: thin ? 1 : 2.4, color: thin ? faded(rgb(colour(group)), 0.45) : colour(group) }, marker: { size: 6, symbol: SYMBOLS[group.index % SYMBOLS.length] },
    text: points.map((point) => `<b>${speedup(point[1])}</b> ${escapeMarkup(name)}<br>${point[2] ? `C-${escapeMarkup(point[2])}` : "no further record"}`), hovertemplate: "%{text}<extra></extra>",
  };
}

function bandTraces(group) {
  const band = group.bands[x];
  const xs = band.map((row) => row[0]);
  const edge = { mode: "lines", line: { shape: "hv", width: 0 }, hoverinfo: "skip" };
  return [
    { ...edge, x: xs, y: band.map((row) => row[2]) },
    { ...edge, x: xs, y: band.map((row) => row[3]), fill: "tonexty", fillcolor: faded(rgb(colour(group)), 0.14) },
    { x: xs, y: band.map((row) => row[1]), mode: "lines", line: { shape: "hv", width: 3, color: colour(group) }, hovertemplate: `<b>%{y:.2f}×</b> ${escapeMarkup(group.name)}, median<extra></extra>` },
  ];
}

function rgb(hex) {
  const value = Number.parseInt(hex.slice(1), 16);
  return `rgb(${value >> 16}, ${(value >> 8) & 255}, ${value & 255})`;
}

function picture() {
  if (!data.groups.some((group) => group.seeds.some((seed) => seed.points.length))) return null;
  const few = data.groups.reduce((sum, group) => sum + group.seeds.length, 0) <= MOST_LINES;
  const traces = data.groups.filter((group) => !hidden.has(group.index)).flatMap((group) => {
    const banded = group.bands[x]?.length > 0;
    const thin = few || !banded ? group.seeds.map((seed) => seedTrace(group, seed, banded)) : [];
    return [...thin, ...(banded ? bandTraces(group) : [])];
  });
  const title = { text: root.dataset.axisTitle };
  return {
    traces,
    layout: {
      xaxis: x === "evaluations" ? { title, range: [0, data.cap * 1.02] } : { title, rangemode: "tozero" },
      yaxis: { title: { text: "best speed-up so far (×)" }, type: log ? "log" : "linear", rangemode: log ? "normal" : "tozero" },
      ...baselineLine(1, `1.0× ${(innerWidth > 767 && data.baseline) || "baseline"}`, log),
    },
    revision: `${x}:${log}`,
  };
}

const chart = new Chart($("[data-chart]", root), picture);
chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });

const best = (group) => Math.max(...group.seeds.flatMap((seed) => seed.points.map((point) => point.speedup)));

function toggle(group) {
  if (!hidden.delete(group.index)) hidden.add(group.index);
  url.set("hide", [...hidden].join(","));
  draw();
}

function legend() {
  const held = $$("button", $("[data-lines]", root)).indexOf(document.activeElement);
  $("[data-lines]", root).replaceChildren(...data.groups.map((group) => {
    const swatch = el("span", { class: `swatch hue-${group.index}` });
    const top = best(group);
    const pressed = String(!hidden.has(group.index));
    return el("button", { type: "button", "aria-pressed": pressed, onclick: () => toggle(group) }, swatch, el("span", { class: "name" }, group.name), el("span", { class: "num muted" }, Number.isFinite(top) ? speedup(top) : "–"));
  }));
  if (held >= 0) $$("button", $("[data-lines]", root))[held]?.focus();
}

function draw() {
  $("[data-log]", root).setAttribute("aria-pressed", String(log));
  legend();
  chart.draw();
}

$("[data-log]", root).addEventListener("click", () => {
  log = !log;
  url.set("log", log ? "1" : "");
  draw();
});

function say(status, toneName, text) {
  pill.dataset.status = status;
  pill.className = `pill live-pill tone-${toneName}`;
  pill.replaceChildren(icon(status === "live" ? "dot" : "clock"), text);
}

let seen = Date.now();
async function poll() {
  try {
    const answer = await fetch(root.dataset.curves, { headers: etag ? { "If-None-Match": etag } : {} });
    if (answer.status === 200) {
      etag = answer.headers.get("ETag");
      data = await answer.json();
      draw();
    } else if (answer.status !== 304) throw new Error(String(answer.status));
    seen = Date.now();
    say("live", "good", "Live");
  } catch {
    say("stale", "warn", `Reconnecting – data as of ${clock(new Date(seen))}`);
  }
  if (data.over) say("finished", "quiet", "Finished");
  else setTimeout(poll, POLL_MS);
}

wireExports();
draw();
poll();
