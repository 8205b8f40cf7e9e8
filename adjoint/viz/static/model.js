// What is drawn of a graph: nodes as boxes, some folded into one, some opened to what is inside.

const OP = 0, TYPE = 1, ATTRS = 2, SRC = 3, PLACE = 4, KIND = 5, BODY = 6, DEVICE = 7, LAYOUT = 8;
const FEW = 400; // nodes that are drawn without folding
const READABLE = 70; // boxes
const MOST_OPEN = 20000; // instances of nodes, whatever is opened

class GraphModel {
  constructor(data, graph) {
    this.data = data;
    this.graph = graph || data.graph;
    this.open = new Set(); // boxes of layers or lines
    this.inside = new Set(); // composites and loops
    this.constants = false;
    const drawn = this.graph.order.filter((n) => data.nodes[n][KIND] !== "const").length;
    this.fold = drawn <= FEW ? "none" : this.hasModules() ? "module" : "line";
    if (this.fold === "module") this.openSome();
  }

  // Layers are opened from the outermost on while few enough boxes are there to be read.
  openSome() {
    for (let depth = 1; depth < 5; depth++) {
      const before = new Set(this.open);
      for (const [path] of this.data.modules) {
        const parts = path.split(".");
        if (parts.length <= depth) continue;
        const outer = parts.slice(0, depth).join(".");
        this.open.add(`module ${outer} forward`).add(`module ${outer} backward`);
      }
      if (this.visible().boxes.length > READABLE) { this.open = before; return; }
    }
  }

  hasModules() {
    return this.data.modules.length > 0 && this.data.places.some((place) => place[5] >= 0);
  }

  place(number) {
    return number >= 0 ? this.data.places[number] : null;
  }

  // Every node that can be seen, with opened composites replaced by what they are made of.
  instances() {
    const found = new Map();
    const alias = new Map(); // of nodes that are not there: the instances that stand for them
    const roots = new Set(this.graph.roots);
    this.spread(this.graph.order, "", new Map(), -1, found, alias, roots);
    return found;
  }

  spread(order, prefix, given, place, found, alias, roots) {
    const resolve = (n) => {
      if (given.has(n)) return given.get(n);
      const id = prefix + n;
      return alias.has(id) ? alias.get(id) : found.has(id) ? [id] : [];
    };
    for (const n of order) {
      const row = this.data.nodes[n], id = prefix + n;
      if (row[KIND] === "const" && !this.constants && !roots.has(n)) { alias.set(id, []); continue; }
      if (row[KIND] === "part" && row[SRC].length === 1) {
        const parts = alias.get(`${prefix}${row[SRC][0]}#${partOf(row)}`);
        alias.set(id, parts || resolve(row[SRC][0]));
        if (roots.has(n)) for (const at of alias.get(id)) found.get(at).result = true;
        continue;
      }
      if (row[KIND] === "same" && !(roots.has(n) && !resolve(row[SRC][0]).length)) { // it only keeps equal values apart
        alias.set(id, resolve(row[SRC][0]));
        if (roots.has(n)) for (const at of alias.get(id)) found.get(at).result = true;
        continue;
      }
      const own = place >= 0 ? place : row[PLACE];
      const sources = row[SRC].map(resolve);
      if (row[BODY] >= 0 && this.inside.has(id) && found.size < MOST_OPEN) {
        this.enter(row, id, sources, own, found, alias);
        if (roots.has(n)) for (const at of alias.get(id)) if (found.has(at)) found.get(at).result = true;
        continue;
      }
      const result = roots.has(n);
      found.set(id, { id, n, row, place: own, src: [...new Set(sources.flat())], result });
    }
  }

  enter(row, id, sources, own, found, alias) {
    const ends = [], keeps = row[KIND] === "composite" ? own : -1;
    this.data.bodies[row[BODY]].forEach((body, which) => {
      const inner = `${id}/${which}/`, given = new Map();
      const offset = Math.max(0, sources.length - body.inputs.length);
      body.inputs.forEach((n, i) => { given.set(n, sources[i + offset] || []); });
      this.spread(body.order, inner, given, keeps, found, alias, new Set());
      body.roots.forEach((n, i) => {
        const at = given.get(n) || alias.get(inner + n) || (found.has(inner + n) ? [inner + n] : []);
        const known = alias.get(`${id}#${i}`) || [];
        alias.set(`${id}#${i}`, [...known, ...at]);
        ends.push(...at);
      });
    });
    alias.set(id, [...new Set(ends)]);
  }

  // The box that an instance is drawn in: its own, or that of the line or layer it is folded into.
  boxOf(instance) {
    if (this.fold === "none") return instance.id;
    const place = this.place(instance.place);
    if (!place) return instance.id;
    const side = place[3] ? "backward" : "forward";
    if (this.fold === "line") {
      const key = `line ${place[0]}:${place[1]} ${side}`;
      return this.open.has(key) ? instance.id : key;
    }
    if (place[5] < 0) {
      const key = `line ${place[0]}:${place[1]} ${side}`;
      return this.open.has(key) ? instance.id : key;
    }
    const parts = this.data.modules[place[5]][0].split(".");
    let path = "";
    for (const part of parts) {
      path = path ? `${path}.${part}` : part;
      const key = `module ${path} ${side}`;
      if (!this.open.has(key)) return key;
    }
    return instance.id;
  }

