#include "rldb/source/diagnostic.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/source/diagnostic_type.h"

using namespace rldb;
using namespace rldb::source;

namespace {

// A span over the first occurrence of `what`.
Span span_of(const SourceManager& sources, FileId file, std::string_view what) {
  const auto at = static_cast<std::uint32_t>(sources.get(file).text().find(what));
  return {file, at, at + static_cast<std::uint32_t>(what.size())};
}

Diagnostic error_at(Span span, std::string text = "something is wrong") {
  Diagnostic d;
  d.id = diag::SyntaxError;
  d.span = span;
  d.message = std::move(text);
  return d;
}

}  // namespace

TEST_CASE("diagnostic table: ids are unique, texts follow the house wording") {
  std::set<std::string_view> names;
  for (const DiagRow* row : all_diagnostics()) {
    CAPTURE(row->name);
    CHECK(names.insert(row->name).second);
    CHECK(!row->text.empty());
    CHECK_FALSE(row->text.ends_with('.'));
  }
  CHECK(diag::UnknownOperator.name == "UnknownOperator");
  CHECK(DiagId().row().name.empty());
}

TEST_CASE("message: places are filled, and counted when it is compiled") {
  CHECK(message(diag::FileNotFound, "x.py", "no such file").text == "cannot open `x.py`: no such file");
  static_assert(count_places("cannot open `{}`: {}") == 2);
  static_assert(count_places("a {{ is no place, {:x} is") == 1);
}

TEST_CASE("message becomes a diagnostic: the row's hint unless it has its own") {
  const Diagnostic plain = at(Span{}, message(diag::InternalFault, "x"));
  CHECK(plain.hint == "this is a bug in rldb");
  CHECK(plain.severity == Severity::Error);
  const Diagnostic own = at(Span{}, message(diag::InternalFault, "x").with_hint("try again"));
  CHECK(own.hint == "try again");
}

TEST_CASE("diagnostics: only so many are kept, all are counted") {
  Diagnostics all;
  for (int i = 0; i < 1010; ++i) all.add(Span{}, message(diag::SyntaxError, i));
  CHECK(all.all().size() == Diagnostics::kMaxDiagnostics);
  CHECK(all.error_count() == 1010);
  SourceManager sources;
  const std::string text = render(all, sources);
  CHECK(text.ends_with("10 more errors are not shown\n"));
  all.clear();
  CHECK_FALSE(all.has_errors());
  CHECK(all.all().empty());
}

TEST_CASE("render: place, line, caret, note, hint") {
  SourceManager sources;
  const FileId file = sources.add("m.py", "def f(x):\n    y = R.ad(x, x)\n    return y\n");
  Diagnostic d = error_at(span_of(sources, file, "R.ad"), "unknown operator `R.ad`");
  d.notes.push_back({span_of(sources, file, "x"), "`x` is defined here"});
  d.notes.push_back({Span{}, "while building `f`"});
  d.hint = "did you mean `R.add`?";
  CHECK(render(d, sources) ==
        "m.py:2:9: error: unknown operator `R.ad`\n"
        "    2 |     y = R.ad(x, x)\n"
        "      |         ^~~~\n"
        "m.py:1:7: note: `x` is defined here\n"
        "    1 | def f(x):\n"
        "      |       ^\n"
        "note: while building `f`\n"
        "hint: did you mean `R.add`?\n");
}

TEST_CASE("render: no place") {
  SourceManager sources;
  Diagnostic d = error_at(Span{}, "cannot open `x`");
  d.severity = Severity::Warning;
  CHECK(render(d, sources) == "warning: cannot open `x`\n");
}

