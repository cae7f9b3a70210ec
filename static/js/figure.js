// A chart with its numbers: as a table, as a CSV file, as a picture.
import { $, $$, el } from "./dom.js";
import { csvBlob, save } from "./exports.js";
import { pictureOf } from "./pictures.js";

const ROWS_IN_TABLE = 500;
const PICTURE = { format: "png", width: 1200, height: 700, scale: 2 };

const text = (value) => (value === null || value === undefined ? "" : String(value));

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
    if (kind === "csv") save(`${this.name}.csv`, csvBlob(this.numbers()));
    else if (kind === "png") this.picture();
    else this.showTable(button);
  }

  async picture() {
    if (this.chart.started) Plotly.downloadImage(this.chart.box, { ...PICTURE, filename: this.name });
    else save(`${this.name}.png`, await pictureOf(this.figure));
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
