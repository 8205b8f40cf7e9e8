// The page Graph: what is computed from what, and from which lines.

class GraphPage {
  constructor(viewer) {
    this.viewer = viewer;
    this.name = "Graph";
    this.holder = h("div", { class: "drawing" });
    this.panel = h("aside", { class: "panel" });
    this.bar = h("div", { class: "bar" });
    this.element = h("section", { class: "page" }, this.bar, h("div", { class: "split" }, this.holder, this.panel));
    this.layouter = new Layouter(document.getElementById("library").textContent);
  }

  has(graph) { return Boolean(graph && graph.graph); }

  show(graph) {
    if (!this.view) this.view = new CanvasView(this.holder, {
      hover: (box) => this.hovered(box), click: (box, event) => this.clicked(box, event), open: (box) => this.opened(box),
    });
    if (graph === this.graph) return;
    this.graph = graph;
    this.model = new GraphModel(graph);
    this.controls();
    this.drawn(true);
    this.about();
  }

  controls() {
    const folds = [["none", "nothing"], ["line", "lines"]];
    if (this.model.hasModules()) folds.push(["module", "layers"]);
    this.search = h("input", { type: "search", placeholder: "find op, type, name, line …", "aria-label": "search",
      oninput: () => this.searched(), onkeydown: (event) => { if (event.key === "Enter") this.nextHit(); } });
    this.count = h("span", { class: "note" });
    const mark = (kind, text) => h("span", { class: "legend" }, h("i", { class: `i-${kind}` }), text);
    replaced(this.bar,
      this.search,
      choice("fold", folds, this.model.fold, (value) => { this.model.fold = value; this.model.open.clear(); this.drawn(true); }),
      button("fold all", () => { this.model.open.clear(); this.model.inside.clear(); this.drawn(true); }),
      button("fit", () => this.view.fit(true)),
      button("+", () => this.view.zoom(1.25, this.view.w / 2, this.view.h / 2), { "aria-label": "zoom in" }),
      button("−", () => this.view.zoom(0.8, this.view.w / 2, this.view.h / 2), { "aria-label": "zoom out" }),
      button("constants", (event) => {
        this.model.constants = !this.model.constants;
        event.target.setAttribute("aria-pressed", this.model.constants);
        this.drawn(false);
      }, { "aria-pressed": "false" }),
      mark("given", "inputs"), mark("forward", "forward"), mark("backward", "backward"), mark("pair", "its gradient"),
      this.count);
  }

  // Boxes and lines for what is open now.
  drawn(fit, keep) {
    const seen = this.model.visible();
    this.boxOf = seen.boxOf;
    sized(seen.boxes, (text) => this.view.width(text));
    const anchor = keep && this.view.byId && this.view.byId.get(keep);
    const wanted = this.wanted;
    this.wanted = null;
    let before = anchor ? [anchor.x, anchor.y] : null, first = true; // places come once or twice
    this.layouter.place(seen.boxes, seen.edges, (found, how) => {
      seen.boxes.forEach((box, i) => { [box.x, box.y] = found.places[i]; });
      const byId = new Map(seen.boxes.map((box) => [box.id, box]));
      const lines = seen.edges.map((edge, i) => ({ from: byId.get(edge.from), to: byId.get(edge.to), points: found.lines[i] }));
      this.view.show(seen.boxes, lines);
      this.drawnAt ||= performance.now();
      this.how = how;
      this.count.textContent = `${seen.boxes.length} boxes of ${this.graph.graph.order.length} nodes`;
      if (fit || (first && !before && keep === undefined)) { this.view.fit(); }
      else if (before) before = this.keptInPlace(before, seen.boxes, keep);
      if (wanted) this.centred(wanted);
      first = false;
    });
  }

  // What was clicked stays where the eye is: the nearest of what it has become.
  keptInPlace([x, y], boxes, id) {
    const inner = boxes.filter((box) => box.id === id || box.id.startsWith(id + "/") || (this.became && this.became.has(box.id)));
    const target = inner.length ? inner.reduce((a, b) => (b.x < a.x ? b : a)) : null;
    if (!target) return [x, y];
    this.view.x += (x - target.x) * this.view.scale;
    this.view.y += (y - target.y) * this.view.scale;
    this.view.ask();
    return [target.x, target.y];
  }

  hovered(box) {
    this.view.lit = new Set();
    if (box) for (const other of this.view.boxes) if (other !== box && this.paired(box, other)) this.view.lit.add(other.id);
  }

