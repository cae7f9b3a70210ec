// Charts as files: the numbers as CSV, the chart as PNG. Listens on the document, since parts of a page are swapped while a search runs.
import { $, $$, el } from "./dom.js";
import { pictureOf } from "./pictures.js";

const PICTURE = { format: "png", scale: 2 };

const safeName = (text) => text.trim().replace(/[^\w.-]+/g, "_");

export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Text that a spreadsheet would run as a formula is marked as text; numbers stay numbers.
const safe = (value) => (typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+$/.test(value) ? `'${value}` : value);
const text = (value) => (value === null || value === undefined ? "" : String(value));

export const csv = ({ head, rows }) => [head, ...rows].map((row) => row.map((cell) => quoted(text(safe(cell)))).join(",")).join("\r\n") + "\r\n";

export const csvBlob = (numbers) => new Blob([csv(numbers)], { type: "text/csv;charset=utf-8" });

function numbersOf(table) {
  const [head, ...rows] = $$("tr", table).map((row) => [...row.cells].filter((cell) => !cell.matches("[data-not-exported], .grow")).map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));
  return { head, rows };
}

async function give(kind, figure) {
  const name = safeName(figure.dataset.export);
  const drawn = $(".js-plotly-plot", figure);
  if (kind === "csv") save(`${name}.csv`, csvBlob(numbersOf($("table[data-numbers]", figure))));
  else if (drawn) Plotly.downloadImage(drawn, { ...PICTURE, filename: name });
  else save(`${name}.png`, await pictureOf(figure));
}

// Every figure that names itself has buttons for the forms in which it can be taken away.
export function wireExports() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-give]");
    if (button) give(button.dataset.give, button.closest("[data-export]"));
  });
}
