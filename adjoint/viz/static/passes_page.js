// The page Passes: what each pass makes of the graph, and why.

class PassesPage {
  constructor(viewer) {
    this.viewer = viewer;
    this.name = "Passes";
    this.bar = h("div", { class: "bar" });
    this.body = h("div", { class: "text" });
    this.element = h("section", { class: "page", tabindex: -1, onkeydown: (event) => this.key(event) }, this.bar, this.body);
    this.all = false;
  }

  has(graph) { return Boolean(graph && graph.passes); }

  show(graph) {
    if (graph === this.graph) return;
    this.graph = graph;
    this.at = 0;
    this.tabs = graph.passes.map((pass, i) => button(this.label(pass, i), () => this.go(i)));
    this.back = button("◀ back", () => this.go(this.at - 1));
    this.next = button("next ▶", () => this.go(this.at + 1));
    const whole = button("unchanged, too", () => { this.all = !this.all; this.go(this.at); }, { "aria-pressed": "false" });
    this.whole = whole;
    replaced(this.bar, this.back, this.next, this.tabs, whole);
    this.go(0);
  }

  label(pass, i) {
    const changes = i ? this.changes(i) : 0;
    return changes ? `${pass.name} (${changes})` : pass.name;
  }

  key(event) {
    if (event.target !== this.element) return;
    if (event.key === "ArrowRight") this.go(this.at + 1);
    if (event.key === "ArrowLeft") this.go(this.at - 1);
  }

  go(number) {
    this.at = Math.min(Math.max(number, 0), this.graph.passes.length - 1);
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === this.graph.passes.length - 1;
    this.tabs.forEach((tab, i) => tab.setAttribute("aria-current", i === this.at ? "page" : "false"));
    this.whole.setAttribute("aria-pressed", this.all);
    const pass = this.graph.passes[this.at], before = this.graph.passes[this.at - 1];
    replaced(this.body, h("h2", { text: pass.name }), h("p", { text: pass.doc }), this.rules(pass), this.state(before, pass));
  }

  // Each rule opens to where it applied; a place leads to its node.
  rules(pass) {
    if (!pass.rules.length) return "";
    const rows = pass.rules.map(([name, times, equation, where]) => h("details", { class: "rule", ontoggle: (event) => this.places(event.target, where, times) },
      h("summary", {}, h("b", { text: name }), h("span", { class: "number", text: ` ${times} × ` }), h("span", { class: "mono", text: equation }))));
    return h("div", {}, h("h3", { text: "rules that fired" }), rows);
  }

  places(details, list, times) {
    if (!details.open || details.querySelector("table")) return;
    const rows = list.map(([place, number, was, is]) => {
      const show = place >= 0 ? button("in the graph", () => this.viewer.lookAt(place, number)) : "";
      return h("tr", {}, h("td", { text: this.where(place) }), h("td", { class: "mono", text: was }), h("td", { text: "→" }), h("td", { class: "mono", text: is }), h("td", {}, show));
    });
    details.append(h("table", { class: "rules" }, rows), times > list.length ? h("p", { class: "note", text: `and ${times - list.length} times more` }) : "");
  }

  where(number) {
    const place = number >= 0 ? this.graph.places[number] : null;
    return place ? `${this.graph.files[place[0]].name}:${place[1]}${place[3] ? ", backward" : ""}` : "";
  }

  state(before, pass) {
    if (pass.work) return this.work(pass, before);
    const now = this.rows(pass), old = before && !before.work ? this.rows(before) : null;
    if (!old || Boolean(old.keyed) !== Boolean(now.keyed)) return h("div", {}, h("h3", { text: "what it made" }), codeBlock(now.rows));
    const kept = new Map(), were = new Map();
    for (const row of old.rows) kept.set(row.text, (kept.get(row.text) || 0) + 1);
    for (const row of now.rows) were.set(row.text, (were.get(row.text) || 0) + 1);
    const marked = (rows, other, mark) => rows.map((row) => {
      const left = other.get(row.text) || 0;
      if (left > 0) { other.set(row.text, left - 1); return row; }
      return { ...row, mark };
    });
    const gone = marked(old.rows, were, "removed"), added = marked(now.rows, kept, "added");
    this.carry(gone, added);
    const some = (rows) => (this.all ? rows : this.near(rows));
    const count = (rows, mark) => rows.filter((row) => row.mark === mark).length;
    return h("div", { class: "columns" },
      h("div", {}, h("h3", { text: `before: ${old.rows.length} lines, ${count(gone, "removed")} gone` }), codeBlock(some(gone))),
      h("div", {}, h("h3", { text: `after: ${now.rows.length} lines, ${count(added, "added")} new` }), codeBlock(some(added))));
  }

