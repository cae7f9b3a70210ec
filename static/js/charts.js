// Plotly on our terms: one newPlot per box, then react at most four times a second, colours from the page's theme.

const GAP_MS = 250;
export const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#7a8c00"];
const DASHES = ["solid", "dash", "dot"];
const MODEBAR = ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d"];

// Colour and dash of the n-th line; 24 lines can be told apart, not by colour alone.
export const lineStyle = (index) => ({ color: PALETTE[index % PALETTE.length], dash: DASHES[Math.floor(index / PALETTE.length) % DASHES.length] });

export function themeColour(name) {
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

const merge = (low, high) => ({ ...low, ...high, title: { ...low.title, ...(high.title || {}) } });

export class Chart {
  // describe() gives {traces, layout: {xaxis, yaxis, …}, revision}; null means there is nothing to draw yet.
  constructor(box, describe) {
    this.box = box;
    this.describe = describe;
    this.last = 0;
    new ResizeObserver(() => this.started && Plotly.Plots.resize(this.box)).observe(box);
    addEventListener("themechange", () => this.draw());
  }

  draw() {
    if (this.timer) return;
    this.timer = setTimeout(() => { this.timer = null; this.now(); }, Math.max(0, this.last + GAP_MS - performance.now()));
  }

  now() {
    this.last = performance.now();
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
  }

  onClick(listener) {
    const wait = setInterval(() => {
      if (!this.started) return;
      clearInterval(wait);
      this.box.on("plotly_click", (event) => listener(event.points[0]));
    }, 300);
  }
}

// Dashed line at the baseline with its name; `value` in data units, `log` says that the y axis is logarithmic.
export function baselineLine(value, name, log) {
  const colour = themeColour("--muted");
  return {
    shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value, line: { color: colour, width: 1.3, dash: "dash" } }],
    annotations: [{
      xref: "paper", x: 1, xanchor: "right", y: log ? Math.log10(value) : value, yanchor: "bottom", text: escapeMarkup(name), showarrow: false,
      font: { color: colour, size: 11 },
    }],
  };
}

// Plotly reads a small HTML dialect in texts; what came from outside must not be read so.
export const escapeMarkup = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export { faded };
