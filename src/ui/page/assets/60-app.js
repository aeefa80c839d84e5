// The page as a whole: the head, the list of passes, two panes, the side, the console.

const verbs = [["start", ":start", "stop at the first binding"], ["◀◀", ":reverse-continue", "back to the previous stop"], ["◀ step", ":reverse-step", "one binding back"], ["◀ next", ":reverse-next", "one binding back, over calls"],
  ["next ▶", ":next", "one binding, over calls"], ["step ▶", ":step", "one binding, into calls"], ["▶▶", ":continue", "to the next stop"], ["finish", ":finish", "until the function returns"]];

async function toggleBreakpoint(version, line) {
  if (isStatic) return;
  const reply = await post("break", { version, line });
  if (reply.problem) say(reply.problem);
  await refresh();
}
function say(text) { document.getElementById("status").textContent = text; }

let busy = false;
async function enter(entry) {
  if (busy) return;
  busy = true;
  say("working: " + entry);
  for (const button of document.querySelectorAll("#verbs button")) button.disabled = true;
  try {
    const reply = await post("command", { entry });
    if (reply.problem) return say(reply.problem);
    if (reply.quit) return say("The session has ended, unless a terminal holds it.");
    await refresh();
  } catch {
    say("rldb does not answer.");
  } finally {
    busy = false;
    for (const button of document.querySelectorAll("#verbs button")) button.disabled = false;
  }
}

const passList = new List("versions");
function showPasses() {
  const versions = app.program.versions;
  passList.show({ count: versions.length,
    fill: (row, v) => {
      row.classList.add("pass");
      row.classList.toggle("now", v === app.version);
      row.classList.toggle("build", versions[v].by_build);
      row.append(el("span", {}, versionName(v).replace(" (build)", "")), el("span", { class: "count" }, versions[v].changed.length ? "±" + versions[v].changed.length : ""));
      row.setAttribute("title", (versions[v].by_build ? "a pass of the build; " : "") + (versions[v].changed.length ? "changed: " + versions[v].changed.slice(0, 12).join(", ") : ""));
    },
    pick: (v) => select(v) });
}
// Texts of other versions are asked for while nothing else happens, the nearest ones first: a click on one then finds it.
const mostAhead = 8, mostCharacters = 3e7;
const idle = window.requestIdleCallback ? (work) => requestIdleCallback(work) : (work) => setTimeout(work, 200);
let aheadTurn = 0;
function readAhead() {
  const turn = ++aheadTurn, first = app.version;
  const rest = app.program.versions.map((_, v) => v).sort((a, b) => Math.abs(a - first) - Math.abs(b - first)).slice(0, mostAhead);
  let read = 0;
  const next = async () => {
    if (turn !== aheadTurn || rest.length === 0 || read > mostCharacters) return;
    if (busy) return setTimeout(next, 200);
    try {
      const version = rest.shift(), doc = await cached("text", { version });
      if (doc?.text) doc.table ??= relativesByLine(doc);
      read += doc?.text?.length ?? 0;
      if (side.tab === "memory") await cached("memory", { version });
    } catch { return; }  // the server has ended
    idle(next);
  };
  idle(next);
}
async function select(v) {
  app.version = v;
  passList.redraw();
  await Promise.all(app.panes.filter((p) => ["text", "diff", "graph"].includes(p.view.value)).map((p) => p.show(p.view.value)));
  if (side.tab === "memory") showSide();
}

function showEntries(doc) {
  const log = document.getElementById("log");
  for (const entry of doc.entries) {
    const old = document.getElementById("entry-" + entry.number);
    const node = el("div", { id: "entry-" + entry.number }, el("pre", { class: "entry" }, entry.prompt + entry.text));
    for (const piece of entry.pieces) {
      if (piece.kind === "picture") node.append(el("img", { alt: "picture", src: "data:image/svg+xml," + encodeURIComponent(piece.text) }));
      else node.append(el("pre", { class: piece.kind === "error" ? "error" : undefined }, piece.kind === "script" || piece.kind === "source" ? piece.text.split("\n").flatMap((l) => [...painted(l), "\n"]) : piece.text));
    }
    old ? old.replaceWith(node) : log.append(node);
  }
  if (doc.full && !document.getElementById("full")) log.append(el("p", { id: "full", class: "note" }, "The record of this session is full: the terminal alone shows the output from here on."));
  while (log.childElementCount > 500) log.firstElementChild.remove();
  log.scrollTop = log.scrollHeight;
}

