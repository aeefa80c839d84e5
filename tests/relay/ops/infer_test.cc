// Types of calls, as tables of text (inference/*.txt). A line is `parameters | expression | type`, or an error instead
// of the type.
#include "rldb/relay/ops/infer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "golden/golden.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"

using namespace rldb;

namespace {

// The type of the body of `main`, or the first message.
std::string type_of_main(const std::string& text) {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const source::FileId file = sources.add("test.relay", text);
  const auto parsed = frontend::parse_relay(ctx, sources, file, found);
  relay::Typing typing;
  if (!parsed.module || !relay::infer_types(ctx, parsed.module, typing, found))
    return "! " + found.all().front().message;
  return relay::print_type(typing.of(parsed.module->find("main")->body));
}

}  // namespace

TEST_CASE("tests/relay/ops/inference: types of calls") {
  golden::check_tables("relay/ops/inference", 2, [](const std::vector<std::string>& cells) {
    return type_of_main(fmt::format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", cells[0], cells[1]));
  });
}

// A lone expression is not typed, as in TVM.
TEST_CASE("what is read and typed, and what is not") {
  std::ifstream in(RLDB_SOURCE_DIR "/tests/relay/ops/verdicts.txt");
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    std::string text = line.substr(colon + 2);
    for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) text.replace(at, 2, "\n");
    relay::Context ctx;
    source::SourceManager sources;
    source::Diagnostics found;
    const auto parsed = frontend::parse_relay(ctx, sources, sources.add("test.relay", text), found);
    relay::Typing typing;
    const bool good = parsed.module && (parsed.module->body || relay::infer_types(ctx, parsed.module, typing, found));
    CAPTURE(text);
    CHECK(line.substr(0, colon) == (good ? "ok" : "raise"));
    ++count;
  }
  CHECK(count > 400);
}

TEST_CASE("the prelude has types") {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const source::FileId file = sources.add("prelude", std::string(frontend::relay_prelude()));
  const auto parsed = frontend::parse_relay(ctx, sources, file, found);
  REQUIRE_MESSAGE(parsed.module, found.all().front().message);
  relay::Typing typing;
  const bool typed = relay::infer_types(ctx, parsed.module, typing, found);
  CHECK_MESSAGE(typed, source::render(found, sources));
}

TEST_CASE("programs with closures, recursion, references, generic functions") {
  CHECK(type_of_main(R"(#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %r) => Cons(%f(%x), @map(%f, %r)), Nil => Nil, }
}
def @main(%l: List[int32]) { @map(fn (%x) { cast(%x, dtype="float32") }, %l) }
)") == "List[float32]");
  CHECK(type_of_main(R"(#[version = "0.0.5"]
def @main(%n: int32) {
  let %loop = fn (%i: int32, %acc: float32) { if (%i == 0) { %acc } else { %loop(%i - 1, %acc * 2f) } };
  %loop(%n, 1f)
}
)") == "float32");
  CHECK(type_of_main(R"(#[version = "0.0.5"]
def @main(%x: int32) { let %r = ref(%x); ref_write(%r, %x + 1); ref_read(%r) }
)") == "int32");
  // Only the caller determines the parameter of `later`; `open` is undetermined.
  CHECK(type_of_main("#[version = \"0.0.5\"]\ndef @later(%x) { %x }\ndef @main(%y: int32) { @later(%y) }") == "int32");
  CHECK(type_of_main("#[version = \"0.0.5\"]\ndef @main(%open: _) -> _ { add(%open, 1f) }") == "_");
}

TEST_CASE("types that grow without end are refused or cut, and cost no stack") {
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  %0 = (%x, %x);\n";
  for (int i = 1; i <= 3000; ++i) text += fmt::format("  %{} = (%{}, %{});\n", i, i - 1, i - 1);
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const source::FileId file = sources.add("deep", text + "  let %y = %3000;\n  abs(%y.0.0)\n}\n");
  CHECK_FALSE(frontend::parse_relay(ctx, sources, file, found).module);  // `.0.0`
  const source::FileId good = sources.add("deep", text + "  let %y = %3000;\n  let %z = %y.0;\n  %x\n}\n");
  const auto parsed = frontend::parse_relay(ctx, sources, good, found);
  REQUIRE(parsed.module);
  relay::Typing typing;
  relay::infer_types(ctx, parsed.module, typing, found);
}
