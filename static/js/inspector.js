// The selected structure beside the tree: what it is, how it does, where to read on.
import { $, el, icon, svg } from "./dom.js";
import { interval, microseconds, plural, speedup } from "./format.js";
import { pill } from "./pill.js";
import { improvements, isFailure } from "./store.js";
import { shortName } from "./treenode.js";

export class Inspector {
  constructor(root, store, onSelect) {
    this.body = $("[data-inspector]", root);
    this.store = store;
    this.onSelect = onSelect;
    this.stamp = "";
    store.subscribe(() => this.draw());
  }

  show(number) {
    this.number = number;
    this.draw();
  }

  draw() {
    const row = this.store.structures.get(this.number);
    if (!row) return;
    const rows = this.store.ofStructure(row.number);
    const stamp = JSON.stringify([row, rows.length]);
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.body.replaceChildren(...this.parts(row, rows).filter(Boolean)); // no curve before the first passed candidate
  }

  parts(row, rows) {
    const actions = row.actions.length ? row.actions.map((id) => el("li", { class: "chip" }, id.replaceAll("_", " "))) : [el("li", { class: "chip" }, "direct implementation")];
    return [
      el("div", { class: "row" }, pill(row.status), row.retained && row.status !== "retained" ? el("span", { class: "pill tone-go" }, icon("ring"), "retained") : null, el("span", { class: "id" }, `ST-${row.id}`)),
      el("h3", { class: "break" }, row.title.replaceAll("_", " ")),
      el("ul", { class: "chips" }, ...actions),
      this.best(row),
      miniCurve(rows),
      this.facts(row, rows),
      el("div", { class: "row" }, el("a", { class: "button button-small", href: `/structures/${row.id}/` }, "Open structure", icon("arrow")),
        el("a", { class: "button button-small button-quiet", href: `/structures/${row.id}/?tab=contract` }, "Contract")),
    ];
  }

  best(row) {
    if (!row.best) return el("p", { class: "muted" }, row.status === "failed" ? "No candidate of this structure passed." : "Not measured yet.");
    const baseline = this.store.search.best?.baseline || "the baseline";
    return el("div", {},
      el("span", { class: "speed num" }, speedup(row.best.speedup)), " ", el("span", { class: "muted num" }, interval(row.best)),
      el("p", { class: "muted small" }, `vs ${baseline} · ${microseconds(row.best.median_us)} · `, el("a", { href: `/candidates/${row.best.candidate}/`, class: "id" }, `C-${row.best.candidate}`)));
  }

  // How much faster than its parent's best; the two were measured apart, so this is a hint and no result.
  against(row, parent) {
    if (!row.best || !parent?.best) return [];
    return [el("dt", {}, "Against its parent"), el("dd", { class: "num" }, `${speedup(row.best.speedup / parent.best.speedup)} of the parent's best`)];
  }

  failed(rows) {
    const counts = new Map();
    for (const row of rows.filter(isFailure)) counts.set(row.status || row.state, (counts.get(row.status || row.state) || 0) + 1);
    if (!counts.size) return [];
    return [el("dt", {}, "Failures"), el("dd", {}, [...counts].map(([cause, count]) => `${count} ${cause}`).join(", "))];
  }

  facts(row, rows) {
    const parent = this.store.structures.get(row.parent);
    const link = parent
      ? el("button", { class: "button button-small button-quiet", type: "button", onclick: () => this.onSelect(parent.number) }, shortName(parent, this.store.structures))
      : "none: the direct implementation";
    return el("dl", { class: "facts" },
      el("dt", {}, "Grown from"), el("dd", {}, link),
      ...this.against(row, parent),
      el("dt", {}, "Evaluations"), el("dd", { class: "num" }, `${row.evaluations}, ${row.passed} passed`),
      ...this.failed(rows),
      el("dt", {}, "Fingerprint"), el("dd", { class: "id" }, row.fingerprint));
  }
}

// Best so far within one structure, over its own evaluations; the dashed line is the baseline.
export function miniCurve(rows) {
  const numbered = rows.map((row, index) => ({ ...row, at: index + 1 }));
  const points = improvements(numbered, (row) => row.at, (row) => row.speedup, (a, b) => a > b);
  if (!points.length) return null;
  const passed = numbered.filter((row) => row.status === "PASSED");
  const top = Math.max(1, ...passed.map((row) => row.speedup)) * 1.08;
  const x = (at) => ((at - 0.5) / Math.max(numbered.length, 1)) * 100;
  const y = (value) => 40 - (value / top) * 40;
  let path = `M${x(points[0].x)} ${y(points[0].y)}`;
  for (const point of points.slice(1)) path += ` H${x(point.x)} V${y(point.y)}`;
  path += " H100";
  const best = points.at(-1).y;
  const text = `${plural(numbered.length, "evaluation")}, best ${speedup(best)}, baseline 1×`;
  return el("figure", {},
    svg("svg", { class: "mini", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": text },
      svg("line", { class: "base", x1: 0, x2: 100, y1: y(1), y2: y(1) }),
      ...passed.map((row) => svg("rect", { class: "dot", x: x(row.at) - 0.5, y: y(row.speedup) - 0.7, width: 1, height: 1.4 })),
      svg("path", { class: "curve", d: path })),
    el("figcaption", { class: "muted small" }, `Best so far over ${plural(numbered.length, "evaluation")}; dashed: baseline`));
}
