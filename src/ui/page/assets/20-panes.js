// The linked panes: a text, its differences, a kernel, the instructions or the graph, in each of two places.

const app = { program: null, state: null, panes: [], lit: new Set(), cache: new Map(), version: 0, function: "main" };

async function cached(path, query = {}) {
  const key = address(path, query);
  if (!app.cache.has(key)) app.cache.set(key, get(path, query));
  const doc = await app.cache.get(key);
  if (doc?.abandoned) app.cache.delete(key);
  return doc;
}

function versionName(v) {
  const version = app.program.versions[v];
  if (!version) return "no version";
  if (!version.pass) return v === 0 ? "0  as loaded" : v + "  edited";
  return v + "  " + version.pass + (version.by_build ? " (build)" : "");
}

// Relatives of lines, as a table by line: lines without any have those of the kernel that they are in.
function relativesByLine(doc) {
  const table = new Map();
  for (const f of doc.functions)
    if (f.kind === "kernel" && f.relatives) for (let l = f.first; l <= f.last; ++l) table.set(l, f.relatives);
    else if (f.relatives) table.set(f.first, f.relatives);
  for (const [line, ...list] of doc.relatives) table.set(line, list);
  return table;
}

// The forms of a kernel. The lines of all but the first belong together by lines of the TensorIR as it is compiled: their
// keys are `kernel:line`.
const kernelViews = ["tir", "compiled", "llvm", "asm"];
function kernelKey(doc, form, i) {
  const line = form === "compiled" ? i + 1 : doc[form + "_lines"]?.[i];
  return line ? doc.kernel + ":" + line : null;
}

// `kernel`: a line in it is pointed at, whose own lines light up rather than all of it.
function light(relatives, kernel = null) {
  app.lit = new Set(relatives ?? []);
  app.litKernel = kernel;
  for (const pane of app.panes) pane.relight();
}
const isLit = (list) => app.lit.size > 0 && !!list && list.some((r) => app.lit.has(r));