  // Forward and backward nodes of one place belong together.
  paired(box, other) {
    const [few, many] = box.pairs.size < other.pairs.size ? [box, other] : [other, box];
    for (const key of few.pairs) if (many.pairs.has(key ^ 1)) return true;
    return false;
  }

  clicked(box, event) {
    this.view.chosen = box ? box.id : null;
    this.view.ask();
    if (!box) { this.about(); return; }
    if (event.shiftKey) this.refold(box);
    else this.detail(box);
  }

  opened(box) {
    if (!box.opens) return;
    this.became = new Set(box.members.map((m) => m.id));
    if (box.folded) this.model.open.add(box.id);
    else this.model.inside.add(box.id);
    this.drawn(false, box.id);
  }

  refold(box) {
    const inner = box.id.lastIndexOf("/");
    if (inner > 0) {
      const outer = box.id.slice(0, box.id.lastIndexOf("/", inner - 1));
      this.model.inside.delete(outer);
      this.drawn(false, outer);
      return;
    }
    const key = this.outerKey(box);
    if (key) { this.model.open.delete(key); this.drawn(false, key); }
  }

  // The innermost open box that hides nothing of this node any more.
  outerKey(box) {
    const open = this.model.open;
    const member = box.members.find((one) => one.row[KIND] !== "input") || box.members[0];
    let found = null;
    for (const key of [...open]) { // a copy: what is put back would be met again
      open.delete(key);
      if (this.model.boxOf(member) === key) found = key;
      open.add(key);
    }
    return found;
  }

  // ---- the panel

  about() {
    const graph = this.graph;
    const ops = new Map();
    for (const n of graph.graph.order) ops.set(graph.nodes[n][OP], (ops.get(graph.nodes[n][OP]) || 0) + 1);
    const rows = [...ops].sort((a, b) => b[1] - a[1]).slice(0, 30)
      .map(([op, count]) => h("tr", {}, h("td", { text: op }), h("td", { class: "number", text: count })));
    const results = graph.graph.roots.slice(0, 40).map((n, i) => h("tr", {},
      h("td", { text: graph.results[i] || "result" }), h("td", { class: "mono", text: `${graph.nodes[n][TYPE]} ${graph.nodes[n][LAYOUT]}`.trim() })));
    replaced(this.panel,
      h("h2", { text: graph.name }), h("p", { text: graph.what }),
      h("p", { class: "note", text: "Click a box for its line; double-click to open it, shift-click to fold it again." }),
      this.graph.note ? h("p", { class: "note", text: this.graph.note }) : "",
      ...this.spoken(), h("h3", { text: "results" }), h("table", {}, results),
      h("h3", { text: "ops" }), h("table", {}, rows));
  }

  // What the members of a mesh send one another in a run.
  spoken() {
    const graph = this.graph, rows = graph.collectives;
    if (!rows) return [];
    const total = rows.reduce((sum, row) => sum + row[2] * row[3], 0);
    const table = rows.slice(0, 60).map((row) => h("tr", { class: row[5] >= 0 ? "pick" : "", onclick: () => this.goToNode(row[5]) },
      h("td", { text: row[0] }), h("td", { class: "mono", text: row[4] }), h("td", { class: "number", text: amount(row[2], "B") }), h("td", { class: "number", text: row[3] > 1 ? `${row[3]} ×` : "" })));
    return [h("h3", { text: `on ${graph.mesh}` }),
      h("p", { text: rows.length ? `each member sends ${amount(total, "B")} in a run, by ${rows.length} collectives` : "members send one another nothing" }),
      h("table", {}, table)];
  }

  detail(box) {
    const parts = [h("h2", { text: box.title })];
    if (box.folded) parts.push(h("p", { text: box.note }), this.inside(box));
    else parts.push(...this.ofNode(box.members[0]));
    const acts = [];
    if (box.opens) acts.push(button("open", () => this.opened(box)));
    if (box.id.includes("/") || this.outerKey(box)) acts.push(button("fold", () => this.refold(box)));
    parts.splice(1, 0, h("p", {}, acts));
    const lines = new Map();
    for (const member of box.members) {
      const place = this.model.place(member.place);
      if (place) lines.set(`${place[0]}:${place[1]}`, place);
    }
    for (const place of [...lines.values()].slice(0, 6)) parts.push(...this.lines(place));
    replaced(this.panel, parts);
  }

