// The page Table: the tensors of a checkpoint, as a tree of names that folds.

class TablePage {
  constructor(viewer) {
    this.viewer = viewer;
    this.name = "Table";
    this.bar = h("div", { class: "bar" });
    this.body = h("div", { class: "text" });
    this.element = h("section", { class: "page" }, this.bar, this.body);
  }

  has() { return Boolean(this.viewer.data.table); }

  show() {
    if (this.table) return;
    this.table = this.viewer.data.table;
    this.search = h("input", { type: "search", placeholder: "find a name, a type, a shape …", "aria-label": "search", oninput: () => this.fill() });
    this.open = new Set();
    this.note = h("span", { class: "note" });
    replaced(this.bar, this.search, button("open all", () => { for (const key of this.tree().keys()) this.open.add(key); this.fill(); }),
      button("fold all", () => { this.open.clear(); this.fill(); }), this.note);
    this.fill();
  }

  // Sums by prefix of the names: how many tensors, numbers and bytes.
  tree() {
    const sums = new Map();
    for (const [name, , , numbers, bytes] of this.rows()) {
      const parts = name.split(".");
      for (let i = 1; i < parts.length; i++) {
        const key = parts.slice(0, i).join(".");
        const known = sums.get(key) || { tensors: 0, numbers: 0, bytes: 0 };
        known.tensors++;
        known.numbers += numbers;
        known.bytes += bytes;
        sums.set(key, known);
      }
    }
    return sums;
  }

  rows() {
    const wanted = this.search.value.trim().toLowerCase();
    return this.table.rows.filter(([name, type, shape]) => !wanted || `${name} ${type} [${shape.join(", ")}]`.toLowerCase().includes(wanted));
  }

  fill() {
    const rows = this.rows(), sums = this.tree(), lines = [], shown = new Set(), found = this.search.value.trim() !== "";
    for (const [name, type, shape, numbers, bytes] of rows) {
      const parts = name.split(".");
      let hidden = false;
      for (let i = 1; i < parts.length && !hidden && !found; i++) {
        const key = parts.slice(0, i).join(".");
        if (!shown.has(key)) { shown.add(key); lines.push(this.group(key, i, sums.get(key))); }
        hidden = !this.open.has(key);
      }
      if (!hidden) lines.push(this.line(name, found ? 0 : parts.length, [name, type, `[${shape.join(", ")}]`, amount(numbers, ""), amount(bytes, "B")]));
      if (lines.length > PORTION) { lines.push(this.line("… and more: search, or fold", 0, ["… and more: search, or fold"])); break; }
    }
    const total = rows.reduce((sum, row) => [sum[0] + row[3], sum[1] + row[4]], [0, 0]);
    this.note.textContent = `${rows.length} tensors, ${amount(total[0], "")} numbers, ${amount(total[1], "B")}`;
    const head = h("tr", {}, this.table.columns.map((text, i) => h("th", { class: i > 2 ? "number" : "", text })));
    const about = Object.entries(this.table.metadata).map(([key, value]) => h("tr", {}, h("td", { text: key }), h("td", { class: "mono", text: value.slice(0, 2000) })));
    replaced(this.body, h("table", { class: "tensors" }, head, lines), about.length ? h("h3", { text: "metadata" }) : "", h("table", {}, about));
  }

  group(key, depth, sum) {
    const mark = this.open.has(key) ? "▾" : "▸";
    const turn = () => { if (!this.open.delete(key)) this.open.add(key); this.fill(); };
    return h("tr", { class: "pick", tabindex: 0, onclick: turn, onkeydown: (event) => { if (event.key === "Enter") turn(); } },
      h("td", { class: "mono", text: `${"  ".repeat(depth - 1)}${mark} ${key}` }), h("td", { text: `${sum.tensors} tensors` }), h("td"),
      h("td", { class: "number", text: amount(sum.numbers, "") }), h("td", { class: "number", text: amount(sum.bytes, "B") }));
  }

  line(name, depth, cells) {
    return h("tr", {}, cells.map((text, i) => h("td", { class: i > 2 ? "number" : "mono", text: i ? text : "  ".repeat(Math.max(depth - 1, 0)) + text })));
  }
}
