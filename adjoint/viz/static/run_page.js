// The page Run: what happened when, on which thread.

const LANE = 17, KIND_COLOURS = { kernel: "backward", library: "given", host: "mark", control: "group", copy: "removed", compile: "group", python: "forward", program: "panel" };

class RunPage {
  constructor(viewer) {
    this.viewer = viewer;
    this.name = "Run";
    this.bar = h("div", { class: "bar" });
    this.holder = h("div", { class: "drawing" });
    this.panel = h("aside", { class: "panel" });
    this.element = h("section", { class: "page" }, this.bar, h("div", { class: "split" }, this.holder, this.panel));
  }

  of(graph) { return this.viewer.data.run || (graph && graph.run); }

  has(graph) { return Boolean(this.of(graph) && this.of(graph).spans.length); }

  show(graph) {
    if (this.run === this.of(graph)) { this.ask(); return; }
    const first = this.run === undefined;
    this.run = this.of(graph);
    this.scale = 0;
    this.chosen = null;
    if (!first) { this.stack(); this.controls(); this.totals(); this.resized(); return; }
    this.canvas = h("canvas", { tabindex: 0, "aria-label": "timeline; the table beside it has the same spans" });
    this.holder.append(this.canvas);
    this.stack();
    this.controls();
    this.listen();
    this.totals();
    new ResizeObserver(() => this.resized()).observe(this.holder);
  }

  // The row of each span: one below those of its lane that it lies in.
  stack() {
    const open = this.run.lanes.map(() => []), depth = this.run.lanes.map(() => 1);
    this.spans = this.run.spans.map(([lane, name, kind, start, end, details]) => {
      const stack = open[lane];
      while (stack.length && stack[stack.length - 1] <= start) stack.pop();
      const row = stack.length;
      stack.push(end);
      depth[lane] = Math.max(depth[lane], row + 1);
      return { lane, name, kind, start, end, details, row };
    });
    this.tops = [];
    let y = 24;
    for (const rows of depth) { this.tops.push(y + 16); y += 16 + rows * LANE + 10; }
    this.memoryTop = y;
    this.first = this.spans.reduce((least, span) => Math.min(least, span.start), Infinity);
    this.last = this.spans.reduce((most, span) => Math.max(most, span.end), 0);
  }

  controls() {
    const note = `${this.spans.length} spans in ${amount(this.run.seconds, "s")}${this.run.left_out ? `; ${this.run.left_out} short ones left out` : ""}`;
    replaced(this.bar, button("fit", () => this.fit()), button("+", () => this.zoom(1.5, this.w / 2), { "aria-label": "zoom in" }),
      button("−", () => this.zoom(1 / 1.5, this.w / 2), { "aria-label": "zoom out" }), button("save as Chrome trace", () => this.save()), h("span", { class: "note", text: note }));
  }

  resized() {
    const ratio = devicePixelRatio || 1, bounds = this.canvas.getBoundingClientRect();
    this.w = bounds.width;
    this.h = bounds.height;
    this.canvas.width = Math.round(this.w * ratio);
    this.canvas.height = Math.round(this.h * ratio);
    if (!this.scale) this.fit();
    this.draw();
  }

  fit() {
    this.scale = (this.w - 30) / Math.max(this.last - this.first, 1e-3);
    this.x = 15 - this.first * this.scale;
    this.y = 0;
    this.ask();
  }

  zoom(factor, at) {
    const scale = Math.min(Math.max(this.scale * factor, 1e-9), 1e4);
    this.x = at - (at - this.x) * (scale / this.scale);
    this.scale = scale;
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  draw() {
    const c = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const colours = Object.fromEntries(Object.entries(KIND_COLOURS).map(([kind, name]) => [kind, colour(name)]));
    const [ink, faint, line, ground] = ["ink", "faint", "line", "ground"].map(colour);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = ground;
    c.fillRect(0, 0, this.w, this.h);
    this.drawAxis(c, line, faint);
    c.font = "11px ui-monospace, monospace";
    c.textBaseline = "middle";
    const drawn = new Map(); // where the last span of each row ends: many that are finer than a pixel are one
    for (const span of this.spans) {
      const left = span.start * this.scale + this.x, right = span.end * this.scale + this.x;
      if (right < 0 || left > this.w) continue;
      const top = this.tops[span.lane] + span.row * LANE + this.y, width = Math.max(right - left, 0.6);
      if (right < drawn.get(top) && span !== this.chosen) continue;
      drawn.set(top, left + Math.max(width, 1));
      c.fillStyle = span === this.chosen ? colour("pair") : colours[span.kind] || colour("group");
      c.fillRect(left, top, width, LANE - 2);
      if (width > 4) { c.strokeStyle = line; c.strokeRect(left, top, width, LANE - 2); }
      if (width > 26) {
        c.save();
        c.beginPath();
        c.rect(left, top, width - 3, LANE);
        c.clip();
        c.fillStyle = ink;
        c.fillText(span.name, Math.max(left, 0) + 4, top + LANE / 2 - 1);
        c.restore();
      }
    }
    c.fillStyle = faint;
    this.run.lanes.forEach((lane, i) => c.fillText(lane, 8, this.tops[i] - 8 + this.y));
    this.drawSamples(c, colour("result-edge"), faint);
  }

  drawAxis(c, line, faint) {
    const step = 10 ** Math.ceil(Math.log10(90 / this.scale)), from = Math.floor(-this.x / this.scale / step) * step;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.strokeStyle = line;
    c.fillStyle = faint;
    for (let t = from; t * this.scale + this.x < this.w; t += step) {
      const x = t * this.scale + this.x;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x, this.h);
      c.stroke();
      c.fillText(amount(t / 1e6, "s"), x + 3, 9);
    }
  }

