// A drawing that can be panned and zoomed: boxes and lines on a canvas, what is out of sight left out.

const TEXT_FROM = 0.38, SHAPES_FROM = 0.14; // scales from which on texts, and rounded boxes, are drawn
const MANY_LINES = 1500; // while the drawing moves, no more than these

class CanvasView {
  constructor(holder, events) {
    this.events = events;
    this.canvas = h("canvas", { tabindex: 0, "aria-label": "the graph; its boxes are listed by the search" });
    holder.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.boxes = [];
    this.lines = [];
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.marked = new Set();
    this.lit = new Set();
    this.chosen = null;
    this.times = [];
    this.moving = false;
    this.asked = false;
    this.colours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours(); this.ask(); });
    new ResizeObserver(() => this.resized()).observe(holder);
    this.listen();
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colour = {};
    for (const name of ["ground", "line", "ink", "faint", "forward", "forward-edge", "backward", "backward-edge",
      "given", "given-edge", "result-edge", "group", "mark", "pair", "chosen"]) this.colour[name] = read(name);
  }

  width(text) {
    if (!this.perLetter) {
      this.context.font = "12px ui-monospace, SFMono-Regular, Menlo, monospace";
      this.perLetter = this.context.measureText("m".repeat(50)).width / 50;
    }
    return this.perLetter * text.length;
  }

  resized() {
    const ratio = devicePixelRatio || 1, bounds = this.canvas.getBoundingClientRect();
    const width = Math.round(bounds.width * ratio), height = Math.round(bounds.height * ratio);
    if (width === this.canvas.width && height === this.canvas.height) return;
    [this.canvas.width, this.canvas.height] = [width, height];
    this.w = bounds.width;
    this.h = bounds.height;
    if (this.unfitted) this.fit();
    this.draw();
  }

  show(boxes, lines) {
    this.boxes = boxes;
    this.lines = lines;
    this.byId = new Map(boxes.map((box) => [box.id, box]));
    this.ask();
  }

  // All of the graph; if it need not be all, a long graph begins at its left end, at a size that can be read.
  fit(all) {
    if (!this.w) { this.unfitted = true; return; }
    this.unfitted = false;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const box of this.boxes) {
      left = Math.min(left, box.x - box.w / 2);
      right = Math.max(right, box.x + box.w / 2);
      top = Math.min(top, box.y - box.h / 2);
      bottom = Math.max(bottom, box.y + box.h / 2);
    }
    if (!this.boxes.length) return;
    const scale = Math.min(this.w / (right - left + 40), this.h / (bottom - top + 40));
    this.scale = Math.min(1.1, Math.max(scale, 0.02));
    if (!all && this.scale < 0.6 && this.boxes.length < 400) this.scale = Math.min(0.85, Math.max(0.6, this.h / (bottom - top + 40)));
    const wide = (right - left) * this.scale > this.w, tall = (bottom - top) * this.scale > this.h;
    this.x = wide ? 20 - left * this.scale : (this.w - (left + right) * this.scale) / 2;
    const first = this.boxes.reduce((a, b) => (b.x < a.x ? b : a));
    this.y = tall ? this.h / 2 - first.y * this.scale : (this.h - (top + bottom) * this.scale) / 2;
    this.ask();
  }

  centre(box) {
    this.scale = Math.max(this.scale, 0.7);
    this.x = this.w / 2 - box.x * this.scale;
    this.y = this.h / 2 - box.y * this.scale;
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  // ---- drawing

  draw() {
    const begun = performance.now(), c = this.context, ratio = devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = this.colour.ground;
    c.fillRect(0, 0, this.w || 0, this.h || 0);
    c.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.x, ratio * this.y);
    const sight = {
      left: -this.x / this.scale, top: -this.y / this.scale,
      right: (this.w - this.x) / this.scale, bottom: (this.h - this.y) / this.scale,
    };
    this.drawLines(c, sight);
    this.drawBoxes(c, sight);
    this.times.push(performance.now() - begun);
    if (this.times.length > 500) this.times.shift();
  }

  drawLines(c, sight) {
    let seen = 0;
    const near = new Set([this.chosen, this.hovered].filter(Boolean));
    c.lineWidth = Math.max(1, 0.7 / this.scale);
    c.strokeStyle = this.colour.faint;
    c.globalAlpha = 0.55;
    c.beginPath();
    const special = [];
    for (const line of this.lines) {
      if (!touches(line, sight)) continue;
      if (near.has(line.from.id) || near.has(line.to.id)) { special.push(line); continue; }
      if (this.moving && ++seen > MANY_LINES) break;
      this.trace(c, line);
    }
    c.stroke();
    c.globalAlpha = 1;
    c.lineWidth = Math.max(1.8, 1.3 / this.scale);
    c.strokeStyle = this.colour.chosen;
    c.beginPath();
    for (const line of special) this.trace(c, line);
    c.stroke();
  }

  trace(c, line) {
    const x0 = line.from.x + line.from.w / 2, y0 = line.from.y, x1 = line.to.x - line.to.w / 2, y1 = line.to.y;
    c.moveTo(x0, y0);
    if (this.scale < SHAPES_FROM) { c.lineTo(x1, y1); return; }
    if (line.points && line.points.length > 2) {
      const inner = line.points.slice(1, -1);
      let [px, py] = [x0, y0];
      for (const [x, y] of inner) {
        const middle = (px + x) / 2;
        c.bezierCurveTo(middle, py, middle, y, x, y);
        [px, py] = [x, y];
      }
      const middle = (px + x1) / 2;
      c.bezierCurveTo(middle, py, middle, y1, x1, y1);
    } else {
      const bend = Math.max(16, Math.min(120, Math.abs(x1 - x0) / 2));
      c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    }
    if (this.scale >= TEXT_FROM) {
      c.moveTo(x1 - 6, y1 - 3.5);
      c.lineTo(x1, y1);
      c.lineTo(x1 - 6, y1 + 3.5);
    }
  }

  drawBoxes(c, sight) {
    const seen = this.boxes.filter((box) => box.x + box.w / 2 > sight.left && box.x - box.w / 2 < sight.right
      && box.y + box.h / 2 > sight.top && box.y - box.h / 2 < sight.bottom);
    if (this.scale < SHAPES_FROM) { this.drawDots(c, seen); return; }
    for (const box of seen) this.drawBox(c, box);
  }

  drawDots(c, seen) {
    const special = (box) => this.lit.has(box.id) || this.marked.has(box.id) || box.id === this.chosen;
    for (const side of ["forward", "backward", "given"]) {
      c.fillStyle = this.colour[`${side}-edge`];
      for (const box of seen) if (box.side === side && !special(box)) c.fillRect(box.x - box.w / 2, box.y - box.h / 2, box.w, box.h);
    }
    for (const box of seen.filter(special)) {
      c.fillStyle = this.lit.has(box.id) ? this.colour.pair : this.marked.has(box.id) ? this.colour.mark : this.colour.chosen;
      const least = 5 / this.scale;
      c.fillRect(box.x - Math.max(box.w, least) / 2, box.y - Math.max(box.h, least) / 2, Math.max(box.w, least), Math.max(box.h, least));
    }
  }

  drawBox(c, box) {
    const left = box.x - box.w / 2, top = box.y - box.h / 2;
    c.beginPath();
    c.roundRect(left, top, box.w, box.h, box.side === "given" ? 14 : 6);
    c.fillStyle = this.marked.has(box.id) ? this.colour.mark : this.colour[box.side];
    c.fill();
    const lit = this.lit.has(box.id);
    c.strokeStyle = lit ? this.colour.pair : box.id === this.chosen ? this.colour.chosen
      : box.result ? this.colour["result-edge"] : this.colour[`${box.side}-edge`];
    c.lineWidth = lit || box.id === this.chosen ? 3 : box.result ? 2.4 : 1;
    if (box.folded) c.setLineDash([5, 3]);
    c.stroke();
    c.setLineDash([]);
    if (this.scale < TEXT_FROM) return;
    c.font = "12px ui-monospace, SFMono-Regular, Menlo, monospace";
    c.textBaseline = "middle";
    c.fillStyle = this.colour.ink;
    c.fillText(this.short(box.title, box.w - 14), left + 8, top + 13);
    c.font = "11px ui-monospace, SFMono-Regular, Menlo, monospace";
    c.fillStyle = this.colour.faint;
    c.fillText(this.short(box.note, box.w - 10, 11 / 12), left + 8, top + 28);
  }

  short(text, room, size = 1) {
    const letters = Math.floor(room / (this.width("m") * size));
    return text.length > letters ? text.slice(0, Math.max(1, letters - 1)) + "…" : text;
  }

  // ---- hands

  at(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const x = (event.clientX - bounds.left - this.x) / this.scale, y = (event.clientY - bounds.top - this.y) / this.scale;
    for (let i = this.boxes.length - 1; i >= 0; i--) {
      const box = this.boxes[i];
      if (Math.abs(x - box.x) <= box.w / 2 && Math.abs(y - box.y) <= box.h / 2) return box;
    }
    return null;
  }

  listen() {
    let grip = null, moved = 0;
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      grip = { x: event.clientX, y: event.clientY };
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (grip) {
        moved += Math.abs(event.clientX - grip.x) + Math.abs(event.clientY - grip.y);
        this.x += event.clientX - grip.x;
        this.y += event.clientY - grip.y;
        grip = { x: event.clientX, y: event.clientY };
        this.moving = true;
        this.ask();
        return;
      }
      const box = this.at(event), id = box ? box.id : null;
      if (id !== this.hovered) {
        this.hovered = id;
        canvas.style.cursor = box ? "pointer" : "grab";
        this.events.hover(box);
        this.ask();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (grip && moved < 5) this.events.click(this.at(event), event);
      grip = null;
      this.still();
    });
    canvas.addEventListener("pointercancel", () => { grip = null; this.still(); });
    canvas.addEventListener("dblclick", (event) => { const box = this.at(event); if (box) this.events.open(box); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const bounds = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - bounds.left, event.clientY - bounds.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (step) { this.x += step[0]; this.y += step[1]; this.ask(); event.preventDefault(); }
      if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.25 : 0.8, this.w / 2, this.h / 2);
    });
  }

  still() {
    if (this.moving) { this.moving = false; this.ask(); }
  }

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.01, this.scale * factor));
    this.x = x - (x - this.x) * (scale / this.scale);
    this.y = y - (y - this.y) * (scale / this.scale);
    this.scale = scale;
    this.ask();
  }
}

function touches(line, sight) {
  const left = Math.min(line.from.x, line.to.x - line.to.w), right = Math.max(line.from.x + line.from.w, line.to.x);
  const top = Math.min(line.from.y, line.to.y) - 20, bottom = Math.max(line.from.y, line.to.y) + 20;
  return right > sight.left && left < sight.right && bottom > sight.top && top < sight.bottom;
}
