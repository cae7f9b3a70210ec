// A chart with its numbers: as a table, as a CSV file, as a picture.
import { $, $$, el } from "./dom.js";

const ROWS_IN_TABLE = 500;
const PICTURE = { format: "png", width: 1200, height: 700, scale: 2 };

const quote = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const text = (value) => (value === null || value === undefined ? "" : String(value));

// A cell that a spreadsheet would run as a formula is put in as text.
const safe = (value) => (typeof value === "string" && /^[=+\-@]/.test(value) ? `'${value}` : value);

export const csv = ({ head, rows }) => [head, ...rows].map((row) => row.map((cell) => quote(text(safe(cell)))).join(",")).join("\r\n");

export function download(name, content, type = "text/csv;charset=utf-8") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// numbers() gives {head, rows} of what the chart shows now; `name` is the files' name without an ending.
export class Figure {
  constructor(figure, chart, name, numbers) {
    this.figure = figure;
    this.chart = chart;
    this.name = name;
    this.numbers = numbers;
    for (const button of $$("[data-as]", figure)) button.addEventListener("click", () => this.as(button.dataset.as, button));
  }

  as(kind, button) {
    if (kind === "csv") download(`${this.name}.csv`, csv(this.numbers()));
    else if (kind === "png") this.picture();
    else this.showTable(button);
  }

  picture() {
    if (this.chart.started) Plotly.downloadImage(this.chart.box, { ...PICTURE, filename: this.name });
  }

  showTable(button) {
    const box = $("[data-figure-table]", this.figure);
    const on = box.hidden;
    box.hidden = !on;
    this.chart.box.hidden = on;
    button.setAttribute("aria-pressed", String(on));
    this.draw();
  }

  // To be called when the numbers change; costs nothing while the table is not shown.
  draw() {
    const box = $("[data-figure-table]", this.figure);
    if (box.hidden) return;
    const { head, rows } = this.numbers();
    const line = (cells, tag) => el("tr", {}, ...cells.map((cell) => el(tag, { class: typeof cell === "number" ? "num" : "" }, typeof cell === "number" ? String(Number(cell.toPrecision(6))) : text(cell))));
    const more = rows.length > ROWS_IN_TABLE ? el("p", { class: "muted small body" }, `The first ${ROWS_IN_TABLE} of ${rows.length} rows; the CSV file has all.`) : null;
    box.replaceChildren(el("table", { class: "table-tight" }, el("thead", {}, line(head, "th")), el("tbody", {}, ...rows.slice(0, ROWS_IN_TABLE).map((row) => line(row, "td")))), ...[more].filter(Boolean));
  }
}
