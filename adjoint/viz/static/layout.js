// Places for boxes, left to right: dagre where there are few, layers by themselves where many.

const BY_DAGRE = 700, AT_ONCE = 120; // boxes; edges count half
const PATIENCE = 6000; // milliseconds that dagre has
const ROW = 40, GAP_X = 46, GAP_Y = 12;

function sized(boxes, width) {
  for (const box of boxes) {
    const longest = Math.max(width(box.title), width(box.note) * 0.92);
    box.w = Math.min(Math.max(64, longest + 18), 340);
    box.h = ROW;
  }
}

function byDagre(dagre, boxes, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP_Y, ranksep: GAP_X, marginx: 20, marginy: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) graph.setNode(box.id, { width: box.w, height: box.h });
  for (const edge of edges) graph.setEdge(edge.from, edge.to);
  dagre.layout(graph);
  const places = boxes.map((box) => { const at = graph.node(box.id); return [at.x, at.y]; });
  const lines = edges.map((edge) => graph.edge(edge.from, edge.to).points.map((p) => [p.x, p.y]));
  return { places, lines };
}

// The longest way from a source gives the column; neighbours' places give the order in it.
function byLayers(boxes, edges) {
  const index = new Map(boxes.map((box, i) => [box.id, i]));
  const into = boxes.map(() => []), out = boxes.map(() => []), waits = new Int32Array(boxes.length);
  for (const edge of edges) {
    const from = index.get(edge.from), to = index.get(edge.to);
    into[to].push(from);
    out[from].push(to);
    waits[to]++;
  }
  const layer = new Int32Array(boxes.length), queue = [], done = new Uint8Array(boxes.length);
  boxes.forEach((_, i) => { if (!waits[i]) queue.push(i); });
  let next = 0, rest = 0;
  while (next < boxes.length) {
    if (next === queue.length) { // a circle of boxes: break it at the first that is left
      while (rest < boxes.length && (done[rest] || waits[rest] <= 0)) rest++;
      if (rest === boxes.length) break;
      waits[rest] = 0;
      queue.push(rest);
    }
    const i = queue[next++];
    if (done[i]) continue;
    done[i] = 1;
    for (const to of out[i]) {
      if (done[to]) continue;
      layer[to] = Math.max(layer[to], layer[i] + 1);
      if (--waits[to] === 0) queue.push(to);
    }
  }
  const columns = [];
  boxes.forEach((_, i) => { (columns[layer[i]] ||= []).push(i); });
  for (let l = 0; l < columns.length; l++) columns[l] ||= [];
  const place = new Float64Array(boxes.length);
  const number = (column) => column.forEach((i, at) => { place[i] = at - column.length / 2; });
  columns.forEach(number);
  const mean = (list, own) => list.length ? list.reduce((sum, j) => sum + place[j], 0) / list.length : own;
  for (let sweep = 0; sweep < 3; sweep++) {
    const side = sweep % 2 ? out : into;
    const order = sweep % 2 ? [...columns].reverse() : columns;
    for (const column of order) {
      const key = new Map(column.map((i) => [i, mean(side[i], place[i])]));
      column.sort((a, b) => key.get(a) - key.get(b) || a - b);
      number(column);
    }
  }
  const places = boxes.map(() => [0, 0]);
  let x = 20;
  for (const column of columns) {
    const width = column.reduce((w, i) => Math.max(w, boxes[i].w), 40);
    column.forEach((i) => { places[i] = [x + width / 2, place[i] * (ROW + GAP_Y)]; });
    x += width + GAP_X;
  }
  return { places, lines: edges.map(() => null) };
}

const LAYOUT_WORKER = `
onmessage = (event) => {
  const { boxes, edges } = event.data;
  postMessage(byDagre(dagre, boxes, edges));
};
`;

class Layouter {
  constructor(library) {
    this.library = library;
    this.worker = null;
  }

  // Calls `done(result, name)`, at once or later, perhaps twice: with what is quick, then with what is good.
  place(boxes, edges, done) {
    this.stop();
    const size = boxes.length + edges.length / 2;
    if (size <= AT_ONCE) { done(this.direct(boxes, edges), "dagre"); return; }
    if (size > BY_DAGRE) { done(byLayers(boxes, edges), "layers"); return; }
    let answered = false;
    const quick = setTimeout(() => { if (!answered) done(byLayers(boxes, edges), "layers"); }, 250);
    const worker = this.begun();
    if (worker === null) { clearTimeout(quick); done(byLayers(boxes, edges), "layers"); return; }
    const patience = setTimeout(() => { if (this.worker === worker) this.stop(); }, PATIENCE);
    worker.onmessage = (event) => {
      answered = true;
      clearTimeout(quick);
      clearTimeout(patience);
      if (this.worker === worker) { this.stop(); done(event.data, "dagre"); }
    };
    const plain = boxes.map(({ id, w, h }) => ({ id, w, h }));
    worker.postMessage({ boxes: plain, edges });
  }

  direct(boxes, edges) {
    try { return byDagre(dagre, boxes, edges); } catch (error) { return byLayers(boxes, edges); }
  }

  begun() {
    try {
      const constants = `const GAP_X = ${GAP_X}, GAP_Y = ${GAP_Y};`;
      const parts = [this.library, "\n", constants, byDagre.toString(), LAYOUT_WORKER];
      const address = URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
      this.worker = new Worker(address);
      URL.revokeObjectURL(address);
      return this.worker;
    } catch (error) {
      return null;
    }
  }

  stop() {
    if (this.worker !== null) this.worker.terminate();
    this.worker = null;
  }
}
