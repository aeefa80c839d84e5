// The style sheet of pages, and the same rules for a part of somebody else's document.
#include "ui/render/page/style.h"

#include <fmt/format.h>

namespace rldb::ui {

namespace {

constexpr std::string_view kLight = R"css(
  --text: #1f2328; --soft: #59636e; --page: #ffffff; --box: #f6f8fa; --edge: #d1d9e0;
  --add: #dafbe1; --add-word: #9be9b0; --del: #ffebe9; --del-word: #ffc1bc; --now: #fff3c4; --bad: #c4242b;
  --keyword: #a0208f; --string: #0a6b2d; --number: #0550ae; --type: #8a5a00; --function: #2456c7; --comment: #6a737d;
  --bar: #7aa7e0;
)css";

constexpr std::string_view kDark = R"css(
    --text: #e6edf3; --soft: #9198a1; --page: #0d1117; --box: #161b22; --edge: #30363d;
    --add: #12331f; --add-word: #1f6f3a; --del: #3d1a1d; --del-word: #8b2c33; --now: #4a3d0c; --bad: #ff7b72;
    --keyword: #e08be0; --string: #7ee0a0; --number: #79c0ff; --type: #e3b565; --function: #8ab4ff; --comment: #8b949e;
    --bar: #2f5f9e;
)css";

// The document as a whole.
constexpr std::string_view kDocument = R"css(
* { box-sizing: border-box; }
h1 { font-size: 1.5rem; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.6rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--edge); }
h3 { font-size: 1rem; margin: 1.6rem 0 0.4rem; overflow-wrap: anywhere; }
a { color: var(--function); text-decoration: none; }
a:hover { text-decoration: underline; }
.facts { color: var(--soft); margin: 0 0 1rem; overflow-wrap: anywhere; }
body {
  margin: 0 auto; padding: 1.5rem clamp(0.75rem, 3vw, 2.5rem) 4rem; max-width: 96rem;
  background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
}
)css";

// The parts of a document, wherever they stand.
constexpr std::string_view kParts = R"css(
.note { color: var(--soft); }
.bad { color: var(--bad); }
pre, code, .diff { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; tab-size: 4; }
pre {
  margin: 0.35rem 0; padding: 0.5rem 0.75rem; overflow-x: auto;
  background: var(--box); border: 1px solid var(--edge); border-radius: 6px;
}
pre.in { background: none; border: 0; padding: 0; margin: 0; font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.in .prompt { color: var(--soft); font-weight: 400; user-select: none; }
pre.err { border-left: 3px solid var(--bad); white-space: pre-wrap; overflow-wrap: anywhere; }
pre.stop .now { display: inline-block; min-width: 100%; background: var(--now); }
.entry { margin: 0 0 1.1rem; padding-left: 0.75rem; border-left: 3px solid var(--edge); }
.entry.failed { border-left-color: var(--bad); }
details > summary { cursor: pointer; color: var(--soft); padding: 0.15rem 0; overflow-wrap: anywhere; }
details > summary:hover { color: var(--text); }
details > summary code { color: var(--text); }
.k { color: var(--keyword); } .s { color: var(--string); } .n { color: var(--number); }
.t { color: var(--type); } .f { color: var(--function); } .c { color: var(--comment); }
.added { color: var(--string); } .removed { color: var(--bad); }
.wide { overflow-x: auto; }
table.facts-table { border-collapse: collapse; margin: 0.4rem 0; font-variant-numeric: tabular-nums; }
.facts-table th, .facts-table td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge); }
.facts-table th { color: var(--soft); font-weight: 600; }
.facts-table td.num, .facts-table th.num { text-align: right; white-space: nowrap; }
.facts-table td.names { overflow-wrap: anywhere; }
.bar { display: block; width: 8rem; height: 0.7em; margin-top: 0.4em; }
.bar rect { fill: var(--bar); }
table.diff { width: 100%; border-collapse: collapse; table-layout: fixed; border: 1px solid var(--edge); border-radius: 6px; }
.diff col.no { width: 3.6rem; }
.diff th { text-align: left; font-weight: 600; padding: 0.25rem 0.5rem; color: var(--soft); border-bottom: 1px solid var(--edge); }
.diff td { padding: 0 0.5rem; vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }
.diff td.no { color: var(--soft); text-align: right; user-select: none; padding: 0 0.4rem; }
.diff td.hunk { color: var(--soft); background: var(--box); }
.diff td.del { background: var(--del); } .diff td.add { background: var(--add); }
.diff td.none { background: var(--box); }
.diff td.right { border-left: 1px solid var(--edge); }
.diff mark { color: inherit; border-radius: 2px; }
.diff td.del mark { background: var(--del-word); } .diff td.add mark { background: var(--add-word); }
figure { margin: 0.5rem 0; padding: 0.5rem; overflow-x: auto; background: #fff; color: #222; border: 1px solid var(--edge); border-radius: 6px; }
figure svg { display: block; max-width: 100%; height: auto; }
)css";

// Narrow screens, and paper.
constexpr std::string_view kMedia = R"css(
@media (max-width: 760px) {
  table.diff, .diff tbody { display: block; }
  .diff thead, .diff td.none, .diff tr.same td.right, .diff tr.same td.no.right { display: none; }
  .diff tr { display: grid; grid-template-columns: 3.2rem 1fr; }
  .diff td.hunk { grid-column: 1 / 3; }
  .diff td.right { border-left: 0; }
  .bar { display: none; }
  .facts-table td.names { overflow-wrap: normal; }
  figure svg { max-width: none; min-width: 36rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  pre, .diff { font-size: 8pt; white-space: pre-wrap; overflow-wrap: anywhere; }
  pre, figure, .wide { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  h2, h3, pre.in { break-after: avoid; }
  .diff td { print-color-adjust: exact; }
}
)css";

}  // namespace

std::string page_style() {
  return fmt::format(
      ":root {{ color-scheme: light dark; {} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {} }} }}\n{}{}{}",
      kLight, kDark, kDocument, kParts, kMedia);
}

std::string part_style(std::string_view css_class) {
  return fmt::format(
      ".{0} {{ {1} }}\n@media (prefers-color-scheme: dark) {{ .{0} {{ {2} }} }}\n"
      "[data-jp-theme-light=\"true\"] .{0} {{ {1} }}\n[data-jp-theme-light=\"false\"] .{0} {{ {2} }}\n.{0} {{ {3} }}\n",
      css_class, kLight, kDark, kParts);
}

}  // namespace rldb::ui
