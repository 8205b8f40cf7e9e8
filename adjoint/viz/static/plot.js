// Plots in SVG: the roofline, and memory over the steps of a run.

function powers(low, high) {
  const found = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) found.push(10 ** p);
  return found;
}

function rooflinePlot(kernels, choose) {
  const steps = kernels.steps.map((step, i) => ({ ...step, i })).filter((step) => step.seconds && step.flops && step.bytes);
  const roof = kernels.roof;
  if (!roof || !steps.length) return null;
  const W = 520, H = 290, left = 64, right = 16, top = 28, bottom = 40;
  const xs = steps.map((step) => step.flops / step.bytes), ys = steps.map((step) => step.flops / step.seconds);
  const knee = roof.float32 / roof.bytes;
  const x0 = Math.min(...xs, knee / 30) / 1.5, x1 = Math.max(...xs, knee * 10) * 1.5;
  const y0 = Math.min(...ys, roof.float32 / 100) / 2, y1 = Math.max(...ys, roof.float32) * 2;
  const X = (v) => left + (Math.log(v / x0) / Math.log(x1 / x0)) * (W - left - right);
  const Y = (v) => H - bottom - (Math.log(v / y0) / Math.log(y1 / y0)) * (H - top - bottom);
  const parts = [];
  for (const p of powers(x0, x1)) if (p >= x0 && p <= x1) parts.push(
    s("line", { class: "axis", x1: X(p), x2: X(p), y1: top, y2: H - bottom }), s("text", { x: X(p), y: H - bottom + 14, "text-anchor": "middle", text: amount(p, "") }));
  for (const p of powers(y0, y1)) if (p >= y0 && p <= y1) parts.push(
    s("line", { class: "axis", x1: left, x2: W - right, y1: Y(p), y2: Y(p) }), s("text", { x: left - 5, y: Y(p) + 4, "text-anchor": "end", text: amount(p, "") }));
  const line = (peak) => `M${X(x0)},${Y(Math.max(y0, Math.min(peak, x0 * roof.bytes)))} L${X(Math.max(x0, peak / roof.bytes))},${Y(peak)} L${X(x1)},${Y(peak)}`;
  const sizes = new Set(steps.map((step) => step.itemsize));
  const peaks = [[4, roof.float32, "float32"], [8, roof.float64, "float64"], [2, roof.float16, "16 bits"]].filter(([size]) => size === 4 || sizes.has(size));
  for (const [, peak, name] of peaks) parts.push(s("path", { class: "roof", d: line(peak) }),
    s("text", { x: W - right, y: Y(peak) - 4, "text-anchor": "end", text: `${name}: ${amount(peak, "FLOP/s")}` }));
  parts.push(s("text", { x: X(x0) + 6, y: top + 10, text: `memory: ${amount(roof.bytes, "B/s")}` }));
  const longest = Math.max(...steps.map((step) => step.seconds));
  steps.forEach((step, k) => parts.push(s("circle", { class: "dot", cx: X(xs[k]), cy: Y(ys[k]), r: 3 + 9 * Math.sqrt(step.seconds / longest),
    onclick: () => choose(step.i) }, s("title", { text: `${step.name}: ${amount(step.seconds, "s")}, ${share(step)} of the roofline` }))));
  parts.push(s("text", { x: (W + left) / 2, y: H - 6, "text-anchor": "middle", text: "operations for each byte" }),
    s("text", { x: 12, y: 14, text: "FLOP/s" }));
  return s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "roofline", class: "roofline" }, parts);
}

function share(step) {
  return step.seconds && step.least !== null ? `${((100 * step.least) / step.seconds).toFixed(0)} %` : "";
}

function memoryPlot(memory, at, choose) {
  const count = memory.steps.length;
  if (!count || !memory.arena) return null;
  const W = 520, H = 240, left = 64, right = 10, top = 12, bottom = 30;
  const X = (v) => left + (v / count) * (W - left - right), Y = (v) => H - bottom - (v / memory.arena) * (H - top - bottom);
  const parts = [0, 0.25, 0.5, 0.75, 1].map((part) => [
    s("line", { class: "axis", x1: left, x2: W - right, y1: Y(part * memory.arena), y2: Y(part * memory.arena) }),
    s("text", { x: left - 5, y: Y(part * memory.arena) + 4, "text-anchor": "end", text: amount(part * memory.arena, "B") })]).flat();
  for (const [offset, bytes, first, last, kind] of memory.held) {
    const alive = first <= at && at <= last;
    parts.push(s("rect", { class: `held ${alive ? "peak" : ""}`, x: X(first), y: Y(offset + bytes), width: Math.max(1, X(last + 1) - X(first)),
      height: Math.max(0.7, Y(offset) - Y(offset + bytes)), onclick: () => choose(first) }, s("title", { text: `${kind}, ${amount(bytes, "B")}` })));
  }
  const line = memory.alive.map((bytes, i) => `${i ? "L" : "M"}${X(i)},${Y(bytes)} L${X(i + 1)},${Y(bytes)}`).join(" ");
  parts.push(s("path", { class: "total", d: line }), s("line", { class: "moment", x1: X(at + 0.5), x2: X(at + 0.5), y1: top, y2: H - bottom }),
    s("text", { x: (W + left) / 2, y: H - 8, "text-anchor": "middle", text: `${count} steps; place in the arena upwards, the line: bytes in use` }));
  return s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "memory over steps", class: "memory" }, parts);
}