TEST_CASE("render: tabs and wide characters keep the caret in its column") {
  SourceManager sources;
  const FileId file = sources.add("f", "\ta\tbad\n\xE6\xBC\xA2\xE5\xAD\x97 = bad2\n");
  CHECK(render(error_at(span_of(sources, file, "bad")), sources) ==
        "f:1:4: error: something is wrong\n"
        "    1 |     a   bad\n"
        "      |         ^~~\n");
  CHECK(render(error_at(span_of(sources, file, "bad2")), sources) ==
        "f:2:6: error: something is wrong\n"
        "    2 | \xE6\xBC\xA2\xE5\xAD\x97 = bad2\n"
        "      |        ^~~~\n");
  // A wide character itself is marked across both its columns.
  CHECK(render(error_at(span_of(sources, file, "\xE5\xAD\x97")), sources) ==
        "f:2:2: error: something is wrong\n"
        "    2 | \xE6\xBC\xA2\xE5\xAD\x97 = bad2\n"
        "      |   ^~\n");
}

TEST_CASE("render: an empty range and the end of the text get one caret") {
  SourceManager sources;
  const FileId file = sources.add("f", "ab\n");
  CHECK(render(error_at({file, 1, 1}), sources) ==
        "f:1:2: error: something is wrong\n"
        "    1 | ab\n"
        "      |  ^\n");
  CHECK(render(error_at({file, 3, 3}), sources) ==
        "f:2:1: error: something is wrong\n"
        "    2 |\n"
        "      | ^\n");
  // Offsets beyond the end are clamped, not trusted.
  CHECK(render(error_at({file, 1000, 2000}), sources) ==
        "f:2:1: error: something is wrong\n"
        "    2 |\n"
        "      | ^\n");
}

TEST_CASE("render: a range over the line break stays on its line") {
  SourceManager sources;
  const FileId file = sources.add("f", "abc\nd\n");
  CHECK(render(error_at({file, 1, 4}), sources) ==
        "f:1:2: error: something is wrong\n"
        "    1 | abc\n"
        "      |  ^~\n");
}

TEST_CASE("render: ranges over lines show the first and the last") {
  SourceManager sources;
  const FileId file = sources.add("f", "x = f(\n    a,\n    b,\n)\n");
  CHECK(render(error_at({file, 4, 22}), sources) ==
        "f:1:5: error: something is wrong\n"
        "    1 | x = f(\n"
        "      |     ^~\n"
        "  ... |\n"
        "    4 | )\n"
        "      | ~\n");
  CHECK(render(error_at({file, 4, 12}), sources) ==
        "f:1:5: error: something is wrong\n"
        "    1 | x = f(\n"
        "      |     ^~\n"
        "    2 |     a,\n"
        "      |     ~\n");
}

TEST_CASE("render: long lines are cut around the caret") {
  SourceManager sources;
  const FileId file = sources.add("f", std::string(200, 'a') + "bad" + std::string(200, 'c') + "\nshort\n");
  RenderOptions options;
  options.max_line_width = 30;
  CHECK(render(error_at({file, 200, 203}), sources, options) ==
        "f:1:201: error: something is wrong\n"
        "    1 | ...aaaaaaaaaabadccccccccccccccccc...\n"
        "      |              ^~~\n");
  CHECK(render(error_at({file, 0, 1}), sources, options) ==
        "f:1:1: error: something is wrong\n"
        "    1 | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n"
        "      | ^\n");
  CHECK(render(error_at({file, 402, 403}), sources, options) ==
        "f:1:403: error: something is wrong\n"
        "    1 | ...cccccccccccccccccccccccccccccc\n"
        "      |                                 ^\n");
  // A mark longer than the window ends with it.
  CHECK(render(error_at({file, 0, 403}), sources, options) ==
        "f:1:1: error: something is wrong\n"
        "    1 | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n"
        "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
}

TEST_CASE("render: a line of many megabytes looks as any long line") {
  SourceManager sources;
  const std::string wide = "\xE6\xBC\xA2";
  std::string text(20'000'000, 'a');
  text += "bad";
  for (int i = 0; i < 1'000'000; ++i) text += wide;
  const FileId file = sources.add("f", text);
  RenderOptions options;
  options.max_line_width = 30;
  CHECK(render(error_at({file, 20'000'000, 20'000'003}), sources, options) ==
        "f:1:20000001: error: something is wrong\n"
        "    1 | ...aaaaaaaaaabad" +
            wide + wide + wide + wide + wide + wide + wide + wide +
            "...\n"
            "      |              ^~~\n");
  CHECK(render(error_at({file, 20'000'006, 20'000'009}), sources, options).find("^~\n") != std::string::npos);
  CHECK(
      render(error_at({file, 0, 23'000'003}), sources, options).ends_with("| " + ("^" + std::string(29, '~')) + "\n"));
}

TEST_CASE("render: control and broken bytes cannot reach the terminal") {
  SourceManager sources;
  const FileId file = sources.add("f", "a\033[31m\xFF bad\n");
  const std::string text = render(error_at(span_of(sources, file, "bad")), sources);
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text ==
        "f:1:9: error: something is wrong\n"
        "    1 | a\xEF\xBF\xBD[31m\xEF\xBF\xBD bad\n"
        "      |         ^~~\n");
}

