// Elements, made without markup: what users' programs say is only ever text.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "value" || name === "hidden" || name === "disabled") element[name] = value;
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ""));
  return element;
}

function h(tag, properties, ...children) {
  return filled(document.createElement(tag), properties, children);
}

function s(tag, properties, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function button(label, act, properties) {
  return h("button", { type: "button", text: label, onclick: act, ...properties });
}

function choice(label, options, value, act) {
  const list = options.map(([key, text]) => h("option", { value: key, text }));
  const select = h("select", { "aria-label": label, onchange: () => act(select.value) }, list);
  select.value = value;
  return h("label", { class: "note" }, `${label} `, select);
}

// Text in which `code` is code.
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part));
}

function replaced(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
  return element;
}

// A thousand lines at once are enough for a reader; the rest comes when it is asked for.
const PORTION = 2000;

function codeBlock(rows) {
  const block = h("pre");
  let shown = 0;
  const more = () => {
    const next = rows.slice(shown, shown + PORTION);
    shown += next.length;
    block.append(...next.map(codeRow));
    const left = rows.length - shown;
    if (left > 0) {
      const ask = button(`${left} more lines`, () => { ask.remove(); more(); });
      block.append(ask);
    }
  };
  more();
  return block;
}

function codeRow(row) {
  const number = row.number === undefined ? "" : h("span", { class: "number", text: row.number });
  const text = row.text.length > 2000 ? row.text.slice(0, 2000) + " …" : row.text;
  const leads = row.act ? { title: "in the graph", onclick: () => { if (!String(getSelection())) row.act(); } } : {};
  return h("span", { class: `row ${row.mark || ""}${row.act ? " leads" : ""}`, ...leads }, number, text);
}

function textRows(text) {
  return String(text).split("\n").map((line) => ({ text: line }));
}

function amount(value, unit) {
  if (value === null || value === undefined) return "";
  const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const found = steps.find(([size]) => Math.abs(value) >= size * 0.9995);
  if (!found) return `0 ${unit}`;
  const digits = value / found[0];
  return `${digits >= 99.95 ? digits.toFixed(0) : Number(digits.toPrecision(3))} ${found[1]}${unit}`;
}
