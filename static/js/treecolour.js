// What the colour of a node in the tree says, and the legend that says so in words.
import { PALETTE } from "./charts.js";
import { el } from "./dom.js";
import { tone } from "./format.js";

const TONES = { go: "var(--accent)", good: "var(--good)", bad: "var(--bad)", warn: "var(--warn)", odd: "var(--odd)", quiet: "var(--faint)" };
const ACTIONS_IN_LEGEND = 6;

const mix = (colour, share) => `color-mix(in oklab, ${colour} ${Math.round(share * 100)}%, var(--line-strong))`;

// Half width of the colour scale in octaves: 1.0× is the middle, so the colour says slower or faster than the baseline.
function octaves(rows) {
  return Math.max(1, ...rows.filter((row) => row.best).map((row) => Math.ceil(Math.abs(Math.log2(row.best.speedup)))));
}

function bySpeedup(rows) {
  const range = octaves(rows);
  return {
    stamp: range,
    of: (row) => {
      if (!row.best) return null;
      const share = Math.max(-1, Math.min(1, Math.log2(row.best.speedup) / range));
      return mix(`var(${share < 0 ? "--slow-end" : "--fast-end"})`, Math.abs(share));
    },
    legend: () => [el("span", {}, "slower"), el("span", { class: "scale" }), el("span", {}, "faster than baseline")],
  };
}

function byStatus(rows) {
  const colour = (status) => TONES[tone(status)[1]];
  const found = [...new Set(rows.map((row) => row.status))].sort();
  return { stamp: 0, of: (row) => colour(row.status), legend: () => found.map((status) => swatch(colour(status), status)) };
}

// The last action a structure took, in the order in which actions first appeared.
function byAction(rows) {
  const last = (row) => row.actions.at(-1) || "direct";
  const names = [...new Set(rows.slice().sort((a, b) => a.number - b.number).map(last))];
  const colour = (name) => PALETTE[names.indexOf(name) % PALETTE.length];
  const more = names.length - ACTIONS_IN_LEGEND;
  return {
    stamp: names.length,
    of: (row) => colour(last(row)),
    legend: () => [...names.slice(0, ACTIONS_IN_LEGEND).map((name) => swatch(colour(name), name.replaceAll("_", " "))), more > 0 ? el("span", {}, `and ${more} more`) : null].filter(Boolean),
  };
}

function byAge(rows) {
  const newest = Math.max(1, ...rows.map((row) => row.number));
  return {
    stamp: newest,
    of: (row) => mix("var(--accent)", row.number / newest),
    legend: () => [el("span", {}, "first"), el("span", { class: "scale scale-age" }), el("span", {}, "newest")],
  };
}

function swatch(colour, word) {
  const mark = el("span", { class: "swatch" });
  mark.style.background = colour;
  return el("span", { class: "entry" }, mark, word);
}

export const COLOURS = { speedup: bySpeedup, status: byStatus, action: byAction, age: byAge };