  ofNode(member) {
    const row = member.row, graph = this.graph, place = this.model.place(member.place);
    const facts = [["type", row[TYPE]], ["attributes", row[ATTRS]], ["device", row[DEVICE]], ["layout", row[LAYOUT]]];
    for (const sent of this.model.sends().get(member.n) || []) facts.push(["sends", `${sent[0]} ${sent[1]}${sent[3] > 1 ? `, ${sent[3]} times` : ""}`]);
    if (place && place[5] >= 0) facts.push(["layer", graph.modules[place[5]].join(" : ")]);
    const constants = row[SRC].filter((n) => graph.nodes[n][KIND] === "const").map((n) => graph.nodes[n][ATTRS]);
    if (constants.length) facts.push(["constants", constants.join(", ")]);
    const at = graph.graph.roots.indexOf(member.n);
    if (at >= 0) facts.push(["is", graph.results[at]]);
    const table = h("table", {}, facts.filter(([, value]) => value)
      .map(([name, value]) => h("tr", {}, h("td", { text: name }), h("td", { class: "mono", text: value }))));
    return [table, ...this.ofOp(row[OP])];
  }

  ofOp(name) {
    const about = this.viewer.data.ops[name];
    if (!about) return [];
    const base = this.viewer.data.docs;
    const link = base !== null && about.page ? h("a", { href: `${base}${encodeURIComponent(name)}${this.viewer.data.docs_end}`, text: `${name} in the documentation` }) : "";
    const derivative = about.derivative ? h("p", { text: `derivative: ${about.derivative}` }) : "";
    return [h("h3", { text: `the op ${name}` }), about.page ? h("p", { class: "mono", text: about.call }) : "", h("p", {}, prose(about.doc)), derivative, h("p", {}, link)];
  }

  inside(box) {
    const ops = new Map();
    for (const member of box.members) ops.set(member.row[OP], (ops.get(member.row[OP]) || 0) + 1);
    const rows = [...ops].sort((a, b) => b[1] - a[1]).slice(0, 20);
    return h("table", {}, rows.map(([op, count]) => h("tr", {}, h("td", { text: op }), h("td", { class: "number", text: count }))));
  }

  lines(place) { return sourceLines(this.graph, place); }

  // ---- search

  searched() {
    const wanted = this.search.value.trim().toLowerCase();
    this.view.marked = new Set();
    this.hits = [];
    if (wanted) {
      for (const instance of this.model.instances().values()) {
        if (this.model.words(instance).includes(wanted)) this.hits.push(instance);
      }
      for (const hit of this.hits) this.view.marked.add(this.boxOf.get(hit.id));
    }
    this.hit = -1;
    this.view.ask();
    if (!wanted) { this.about(); return; }
    const list = this.hits.slice(0, 60).map((hit, i) => button(`${hit.row[OP]} ${hit.row[ATTRS]} ${hit.row[TYPE]}`, () => { this.hit = i; this.goTo(hit); }));
    replaced(this.panel, h("h2", { text: `${this.hits.length} found` }), h("div", { class: "hits" }, list));
  }

  nextHit() {
    if (!this.hits || !this.hits.length) return;
    this.hit = (this.hit + 1) % this.hits.length;
    this.goTo(this.hits[this.hit]);
  }

  goTo(instance) {
    this.model.reveal(instance);
    this.wanted = instance.id;
    this.drawn(false, null);
  }

  // A node of the graph by its number, or the first of a place.
  goToNode(n) {
    const all = this.model.instances(), instance = all.get(String(n)) || [...all.values()].find((one) => one.n === n);
    if (instance) this.goTo(instance);
    return Boolean(instance);
  }

  goToPlace(place) {
    const all = [...this.model.instances().values()];
    const found = all.find((one) => one.place === place && one.row[KIND] !== "input") || all.find((one) => one.place === place);
    if (found) this.goTo(found);
    return Boolean(found);
  }

  centred(id) {
    const box = this.view.byId.get(this.boxOf.get(id));
    if (!box) return;
    this.view.chosen = box.id;
    this.view.centre(box);
    this.detail(box);
  }
}

function sourceLines(graph, place) {
  const file = graph.files[place[0]];
  const numbers = Object.keys(file.lines).map(Number).filter((n) => Math.abs(n - place[1]) <= 4).sort((a, b) => a - b);
  const rows = numbers.map((n) => ({ number: n, text: file.lines[n], mark: n === place[1] ? "here" : "" }));
  const title = `${file.name}:${place[1]}, ${place[2]}${place[3] ? ", its gradient" : ""}`;
  return [h("h3", { text: title }), rows.length ? codeBlock(rows) : ""];
}
