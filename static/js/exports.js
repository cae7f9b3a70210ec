// Charts as files: a table as CSV, an SVG as PNG. Colours are written into the copy, since a picture knows no style sheet.
import { $, $$, el } from "./dom.js";

const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "display"];
const SCALE = 2;

const safeName = (text) => text.trim().replace(/[^\w.-]+/g, "_");

export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Text that a spreadsheet would run as a formula is quoted.
const cellText = (text) => (/^[=+\-@]/.test(text) && !/^[+-]?[\d.]/.test(text) ? `'${text}` : text);
const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function csvOf(table) {
  const rows = $$("tr", table).map((row) => [...row.cells].filter((cell) => !cell.matches("[data-not-exported], .grow")));
  return rows.map((cells) => cells.map((cell) => quoted(cellText(cell.textContent.trim().replace(/\s+/g, " ")))).join(",")).join("\n") + "\n";
}

function styledCopy(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...$$("*", picture)];
  [copy, ...$$("*", copy)].forEach((node, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of DRAWN) node.setAttribute(name, style.getPropertyValue(name));
  });
  return copy;
}

export async function pngOf(picture) {
  const { width, height } = picture.getBoundingClientRect();
  const copy = styledCopy(picture);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = el("canvas", { width: width * SCALE, height: height * SCALE });
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(picture.closest(".card")).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function tool(text, action) {
  return el("button", { class: "button button-small", type: "button", onclick: action }, text);
}

// Every figure that names itself gets a button for each form that it has.
export function wireExports() {
  for (const figure of $$("figure[data-export]")) {
    const name = safeName(figure.dataset.export);
    const [place, table, picture] = [$("[data-export-tools]", figure), $("table[data-numbers]", figure), $("svg.coordinates, svg.times", figure)];
    if (picture) place.append(tool("PNG", async () => save(`${name}.png`, await pngOf(picture))));
    if (table) place.append(tool("CSV", () => save(`${name}.csv`, new Blob([csvOf(table)], { type: "text/csv" }))));
  }
}