TEST_CASE("render: colour wraps the words, nothing else changes") {
  SourceManager sources;
  const FileId file = sources.add("f", "bad\n");
  RenderOptions options;
  options.color = true;
  const std::string text = render(error_at({file, 0, 3}), sources, options);
  CHECK(text ==
        "\033[1mf:1:1:\033[0m \033[1;31merror:\033[0m something is wrong\n"
        "    1 | bad\n"
        "      | \033[1;31m^~~\033[0m\n");
}

TEST_CASE("render_json: LSP positions, related places, hint") {
  SourceManager sources;
  const FileId file = sources.add("/a b.py", "\xF0\x9F\x98\x80 = bad\n");
  Diagnostics all;
  Diagnostic d = error_at(span_of(sources, file, "bad"), "a \"quoted\" text");
  d.hint = "h";
  d.notes.push_back({Span{file, 0, 4}, "here"});
  all.add(d);
  CHECK(render_json(all, sources) == R"([
  {
    "uri": "file:///a%20b.py",
    "range": {
      "start": {
        "line": 0,
        "character": 5
      },
      "end": {
        "line": 0,
        "character": 8
      }
    },
    "severity": 1,
    "code": "SyntaxError",
    "source": "rldb",
    "message": "a \"quoted\" text",
    "data": {
      "hint": "h"
    },
    "relatedInformation": [
      {
        "location": {
          "uri": "file:///a%20b.py",
          "range": {
            "start": {
              "line": 0,
              "character": 0
            },
            "end": {
              "line": 0,
              "character": 2
            }
          }
        },
        "message": "here"
      }
    ]
  }
]
)");
}

TEST_CASE("render_json: no place, and bytes that are no UTF-8") {
  SourceManager sources;
  Diagnostics all;
  CHECK(render_json(all, sources) == "[]\n");
  all.add(error_at(Span{}, "bad \xFF byte"));
  const std::string text = render_json(all, sources);
  CHECK(text.find("\"uri\": null") != std::string::npos);
  CHECK(text.find("bad \xEF\xBF\xBD byte") != std::string::npos);
}

TEST_CASE("nearest: near words only") {
  const std::vector<std::string_view> words = {"add", "subtract", "matmul", "R.nn.relu", "Abs", "n"};
  CHECK(nearest("ad", words) == "add");
  CHECK(nearest("dad", words) == "add");  // a swap is one edit
  CHECK(nearest("matmull", words) == "matmul");
  CHECK(nearest("R.nn.rleu", words) == "R.nn.relu");
  CHECK(nearest("abs", words) == "Abs");
  CHECK(nearest("SUBTRACT", words) == "");
  CHECK(nearest("subtarct", words) == "subtract");
  CHECK(nearest("softmax", words) == "");
  CHECK(nearest("N", words) == "n");
  CHECK(nearest("m", words) == "");
  CHECK(nearest("", words) == "");
  CHECK(nearest(std::string(1000, 'a'), words) == "");
}
