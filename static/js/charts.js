// Plotly on our terms: one newPlot per box, then react at most four times a second and never more than a quarter of
// the time, only while the box is in sight, in colours of the page's theme.
import { $, el } from "./dom.js";
import { afterPaint } from "./paint.js";

const GAP_MS = 250;
const REST = 3;
export const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#7a8c00"];
const DASHES = ["solid", "dash", "dot"];
const MODEBAR = ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d"];

// Colour and dash of the n-th line; 24 lines can be told apart, not by colour alone.
export const lineStyle = (index) => ({ color: PALETTE[index % PALETTE.length], dash: DASHES[Math.floor(index / PALETTE.length) % DASHES.length] });

// Asking costs a style pass over the whole page, so each colour is asked for once per theme.
const colours = new Map();
addEventListener("themechange", () => colours.clear());

export function themeColour(name) {
  if (!colours.has(name)) colours.set(name, askColour(name));
  return colours.get(name);
}

function askColour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const faded = (colour, share) => colour.replace(/^rgba?\((\d+),\s*(\d+),\s*(\d+).*$/, `rgba($1, $2, $3, ${share})`);

function theme() {
  const [text, muted, line, surface] = ["--text", "--muted", "--line", "--raised"].map(themeColour);
  const axis = {
    gridcolor: faded(line, 0.8), linecolor: line, zeroline: false, tickcolor: line, tickfont: { color: muted, size: 11 }, automargin: true,
    title: { font: { color: muted, size: 12 }, standoff: 8 },
  };
  const family = getComputedStyle(document.body).fontFamily;
  return {
    axis,
    layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family, color: text, size: 12 }, showlegend: false, hovermode: "closest",
      margin: { l: 56, r: 18, t: 14, b: 44 },
      hoverlabel: { bgcolor: surface, bordercolor: line, font: { family, color: text, size: 12 }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: text },
    },
  };
}

// Plotly takes half a second to read: the page is shown first.
let loading = null;
function plotly() {
  loading ||= new Promise((onload, onerror) => {
    const { plotly: src } = $("[data-plotly]").dataset;
    afterPaint(() => document.head.append(Object.assign(document.createElement("script"), { src, onload, onerror })));
  });
  return loading;
}

const merge = (low, high) => ({ ...low, ...high, title: { ...low.title, ...(high.title || {}) } });

export class Chart {
  // describe() gives {traces, layout: {xaxis, yaxis, …}, revision}; null means there is nothing to draw yet.
  constructor(box, describe) {
    this.box = box;
    this.describe = describe;
    this.last = this.cost = 0;
    this.isSeen = true;
    new IntersectionObserver(([entry]) => this.see(entry.isIntersecting), { rootMargin: "200px" }).observe(box);
    new ResizeObserver(() => this.started && this.box.offsetParent && Plotly.Plots.resize(this.box)).observe(box);
    addEventListener("themechange", () => this.draw());
  }

  draw() {
    if (this.timer) return;
    if (!globalThis.Plotly) { this.wait(); return; }
    const gap = Math.max(GAP_MS, REST * this.cost);
    this.timer = setTimeout(() => { this.timer = null; this.now(); }, Math.max(0, this.last + gap - performance.now()));
  }

  // Until Plotly stands, the box keeps what the server put there.
  async wait() {
    if (this.waits) return;
    this.waits = true;
    try {
      await plotly();
      this.draw();
    } catch {
      this.box.replaceChildren(el("div", { class: "empty" }, el("p", {}, "The chart's program did not load; reload the page to try again.")));
    }
  }

  see(isSeen) {
    this.isSeen = isSeen;
    if (isSeen && this.isOld) this.draw();
  }

  now() {
    this.isOld = this.started && !this.isSeen;
    if (this.isOld) return;
    const began = performance.now();
    const picture = this.describe();
    if (!picture) return;
    const { axis, layout } = theme();
    const full = { ...layout, ...picture.layout, uirevision: picture.revision, xaxis: merge(axis, picture.layout.xaxis), yaxis: merge(axis, picture.layout.yaxis) };
    // A finger must be able to scroll the page past a chart.
    const touch = matchMedia("(pointer: coarse)").matches;
    full.dragmode = touch ? false : "zoom";
    if (!this.started) this.box.replaceChildren();
    const draw = this.started ? Plotly.react : Plotly.newPlot;
    this.started = true;
    draw(this.box, picture.traces, full, { displaylogo: false, responsive: false, displayModeBar: touch ? false : "hover", modeBarButtonsToRemove: MODEBAR });
    this.last = performance.now();
    this.cost = this.last - began;
  }

  onClick(listener) {
    const wait = setInterval(() => {
      if (!this.started) return;
      clearInterval(wait);
      this.box.on("plotly_click", (event) => listener(event.points[0]));
    }, 300);
  }
}

// Horizontal lines {value, name, colour, dash} with their names; `log` says that the y axis is logarithmic.
export function referenceLines(lines, log) {
  return {
    shapes: lines.map(({ value, colour, dash }) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value, line: { color: colour, width: 1.3, dash } })),
    annotations: lines.map(({ value, name, colour }) => ({
      xref: "paper", x: 1, xanchor: "right", y: log ? Math.log10(value) : value, yanchor: "bottom", text: escapeMarkup(name), showarrow: false,
      font: { color: colour, size: 11 }, bgcolor: faded(themeColour("--surface"), 0.82), borderpad: 1,
    })),
  };
}

// Dashed line at the baseline with its name, in data units.
export const baselineLine = (value, name, log) => referenceLines([{ value, name, colour: themeColour("--muted"), dash: "dash" }], log);

// Plotly reads a small HTML dialect in texts; what came from outside must not be read so.
export const escapeMarkup = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export { faded };