let shownEntries = 0;
async function refresh() {
  const state = await get("state");
  if (!state || state.problem) return say(state?.problem ?? "");
  const stopped = app.state?.stop.time !== state.stop.time || app.state?.active !== state.active;
  app.state = state;
  const changed = state.document !== app.program?.document;
  const program = changed ? await get("program") : app.program;
  if (program.abandoned) return say(program.problem);
  app.program = program;
  const where = state.stop.where;
  say(state.active && where ? `stopped at ${where.function}${where.binding ? ":" + where.binding : ""}${state.stop.kernel ? " in " + state.stop.kernel.kernel : ""}, time ${state.stop.time}` : state.stop.kind === "finished" ? "finished" : program.problem || "ready");
  if (changed) {
    app.cache.clear();
    app.version = Math.min(state.position ?? 0, Math.max(0, program.versions.length - 1));
    document.getElementById("file").textContent = program.file || "rldb";
    document.title = "rldb: " + (program.file || "session");
    showPasses();
    await Promise.all(app.panes.map((p) => p.show(p.view.value || (p.node.id === "left" ? "text:0" : "text"))));
    readAhead();
  } else {
    for (const pane of app.panes) {
      pane.redraw();
      const now = (pane.view.value.startsWith("text") || pane.view.value === "source") && stopped ? pane.nowLine() : 0;
      if (now) pane.list.reveal(now - 1);
    }
  }
  const log = await get("console", { since: Math.max(0, shownEntries - 1) });
  if (log.problem) return say(log.problem);
  showEntries(log);
  shownEntries = state.entries;
  if (side.tab !== "profile") await showSide();
  document.getElementById("prompt").textContent = state.prompt;
}

function consoleBox() {
  const past = [];
  let at = 0;
  const input = el("input", { id: "entry", class: "mono", autocomplete: "off", spellcheck: "false", "aria-label": "entry: a command or TVMScript" });
  input.addEventListener("keydown", async (event) => {
    if (event.key === "Enter" && input.value.trim()) {
      const text = input.value;
      input.value = "";
      past.push(text);
      at = past.length;
      await enter(text);
      input.focus();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      at = Math.min(past.length, Math.max(0, at + (event.key === "ArrowUp" ? -1 : 1)));
      input.value = past[at] ?? "";
      event.preventDefault();
    } else if (event.key === "Tab" && input.value && !event.shiftKey) {
      event.preventDefault();
      const found = await get("complete", { text: input.value });
      if (found?.candidates?.length === 1) input.value = input.value.slice(0, found.start) + found.candidates[0];
      else if (found?.candidates?.length) say(found.candidates.slice(0, 20).join("  "));
    }
  });
  return el("section", { class: "box", id: "console", "aria-label": "console" }, el("div", { id: "log", role: "log", tabindex: "0", "aria-label": "output" }),
    el("div", { class: "bar-of-box" }, el("label", { for: "entry", id: "prompt", class: "mono" }, "rldb> "), input));
}

function build() {
  const root = document.getElementById("app");
  app.panes = [new Pane("left", "left pane"), new Pane("right", "right pane")];
  const tabs = el("div", { class: "bar-of-box", id: "tabs", role: "tablist", "aria-label": "side" }, sideTabs.map(([id, name]) =>
    el("button", { type: "button", role: "tab", "data-tab": id, "aria-controls": "panel", onclick: () => showSide(id) }, name)));
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const k = sideTabs.findIndex(([id]) => id === side.tab), next = sideTabs[(k + step + sideTabs.length) % sideTabs.length][0];
    showSide(next);
    tabs.querySelector(`[data-tab="${next}"]`).focus();
  });
  const head = el("header", {}, el("h1", { id: "file" }, "rldb"), el("span", { id: "status", role: "status" }, ""));
  if (isStatic) head.append(el("button", { type: "button", onclick: () => showReport(true) }, "report"));
  else head.append(el("span", { id: "verbs", role: "toolbar", "aria-label": "run" }, verbs.map(([name, entry, title]) => el("button", { type: "button", title, onclick: () => enter(entry) }, name))),
    el("button", { type: "button", onclick: () => post("interrupt", {}) }, "interrupt"));
  put(root, head, el("nav", { class: "box", id: "passes", "aria-label": "versions" }, el("div", { class: "bar-of-box" }, el("h2", {}, "Versions")), passList.node),
    app.panes.map((p) => p.node), el("aside", { class: "box", id: "side", "aria-label": "values and memory" }, tabs, el("div", { class: "scroll", id: "panel", role: "tabpanel", tabindex: "0" })), isStatic ? null : consoleBox());
  root.classList.toggle("static", isStatic);
  root.hidden = false;
  document.getElementById("report").hidden = true;
}
function showReport(on) {
  document.getElementById("report").hidden = !on;
  document.getElementById("app").hidden = on;
  if (on) scrollTo(0, 0);
}

async function begin() {
  build();
  if (!isStatic) {
    await refresh();
    const events = new EventSource("events");
    // The browser connects again by itself, as long as the page is open.
    let lost = false;
    events.onerror = () => { lost = true; say("rldb does not answer; this page shows its last state."); };
    events.onopen = () => { if (lost && !busy) refresh(); lost = false; };
    events.onmessage = (event) => { if (!busy && Number(event.data) !== app.state?.revision) refresh(); };
    return;
  }
  document.getElementById("report").prepend(el("p", {}, el("button", { type: "button", onclick: () => showReport(false) }, "versions side by side")));
  app.program = await get("program");
  app.version = app.program.versions.length - 1;
  document.getElementById("file").textContent = app.program.file;
  showPasses();
  await app.panes[0].show("text:0");
  await app.panes[1].show("text");
  await showSide("memory");
  readAhead();
}
if (!isStatic) begin();
else unpack().then(() => recorded.program && begin(), () => document.getElementById("report").prepend(
  el("p", { class: "note" }, (typeof DecompressionStream === "undefined" ? "This browser cannot unpack the versions side by side (it lacks DecompressionStream)"
    : "The versions side by side cannot be unpacked: their data is damaged or cut off") + "; the report below is whole.")));
