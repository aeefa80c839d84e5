// The graph of a function: moved, zoomed, folded by name scope, searched; walked with the arrow keys.

// `layers.0/attn/q` and `layers_0_attn_q` belong to a scope; `lv3` to none.
function scopeOf(name) {
  const parts = name.split(/[./:]+/).filter(Boolean);
  if (parts.length > 1) return parts.slice(0, -1).join("/");
  const match = /^(.*?\d+)_/.exec(name);
  return match ? match[1] : null;
}

class GraphView {
  constructor(pane) {
    this.pane = pane;
    this.open = new Set();
    this.folds = el("button", { type: "button", "aria-pressed": "false", onclick: () => { this.folded = !this.folded; this.open.clear(); this.folds.setAttribute("aria-pressed", String(this.folded)); this.lay(); this.fit(); } }, "fold scopes");
    this.whole = el("button", { type: "button", "aria-pressed": "false", title: "also weights that one binding reads, and each of parallel chains that are alike", onclick: () => { this.all = !this.all; this.whole.setAttribute("aria-pressed", String(this.all)); this.lay(); this.fit(); } }, "all boxes");
    this.tools = el("span", {}, this.folds, " ", this.whole, " ",
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
  show(nodes) {
    if (nodes === this.nodes) return this.fit();  // laid out already
    this.nodes = nodes;
    this.picked = -1;
    this.whole.hidden = nodes.every((node) => node.box === undefined);
    this.lay();
    this.fit();
  }
  // Folded scopes are one item each; a binding for which another's box stands is named there.
  lay() {
    const items = [], of = [];
    const scopes = new Map();
    this.nodes.forEach((node, i) => {
      const box = this.all || node.box > i ? i : node.box ?? i;
      if (box < 0) return void (of[i] = -1);
      if (box !== i) {
        of[i] = of[box];
        const item = items[of[i]];
        if (!item.members) (item.alike ??= []).push(node.name);
        item.relatives = [...(item.relatives ?? []), ...(node.relatives ?? [])];
        return;
      }
      const scope = this.folded ? scopeOf(node.name) : null;
      if (scope !== null && !this.open.has(scope)) {
        if (!scopes.has(scope)) scopes.set(scope, items.push({ scope, name: scope, members: [], inputs: new Set(), relatives: [], type: "" }) - 1);
        of[i] = scopes.get(scope);
        items[of[i]].members.push(i);
        for (const relative of node.relatives ?? []) items[of[i]].relatives.push(relative);
      } else {
        of[i] = items.push({ ...node, inputs: new Set(), index: i }) - 1;
      }
      for (const j of node.inputs) {
        if (of[j] === -1) (items[of[i]].weights ??= []).push(this.nodes[j].name);
        else if (of[j] !== of[i]) items[of[i]].inputs.add(of[j]);
      }
    });
    for (const item of items) {
      if (item.members) item.type = item.members.length + " bindings";
      item.label = item.name.length > 30 ? item.name.slice(0, 29) + "…" : item.name;
      item.sub = ((item.alike ? item.alike.length + 1 + " alike: " : "") + (item.value ? /^[\w.]+/.exec(item.value)?.[0] ?? "" : item.parameter ? "parameter" : item.type)
        + (item.weights ? " ^ " + item.weights.join(", ") : "")).slice(0, 34);
      item.width = Math.max(48, 14 + 7.2 * Math.max(item.label.length, 0.9 * item.sub.length));
      item.inputs = [...item.inputs];
    }
    this.items = items;
    this.layout = layOut(items);
    for (const edge of this.layout.edges) {
      const xs = edge.points.map((p) => p.x);
      edge.left = Math.min(...xs);
      edge.right = Math.max(...xs);
    }
    this.users = items.map(() => []);
    items.forEach((item, i) => item.inputs.forEach((j) => this.users[j].push(i)));
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
      const a = edge.points[0], b = edge.points[edge.points.length - 1];
      if (!inside(edge.left, a.y, edge.right, b.y)) continue;
      const hot = edge.from === this.picked || edge.to === this.picked;
      children.push(el("path", { d: pathOf(edge.points), class: hot ? "lit" : undefined }));
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
        el("rect", { width: item.width, height: boxHeight, rx: 6 }), el("title", {}, [[item.name, ...(item.alike ?? [])].join(", "), item.value ?? "", item.type].join("\n")));
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
  unfold(i) {
    if (!this.items[i].scope) return;
    this.open.add(this.items[i].scope);
    this.lay();
    this.draw();
  }
  seek(wanted) {
    const i = this.items.findIndex((item) => item.relatives?.some((r) => wanted.has(r)));
    if (i >= 0) { this.picked = i; this.center(i); }
  }
  find(word) {
    const n = this.items.length;
    for (let k = 1; k <= n; ++k) {
      const i = (this.picked + k + n) % n;
      const item = this.items[i], texts = [item.name, item.value ?? "", ...(item.alike ?? []), ...(item.weights ?? [])];
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
