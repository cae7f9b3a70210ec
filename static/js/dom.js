// Small builders of elements. Text is hostile: it only ever enters as text nodes.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// An icon of the sprite in templates/_icons.svg.
export function icon(name, extra = "") {
  return svg("svg", { class: `icon ${extra}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));
}

// Sets text only where it changed, so that selections and screen readers are left in peace.
export function setText(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

// A data block written by Django's json_script.
export function readJson(id) {
  const node = document.getElementById(id);
  return node ? JSON.parse(node.textContent) : null;
}

// Keeps `parent`'s children equal to `rows`, reusing a node while its key and stamp stay the same.
export function patchRows(parent, rows, key, stamp, build) {
  const known = new Map();
  for (const child of [...parent.children]) {
    if (child.dataset.key === undefined) child.remove();
    else known.set(child.dataset.key, child);
  }
  let cursor = parent.firstElementChild;
  for (const row of rows) {
    const id = String(key(row));
    const mark = stamp(row);
    let node = known.get(id);
    if (!node || node.dataset.stamp !== mark) {
      const fresh = build(row);
      fresh.dataset.key = id;
      fresh.dataset.stamp = mark;
      if (node) {
        if (node === cursor) cursor = fresh;
        node.replaceWith(fresh);
      }
      node = fresh;
    }
    known.delete(id);
    if (node === cursor) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
  }
  for (const left of known.values()) left.remove();
}
