// Drafts that brought nothing to judge: by cause, and one paragraph above everything when nothing else is to be shown.
// Twin of kernelsite/searches/drafts.py, whose words it reads from the page.
import { $, readJson, setText } from "./dom.js";
import { plural } from "./format.js";
import { isFinal } from "./live.js";

const TOLD_FROM = 3;
const QUIET = new Set(["nothing_left", "not_asked"]);
const RESTING = new Set(["paused", "stopped", "finished", "failed"]);
const words = readJson("draft-words") || {};

export const isQuiet = (cause) => QUIET.has(cause);
export const wordsOf = (cause) => words[cause] || { title: cause.replaceAll("_", " "), advice: "" };

// Pairs of cause and rows: faults first, then what is nobody's fault; the most frequent first.
export function draftGroups(rows) {
  return [...Map.groupBy(rows, (row) => row.cause)].sort((a, b) => isQuiet(a[0]) - isQuiet(b[0]) || b[1].length - a[1].length);
}

export class Explanation {
  constructor(root, store) {
    this.box = $("[data-explanation]", root);
    this.count = $("[data-empty-drafts]", root);
    this.store = store;
    this.calls = root.dataset.calls;
    store.subscribe(() => this.draw());
  }

  draw() {
    const { search, drafts } = this.store;
    this.count.hidden = !drafts.length;
    setText($("b", this.count), String(drafts.length));
    if (isFinal(search.state)) setText($("[data-tree-empty] p"), "No answer of the agent brought a structure.");
    const faults = drafts.filter((row) => !isQuiet(row.cause));
    this.box.hidden = search.counts.passed > 0 || !faults.length || (faults.length < TOLD_FROM && !RESTING.has(search.state));
    if (this.box.hidden) return;
    const groups = draftGroups(faults);
    setText($("[data-what]", this.box), this.what(faults, groups));
    setText($("[data-how]", this.box), wordsOf(groups[0][0]).advice);
    const call = groups[0][1].find((row) => row.call)?.call;
    const link = $("[data-read]", this.box);
    link.hidden = !call;
    if (call) link.href = `${this.calls}${call}/`;
  }

  what(faults, groups) {
    const causes = groups.map(([cause, rows]) => `${wordsOf(cause).title} (${rows.length})`).join(", ");
    const judged = [...this.store.candidates.values()].filter((row) => row.status !== null).length;
    const told = plural(faults.length, "draft");
    if (!judged) return `No draft brought a program that could be judged; ${told} failed: ${causes}.`;
    return `No program passed: ${judged} judged, and ${told} brought none: ${causes}.`;
  }
}
