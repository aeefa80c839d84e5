// The graph of a function: moved, zoomed, folded by name scope, searched; walked with the arrow keys.

const boxHeight = 34;

// The way of an edge, whose points are x and y in turn: curves as they are, and of our own layers the places through which it
// passes, straight down beside the boxes and bent between the layers.
function pathOf([x, y, ...rest], curved) {
  if (curved) return `M${x} ${y}C${rest.join(" ")}`;
  let d = `M${x} ${y}`;
  for (let k = 0; k < rest.length; k += 2) {
    const toX = rest[k], toY = rest[k + 1], middle = (y + toY) / 2;
    d += k % 4 === 0 ? `C${x} ${middle} ${toX} ${middle} ${toX} ${toY}` : `V${toY}`;
    [x, y] = [toX, toY];
  }
  return d;
}

class GraphView {
  constructor(pane) {
    this.pane = pane;
    this.open = new Set();
    this.folds = el("button", { type: "button", "aria-pressed": "false", onclick: () => { this.folded = !this.folded; this.open.clear(); this.folds.setAttribute("aria-pressed", String(this.folded)); this.layAgain(); } }, "fold scopes");
    this.whole = el("button", { type: "button", "aria-pressed": "false", title: "also weights that one binding reads, and each of parallel chains that are alike", onclick: () => { this.all = !this.all; this.whole.setAttribute("aria-pressed", String(this.all)); this.layAgain(); } }, "all boxes");
    this.better = el("button", { type: "button", hidden: true, title: "ask Graphviz, which takes a few seconds for so many boxes", onclick: () => { this.wait = true; this.layAgain(); } }, "lay out better");
    this.tools = el("span", {}, this.folds, " ", this.whole, " ", this.better, " ",
      el("button", { type: "button", onclick: () => this.zoom(1.25), "aria-label": "zoom in" }, "+"),
      el("button", { type: "button", onclick: () => this.zoom(0.8), "aria-label": "zoom out" }, "−"),
      el("button", { type: "button", onclick: () => this.fit() }, "fit"));
    this.node = el("svg", { class: "graph", tabindex: "0", role: "application", "aria-label": "graph: arrow keys follow edges, Enter shows the value" });
    this.items = []; this.picked = -1; this.scale = 1; this.x = 0; this.y = 0;
    this.node.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(event.deltaY < 0 ? 1.15 : 0.87, event); }, { passive: false });
    this.node.addEventListener("pointerdown", (event) => { this.drag = { x: event.clientX, y: event.clientY, moved: false }; });
    this.node.addEventListener("pointermove", (event) => this.move(event));
    window.addEventListener("pointerup", () => { this.drag = null; });
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("mouseleave", () => light([]));
    new ResizeObserver(() => this.draw()).observe(this.node);
  }
  async show(version, name, nodes) {
    if (nodes === this.nodes) return this.fit();  // laid out already
    // Nothing is drawn until the boxes are there: those of another function would be wrong.
    Object.assign(this, { version, name, nodes, picked: -1, open: new Set(), wait: false, layout: null, items: [] });
    put(this.node);
    if (await this.lay()) return this.fit();
    if (nodes === this.nodes && !this.layout) this.nodes = null;  // it may be asked for again
  }
  async layAgain() {
    if (!this.nodes) return;
    this.pane.wait(true);
    const laid = await this.lay();
    this.pane.wait(false);
    if (laid) this.fit();
  }
  // Boxes and where they stand are decided by rldb. False: something else is shown by now.
  async lay() {
    const turn = this.turn = (this.turn ?? 0) + 1;
    const view = [this.all && "all", this.folded && "folded", this.wait && "wait"].filter(Boolean).join(",");
    const open = this.folded && this.open.size ? { open: [...this.open].sort().join("\n") } : {};
    const reply = this.nodes.length ? await cached("layout", { version: this.version, function: this.name, view, ...open }) : { boxes: [] };
    if (turn !== this.turn) return false;
    if (!reply && this.folded) {  // the static form has no layout with some scopes open
      this.folded = false;
      this.folds.setAttribute("aria-pressed", "false");
      return this.lay();
    }
    if (!reply?.boxes) { this.pane.note.textContent = reply?.problem ?? "There is no such graph."; return false; }
    this.layout = { width: reply.width, height: reply.height, curved: reply.curved, cut: [], edges: [], places: reply.boxes.map(({ place: [x, y] }) => ({ x, y })) };
    this.items = reply.boxes.map((box, i) => this.item(box, i));
    this.whole.hidden = !this.all && !this.folded && !this.items.some((item) => item.weights.length || item.alike.length);
    this.users = this.items.map(() => []);
    this.items.forEach((item, i) => item.inputs.forEach((j) => this.users[j].push(i)));
    this.better.hidden = isStatic || !reply.needs_time;
    this.pane.note.textContent = reply.without_graphviz ? `simple layout: ${reply.without_graphviz}` : "";
    return true;
  }
  // A binding for which another's box stands, or a weight that one reads, is named there.
  item(box, i) {
    const hidden = (box.hidden ?? []).map((k) => this.nodes[k]), own = box.node === undefined ? [] : [this.nodes[box.node]];
    const relatives = [...own, ...hidden].flatMap((node) => node.relatives ?? []);
    for (const [from, ...points] of box.edges) {
      const xs = points.filter((_, k) => k % 2 === 0);
      this.layout.edges.push({ from, to: i, points, left: Math.min(...xs), right: Math.max(...xs) });
    }
    for (const from of box.cut ?? []) this.layout.cut.push([from, i]);
    return { ...(own.length ? { ...own[0], index: box.node } : { scope: box.scope, name: box.scope, type: hidden.length + " bindings", members: box.hidden }), relatives, label: box.label ?? box.scope ?? own[0].name, sub: box.note,
      width: box.place[2], inputs: [...box.edges.map(([from]) => from), ...(box.cut ?? [])], alike: own.length ? hidden.map((node) => node.name) : [],
      weights: (box.weights ?? []).map((k) => this.nodes[k].name) };
  }
  size() { const box = this.node.getBoundingClientRect(); return { width: box.width || 600, height: box.height || 400 }; }
  fit() {
    if (!this.layout) return;
    const { width, height } = this.size();
    this.scale = Math.min(1, Math.max(0.35, Math.min((width - 30) / (this.layout.width || 1), (height - 30) / (this.layout.height || 1))));
    this.x = Math.max(15, (width - this.layout.width * this.scale) / 2);
    this.y = 15;
    this.draw();
  }
  zoom(by, event) {
    const box = this.node.getBoundingClientRect();
    const cx = event ? event.clientX - box.left : box.width / 2, cy = event ? event.clientY - box.top : box.height / 2;
    const next = Math.min(3, Math.max(0.02, this.scale * by));
    this.x = cx - (cx - this.x) * next / this.scale;
    this.y = cy - (cy - this.y) * next / this.scale;
    this.scale = next;
    this.draw();
  }
  move(event) {
    if (!this.drag || !(event.buttons & 1)) return;
    this.x += event.clientX - this.drag.x; this.y += event.clientY - this.drag.y;
    this.drag = { x: event.clientX, y: event.clientY, moved: true };
    this.draw();
  }
  center(i) {
    const { width, height } = this.size(), at = this.layout.places[i];
    this.scale = Math.max(this.scale, 0.6);
    this.x = width / 2 - at.x * this.scale;
    this.y = height / 2 - at.y * this.scale;
    this.draw();
  }
  // Only what is in sight is drawn.
  draw() {
    if (!this.layout || this.node.hasAttribute("hidden")) return;
    const { width, height } = this.size();
    const left = -this.x / this.scale - 20, top = -this.y / this.scale - 80, right = left + width / this.scale + 40, bottom = top + height / this.scale + 160;
    const inside = (x0, y0, x1, y1) => x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
    const small = this.scale < 0.3;
    const children = [];
    for (const edge of this.layout.edges) {
      if (!inside(edge.left, edge.points[1], edge.right, edge.points.at(-1))) continue;
      const hot = edge.from === this.picked || edge.to === this.picked;
      children.push(el("path", { d: pathOf(edge.points, this.layout.curved), class: hot ? "lit" : undefined }));
    }
    const stubs = new Map();
    for (const [from, to] of this.layout.cut) stubs.set(to, [...(stubs.get(to) ?? []), this.items[from].label]);
    const where = app.state?.active ? app.state.stop.where : null;
    this.items.forEach((item, i) => {
      const { x, y } = this.layout.places[i];
      if (!inside(x - item.width / 2, y, x + item.width / 2, y + boxHeight)) return;
      const classes = [item.parameter && "parameter", item.result && "result", item.scope && "scope", isLit(item.relatives) && "lit",
        where && where.binding === item.name && "now", i === this.picked && "picked"].filter(Boolean).join(" ");
      const box = el("g", { class: classes, transform: `translate(${x - item.width / 2} ${y})`, "data-node": item.name },
        el("rect", { width: item.width, height: boxHeight, rx: 6 }), el("title", {}, [[item.name, ...item.alike].join(", "), item.value ?? "", item.type].join("\n")));
      if (!small) box.append(el("text", { x: item.width / 2, y: 14, "text-anchor": "middle" }, item.label), el("text", { x: item.width / 2, y: 28, "text-anchor": "middle", class: "soft" }, item.sub));
      if (!small && stubs.has(i)) box.append(el("path", { d: `M${item.width / 2} 0V-8` }), el("text", { x: item.width / 2, y: -11, "text-anchor": "middle", class: "soft" }, "⤒ " + stubs.get(i).slice(0, 2).join(", ") + (stubs.get(i).length > 2 ? " …" : "")));
      box.addEventListener("mouseenter", () => { if (!this.drag) { app.lit = new Set(item.relatives ?? []); for (const p of app.panes) if (p !== this.pane) p.relight(); } });
      box.addEventListener("click", () => this.pick(i));
      box.addEventListener("dblclick", () => this.unfold(i));
      children.push(box);
    });
    put(this.node, el("g", { transform: `translate(${this.x} ${this.y}) scale(${this.scale})` }, children));
  }
  pick(i) {
    this.picked = i;
    const item = this.items[i];
    this.pane.note.textContent = `${item.name}: ${item.type}`;
    if (item.relatives?.length) { light(item.relatives); for (const other of app.panes) if (other !== this.pane) other.seek(item.relatives); }
    this.draw();
    if (!item.scope) showValue(item.name);
  }
  async unfold(i) {
    const { scope, members } = this.items[i];
    if (!scope) return;
    this.open.add(scope);
    if (!await this.lay()) return;
    this.picked = this.items.findIndex((item) => item.index === members[0]);
    this.picked < 0 ? this.fit() : this.center(this.picked);
  }
  seek(wanted) {
    const i = this.items.findIndex((item) => item.relatives?.some((r) => wanted.has(r)));
    if (i >= 0) { this.picked = i; this.center(i); }
  }
  find(word) {
    const n = this.items.length;
    for (let k = 1; k <= n; ++k) {
      const i = (this.picked + k + n) % n;
      const item = this.items[i], texts = [item.name, item.value ?? "", ...item.alike, ...item.weights];
      if (texts.some((text) => text.toLowerCase().includes(word))) { this.pick(i); return this.center(i); }
    }
    this.pane.note.textContent = "not found";
  }
  key(event) {
    const n = this.items.length;
    if (!n) return;
    if (this.picked < 0 && event.key.startsWith("Arrow")) { event.preventDefault(); this.pick(0); return this.center(0); }
    const places = this.layout.places, row = this.picked < 0 ? [] : places.map((p, i) => [p, i]).filter(([p]) => p.y === places[this.picked].y).sort((a, b) => a[0].x - b[0].x).map(([, i]) => i);
    const at = row.indexOf(this.picked);
    const target = { ArrowUp: this.items[this.picked]?.inputs[0], ArrowDown: this.users[this.picked]?.[0], ArrowLeft: row[at - 1], ArrowRight: row[at + 1] }[event.key];
    if (event.key === "Enter" && this.picked >= 0) return this.items[this.picked].scope ? this.unfold(this.picked) : this.pick(this.picked);
    if (event.key === "+" || event.key === "-") return this.zoom(event.key === "+" ? 1.25 : 0.8);
    if (target === undefined) return;
    event.preventDefault();
    this.pick(target);
    this.center(target);
  }
}
