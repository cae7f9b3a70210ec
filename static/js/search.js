// The live page of one search: wires store, connection and pictures. `window.kernelsite` is for the console and browser tests.
import { $, $$, readJson } from "./dom.js";
import { Curves } from "./curves.js";
import { Header, wireButtons } from "./header.js";
import { Inspector } from "./inspector.js";
import { onKey } from "./keys.js";
import { Live, isFinal } from "./live.js";
import { Log } from "./log.js";
import { toast } from "./site.js";
import { Store } from "./store.js";
import { CandidateTable, Failures, StructureTable } from "./tables.js";
import { wireTabs } from "./tabs.js";
import { Tree } from "./tree.js";
import * as url from "./urlstate.js";

const root = $("#search-page");
const store = new Store(readJson("snapshot"));
const header = new Header(root, store);
const tree = new Tree(root, store, select);
const table = new StructureTable(root, store, select);
const inspector = new Inspector(root, store, select);
new Curves(root, store);
new CandidateTable(root, store);
new Failures(root, store);
new Log(root, store);
const openTab = wireTabs($("#panels"));
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

function showTree(asTable) {
  $("[data-tree-box]").hidden = asTable;
  $("[data-tree-table]").hidden = !asTable;
  for (const button of $$("[data-tree-view]")) button.setAttribute("aria-pressed", String((button.dataset.treeView === "table") === asTable));
}
for (const button of $$("[data-tree-view]")) {
  button.addEventListener("click", () => { showTree(button.dataset.treeView === "table"); url.set("view", button.dataset.treeView); });
}
const phone = matchMedia("(max-width: 767.98px)").matches;
showTree(url.get("view", phone ? "table" : "tree") === "table");

onKey(".", () => {
  store.hold(!store.held);
  if (store.held) header.status("held");
  else header.status(live.status, "0");
});
for (const [key, name] of [["c", "candidates"], ["x", "failures"], ["e", "events"], ["f", "config"]]) onKey(key, () => openTab(name));

header.status("connecting");
live.start();
header.tick(live.now());
if (isFinal(store.search.state)) header.tick(live.now());
