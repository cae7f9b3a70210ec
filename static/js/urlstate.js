// What a person chose lives in the query string, so that a copied address shows the same view.

export function get(name, fallback = "") {
  return new URLSearchParams(location.search).get(name) ?? fallback;
}

export function set(name, value) {
  const query = new URLSearchParams(location.search);
  if (value === null || value === undefined || value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  history.replaceState(history.state, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
}
