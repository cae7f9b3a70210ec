// One node of the structure tree as SVG.
import { svg } from "./dom.js";
import { interval, plural, speedup, tone } from "./format.js";

export const WIDTH = 160;
export const HEIGHT = 46;

// What this structure adds to its parent, e.g. "online reduction".
export function shortName(row, structures) {
  const parent = structures.get(row.parent);
  const added = parent ? row.actions.filter((action) => !parent.actions.includes(action)) : row.actions;
  const name = (added.length ? added : row.actions).join(" + ") || "direct";
  return name.replaceAll("_", " ");
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

// `onFold` is called when a person opens or closes what lies below; null where nothing does.
export function drawNode(row, { active, best, colour, hidden, structures, onFold }) {
  const [shape, colourName] = tone(row.status);
  const name = shortName(row, structures);
  const says = row.best ? speedup(row.best.speedup) : row.status === "failed" ? "failed" : "";
  const folded = hidden ? `, ${hidden} folded below` : "";
  const label = `ST-${row.id} ${row.title}: ${row.status}, ${plural(row.evaluations, "evaluation")}${row.best ? `, best ${says} (${interval(row.best)})` : ""}${folded}`;
  const classes = ["node", `is-${row.status}`, row.retained && "is-retained", active && "is-active"].filter(Boolean).join(" ");
  return svg("g", { class: classes, role: "button", "aria-label": label, "data-number": row.number },
    svg("title", {}, label),
    svg("rect", { class: "ring", x: -4, y: -4, width: WIDTH + 8, height: HEIGHT + 8, rx: 12 }),
    svg("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 8 }),
    ...tint(colour),
    svg("use", { class: `mark tone-${colourName}`, href: `#i-${shape}`, x: 12, y: 9, width: 12, height: 12 }),
    svg("text", { class: "label", x: 30, y: 19 }, cut(name, best ? 17 : 20)),
    svg("text", { class: "sub", x: 12, y: 36 }, `${row.status} · ${row.evaluations < 100 ? plural(row.evaluations, "eval") : row.evaluations}`),
    svg("text", { class: "speed", x: WIDTH - 11, y: 36 }, says),
    best ? svg("use", { class: "crown", href: "#i-star", x: WIDTH - 24, y: 8, width: 13, height: 13 }) : null,
    svg("circle", { class: "pulse", cx: WIDTH - 1, cy: 1, r: 4.5 }),
    onFold ? fold(hidden, onFold) : null);
}

function tint(colour) {
  if (!colour) return [];
  const wash = svg("rect", { class: "tint", width: WIDTH, height: HEIGHT, rx: 8 });
  const bar = svg("path", { d: `M0 8 a8 8 0 0 1 6 -7.7 V${HEIGHT - 0.3} a8 8 0 0 1 -6 -7.7 Z` });
  for (const part of [wash, bar]) part.style.fill = colour;
  return [wash, bar];
}

function fold(hidden, onFold) {
  const text = hidden ? `+${hidden}` : "−";
  const width = 12 + 6 * text.length;
  return svg("g", { class: `fold${hidden ? " is-folded" : ""}`, transform: `translate(${WIDTH - 4} ${HEIGHT / 2})`, "aria-hidden": "true", onclick: (event) => { event.stopPropagation(); onFold(); } },
    svg("rect", { x: 0, y: -8, width, height: 16, rx: 8 }),
    svg("text", { x: width / 2, y: 4 }, text));
}

