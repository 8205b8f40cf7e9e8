// The page Kernels: steps with their code, their lines, their cost; memory over time.

class KernelsPage {
  constructor(viewer) {
    this.viewer = viewer;
    this.name = "Kernels";
    this.left = h("div", { class: "steps" });
    this.right = h("div", { class: "text" });
    this.element = h("section", { class: "page" }, h("div", { class: "split" }, this.left, this.right));
  }

  has(graph) { return Boolean(graph && graph.kernels); }

  show(graph) {
    if (graph === this.graph) return;
    this.graph = graph;
    this.kernels = graph.kernels;
    this.language = null;
    const steps = this.kernels.steps, memory = graph.memory;
    this.peak = memory.alive.length ? memory.alive.indexOf(Math.max(...memory.alive)) : 0;
    const head = ["", "step", "time", "roof", "FLOP", "bytes"].map((text, i) => h("th", { class: i > 1 ? "number" : "", text }));
    this.rows = steps.map((step, i) => this.row(step, i));
    const total = steps.filter((step) => !step.depth).reduce((sum, step) => sum + (step.seconds || 0), 0);
    const summary = `${steps.length} steps on ${this.kernels.target}${total ? `, ${amount(total, "s")} in all` : ""}; ${this.kernels.measured}`;
    this.plots = h("div");
    replaced(this.left, h("p", { text: summary }), h("div", { class: "list" }, h("table", {}, h("tr", {}, head), this.rows)), this.plots);
    const slowest = steps.reduce((best, step, i) => ((step.seconds || 0) > (steps[best].seconds || 0) ? i : best), 0);
    if (steps.length) this.choose(slowest);
    else replaced(this.right, h("p", { text: "there is nothing to compute" }));
    this.drawPlots(this.peak);
  }

  row(step, i) {
    const name = `${"· ".repeat(step.depth)}${step.name}`;
    return h("tr", { class: "pick", tabindex: 0, onclick: () => this.choose(i), onkeydown: (event) => { if (event.key === "Enter") this.choose(i); } },
      h("td", { class: "number", text: i }), h("td", { class: "mono", text: name }), h("td", { class: "number", text: amount(step.seconds, "s") }),
      h("td", { class: "number", text: share(step) }), h("td", { class: "number", text: amount(step.flops, "") }), h("td", { class: "number", text: amount(step.bytes, "B") }));
  }

  drawPlots(at) {
    const memory = this.graph.memory;
    const roof = rooflinePlot(this.kernels, (i) => this.choose(i));
    const plot = memoryPlot(memory, at, (step) => this.drawPlots(step));
    const held = memory.held.filter(([, , first, last]) => first <= at && at <= last).sort((a, b) => b[1] - a[1]);
    const rows = held.slice(0, 14).map(([, bytes, , , kind, place]) => h("tr", {}, h("td", { class: "number", text: amount(bytes, "B") }),
      h("td", { class: "mono", text: kind }), h("td", { text: this.where(place) })));
    const title = at === this.peak ? "who holds what at the peak" : "who holds what";
    replaced(this.plots,
      roof ? h("h3", { text: "roofline: a dot for each step, as large as its time" }) : "", roof,
      h("h3", { text: "memory" }),
      h("p", { text: `arena ${amount(memory.arena, "B")}; inputs ${amount(memory.inputs, "B")}, outputs ${amount(memory.outputs, "B")}, constants ${amount(memory.constants, "B")}` }),
      plot, rows.length ? h("h3", { text: `${title}: step ${at}, ${memory.steps[at] || ""}` }) : "", h("table", {}, rows));
  }

  where(number) {
    const place = number >= 0 ? this.graph.places[number] : null;
    return place ? `${this.graph.files[place[0]].name}:${place[1]}${place[3] ? ", backward" : ""}` : "";
  }

  choose(i) {
    const step = this.kernels.steps[i];
    this.rows.forEach((row, k) => row.classList.toggle("chosen", k === i));
    const facts = [["kind", step.kind], ["strategy", step.strategy ? `${step.strategy[0]}: ${step.strategy[1]}` : ""],
      ["not", step.strategy ? step.strategy[2].join(", ") : ""], ["reads", step.reads.join(", ")], ["writes", step.writes.join(", ")],
      ["does", `${amount(step.flops, "FLOP")}, ${amount(step.bytes, "B")}`],
      ["sends", step.sends ? `${amount(step.sends, "B")} by each member` : ""],
      ["took", step.seconds ? `${amount(step.seconds, "s")}: ${amount(step.flops / step.seconds, "FLOP/s")}, ${amount(step.bytes / step.seconds, "B/s")}` : ""],
      ["roofline", step.least ? `${share(step)} of it; at least ${amount(step.least, "s")} by ${step.bound}` : ""]];
    const table = h("table", {}, facts.filter(([, value]) => value).map(([name, value]) => h("tr", {}, h("td", { text: name }), h("td", { text: value }))));
    replaced(this.right, h("h2", { text: step.name }), table, h("div", { class: "columns" }, this.lines(step), this.code(step)));
  }

  // The lines of Python that the step came from, one block for lines that are near one another.
  lines(step) {
    const marked = new Map();
    for (const number of step.places) {
      const place = this.graph.places[number];
      if (!place) continue;
      if (!marked.has(place[0])) marked.set(place[0], new Set());
      marked.get(place[0]).add(place[1]);
    }
    const blocks = [...marked].map(([file, wanted]) => {
      const about = this.graph.files[file];
      const numbers = Object.keys(about.lines).map(Number).sort((a, b) => a - b).filter((n) => [...wanted].some((w) => Math.abs(n - w) <= 2));
      const rows = [];
      numbers.forEach((n, k) => {
        if (k && n > numbers[k - 1] + 1) rows.push({ text: "⋯" });
        rows.push({ number: n, text: about.lines[n], mark: wanted.has(n) ? "here" : "" });
      });
      return [h("h3", { text: about.name }), rows.length ? codeBlock(rows) : ""];
    });
    return h("div", {}, blocks.flat());
  }

  code(step) {
    if (!step.texts.length) return h("div", {}, h("h3", { text: "no kernel: a library, the host or a loop does it" }));
    const texts = step.texts.map((n) => this.kernels.texts[n]);
    const holder = h("div"), tabs = [];
    const turn = (language) => {
      this.language = language;
      const [, lines] = texts.find(([name]) => name === language) || texts[0];
      tabs.forEach((tab) => tab.setAttribute("aria-pressed", tab.textContent === language));
      replaced(holder, codeBlock(lines.map((text) => ({ text }))));
    };
    tabs.push(...texts.map(([language]) => button(language, () => turn(language))));
    const wanted = texts.some(([language]) => language === this.language) ? this.language : texts[0][0];
    turn(wanted);
    return h("div", {}, h("p", {}, tabs), holder);
  }
}
