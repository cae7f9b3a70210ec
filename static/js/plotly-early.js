// Fetches Plotly while the page is still being read; charts.js runs it once the rest of the page stands.
document.head.append(Object.assign(document.createElement("link"), { rel: "preload", as: "script", href: document.currentScript.dataset.plotly }));
