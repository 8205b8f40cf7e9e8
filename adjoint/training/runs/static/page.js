"use strict";
// Draws runs: one that is followed (data.js is read again and again) or several that are compared.
// Texts of a run become text nodes and nothing else.
(() => {
  const COLOURS = ["#1f6feb", "#d1495b", "#2a9d8f", "#b8860b", "#7a4fb5", "#e07a1f", "#4c8f2f", "#c2409a"];
  const GROUPS = [
    ["losses", (name) => /loss$/i.test(name)],
    ["learning rate", (name) => name.startsWith("learning rate")],
    ["norms", (name) => name === "weight norm" || name === "gradient norm"],
    ["steps per second", (name) => name === "steps per second"],
    ["memory", (name) => name.startsWith("memory of ")],
  ];
  const WIDTH = 460, HEIGHT = 230, LEFT = 52, RIGHT = 10, TOP = 8, BOTTOM = 24;
  const view = { log: new Set(["losses", "norms"]), smooth: 0.03, across: "step", hidden: new Set() };
  let runs = [], followed = false, news = 0;

  // ---- elements
  const make = (tag, attributes = {}, ...inside) => {
    const found = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
      else if (name === "checked" || name === "value") found[name] = value;
      else found.setAttribute(name, value);
    }
    found.append(...inside);
    return found;
  };
  const draw = (tag, attributes = {}, ...inside) => {
    const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    found.append(...inside);
    return found;
  };

  // ---- numbers
  const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };
  const number = (value) => (typeof value === "string" ? SPECIAL[value] : value);
  const show = (value, name = "") => {
    if (value === undefined || value === null) return "";
    if (!Number.isFinite(value)) return String(value);
    if (name.startsWith("memory of ")) return bytes(value);
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
    return Number.isInteger(value) ? String(value) : value.toPrecision(4);
  };
  const bytes = (value) => {
    for (const unit of ["B", "kB", "MB", "GB"]) {
      if (Math.abs(value) < 1000) return `${Number(value.toPrecision(3))} ${unit}`;
      value /= 1000;
    }
    return `${Number(value.toPrecision(3))} TB`;
  };
  const duration = (seconds) => {
    const whole = Math.round(Math.max(seconds, 0)), pad = (n) => String(n).padStart(2, "0");
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
    return hours ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
  };

  // ---- scales: ticks at 1, 2 and 5
  const scale = (low, high, start, end, log) => {
    if (low === high) [low, high] = beside(low, log);
    const at = log ? Math.log10 : (value) => value;
    const place = (value) => start + ((at(value) - at(low)) / (at(high) - at(low))) * (end - start);
    return { low, high, log, place, ticks: log ? logTicks(low, high) : evenTicks(low, high) };
  };
  const beside = (value, log) => {
    if (log) return [value / 2, value * 2];
    return value === 0 ? [-1, 1] : value > 0 ? [0, 2 * value] : [2 * value, 0];
  };
  const evenTicks = (low, high) => {
    const least = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= least * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i++) found.push(i * step);
    return found;
  };
  const logTicks = (low, high) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    let found = [];
    for (const factors of [[1, 2, 5], [1, 3], [1]]) {
      found = [];
      for (let i = first; i <= last; i++) for (const f of factors) found.push(Number(`${f}e${i}`));
      found = found.filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
      if (found.length <= 8) return found.length > 1 ? found : [low, high];
    }
    const every = Math.ceil(found.length / 7);
    return found.filter((v) => Math.round(Math.log10(v)) % every === 0);
  };
  const tick = (value, name) => {
    if (name === "memory") return bytes(value);
    const size = Math.abs(value);
    if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
    if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
    return size !== 0 && size < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(4)));
  };

  // A mean of what is around, on both sides, farther points weighing less; of logarithms on such a scale.
  const smoothed = (values, log) => {
    const span = Math.max(values.length * view.smooth, 1), keep = 1 - 1 / span;
    const of = values.map((v) => (log ? Math.log(v) : v));
    const faded = (list) => {
      let total = 0, weight = 0;
      return list.map((v) => [(total = keep * total + v), (weight = keep * weight + 1)]);
    };
    const before = faded(of), behind = faded([...of].reverse()).reverse();
    return of.map((v, i) => {
      const mean = (before[i][0] + behind[i][0] - v) / (before[i][1] + behind[i][1] - 1);
      return log ? Math.exp(mean) : mean;
    });
  };

  // ---- curves of a chart: [{run, name, x, y, colour}], finite points alone
  const lines = (names) => {
    const found = [];
    runs.forEach((run, place) => {
      if (view.hidden.has(place)) return;
      for (const name of names) {
        const curve = run.curves[name];
        if (!curve) continue;
        const across = view.across === "step" ? curve[0] : curve[1];
        const kept = curve[2].map(number).map((y, i) => [across[i], y])
          .filter(([x, y]) => x !== null && Number.isFinite(y));
        if (kept.length) found.push({ run: place, name, x: kept.map((p) => p[0]), y: kept.map((p) => p[1]),
          colour: COLOURS[(runs.length > 1 ? place : found.length) % COLOURS.length],
          dashed: runs.length > 1 && names.indexOf(name) % 2 === 1 });
      }
    });
    return found;
  };

  const chart = (title, names) => {
    const shown = lines(names);
    if (!shown.length) return null;
    const ys = shown.flatMap((l) => l.y), xs = shown.flatMap((l) => l.x);
    const least = (list) => list.reduce((a, b) => Math.min(a, b)), most = (list) => list.reduce((a, b) => Math.max(a, b));
    const positive = least(ys) > 0, log = positive && view.log.has(title);
    const across = scale(least(xs), most(xs), LEFT, WIDTH - RIGHT, false);
    const up = scale(least(ys), most(ys), HEIGHT - BOTTOM, TOP, log);
    const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    for (const y of up.ticks) {
      picture.append(draw("line", { class: "grid-line", x1: LEFT, x2: WIDTH - RIGHT, y1: up.place(y), y2: up.place(y) }),
        draw("text", { x: LEFT - 6, y: up.place(y) + 4, "text-anchor": "end" }, tick(y, title)));
    }
    for (const x of across.ticks) {
      const words = view.across === "step" ? tick(x, "") : duration(x);
      picture.append(draw("text", { x: across.place(x), y: HEIGHT - 6, "text-anchor": "middle" }, words));
    }
    const path = (x, y) => x.map((v, i) => `${across.place(v).toFixed(1)},${up.place(y[i]).toFixed(1)}`).join(" ");
    for (const line of shown) {
      const style = { fill: "none", stroke: line.colour, "stroke-linejoin": "round" };
      if (line.dashed) style["stroke-dasharray"] = "5 3";
      const mean = line.y.length >= 16 && view.smooth > 0;
      picture.append(draw("polyline", { ...style, points: path(line.x, line.y), "stroke-width": mean ? 1 : 1.8,
        "stroke-opacity": mean ? 0.3 : 1, class: "raw" }));
      if (mean) picture.append(draw("polyline", { ...style, points: path(line.x, smoothed(line.y, up.log)),
        "stroke-width": 1.8, class: "mean" }));
      const end = line.x.length - 1;
      picture.append(draw("circle", { cx: across.place(line.x[end]), cy: up.place(line.y[end]), r: 3, fill: line.colour }));
    }
    const says = make("div", { class: "says faint" });
    const cursor = draw("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    picture.append(cursor);
    const tell = (x) => says.replaceChildren(...shown.flatMap((line) => legend(line, x)));
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * WIDTH;
      const x = across.low + ((at - LEFT) / (WIDTH - RIGHT - LEFT)) * (across.high - across.low);
      const place = across.place(Math.min(Math.max(x, across.low), across.high));
      cursor.setAttribute("x1", place); cursor.setAttribute("x2", place); cursor.setAttribute("visibility", "visible");
      tell(x);
    });
    picture.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); tell(Infinity); });
    tell(Infinity);
    const box = make("input", { type: "checkbox", checked: log, onchange: () => {
      if (view.log.has(title)) view.log.delete(title); else view.log.add(title);
      render();
    } });
    const head = make("div", { class: "tools" }, make("h2", {}, title));
    if (positive) head.append(make("label", { class: "faint" }, box, "log"));
    return make("div", { class: "card", "data-chart": title }, head, picture, says);
  };
  const called = (place) => {
    const run = runs[place], alone = runs.filter((other) => other.name === run.name).length === 1;
    return alone ? run.name : run.folder.split(/[\\/]/).pop() || run.name;
  };
  const legend = (line, x) => {
    let i = line.x.findIndex((v) => v >= x);
    if (i < 0) i = line.x.length - 1;
    const key = make("span", { class: "key" });
    key.style.background = line.colour;
    const where = view.across === "step" ? `step ${line.x[i]}` : duration(line.x[i]);
    const whose = runs.length > 1 ? `${called(line.run)} · ` : "";
    return [make("span", {}, key, `${whose}${line.name} ${show(line.y[i], line.name)} at ${where}`), "  "];
  };

  // ---- the page
  const charts = () => {
    const names = [...new Set(runs.flatMap((run) => Object.keys(run.curves)))];
    const rest = names.filter((name) => !GROUPS.some(([, takes]) => takes(name)));
    const grouped = GROUPS.map(([title, takes]) => [title, names.filter(takes)]);
    const all = [grouped[0], ...rest.map((name) => [name, [name]]), ...grouped.slice(1)];
    return all.map(([title, inside]) => chart(title, inside)).filter(Boolean);
  };
  const stateOf = (run) => {
    const known = ["running", "finished", "failed"].includes(run.state);
    return make("span", { class: `state ${known ? run.state : "other"}` }, run.state);
  };
  const stepOf = (run) => Math.max(-1, ...Object.values(run.curves).map((curve) => curve[0][curve[0].length - 1] ?? -1));
  const heading = (run) => {
    const done = stepOf(run) + 1, share = run.steps ? Math.min(done / run.steps, 1) : 0;
    const bar = make("div", { class: "bar" }, make("div"));
    bar.firstChild.style.width = `${100 * share}%`;
    const left = run.state === "running" && done > 1 && run.steps ? ` · about ${duration((run.seconds / done) * (run.steps - done))} left` : "";
    const began = run.started ? new Date(run.started * 1000).toLocaleString() : "";
    const facts = `step ${done}${run.steps ? ` of ${run.steps}` : ""} · ${duration(run.seconds)}${left} · ${began}`;
    const found = [make("h1", {}, run.name), make("div", {}, stateOf(run), " ", make("span", { class: "faint" }, facts)), bar];
    if (run.command && run.command.length) found.push(make("pre", { class: "faint" }, run.command.join(" ")));
    if (run.error) found.push(make("div", { class: "error" }, run.error));
    return found;
  };
  const table = () => {
    const names = [...new Set(runs.flatMap((run) => Object.keys(run.curves)))].filter((n) => !n.startsWith("memory of "));
    const head = ["", "run", "state", "step", "time", ...names];
    const rows = runs.map((run, place) => {
      const box = make("input", { type: "checkbox", checked: !view.hidden.has(place), onchange: () => {
        if (view.hidden.has(place)) view.hidden.delete(place); else view.hidden.add(place);
        render();
      } });
      const key = make("span", { class: "key" });
      key.style.background = COLOURS[place % COLOURS.length];
      const cells = [make("td", {}, box, key), make("td", {}, run.name, make("br"), make("span", { class: "faint" }, run.folder || "")),
        make("td", {}, stateOf(run)), make("td", { class: "number" }, String(stepOf(run) + 1)), make("td", { class: "number" }, duration(run.seconds))];
      for (const name of names) {
        const values = run.curves[name] ? run.curves[name][2] : [];
        cells.push(make("td", { class: "number" }, show(number(values[values.length - 1]), name)));
      }
      return make("tr", {}, ...cells);
    });
    const titles = head.map((name, i) => make("th", i > 2 ? { class: "number" } : {}, name));
    return make("section", { class: "wide" }, make("table", {}, make("tr", {}, ...titles), ...rows));
  };
  const tools = () => {
    const slider = make("input", { type: "range", min: 0, max: 0.3, step: 0.01, value: view.smooth, "aria-label": "smoothing",
      oninput: () => { view.smooth = Number(slider.value); redraw(); } });
    const pick = make("select", { "aria-label": "across", onchange: () => { view.across = pick.value; render(); } },
      make("option", { value: "step" }, "by step"), make("option", { value: "time" }, "by time"));
    pick.value = view.across;
    return make("div", { class: "tools" }, make("label", {}, "smoothed", slider), pick);
  };
  const samples = () => {
    const found = runs.flatMap((run) => run.samples.map((sample) => ({ run, sample }))).reverse();
    if (!found.length) return [];
    const cards = found.map(({ run, sample }) => {
      const whose = runs.length > 1 ? `${run.name} · ` : "";
      const card = make("div", { class: "card" }, make("div", { class: "faint" }, `${whose}${sample.name} at step ${sample.step}`));
      if (sample.text !== undefined) card.append(make("pre", {}, sample.text));
      if (/^data:image\/png;base64,[A-Za-z0-9+/=]+$/.test(sample.image || "")) card.append(make("img", { src: sample.image, alt: sample.name }));
      return card;
    });
    return [make("section", {}, make("h1", {}, "Samples"), make("div", { class: "grid" }, ...cards))];
  };

  const main = document.querySelector("main");
  let grid = make("div", { class: "grid" });
  const redraw = () => grid.replaceChildren(...charts());
  const render = () => {
    const focus = document.activeElement && document.activeElement.getAttribute("aria-label");
    grid = make("div", { class: "grid" });
    redraw();
    const top = runs.length === 1 ? heading(runs[0]) : [make("h1", {}, document.title), table()];
    const empty = runs.some((run) => Object.keys(run.curves).length) ? [] : [make("p", { class: "faint" }, "Nothing is recorded yet.")];
    main.replaceChildren(...top, tools(), ...empty, grid, ...samples());
    if (focus) for (const box of main.querySelectorAll("[aria-label]")) if (box.getAttribute("aria-label") === focus) box.focus();
  };

  // ---- following a run
  const look = () => {
    const script = document.createElement("script");
    const done = (pause) => { script.remove(); if (pause) setTimeout(look, pause); };
    script.src = `data.js?${++news}`;
    script.onload = () => done(followed ? 1000 * (look.every || 1) : 0);
    script.onerror = () => done(2000);
    document.head.append(script);
  };
  window.adjointRun = (data) => {
    const before = runs.length ? JSON.stringify(runs[0]) : "";
    runs = [data.run];
    look.every = data.every;
    followed = data.run.state === "running";
    document.title = `${data.run.name} · ${data.run.state}`;
    if (before !== JSON.stringify(data.run)) render();
  };
  const inside = JSON.parse(document.getElementById("data").textContent);
  if (inside.runs === null) look();
  else { runs = inside.runs; render(); }
})();
