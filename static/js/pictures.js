// PNG of what is on the page: text, meters and drawings are painted on a canvas with the style that they have there.
import { themeColour } from "./charts.js";
import { $$, el } from "./dom.js";

const SCALE = 2;
const LONGEST = 8192;
const MARGIN = 24;
const LEFT_OUT = "button, select, form, script, .visually-hidden, .chart-tools, .figure-tools, [data-export-tools]";
const STYLE = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor",
  "paint-order", "vector-effect", "color", "overflow", "display",
];

// What an icon refers to stands elsewhere in the page: it is put in its place.
function withoutReferences(copy) {
  for (const use of $$("use", copy)) {
    const symbol = document.getElementById(use.getAttribute("href")?.slice(1));
    if (!symbol) continue;
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.setAttribute("viewBox", symbol.getAttribute("viewBox") || "0 0 24 24");
    for (const name of ["x", "y", "width", "height"]) if (use.hasAttribute(name)) drawing.setAttribute(name, use.getAttribute(name));
    for (const name of use.style) drawing.style.setProperty(name, use.style.getPropertyValue(name));
    drawing.append(...[...symbol.childNodes].map((node) => node.cloneNode(true)));
    use.replaceWith(drawing);
  }
}

// A copy that looks the same without the page's style sheets.
function standalone(original) {
  const copy = original.cloneNode(true);
  const sources = [original, ...$$("*", original)];
  [copy, ...$$("*", copy)].forEach((node, index) => {
    const style = getComputedStyle(sources[index]);
    for (const name of STYLE) node.style.setProperty(name, style.getPropertyValue(name));
  });
  withoutReferences(copy);
  return copy;
}

// An image knows no fonts of the page: those that the style sheets bring are put into it.
let faces = null;
async function fontFaces() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => [rule, sheet.href])).filter(([rule]) => rule instanceof CSSFontFaceRule);
  const texts = await Promise.all(rules.map(async ([rule, base]) => {
    const [, address] = rule.style.getPropertyValue("src").match(/url\("?([^")]+)"?\)/);
    const bytes = new Uint8Array(await (await fetch(new URL(address, base))).arrayBuffer());
    const coded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return rule.cssText.replace(/url\("?[^")]+"?\)/, `url("data:font/woff2;base64,${coded}")`);
  }));
  return texts.join("");
}

async function imageOf(drawing) {
  faces ||= fontFaces().catch(() => "");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.append(await faces);
  const image = new Image();
  drawing = drawing.cloneNode(true);
  drawing.append(style);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await image.decode();
  return image;
}

// Words may stand outside a drawing's box, and an image is cut at its box: so it becomes as large as the whole picture.
function widened(drawing, at) {
  const box = drawing.getBoundingClientRect();
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const inner = standalone(drawing);
  for (const [name, value] of Object.entries({ x: box.x - at.x, y: box.y - at.y, width: box.width, height: box.height })) inner.setAttribute(name, value);
  for (const name of ["width", "height"]) whole.setAttribute(name, at[name]);
  whole.append(inner);
  return whole;
}

function board(width, height, scale, background) {
  const canvas = el("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.fillStyle = background;
  pen.fillRect(0, 0, width, height);
  return [canvas, pen];
}

const fitting = (width, height) => Math.min(SCALE, LONGEST / Math.max(width, height));
const blobOf = (canvas) => new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
const surface = (node) => getComputedStyle(node.closest(".card")).backgroundColor;

function words(text, pen, at) {
  const style = getComputedStyle(text.parentElement);
  pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  pen.letterSpacing = style.letterSpacing === "normal" ? "0px" : style.letterSpacing;
  pen.fillStyle = style.color;
  const range = document.createRange();
  for (const match of text.data.matchAll(/\S+/g)) {
    range.setStart(text, match.index);
    range.setEnd(text, match.index + match[0].length);
    const [box] = range.getClientRects();
    if (!box) continue;
    const word = style.textTransform === "uppercase" ? match[0].toUpperCase() : match[0];
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText(word);
    pen.fillText(word, box.x - at.x, box.y - at.y + (box.height - up - down) / 2 + up);
  }
}

function bar(pen, colour, x, y, width, height, radius) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.roundRect(x, y, width, height, radius);
  pen.fill();
}

