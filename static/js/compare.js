// Comparison: best so far of every arm and seed against the matched budget; asked for again while an arm runs.
import { $, $$, el, icon, readJson } from "./dom.js";
import { Chart, PALETTE, baselineLine, escapeMarkup, faded } from "./charts.js";
import { clock, speedup } from "./format.js";
import * as url from "./urlstate.js";

const POLL_MS = 3000;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star"];

const root = $("#compare");
const pill = $("[data-live-pill]");
let data = readJson("curves");
let etag = "";
let x = url.get("x") === "device" ? "device" : "evaluations";
let log = url.get("log") === "1";
const hidden = new Set(url.get("hide").split(",").filter(Boolean));

const place = (point) => (x === "device" ? point[3] : point[0]);
const colour = (arm) => PALETTE[arm.index % PALETTE.length];

// One seed's steps, carried on to where its budget stands now.
function steps(seed) {
  const points = seed.points.map((point) => [place(point), point[1], point[2]]);
  const end = x === "device" ? seed.spent_device_seconds : seed.spent;
  if (points.length && end > points.at(-1)[0]) points.push([end, points.at(-1)[1], null]);
  return points;
}

function seedTrace(arm, seed, thin) {
  const points = steps(seed);
  const name = `${arm.strategy.replaceAll("_", " ")}, seed ${seed.seed}`;
  return {
    x: points.map((point) => point[0]), y: points.map((point) => point[1]), customdata: points.map((point) => [point[2]]), mode: thin ? "lines" : "lines+markers",
    line: { shape: "hv", width: thin ? 1 : 2.4, color: thin ? faded(rgb(colour(arm)), 0.45) : colour(arm) }, marker: { size: 6, symbol: SYMBOLS[arm.index % SYMBOLS.length] },
    text: points.map((point) => `<b>${speedup(point[1])}</b> ${escapeMarkup(name)}<br>${point[2] ? `C-${escapeMarkup(point[2])}` : "no further record"}`), hovertemplate: "%{text}<extra></extra>",
  };
}

function bandTraces(arm) {
  const xs = arm.band.map((row) => row[0]);
  const edge = { mode: "lines", line: { shape: "hv", width: 0 }, hoverinfo: "skip" };
  return [
    { ...edge, x: xs, y: arm.band.map((row) => row[2]) },
    { ...edge, x: xs, y: arm.band.map((row) => row[3]), fill: "tonexty", fillcolor: faded(rgb(colour(arm)), 0.14) },
    { x: xs, y: arm.band.map((row) => row[1]), mode: "lines", line: { shape: "hv", width: 3, color: colour(arm) }, hovertemplate: `<b>%{y:.2f}×</b> ${escapeMarkup(arm.strategy)}, median<extra></extra>` },
  ];
}

function rgb(hex) {
  const value = Number.parseInt(hex.slice(1), 16);
  return `rgb(${value >> 16}, ${(value >> 8) & 255}, ${value & 255})`;
}

function picture() {
  const arms = data.arms.filter((arm) => !hidden.has(arm.strategy));
  if (!data.arms.some((arm) => arm.seeds.some((seed) => seed.points.length))) return null;
  const traces = arms.flatMap((arm) => {
    const banded = x === "evaluations" && arm.band.length > 0;
    return [...arm.seeds.map((seed) => seedTrace(arm, seed, banded)), ...(banded ? bandTraces(arm) : [])];
  });
  return {
    traces,
    layout: {
      xaxis: x === "evaluations" ? { title: { text: "evaluations of each search" }, range: [0, data.cap * 1.02] } : { title: { text: "device time of each search (s)" }, rangemode: "tozero" },
      yaxis: { title: { text: "best speed-up so far (×)" }, type: log ? "log" : "linear", rangemode: log ? "normal" : "tozero" },
      ...baselineLine(1, `1.0× ${data.baseline || "baseline"}`, log),
    },
    revision: `${x}:${log}`,
  };
}

const chart = new Chart($("[data-chart]", root), picture);
chart.onClick((point) => { if (point.customdata?.[0]) location.href = `/candidates/${point.customdata[0]}/`; });

function best(arm) {
  return Math.max(...arm.seeds.flatMap((seed) => seed.points.map((point) => point[1])));
}

function legend() {
  $("[data-lines]", root).replaceChildren(...data.arms.map((arm) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = colour(arm);
    const top = best(arm);
    const toggle = () => {
      if (!hidden.delete(arm.strategy)) hidden.add(arm.strategy);
      url.set("hide", [...hidden].join(","));
      draw();
    };
    return el("button", { type: "button", "aria-pressed": String(!hidden.has(arm.strategy)), onclick: toggle }, swatch, el("span", { class: "name" }, arm.strategy.replaceAll("_", " ")), el("span", { class: "num muted" }, Number.isFinite(top) ? speedup(top) : "–"));
  }));
}

function draw() {
  for (const button of $$("[data-x]", root)) button.setAttribute("aria-pressed", String(button.dataset.x === x));
  $("[data-log]", root).setAttribute("aria-pressed", String(log));
  legend();
  chart.draw();
}

for (const button of $$("[data-x]", root)) button.addEventListener("click", () => { x = button.dataset.x; url.set("x", x === "evaluations" ? "" : x); draw(); });
$("[data-log]", root).addEventListener("click", () => { log = !log; url.set("log", log ? "1" : ""); draw(); });

function say(word, tone, text) {
  if (pill.dataset.status === word && word !== "stale") return;
  pill.dataset.status = word;
  pill.className = `pill live-pill tone-${tone}`;
  pill.replaceChildren(icon(word === "live" ? "dot" : "signal"), text);
}

let seen = Date.now();

async function poll() {
  try {
    if (document.visibilityState === "visible") {
      const answer = await fetch(root.dataset.curves, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      if (answer.redirected || answer.status === 404) { say("refused", "bad", "Signed out"); return; }
      if (answer.ok) { data = await answer.json(); etag = answer.headers.get("ETag"); draw(); }
      if (answer.ok || answer.status === 304) { seen = Date.now(); say("live", "good", "Live"); }
    }
  } catch {
    say("stale", "warn", `Reconnecting – data as of ${clock(new Date(seen))}`);
  }
  if (data.over) say("finished", "quiet", "Finished");
  else setTimeout(poll, POLL_MS);
}

draw();
poll();
