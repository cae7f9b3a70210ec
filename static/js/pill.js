// Icon + word + colour for a state; the same everywhere.
import { el, icon } from "./dom.js";
import { tone } from "./format.js";

export function pill(word, text = word) {
  const [shape, colour] = tone(word);
  return el("span", { class: `pill tone-${colour}`, "data-busy": shape === "spin" }, icon(shape), text);
}

export function setPill(node, word, text = word) {
  if (!node || (node.dataset.word === word && node.dataset.text === text)) return;
  const [shape, colour] = tone(word);
  node.className = node.className.replace(/\btone-\w+/, `tone-${colour}`);
  node.dataset.word = word;
  node.dataset.text = text;
  node.toggleAttribute("data-busy", shape === "spin");
  node.replaceChildren(icon(shape), text);
}