  // A node whose operands alone are others is marked more faintly than one that is new or gone.
  carry(gone, added) {
    const left = new Map();
    for (const row of gone) if (row.mark && row.key) (left.get(row.key) || left.set(row.key, []).get(row.key)).push(row);
    for (const row of added) {
      const other = row.mark && row.key && left.has(row.key) ? left.get(row.key).shift() : null;
      if (other) row.mark = other.mark = "carried";
    }
  }

  changes(i) {
    const pass = this.graph.passes[i], before = this.graph.passes[i - 1];
    if (!pass.graphs || !before.graphs) return 0;
    const old = new Set(before.graphs.flatMap(([, graph]) => graph.order));
    return pass.graphs.flatMap(([, graph]) => graph.order).filter((n) => !old.has(n)).length;
  }

  // Changed lines with their neighbours.
  near(rows) {
    const keep = new Set();
    rows.forEach((row, i) => { if (row.mark && row.mark !== "carried") for (let j = i - 2; j <= i + 2; j++) keep.add(j); });
    if (!keep.size) return [{ text: "(nothing changed)" }];
    const found = [];
    rows.forEach((row, i) => {
      if (keep.has(i)) found.push(row);
      else if (found.length && found[found.length - 1].text !== "⋯") found.push({ text: "⋯" });
    });
    return found;
  }

  rows(pass) {
    if (pass.text) return { keyed: false, rows: pass.text.map((text) => ({ text })) };
    const rows = [];
    for (const [title, graph] of pass.graphs) {
      if (title) rows.push({ text: `# ${title}` });
      for (const n of graph.order) rows.push({ text: this.node(n), key: this.keyOf(n), act: this.leadsTo(n) });
      rows.push({ text: `outputs: ${graph.roots.map((n) => `%${n}`).join(", ")}` });
    }
    return { keyed: true, rows };
  }

  // What a click on a node's line does: it goes to the graph, if that has a node of the same place.
  leadsTo(n) {
    const place = this.graph.nodes[n][PLACE];
    return place >= 0 ? () => this.viewer.lookAt(place, n) : undefined;
  }

  keyOf(n) {
    const row = this.graph.nodes[n];
    return [row[OP], row[ATTRS], row[TYPE], row[PLACE]].join("\u0000");
  }

  node(n) {
    const row = this.graph.nodes[n];
    const attrs = row[ATTRS] ? ` {${row[ATTRS]}}` : "";
    return `%${n} = ${row[OP]}(${row[SRC].map((m) => `%${m}`).join(", ")})${attrs} : ${row[TYPE]}${this.line(row)}`;
  }

  line(row) {
    const where = this.where(row[PLACE]);
    return where ? `  # ${where}` : "";
  }

  // ---- fusing and choosing

  work(pass) {
    const reasons = new Map((pass.reasons || []).map(([n, ...reason]) => [n, reason]));
    const parts = [];
    for (const [title, list] of pass.work) {
      parts.push(h("h3", { text: title || `${list.length} pieces of work, in the order they run` }));
      list.forEach((one, i) => parts.push(this.piece(one, i, reasons)));
    }
    return h("div", {}, parts);
  }

  piece(one, i, reasons) {
    const made = one.makes.map((n) => this.graph.nodes[n][OP]).join(", ");
    const loops = one.loops.length ? `, loops ${one.loops.join(" × ")}` : "";
    const chosen = one.strategy ? h("p", {}, h("b", { text: one.strategy[0] }), `: ${one.strategy[1]}`,
      one.strategy[2].length ? ` (not: ${one.strategy[2].join(", ")})` : "") : "";
    const nodes = [...new Set([...one.inside, ...one.makes])].filter((n) => this.graph.nodes[n][KIND] !== "const");
    const rows = nodes.map((n) => {
      const [what, why] = reasons.get(n) || (one.reads.includes(n) ? ["read from memory", ""] : ["", ""]);
      return h("tr", { class: "pick", title: "in the graph", onclick: this.leadsTo(n) || (() => {}) }, h("td", { class: "mono", text: this.node(n) }), h("td", { text: what }), h("td", { text: why }));
    });
    const table = h("table", {}, rows);
    const details = h("details", { class: "piece" }, h("summary", { text: `${i}: ${one.kind} ${made}${loops}` }), chosen, table);
    if (i < 6) details.setAttribute("open", "");
    return details;
  }
}