  visible() {
    const instances = this.instances();
    const boxes = new Map(), boxOf = new Map();
    for (const instance of instances.values()) {
      const key = this.nearUse(instance, instances);
      boxOf.set(instance.id, key);
      if (!boxes.has(key)) boxes.set(key, { id: key, members: [] });
      boxes.get(key).members.push(instance);
    }
    const edges = new Map();
    for (const instance of instances.values()) {
      const to = boxOf.get(instance.id);
      for (const source of instance.src) {
        const from = boxOf.get(source);
        if (from === undefined || from === to) continue;
        edges.set(`${from}\u0000${to}`, { from, to });
      }
    }
    for (const box of boxes.values()) this.describe(box);
    return { boxes: [...boxes.values()], edges: [...edges.values()], boxOf };
  }

  // Parameters and the like are drawn with what uses them, if that is folded.
  nearUse(instance, instances) {
    if (this.users === undefined || this.usersOf !== instances) {
      this.users = new Map();
      this.usersOf = instances;
      for (const one of instances.values()) for (const s of one.src) if (!this.users.has(s)) this.users.set(s, one);
    }
    const user = instance.row[KIND] === "input" ? this.users.get(instance.id) : undefined;
    if (user !== undefined && this.fold !== "none") {
      const key = this.boxOf(user);
      if (key !== user.id && instance.row[ATTRS] !== "" && !this.isArgument(instance)) return key;
    }
    return instance.row[KIND] === "input" ? instance.id : this.boxOf(instance);
  }

  isArgument(instance) {
    return /^[A-Za-z_]\w*$/.test(instance.row[ATTRS]) && instance.row[ATTRS] !== "value";
  }

  describe(box) {
    const [first] = box.members, count = box.members.length;
    const folded = box.id.startsWith("line ") || box.id.startsWith("module ");
    box.folded = folded;
    box.result = box.members.some((m) => m.result);
    box.pairs = new Set();
    for (const m of box.members) {
      const place = this.place(m.place);
      if (place) box.pairs.add(place[4] * 2 + place[3]);
    }
    const place = this.place(first.place);
    box.side = folded ? (box.id.endsWith("backward") ? "backward" : "forward")
      : first.row[KIND] === "input" ? "given" : place && place[3] ? "backward" : "forward";
    if (!folded) {
      const row = first.row;
      const named = row[KIND] === "input" && row[ATTRS];
      box.title = named ? row[ATTRS] : row[OP];
      box.note = row[TYPE];
      box.opens = row[BODY] >= 0 && this.data.bodies[row[BODY]].length > 0;
      if (box.opens) box.title += row[KIND] === "control" ? " ↻" : " ⊞";
      if (row[LAYOUT]) box.note += ` ${shortLayout(row[LAYOUT])}`;
      box.note += this.sentText(box);
      return;
    }
    box.opens = true;
    const name = box.id.slice(box.id.indexOf(" ") + 1, box.id.lastIndexOf(" "));
    box.title = box.id.startsWith("line ") ? this.lineTitle(name) : shortPath(name);
    box.note = `${count} ${count === 1 ? "node" : "nodes"}${box.side === "backward" ? ", gradient" : ""}${this.sentText(box)}`;
  }

  // What members of a mesh send one another, by the node that it is for.
  sends() {
    if (this.sent) return this.sent;
    this.sent = new Map();
    for (const row of this.data.collectives || []) {
      if (row[5] < 0) continue;
      if (!this.sent.has(row[5])) this.sent.set(row[5], []);
      this.sent.get(row[5]).push(row);
    }
    return this.sent;
  }

  sentBy(box) {
    const known = this.sends();
    return known.size ? box.members.flatMap((m) => known.get(m.n) || []) : [];
  }

  sentText(box) {
    const bytes = this.sentBy(box).reduce((sum, row) => sum + row[2] * row[3], 0);
    return bytes ? ` ⇄ ${amount(bytes, "B")}` : "";
  }

  lineTitle(name) {
    const [file, line] = name.split(":").map(Number);
    const about = this.data.files[file];
    const text = (about.lines[line] || "").trim();
    const where = `${about.name.split("/").pop()}:${line}`;
    return text ? `${where}  ${text.slice(0, 34)}` : where;
  }

  // Everything that says what a node is, for the search.
  words(instance) {
    const place = this.place(instance.place);
    const module = place && place[5] >= 0 ? this.data.modules[place[5]].join(" ") : "";
    const line = place ? `${this.data.files[place[0]].name}:${place[1]}` : "";
    const source = place ? this.data.files[place[0]].lines[place[1]] || "" : "";
    const row = instance.row;
    return `${row[OP]} ${row[TYPE]} ${row[ATTRS]} ${row[LAYOUT]} ${line} ${module} ${source}`.toLowerCase();
  }

  // Open whatever hides an instance.
  reveal(instance) {
    for (let i = 0; i < 40; i++) {
      const key = this.boxOf(instance);
      if (key === instance.id) return;
      this.open.add(key);
    }
  }
}

// `P('dp') Σtp` for `P('dp'), pending sum over tp`.
function shortLayout(text) {
  return text.replace(/, pending ([^);]*)/g, (_, joins) => ` ${joins.replace(/sum over /g, "Σ").replace(/ and /g, " ")}`);
}

function partOf(row) {
  const found = /index=(\d+)/.exec(row[ATTRS]);
  return found ? Number(found[1]) : 0;
}

function shortPath(path) {
  return path.length > 40 ? "…" + path.slice(-39) : path;
}
