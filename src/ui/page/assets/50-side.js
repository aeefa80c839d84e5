// The side: a value, the stop, the shape heap, memory, a profile, breakpoints.

const side = { tab: "stop", name: "", index: [] };
const sideTabs = [["value", "Value"], ["stop", "Stop"], ["heap", "Shape heap"], ["memory", "Memory"], ["profile", "Profile"], ["points", "Breakpoints"]];

function table(heads, rows, numbers = []) {
  const cell = (tag) => (content, k) => el(tag, { class: numbers.includes(k) ? "num" : undefined, scope: tag === "th" ? "col" : undefined }, content ?? "");
  return el("table", { class: "plain" }, el("thead", {}, el("tr", {}, heads.map(cell("th")))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td"))))));
}
const link = (text, what) => el("button", { type: "button", onclick: what }, text);
const note = (text) => el("p", { class: "note" }, text);

const shortNumber = (x) => typeof x === "number" ? String(Number(x.toPrecision(5))) : String(x);

function summary(value) {
  if (!value) return "";
  if (value.kind === "tensor") return `${value.dtype} [${(value.shape ?? []).join(", ")}]` + (value.elements && value.elements.length <= 6 ? " " + value.elements.map(shortNumber).join(" ") : "");
  return String(value.value ?? value.text ?? value.kind);
}

async function showSide(tab = side.tab) {
  side.tab = tab;
  for (const button of document.querySelectorAll("#tabs button")) {
    const on = button.dataset.tab === tab;
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
  }
  const turn = side.turn = (side.turn ?? 0) + 1;
  const content = await sideContent[tab]();
  if (turn === side.turn) put(document.getElementById("panel"), content);
}
function showValue(name) {
  side.name = name;
  side.index = [];
  if (!isStatic || recorded.values) showSide("value");
}

const numberOf = (cell) => typeof cell === "number" ? cell : NaN;

function heatMap(slice) {
  const rows = slice.cells.length, columns = slice.cells[0]?.length ?? 0;
  const values = slice.cells.flat().map(numberOf).filter(Number.isFinite);
  const low = Math.min(...values), high = Math.max(...values);
  const canvas = el("canvas", { class: "heat", width: Math.max(columns, 1), height: Math.max(rows, 1), role: "img",
    "aria-label": `heat map of ${slice.rows} by ${slice.columns} elements, from ${low} to ${high}` });
  const paint = canvas.getContext("2d");
  slice.cells.forEach((row, r) => row.forEach((cell, c) => {
    const x = numberOf(cell);
    // From blue over white to orange; what is not finite is red.
    const part = high > low ? (x - low) / (high - low) : 0.5;
    const mix = (a, b, t) => Math.round(a + (b - a) * t);
    const [from, to, t] = part < 0.5 ? [[33, 90, 170], [245, 245, 245], part * 2] : [[245, 245, 245], [200, 95, 10], part * 2 - 1];
    paint.fillStyle = Number.isFinite(x) ? `rgb(${mix(from[0], to[0], t)} ${mix(from[1], to[1], t)} ${mix(from[2], to[2], t)})` : "rgb(220 0 60)";
    paint.fillRect(c, r, 1, 1);
  }));
  canvas.style.aspectRatio = String(Math.min(6, Math.max(0.5, columns / Math.max(rows, 1))));
  return canvas;
}
function histogram(facts) {
  const counts = facts.histogram?.counts ?? [], most = Math.max(1, ...counts), edges = facts.histogram?.edges ?? [];
  const svg = el("svg", { class: "timeline", viewBox: `0 0 ${counts.length * 10 || 10} 60`, width: "100%", height: 70, preserveAspectRatio: "none", role: "img",
    "aria-label": `histogram from ${edges[0]} to ${edges[edges.length - 1]}` });
  counts.forEach((count, k) => svg.append(el("rect", { x: k * 10 + 1, y: 60 - 60 * count / most, width: 8, height: 60 * count / most }, el("title", {}, `${edges[k]} to ${edges[k + 1]}: ${count}`))));
  return svg;
}

const sideContent = {
  async value() {
    if (isStatic && !recorded.values) return note("Values belong to a run: `rldb opt --html=FILE --input=VALUE` records one, `rldb --serve` shows them all.");
    const input = el("input", { class: "mono", value: side.name, "aria-label": "expression", placeholder: "name or expression",
      onkeydown: (event) => { if (event.key === "Enter") { side.name = input.value; side.index = []; showSide("value"); } } });
    if (!side.name) return [input, note("Click a binding, or type an expression.")];
    const value = await get("value", isStatic ? { name: side.name } : { name: side.name, index: side.index.join(",") });
    const out = isStatic ? [input] : [input, link("why?", () => showWhy(side.name))];
    if (isStatic && !value) return [...out, note(`The recorded run has no value of \`${side.name}\`. ${recorded.values.problem}`)];
    if (!value || value.problem) return [...out, el("p", { class: "bad" }, value?.problem || "no value")];
    if (value.kind !== "tensor") return [...out, el("pre", {}, value.text)];
    out.push(el("p", { class: "mono" }, `${value.dtype} [${value.shape.join(", ")}]`));
    const outer = value.shape.slice(0, -2);
    if (isStatic && outer.length) out.push(note("shown: the slice at 0 of the first " + outer.length + " axes"));
    else outer.forEach((extent, axis) => out.push(el("label", {}, `axis ${axis} `, el("input", { type: "number", min: 0, max: extent - 1, value: side.index[axis] ?? 0,
      onchange: (event) => { while (side.index.length < outer.length) side.index.push(0); side.index[axis] = Number(event.target.value); showSide("value"); } }), ` of ${extent} `)));
    if (value.slice) {
      out.push(heatMap(value.slice));
      const numbers = value.slice.cells.slice(0, 8).map((row) => row.slice(0, 6).map(shortNumber));
      out.push(el("div", { class: "wide" }, table([], numbers, [0, 1, 2, 3, 4, 5])));
      if (value.slice.every_row > 1 || value.slice.every_column > 1) out.push(note(`shown: every ${value.slice.every_row}th row, every ${value.slice.every_column}th column`));
    }
    if (value.facts) {
      const f = value.facts;
      out.push(histogram(f), table([], [["min", f.min?.text ?? f.min?.value], ["max", f.max?.text ?? f.max?.value], ["mean", f.mean], ["std", f.std], ["NaN", f.nan], ["zero", f.zero]].map(([k, v]) => [k, v === undefined || v === null ? "" : String(v)]), [1]));
    } else {
      out.push(note("above 16 million elements: no facts"));
    }
    for (const text of value.notes ?? []) out.push(note(text));
    return out;
  },
  async stop() {
    if (isStatic) return note((recorded.values ? `A compile, and a run of ${recorded.values.function}: ${recorded.values.count} values. Click a line for its value. ` : "A compile without a run. ") + "Hover a line: its relatives light up in the other pane. Click it: the other pane goes there.");
    const stop = app.state?.active || app.state?.stop.kind === "finished" ? await get("stop") : null;
    if (stop?.problem) return [el("p", { class: "bad" }, stop.problem)];
    if (!stop || !stop.locals) return [note("Nothing is stopped. `Start` stops `main` at its first binding, with generated inputs.")];
    const frames = stop.frames.map((f) => [link(`#${f.number} ${f.where.function}${f.where.binding ? ":" + f.where.binding : ""}`, () => enter(`:frame ${f.number}`)), f.where.line ?? ""]);
    const kernel = app.state.stop.kernel;
    return [el("p", {}, `time ${stop.time?.time ?? app.state.stop.time}`), kernel ? el("pre", {}, `${kernel.kernel}:${kernel.line} ${kernel.statement}\n` + kernel.loops.map((l) => `${l.name} = ${summary(l.value)}`).join("  ")) : null,
      el("h2", {}, "Frames"), table(["frame", "line"], frames, [1]), el("h2", {}, stop.total > stop.locals.length ? `Locals: ${stop.total}` : "Locals"), localsList(stop),
      stop.not_yet.length ? note("not yet: " + stop.not_yet.join(", ") + (stop.not_yet_total > stop.not_yet.length ? `, and ${stop.not_yet_total - stop.not_yet.length} more` : "")) : null];
  },
  async heap() {
    const heap = isStatic ? null : await get("heap");
    if (!heap || heap.problem) return note(heap?.problem ?? "The shape heap belongs to a stopped run.");
    return [table(["slot", "expression", "value", "bound by"], heap.map((s) => [String(s.slot), s.expression, s.value === null ? "not set" : String(s.value), s.bound_by ?? ""]), [0, 2])];
  },
  async memory() {
    const doc = await cached("memory", { version: app.version });
    if (!doc) return note("no memory plan");
    if (doc.problem) return note(doc.problem);
    const out = [note(versionName(app.version))];
    for (const f of doc.functions) out.push(...memoryTimeline(f));
    return out.length > 1 ? out : [...out, note("No function allocates a tensor.")];
  },
  async profile() {
    if (isStatic) return note("A profile belongs to a run: `rldb run --profile`, or `rldb --serve`.");
    const call = el("input", { class: "mono", value: side.call ?? "", placeholder: "main x=2x4xf32", "aria-label": "call to profile" });
    const run = el("button", { type: "button", onclick: async () => { side.call = call.value; run.disabled = true; side.profile = await post("profile", { call: call.value }); refresh(); showSide("profile"); } }, "run");
    const out = [el("p", {}, call, " ", run)];
    const profile = side.profile?.profiles?.[0];
    if (side.profile?.problem) out.push(el("p", { class: "bad" }, side.profile.problem));
    if (!profile) return out;
    out.push(el("p", {}, `${profile.function}: ${time(profile.nanoseconds)}, ${profile.calls} calls`));
    const rows = [...profile.bindings].sort((a, b) => b.nanoseconds - a.nanoseconds).slice(0, 200);
    const most = Math.max(1, ...rows.map((r) => r.nanoseconds));
    out.push(...flameGraph(profile));
    out.push(table(["binding", "time", ""], rows.map((r) => {
      const meter = el("span", { class: "meter" });
      meter.style.width = 70 * r.nanoseconds / most + "px";
      return [link(r.name, () => showValue(r.name.split(":").pop().split(" ")[0])), time(r.nanoseconds), meter];
    }), [1]));
    return out;
  },
  async points() {
    if (isStatic) return note("Breakpoints belong to a session: `rldb --serve`.");
    return [table(["", "where", "hits", ""], app.state.breakpoints.map((b) => [String(b.number), b.where + (b.enabled ? "" : " (disabled)"), String(b.hits),
      el("span", {}, link(b.enabled ? "disable" : "enable", () => enter(`:${b.enabled ? "disable" : "enable"} ${b.number}`)), " ", link("delete", () => enter(`:delete ${b.number}`)))]), [0, 2]),
      note("Click a line number, or press b on a line.")];
  },
};
function time(ns) { return ns >= 1e9 ? (ns / 1e9).toFixed(2) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(2) + " ms" : (ns / 1e3).toFixed(1) + " µs"; }

// A frame may have ten thousand locals: only rows in sight exist, and pages of values are asked for when they are.
function localsList(stop) {
  const rows = [], asked = new Set(), list = new List("locals"), frame = stop.frame, page = 100;
  const take = (part) => part.locals.forEach((l, k) => { rows[part.first + k] = l; });
  take(stop);
  const ask = async (i) => {
    const first = i - i % page;
    if (asked.has(first)) return;
    asked.add(first);
    const part = await get("stop", { first });
    if (!part?.locals) return void asked.delete(first);  // to be asked for again
    if (part.frame !== frame || part.total !== stop.total) return;  // another stop: the side is about to be shown again
    take(part);
    list.redraw();
  };
  list.show({ count: stop.total,
    fill: (row, i) => {
      const l = rows[i];
      if (!l) { row.append("…"); ask(i); return; }
      row.classList.add("local");
      row.append(el("span", { class: "name", title: l.name }, l.name), el("span", {}, l.live ? summary(l.value) : "freed"), el("span", { class: "soft" }, l.storage ?? ""));
    },
    pick: (i) => { if (rows[i]) showValue(rows[i].name); } });
  list.node.classList.add("locals");
  list.node.style.height = Math.min(stop.total, 24) * rowHeight + 2 + "px";
  requestAnimationFrame(() => list.reveal(stop.total - 1));
  return list.node;
}

// Calls below their callers, as wide as their share of the time; a click shows one alone, and the top one all again.
function flameGraph(profile) {
  const paths = profile.paths ?? [], children = paths.map(() => []), roots = [];
  paths.forEach((p, i) => (p.parent === null || p.parent === undefined ? roots : children[p.parent]).push(i));
  const total = (i) => Math.max(paths[i].nanoseconds_with_calls, 1);
  const h = 16, holder = el("div", {});
  const draw = (top) => {
    const boxes = [];
    let depth = 0;
    const put1 = (i, x, width, row) => {
      if (width < 0.4 || row > 60) return;
      depth = Math.max(depth, row + 1);
      const p = paths[i], name = p.callee ?? profile.function ?? "the run", text = p.binding ? `${p.binding}: ${name}` : name;
      const act = () => draw(i === top ? null : i);
      boxes.push(el("g", { tabindex: width > 8 ? "0" : undefined, role: "button", "aria-label": `${text}, ${time(p.nanoseconds_with_calls)}, ${p.calls} calls`, onclick: act, onkeydown: (event) => { if (event.key === "Enter") act(); } },
        el("rect", { x, y: row * h, width: Math.max(width - 0.4, 0.4), height: h - 1, rx: 1 }, el("title", {}, `${text}\n${time(p.nanoseconds_with_calls)}, ${time(p.nanoseconds)} of it its own, ${p.calls} calls`)),
        width > 24 ? el("text", { x: x + 2, y: row * h + 11 }, text.slice(0, Math.floor(width / 5.2))) : null));
      let at = x;
      for (const child of [...children[i]].sort((a, b) => total(b) - total(a))) {
        const share = width * Math.min(1, total(child) / total(i));
        put1(child, at, share, row + 1);
        at += share;
      }
    };
    const shown = top === null ? roots : [top], sum = shown.reduce((all, i) => all + total(i), 0) || 1;
    let x = 0;
    for (const i of shown) { put1(i, x, 300 * total(i) / sum, 0); x += 300 * total(i) / sum; }
    put(holder, el("svg", { class: "timeline flame", viewBox: `0 0 300 ${Math.max(depth, 1) * h}`, width: "100%", role: "group", "aria-label": "flame graph: calls by time" }, boxes));
  };
  draw(null);
  return roots.length ? [el("h2", {}, "By call path"), holder] : [];
}

// Storages of a function as bars over its bindings, and the bytes held.
function memoryTimeline(f) {
  const tensors = f.tensors ?? [];
  if (!tensors.length && !(f.storages ?? []).length) return [];
  // Tensors that share a storage stand together.
  const all = [...new Set((f.storages ?? []).flatMap((s) => s.tensors.map((t) => tensors[t])).concat(tensors))];
  const shown = all.slice(0, 400), end = Math.max(1, ...shown.map((t) => t.end ?? 0)), h = 14;
  const svg = el("svg", { class: "timeline", viewBox: `0 0 300 ${shown.length * h}`, width: "100%", role: "img", "aria-label": `lifetimes of ${all.length} tensors over ${end} bindings` });
  shown.forEach((t, k) => {
    const x = 300 * (t.begin ?? 0) / (end + 1), width = Math.max(3, 300 * ((t.end ?? end) - (t.begin ?? 0) + 1) / (end + 1));
    svg.append(el("rect", { x, y: k * h + 1, width: Math.min(width, 300 - x), height: h - 3, rx: 2 }, el("title", {}, `${t.name}: bindings ${t.begin} to ${t.end}, ${sizeText(t)}`)),
      el("text", x < 150 ? { x: x + 3, y: k * h + 10 } : { x: 298, y: k * h + 10, "text-anchor": "end" }, `${t.name}  ${sizeText(t)}`));
  });
  return [el("h2", {}, f.function + (f.planned ? "" : " (as it would be planned)")), note(`total ${amount(f.total)}, unshared ${amount(f.unshared)}, peak ${amount(f.peak)}`), svg, shown.length < all.length ? note(`${all.length - shown.length} more tensors`) : null];
}
// Bytes, or the expression for them where dims have no value.
function amount(size) {
  if (size === null || size === undefined) return "";
  if (typeof size !== "object") return size + " B";
  return size.bytes !== null && size.bytes !== undefined ? size.bytes + " B" : size.expression ?? size.text ?? "not known";
}
const sizeText = (t) => amount(t.size);

async function showWhy(name) {
  const doc = await get("why", { name });
  const rows = (doc?.steps ?? []).map((s) => {
    const first = el("span", {}, link(s.name, () => showValue(s.name)));
    first.style.paddingLeft = 12 * s.depth + "px";
    return [first, s.value, s.kernels.join(" "), s.line ?? ""];
  });
  put(document.getElementById("panel"), el("h2", {}, "Why " + name), doc?.problem ? el("p", { class: "bad" }, doc.problem) : table(["from", "value", "kernel", "line"], rows, [3]), link("back to the value", () => showSide("value")));
}