function meter(node, style, pen, box, at) {
  const filled = (box.width * node.value) / (node.max || 1);
  const own = [...node.classList].some((name) => name.startsWith("hue-"));
  bar(pen, style.backgroundColor, box.x - at.x, box.y - at.y, box.width, box.height, 3);
  bar(pen, own ? style.color : themeColour(node.matches(".meter-done") ? "--good" : "--accent"), box.x - at.x, box.y - at.y, filled, box.height, 3);
}

// Left to right, which is how scales of colour stand in legends.
function gradient(style, pen, box, at) {
  const colours = style.backgroundImage.match(/(?:rgba?|color|okl?ab|oklch|lab)\([^)]*\)/g) || [];
  const paint = pen.createLinearGradient(box.x - at.x, 0, box.right - at.x, 0);
  colours.forEach((colour, index) => paint.addColorStop(index / Math.max(1, colours.length - 1), colour));
  bar(pen, paint, box.x - at.x, box.y - at.y, box.width, box.height, Number.parseFloat(style.borderRadius) || 0);
}

function ground(style, pen, box, at) {
  if (!/^rgba\(.*, 0\)$|^transparent$/.test(style.backgroundColor)) bar(pen, style.backgroundColor, box.x - at.x, box.y - at.y, box.width, box.height, Number.parseFloat(style.borderRadius) || 0);
  if (style.backgroundImage.startsWith("linear-gradient")) gradient(style, pen, box, at);
  const below = Number.parseFloat(style.borderBottomWidth);
  if (below && style.borderBottomStyle !== "none") bar(pen, style.borderBottomColor, box.x - at.x, box.bottom - at.y - below, box.width, below, 0);
}

async function paint(node, pen, at) {
  if (node.nodeType === Node.TEXT_NODE) { words(node, pen, at); return; }
  if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT) || !node.checkVisibility({ visibilityProperty: true })) return;
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  if (node.localName === "svg") { pen.drawImage(await imageOf(widened(node, at)), 0, 0, at.width, at.height); return; }
  if (node.localName === "progress") { meter(node, style, pen, box, at); return; }
  pen.save();
  if (style.overflowX !== "visible") {
    pen.beginPath();
    pen.rect(box.x - at.x, box.y - at.y, box.width, box.height);
    pen.clip();
  }
  ground(style, pen, box, at);
  for (const child of node.childNodes) await paint(child, pen, at);
  pen.restore();
}

// A card as it stands, without its buttons.
export async function pictureOf(card) {
  const box = card.getBoundingClientRect();
  const [canvas, pen] = board(box.width, box.height, fitting(box.width, box.height), surface(card));
  await paint(card, pen, box);
  return blobOf(canvas);
}

// A drawing that is panned and zoomed, whole: `whole` is its box in its own units. What `legend` says stands below.
export async function wholeDrawing(drawing, whole, legend) {
  const copy = standalone(drawing);
  const [width, height] = [whole.width + 2 * MARGIN, whole.height + 2 * MARGIN];
  copy.setAttribute("viewBox", `${whole.x - MARGIN} ${whole.y - MARGIN} ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const said = legend.getBoundingClientRect();
  const [canvas, pen] = board(Math.max(width, said.width + MARGIN), height + said.height, fitting(width, height), surface(drawing));
  pen.drawImage(await imageOf(copy), 0, 0, width, height);
  await paint(legend, pen, { x: said.x - MARGIN / 2, y: said.y - height, width: said.width + MARGIN, height: height + said.height });
  return blobOf(canvas);
}
