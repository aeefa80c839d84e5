// What the page is made of: elements, requests, a list of which only the visible rows exist.

// The one way in which text becomes a part of the page: as text.
function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title"].includes(tag) && attributes.svg !== false;
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "svg" || value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}
function put(node, ...children) { node.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined)); }

// The static form has the replies to all requests in it (packed_replies.h): `recorded` by request, lists as runs of `sharedRows`.
const packed = document.getElementById("data");
const isStatic = packed !== null;
let recorded = null, sharedRows = null;
const madeRows = [];

async function unpack() {
  const bytes = Uint8Array.from(atob(packed.textContent), (digit) => digit.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  ({ rows: sharedRows, replies: recorded } = JSON.parse(text));
  packed.remove();
}
function unpacked(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(unpacked);
  const runs = value["~"];
  if (!runs) return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unpacked(part)]));
  const list = [];
  for (let k = 0; k < runs.length; k += 2)
    for (let i = runs[k]; i < runs[k] + runs[k + 1]; ++i) list.push(madeRows[i] ??= unpacked(sharedRows[i]));
  return list;
}

// A request as text. Names of a program may contain everything, so they are encoded when it is sent.
function address(path, query, encode = String) {
  const pairs = Object.entries(query).map(([name, value]) => name + "=" + encode(value));
  return pairs.length ? path + "?" + pairs.join("&") : path;
}
// The reply to a request; null: there is no such thing. One that rldb had to abandon has `problem` alone. In the static
// form equal replies stand once, and the texts of versions are beside them.
async function get(path, query = {}) {
  if (!isStatic) {
    const reply = await fetch(address(path, query, encodeURIComponent), { cache: "no-store" });
    if (reply.status === 404) return null;
    return reply.ok ? reply.json() : { problem: (await reply.json()).error, abandoned: true };
  }
  const reply = recorded[address(path, query)], found = unpacked(typeof reply === "string" ? recorded[reply] : reply);
  if (!found) return null;
  return path === "text" ? { ...found, text: await recordedText(query.version, found) } : found;
}
// The text of a version that stands in the report, or is the one before it with the rows of its differences.
async function recordedText(version, doc) {
  const whole = document.getElementById("text-" + version);
  if (whole) return whole.textContent;
  const before = (await cached("text", { version: version - 1 })).text.split("\n"), { hunks } = await cached("diff", { version });
  const lines = [];
  let at = 0, next = 0;
  for (const [mark, b] of hunks.flat()) {
    if (mark === "+") { lines.push(doc.added[next++]); continue; }
    while (at < b - 1) lines.push(before[at++]);
    if (mark === " ") lines.push(before[at]);
    at = b;
  }
  return lines.concat(before.slice(at)).join("\n");
}
async function post(path, body) {
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return reply.ok ? reply.json() : { problem: (await reply.json()).error };
}

const rowHeight = 18;
let nextList = 1;

// `source`: count, fill(row element, index), and what happens with a row: hover, pick, key.
class List {
  constructor(label) {
    this.id = "list" + nextList++;
    this.rows = el("div", { class: "rows" });
    this.node = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label }, this.rows);
    this.node.addEventListener("scroll", () => this.schedule());
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("mouseover", (event) => { const i = this.at(event); if (i !== null) this.source.hover?.(i); });
    this.node.addEventListener("mouseleave", () => this.source.hover?.(null));
    this.node.addEventListener("click", (event) => { const i = this.at(event); if (i !== null) this.pick(i, event); });
    new ResizeObserver(() => this.schedule()).observe(this.node);
    this.source = { count: 0 };
    this.picked = -1;
    this.made = new Map();
  }
  at(event) { const row = event.target.closest?.("[data-i]"); return row ? Number(row.dataset.i) : null; }
  show(source) { this.source = source; this.picked = -1; this.rows.style.height = source.count * rowHeight + "px"; this.redraw(); }
  schedule() { if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => { this.waiting = false; this.draw(); }); } }
  redraw() { this.made.clear(); put(this.rows); this.draw(); }
  // Rows that stay in sight stay as they are: a click is a press and a release on one element.
  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / rowHeight) - 5);
    const last = Math.min(this.source.count, first + Math.ceil((this.node.clientHeight || 400) / rowHeight) + 10);
    for (const [i, row] of this.made) if (i < first || i >= last) { row.remove(); this.made.delete(i); }
    for (let i = first; i < last; ++i) {
      if (this.made.has(i)) continue;
      const row = el("div", { class: "row", role: "option", id: this.id + "-" + i, "data-i": i, "aria-posinset": i + 1, "aria-setsize": this.source.count });
      row.style.top = i * rowHeight + "px";
      this.source.fill(row, i);
      this.made.set(i, row);
      this.rows.append(row);
    }
    this.mark();
  }
  mark() {
    for (const [i, row] of this.made) {
      row.classList.toggle("lit", !!this.source.lit?.(i));
      row.classList.toggle("picked", i === this.picked);
      row.setAttribute("aria-selected", String(i === this.picked));
    }
  }
  reveal(i) {
    const top = i * rowHeight, height = this.node.clientHeight;
    if (top < this.node.scrollTop || top > this.node.scrollTop + height - 2 * rowHeight)
      this.node.scrollTop = Math.max(0, top - height / 3);
    this.schedule();
  }
  pick(i, event) {
    if (i < 0 || i >= this.source.count) return;
    this.picked = i;
    this.node.setAttribute("aria-activedescendant", this.id + "-" + i);
    this.reveal(i);
    this.draw();
    this.source.pick?.(i, event);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / rowHeight) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in moves && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      this.pick(Math.min(this.source.count - 1, Math.max(0, this.picked + moves[event.key])));
    } else if (this.picked >= 0) {
      this.source.key?.(this.picked, event);
    }
  }
}

// TVMScript in colours, line by line.
const scriptWords = /("""[^]*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*$|;.*$)|\b(def|class|return|with|for|in|if|else|while|from|import|as|True|False|None)\b|(@[\w.]+)|\b([RTI]\.[\w.]+)|\b(\d[\w.]*)\b/g;
function painted(text) {
  const parts = [];
  let at = 0;
  for (const match of text.slice(0, 4000).matchAll(scriptWords)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = match[1] ? "s" : match[2] ? "c" : match[3] ? "k" : match[4] ? "f" : match[5] ? "t" : "n";
    parts.push(el("span", { class: kind }, match[0]));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
