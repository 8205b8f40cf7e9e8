// The viewer: which graph, which page.

class Viewer {
  constructor(data) {
    this.data = data;
    this.pages = PAGES.map((kind) => new kind(this));
    this.nav = h("nav", { "aria-label": "pages" });
    const chooser = data.graphs.length > 1
      ? choice("graph", data.graphs.map((g, i) => [i, `${g.name} (${g.graph ? g.graph.order.length : 0} nodes)`]), 0, (i) => this.choose(Number(i)))
      : "";
    document.body.append(h("header", {}, h("h1", { text: data.title }), this.nav, chooser), h("main", {}, this.pages.map((p) => p.element)));
    this.choose(0);
  }

  choose(number) {
    this.graph = this.data.graphs[number]; // none where there is only a table
    const there = this.pages.filter((page) => page.has(this.graph));
    replaced(this.nav, there.map((page) => button(page.name, () => this.turn(page))));
    this.turn(there.includes(this.page) ? this.page : there[0]);
  }

  // A node on the page Graph: that of a number if it is there, else the first of a place.
  lookAt(place, number) {
    const page = this.pages.find((one) => one instanceof GraphPage);
    this.turn(page);
    return page.goToNode(number) || page.goToPlace(place);
  }

  turn(page) {
    this.page = page;
    for (const one of this.pages) one.element.hidden = one !== page;
    for (const tab of this.nav.children) tab.setAttribute("aria-current", page && tab.textContent === page.name ? "page" : "false");
    if (page) page.show(this.graph);
  }
}

const PAGES = [GraphPage, PassesPage, KernelsPage, RunPage, TablePage];
const viewer = new Viewer(JSON.parse(document.getElementById("data").textContent));
globalThis.viewer = viewer;
