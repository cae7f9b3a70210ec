// Panel "Budget": caps with their projected end, and spending by stage. Twin of kernelsite/searches/spending.py.
import { $, el, patchRows } from "./dom.js";
import { PALETTE } from "./charts.js";
import { duration } from "./format.js";

const STAGES = ["explore", "tune", "confirm"];

const cell = (label, kind, ...children) => el("td", { class: kind, "data-label": label }, ...children);

export class Budget {
  constructor(root, store) {
    this.root = $("#panel-budget", root);
    this.store = store;
    store.subscribe(() => this.draw());
  }

  draw() {
    if (this.root.hidden) return;
    patchRows($("[data-caps]", this.root), this.caps(), (row) => row.name, (row) => JSON.stringify(row), capRow);
    const stages = this.stages();
    patchRows($("[data-stages]", this.root), stages, (row) => row.name, (row) => JSON.stringify(row), stageRow);
    this.bar(stages);
  }

  caps() {
    const { search } = this.store;
    const wall = search.budget.wall_seconds.spent;
    return Object.entries(search.budget).map(([name, { spent, cap }]) => {
      const pace = wall ? spent / wall : 0;
      const left = cap !== null && pace && search.state === "running" ? (cap - spent) / pace : null;
      return { name, spent, cap, left };
    });
  }

  stages() {
    const found = new Map();
    for (const row of this.store.candidates.values()) {
      const name = row.purpose === "search" ? row.stage : row.purpose;
      if (!found.has(name)) found.set(name, { name, evaluations: 0, passed: 0, failed: 0, device: 0 });
      const stage = found.get(name);
      stage.evaluations += row.order !== null;
      stage.passed += row.status === "PASSED";
      stage.failed += row.status !== null && row.status !== "PASSED";
      stage.device += row.device_seconds;
    }
    const place = (name) => (STAGES.includes(name) ? STAGES.indexOf(name) : STAGES.length);
    const rows = [...found.values()].sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
    const total = rows.reduce((sum, row) => sum + row.device, 0);
    return rows.map((row) => ({ ...row, share: total ? row.device / total : 0 }));
  }

  bar(stages) {
    const box = $("[data-stage-bar]", this.root);
    box.replaceChildren(...stages.filter((row) => row.share > 0).map((row, index) => {
      const part = el("span", { title: `${row.name}: ${duration(row.device)}, ${Math.round(row.share * 100)} %` }, row.share > 0.08 ? `${row.name} ${Math.round(row.share * 100)} %` : "");
      part.style.flexGrow = String(row.share);
      part.style.background = PALETTE[index % PALETTE.length];
      return part;
    }));
  }
}

function say(name, value) {
  if (name.endsWith("seconds")) return duration(value);
  return name === "cost_usd" ? `$${value.toFixed(2)}` : value.toLocaleString("en");
}

function capRow({ name, spent, cap, left }) {
  const meter = cap === null ? null : el("progress", { class: "meter", max: cap, value: Math.min(spent, cap), "aria-label": "share spent" });
  return el("tr", {},
    el("th", { scope: "row" }, name.replaceAll("_", " ")), cell("Spent", "num", say(name, spent)),
    cell("Cap", "num muted", cap === null ? "no limit" : say(name, cap)), cell("Share", "", meter),
    cell("Projected end", "muted", left === null ? "" : `in about ${duration(Math.max(0, Math.round(left)))}`));
}

function stageRow(row) {
  return el("tr", {},
    el("th", { scope: "row" }, row.name), cell("Evaluations", "num", String(row.evaluations)), cell("Passed", "num", String(row.passed)),
    cell("Failed", "num", String(row.failed)), cell("Device time", "num", duration(row.device)), cell("Share", "num", `${Math.round(row.share * 100)}%`));
}