  // Bytes in use over time, below the lanes.
  drawSamples(c, stroke, faint) {
    const points = this.run.samples.map(([, at, values]) => [at, values.in_use ?? values.allocated ?? Object.values(values)[0]]);
    const most = points.reduce((m, [, bytes]) => Math.max(m, bytes), 0);
    if (!most) return;
    const top = this.memoryTop + this.y, tall = 60;
    c.strokeStyle = stroke;
    c.beginPath();
    points.forEach(([at, bytes], i) => {
      const x = at * this.scale + this.x, y = top + 16 + tall * (1 - bytes / most);
      if (i) c.lineTo(x, y); else c.moveTo(x, y);
    });
    c.stroke();
    c.fillStyle = faint;
    c.fillText(`memory in use, up to ${amount(most, "B")}`, 8, top + 6);
  }

  at(event) {
    const bounds = this.canvas.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    let found = null;
    for (const span of this.spans) {
      const top = this.tops[span.lane] + span.row * LANE + this.y;
      const left = span.start * this.scale + this.x, right = Math.max(span.end * this.scale + this.x, left + 2);
      if (x >= left && x <= right && y >= top && y <= top + LANE) found = span;
    }
    return found;
  }

  listen() {
    let grip = null, moved = 0;
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); grip = [event.clientX, event.clientY]; moved = 0; });
    canvas.addEventListener("pointermove", (event) => {
      if (!grip) return;
      moved += Math.abs(event.clientX - grip[0]) + Math.abs(event.clientY - grip[1]);
      this.x += event.clientX - grip[0];
      this.y += event.clientY - grip[1];
      grip = [event.clientX, event.clientY];
      this.ask();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grip && moved < 5) this.choose(this.at(event));
      grip = null;
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.002), event.clientX - canvas.getBoundingClientRect().left);
    }, { passive: false });
  }

  choose(span) {
    this.chosen = span;
    this.ask();
    if (!span) { this.totals(); return; }
    const facts = [["kind", span.kind], ["began", amount(span.start / 1e6, "s")], ["took", amount((span.end - span.start) / 1e6, "s")],
      ...Object.entries(span.details).map(([name, value]) => [name, typeof value === "number" ? amount(value, "") : value])];
    replaced(this.panel, h("h2", { text: span.name }), h("table", {}, facts.map(([name, value]) => h("tr", {}, h("td", { text: name }), h("td", { text: value })))));
  }

  // Where the time went, by name.
  totals() {
    const sums = new Map();
    for (const span of this.spans) {
      const key = `${span.kind}\u0000${span.name}`, known = sums.get(key) || { kind: span.kind, name: span.name, time: 0, count: 0, first: span };
      known.time += span.end - span.start;
      known.count++;
      sums.set(key, known);
    }
    const rows = [...sums.values()].sort((a, b) => b.time - a.time).slice(0, 40).map((one) => h("tr", { class: "pick", onclick: () => this.goTo(one.first) },
      h("td", { class: "number", text: amount(one.time / 1e6, "s") }), h("td", { class: "number", text: `${one.count} ×` }), h("td", { text: one.kind }), h("td", { class: "mono", text: one.name })));
    replaced(this.panel, h("h2", { text: "where the time went" }), h("table", {}, rows));
  }

  goTo(span) {
    this.scale = Math.min(1e4, this.w / Math.max((span.end - span.start) * 3, 1e-3));
    this.x = this.w / 2 - ((span.start + span.end) / 2) * this.scale;
    this.choose(span);
  }

  // The Trace Event Format, which chrome://tracing and Perfetto open.
  trace() {
    const events = [{ name: "process_name", ph: "M", pid: 1, tid: 0, args: { name: "adjoint" } }];
    this.run.lanes.forEach((name, tid) => events.push({ name: "thread_name", ph: "M", pid: 1, tid, args: { name } }));
    for (const span of this.spans) events.push({ name: span.name, cat: span.kind, ph: "X", ts: span.start, dur: span.end - span.start, pid: 1, tid: span.lane, args: span.details });
    for (const [name, at, values] of this.run.samples) events.push({ name, ph: "C", ts: at, pid: 1, args: values });
    return { traceEvents: events, displayTimeUnit: "ms" };
  }

  save() {
    const address = URL.createObjectURL(new Blob([JSON.stringify(this.trace())], { type: "application/json" }));
    const link = h("a", { href: address, download: "trace.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }
}
