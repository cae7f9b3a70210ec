// PNG of a chart: Plotly's own, or the layers of a plot of the server with their computed style, drawn on a canvas.
import { $, $$ } from "./dom.js";

const SCALE = 2;
const STYLE = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font", "text-anchor", "vector-effect", "color", "overflow"];

function save(href, name) {
  const link = document.createElement("a");
  link.href = href;
  link.download = `${name}.png`;
  link.click();
}

// A copy that looks the same without the page's style sheets.
function standalone(original) {
  const copy = original.cloneNode(true);
  const sources = [original, ...$$("*", original)];
  [copy, ...$$("*", copy)].forEach((node, index) => {
    const style = getComputedStyle(sources[index]);
    for (const name of STYLE) {
      const value = style.getPropertyValue(name);
      if (value) node.style.setProperty(name, value);
    }
  });
  return copy;
}

async function imageOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  return image;
}

// Words stand outside their layer's box, and an image is cut at its box: so each layer is widened to the whole plot.
function widened(layer, plot) {
  const [box, outer] = [layer.getBoundingClientRect(), plot.getBoundingClientRect()];
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  whole.setAttribute("width", outer.width);
  whole.setAttribute("height", outer.height);
  const inner = standalone(layer);
  for (const [name, value] of Object.entries({ x: box.x - outer.x, y: box.y - outer.y, width: box.width, height: box.height })) {
    inner.setAttribute(name, value);
  }
  whole.append(inner);
  return whole;
}

async function fromPlot(plot, name) {
  const { width, height } = plot.getBoundingClientRect();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * SCALE, height: height * SCALE });
  const context = canvas.getContext("2d");
  context.scale(SCALE, SCALE);
  context.fillStyle = getComputedStyle(plot.closest(".card")).backgroundColor;
  context.fillRect(0, 0, width, height);
  for (const layer of $$("svg", plot)) context.drawImage(await imageOf(widened(layer, plot)), 0, 0, width, height);
  save(canvas.toDataURL("image/png"), name);
}

// Listens on the document: parts of the page are swapped while a search runs.
export function wirePictures() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-png]");
    if (!button) return;
    const card = button.closest("figure");
    const drawn = $(".js-plotly-plot", card);
    if (drawn) Plotly.downloadImage(drawn, { format: "png", filename: button.dataset.png, scale: SCALE });
    else fromPlot($(".plot", card), button.dataset.png);
  });
}
