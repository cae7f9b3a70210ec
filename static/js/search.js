// The live page of one search: wires store, connection and pictures. `window.kernelsite` is for the console and browser tests.
import { $, $$, readJson } from "./dom.js";
import { Beliefs } from "./beliefs.js";
import { Board } from "./board.js";
import { Budget } from "./budget.js";
import { Curves } from "./curves.js";
import { Explanation } from "./drafts.js";
import { Header, wireButtons } from "./header.js";
import { Inspector } from "./inspector.js";
import { onKey } from "./keys.js";
import { Live, isFinal } from "./live.js";
import { Log } from "./log.js";
import { afterPaint } from "./paint.js";
import { toast } from "./site.js";
import { Store } from "./store.js";
import { CandidateTable, Failures, StructureTable } from "./tables.js";
import { wireTabs } from "./tabs.js";
import { DRAWN_AT_FIRST, Folding } from "./treefold.js";
import { Tree } from "./tree.js";
import * as url from "./urlstate.js";

const root = $("#search-page");
const store = new Store(readJson("snapshot"));
const header = new Header(root, store);
new Explanation(root, store);
const phone = matchMedia("(max-width: 767.98px)").matches;
const startsAsTable = url.get("view", phone ? "table" : "tree") === "table";
$("[data-tree-table]").hidden = !startsAsTable;
new Curves(root, store);
const folding = new Folding(store);
const fold = { onSelect: select, onFold: refold };
const tree = new Tree(root, store, folding, fold);
const table = new StructureTable(root, store, folding, fold);
const inspector = new Inspector(root, store, select);
const panels = {};
const openTab = wireTabs($("#panels"), "tab", { budget: () => panels.budget?.draw(), beliefs: () => panels.beliefs?.later(), events: () => panels.log?.draw() });
afterPaint(() => {
  new Board(root, store, select);
  new CandidateTable(root, store);
  new Failures(root, store);
  panels.budget = new Budget(root, store);
  panels.beliefs = new Beliefs(root, store, root.dataset.beliefs);
  panels.log = new Log(root, store, root.dataset.log);
});
wireButtons(root, store, toast);

const live = new Live(store, { socket: root.dataset.socket, events: root.dataset.events, snapshot: root.dataset.snapshot }, (status, detail) => header.status(store.held ? "held" : status, detail));
setInterval(() => { if (!store.held) header.tick(live.now()); }, 1000);
window.kernelsite = { store, live, tree };

// The selection stays through updates. Nobody chose yet: the best structure, or the first.
function select(number, remember = true) {
  if (remember) { chosen = true; url.set("sel", String(number)); }
  for (const part of [tree, table]) part.select(number);
  inspector.show(number);
}
let chosen = url.get("sel") !== "";
if (chosen) select(Number(url.get("sel")), false);
store.subscribe(() => {
  if (!chosen && store.structures.size) select(store.lineage().at(-1) ?? Math.min(...store.structures.keys()), false);
});

// Folding is shared by the tree and its table; both are drawn again.
function refold() {
  for (const part of [tree, table]) part.draw();
  sayFolded();
}

function sayFolded() {
  const all = store.structures.size;
  const drawn = folding.visible(tree.selected).length;
  $("[data-folded]").hidden = drawn === all;
  $("[data-folded-text]").textContent = folding.isCut ? `${drawn} of ${all} drawn: more than ${DRAWN_AT_FIRST} are folded to what matters.` : `${drawn} of ${all} shown`;
  $("[data-draw-all]").hidden = drawn === all;
}

$("[data-fold]").value = folding.mode;
$("[data-fold]").addEventListener("change", (event) => { folding.choose(event.target.value); refold(); });
$("[data-draw-all]").addEventListener("click", () => {
  folding.drawAll = true;
  folding.hideFailed = false;
  folding.choose("");
  $("[data-fold]").value = "";
  hide.setAttribute("aria-pressed", "false");
  refold();
});
const hide = $("[data-hide-failed]");
hide.setAttribute("aria-pressed", String(folding.hideFailed));
hide.addEventListener("click", () => {
  folding.hideFailed = !folding.hideFailed;
  folding.remember();
  hide.setAttribute("aria-pressed", String(folding.hideFailed));
  refold();
});
store.subscribe((change) => { if (change.structure || change.all) sayFolded(); });

function showTree(asTable) {
  $("[data-tree-options]").hidden = false;
  for (const option of $$("[data-colour]")) option.parentElement.hidden = asTable;
  $("[data-tree-box]").hidden = asTable;
  $("[data-tree-table]").hidden = !asTable;
  if (asTable) table.draw();
  for (const button of $$("[data-tree-view]")) button.setAttribute("aria-pressed", String((button.dataset.treeView === "table") === asTable));
}
for (const button of $$("[data-tree-view]")) {
  button.addEventListener("click", () => { showTree(button.dataset.treeView === "table"); url.set("view", button.dataset.treeView); });
}
showTree(startsAsTable);

onKey(".", () => {
  store.hold(!store.held);
  if (store.held) header.status("held");
  else header.status(live.status, "0");
});
onKey("t", () => $(`[data-tree-view='${$("[data-tree-box]").hidden ? "tree" : "table"}']`).click());
for (const [key, name] of [["c", "candidates"], ["x", "failures"], ["e", "events"], ["b", "budget"], ["f", "config"]]) onKey(key, () => openTab(name));

header.status("connecting");
live.start();
header.tick(live.now());
if (isFinal(store.search.state)) header.tick(live.now());