class Pane {
  constructor(id, label) {
    this.list = new List(label);
    this.graph = new GraphView(this);
    this.view = el("select", { "aria-label": label + ": view", onchange: () => this.show(this.view.value) });
    this.item = el("select", { "aria-label": label + ": function or kernel", onchange: () => this.show(this.view.value) });
    this.search = el("input", { type: "search", placeholder: "search", "aria-label": label + ": search", size: 9,
      onkeydown: (event) => { if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1); } });
    this.note = el("span", { class: "note", role: "status" });
    this.node = el("section", { class: "box", id, "aria-label": label },
      el("div", { class: "bar-of-box" }, this.view, this.item, this.search, this.graph.tools, this.note), this.list.node, this.graph.node);
    this.relatives = () => null;
    this.lines = [];
  }
  options() {
    const versions = app.program.versions.map((_, v) => ["text:" + v, versionName(v)]);
    const rows = [["source", "the source"], ["text", "the selected version"], ["diff", "its differences"], ...versions, ["tir", "kernel: TensorIR"],
      ["compiled", "kernel: as compiled"], ["llvm", "kernel: LLVM"], ["asm", "kernel: assembly"], ["instructions", "VM instructions"], ["graph", "graph"]];
    const before = this.view.value;
    put(this.view, rows.map(([value, text]) => el("option", { value }, text)));
    if (rows.some(([value]) => value === before)) this.view.value = before;
  }
  async show(view) {
    this.options();
    this.view.value = view;
    const turn = this.turn = (this.turn ?? 0) + 1;
    const version = view.includes(":") ? Number(view.split(":")[1]) : app.version;
    const kind = view.split(":")[0];
    const names = kernelViews.includes(kind) ? app.program.kernels.map((k) => k.name) : kind === "graph" ? app.program.functions : [];
    const kept = this.item.value;
    put(this.item, names.map((name) => el("option", { value: name }, name)));
    if (names.includes(kept)) this.item.value = kept;
    this.item.hidden = names.length === 0;
    this.graph.node.toggleAttribute("hidden", kind !== "graph");
    this.graph.tools.hidden = kind !== "graph";
    this.list.node.hidden = kind === "graph";
    this.note.textContent = "";
    const late = setTimeout(() => { if (turn === this.turn) this.wait(true); }, 150);
    this.showing = this.showKind(kind, version, turn);
    await this.showing;
    clearTimeout(late);
    if (turn === this.turn) this.wait(false);
  }
  async showKind(kind, version, turn) {
    if (kind === "text") await this.showText(version, turn);
    else if (kind === "source") await this.showSource(turn);
    else if (kind === "diff") await this.showDiff(version, turn);
    else if (kind === "instructions") await this.showInstructions(turn);
    else if (kind === "graph") await this.showGraph(version, turn);
    else await this.showKernel(kind, turn);
  }
  // What the pane still shows is not what its boxes name: a kernel is being compiled.
  wait(on) {
    this.node.setAttribute("aria-busy", String(on));
    if (on) this.note.textContent = "loading …";
    else if (this.note.textContent === "loading …") this.note.textContent = "";
  }
  lay(lines, more) {
    this.lines = lines;
    this.list.show({ count: lines.length, lit: (i) => isLit(this.relatives(i)), ...more });
  }
  nothing(why) { this.relatives = () => null; this.lay([why], { fill: (row) => row.append(why) }); }

  async showText(version, turn) {
    const doc = await cached("text", { version });
    if (turn !== this.turn) return;
    if (!doc || doc.problem) return this.nothing(doc?.problem || "No program with versions is loaded.");
    doc.table ??= relativesByLine(doc);
    const lines = doc.text.split("\n");
    this.relatives = (i) => doc.table.get(i + 1);
    this.doc = doc;
    this.layText(lines, (i) => toggleBreakpoint(version, i + 1));
  }
  // As it was written. Code belongs to lines of the version that was read from it: a breakpoint goes to the next binding.
  async showSource(turn) {
    const source = await cached("source");
    if (turn !== this.turn) return;
    if (!source || source.problem) return this.nothing(source?.problem || "This program was not read from a text.");
    const doc = await cached("text", { version: source.version });
    if (turn !== this.turn) return;
    if (!doc || doc.problem) return this.nothing(doc?.problem || "");
    source.table ??= relativesByLine(source);
    const written = new Map(source.printed.map(([line, at]) => [at, line]));
    source.line_of_pc ??= doc.line_of_pc.map((line) => written.get(line) ?? 0);
    this.relatives = (i) => source.table.get(i + 1);
    this.doc = source;
    this.layText(source.text.split("\n"), (i) => {
      const next = source.printed.filter(([line]) => line > i).reduce((best, row) => !best || row[0] < best[0] ? row : best, null);
      next ? toggleBreakpoint(source.version, next[1]) : say("no line from here on has code");
    });
  }
  layText(lines, toggle) {
    this.lay(lines, {
      fill: (row, i) => {
        const point = this.pointAt(i + 1), now = this.isNow(i + 1);
        row.append(el("span", { class: "gutter" + (point ? " point" : ""), title: isStatic ? undefined : "breakpoint" }, String(i + 1)), el("span", {}, painted(lines[i])));
        if (point) row.setAttribute("aria-label", "breakpoint, line " + (i + 1) + " " + lines[i]);
        if (now) { row.classList.add("now"); row.setAttribute("aria-current", "true"); }
      },
      hover: (i) => light(i === null ? [] : this.relatives(i)),
      pick: (i, event) => {
        if (event?.target.closest(".gutter")) return toggle(i);
        this.follow(i);
        const name = /^\s*([A-Za-z_]\w*)\s*[:=]/.exec(lines[i]);
        if (name) showValue(name[1]);
      },
      key: (i, event) => { if (event.key === "b") toggle(i); },
    });
    const now = this.nowLine();
    if (now) this.list.reveal(now - 1);
  }
  nowLine() {
    const where = app.state?.active ? app.state.stop.where : null;
    return where && where.pc !== null && this.doc ? this.doc.line_of_pc[where.pc] || 0 : 0;
  }
  isNow(line) { return this.nowLine() === line; }
  pointAt(line) {
    return !!app.state?.breakpoints.some((b) => b.pcs.some((pc) => this.doc.line_of_pc[pc] === line));
  }
  // The other panes show a relative of the line.
  follow(i) {
    const list = this.relatives(i);
    if (!list) return;
    light(list);
    for (const other of app.panes) if (other !== this) other.seek(list);
  }
  seek(list) {
    const wanted = new Set(list);
    if (kernelViews.includes(this.view.value)) {
      const kernel = app.program.kernels.find((k) => list.some((r) => typeof r === "string" ? r.startsWith(k.name + ":") : k.relatives?.includes(r)));
      if (kernel && kernel.name !== this.item.value) { this.item.value = kernel.name; return this.show(this.view.value); }
      const i = this.lines.findIndex((_, k) => wanted.has(this.keyOf?.(k)));
      if (i >= 0) this.list.reveal(i);
    } else if (this.view.value === "graph") {
      this.graph.seek(wanted);
    } else {
      for (let i = 0; i < this.lines.length; ++i)
        if (this.relatives(i)?.some((r) => wanted.has(r))) return this.list.reveal(i);
    }
  }
  relight() { this.view.value === "graph" ? this.graph.draw() : this.list.mark(); }
  redraw() { this.view.value === "graph" ? this.graph.draw() : this.list.redraw(); }

  async showDiff(version, turn) {
    const doc = await cached("diff", { version });
    if (turn !== this.turn) return;
    if (!doc || doc.problem) return this.nothing(doc?.problem || "No program with versions is loaded.");
    if (doc.hunks.length === 0) return this.nothing(version === 0 ? "The version as loaded: nothing before it." : "No differences.");
    const [text, old] = await Promise.all([cached("text", { version }), cached("text", { version: version - 1 })]);
    if (turn !== this.turn) return;
    if (text.problem || old.problem) return this.nothing(text.problem || old.problem);
    text.table ??= relativesByLine(text);
    old.table ??= relativesByLine(old);
    const rows = doc.hunks.flatMap((hunk, h) => (h ? [[" ", 0, 0]] : []).concat(hunk));
    const after = text.text.split("\n"), before = old.text.split("\n");
    this.relatives = (i) => rows[i][0] === "-" ? old.table.get(rows[i][1]) : text.table.get(rows[i][2]);
    this.lay(rows.map(([mark, b, a]) => a === 0 ? "⋯" : mark === "-" ? before[b - 1] : after[a - 1]), {
      fill: (row, i) => {
        const [mark, before, after] = rows[i], line = this.lines[i];
        row.append(el("span", { class: "gutter" }, mark === "-" ? before + " −" : mark === "+" ? after + " +" : String(after || "")), el("span", {}, painted(line)));
        row.classList.toggle("add", mark === "+");
        row.classList.toggle("del", mark === "-");
        if (mark !== " ") row.setAttribute("aria-label", (mark === "+" ? "added: " : "removed: ") + line);
      },
      hover: (i) => light(i === null ? [] : this.relatives(i)),
      pick: (i) => this.follow(i),
    });
  }
  async showKernel(form, turn) {
    const name = this.item.value;
    const doc = name ? await cached("kernel", { name }) : null;
    if (turn !== this.turn) return;
    if (!doc) return this.nothing(name ? "The text of this kernel is not in this page." : "The program has no kernels.");
    if (!doc[form]) return this.nothing(doc.problem || "There is no such text.");
    const lines = doc[form].split("\n");
    this.keyOf = (i) => kernelKey(doc, form, i);
    const all = (i) => { const key = this.keyOf(i); return key ? [key, ...(doc.relatives ?? [])] : doc.relatives ?? []; };
    this.relatives = (i) => { const key = this.keyOf(i); return app.litKernel !== name ? doc.relatives : key ? [key] : null; };
    this.lay(lines, {
      fill: (row, i) => {
        row.append(el("span", { class: "gutter" }, String(i + 1)), el("span", {}, painted(lines[i])));
      },
      hover: (i) => light(i === null ? [] : all(i), i !== null && this.keyOf(i) ? name : null),
      pick: (i) => {
        light(all(i), this.keyOf(i) ? name : null);
        for (const other of app.panes) if (other !== this) other.seek(all(i));
      },
    });
  }
  async showInstructions(turn) {
    const doc = await cached("instructions");
    if (turn !== this.turn) return;
    if (!doc || doc.problem) return this.nothing(doc?.problem || app.program.problem || "The program has no instructions.");
    const rows = doc.functions.flatMap((f) => [[null, f.function], ...f.instructions]);
    this.relatives = (i) => rows[i].slice(2);
    this.lay(rows.map((row) => row[1]), {
      fill: (row, i) => {
        const [pc, text] = rows[i];
        row.append(el("span", { class: "gutter" }, pc === null ? "" : String(pc)), el("span", {}, pc === null ? el("b", {}, text) : text));
        if (app.state?.active && app.state.stop.where?.pc === pc && pc !== null) row.classList.add("now");
      },
      hover: (i) => light(i === null ? [] : this.relatives(i)),
      pick: (i) => this.follow(i),
    });
  }
  async showGraph(version, turn) {
    const doc = await cached("graph", { version, function: this.item.value });
    if (turn !== this.turn) return;
    await this.graph.show(version, this.item.value, doc?.nodes ?? []);
    if (turn === this.turn && !doc?.nodes) this.note.textContent = doc?.problem || "This version has no such function.";
  }
  // In what the boxes name, which may not be here yet.
  async find(step) {
    const word = this.search.value.toLowerCase();
    if (!word) return;
    await this.showing;
    if (this.view.value === "graph") return this.graph.find(word);
    const n = this.lines.length;
    for (let k = 1; k <= n; ++k) {
      const i = (((this.list.picked < 0 ? -1 : this.list.picked) + k * step) % n + n) % n;
      if (this.lines[i].toLowerCase().includes(word)) { this.note.textContent = ""; return this.list.pick(i); }
    }
    this.note.textContent = "not found";
  }
}
