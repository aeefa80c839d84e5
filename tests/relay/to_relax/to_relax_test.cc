// Translations, by values and by text.
//
// values/*.txt are tables: `parameters | inputs | expression | values`, or an error instead of the values (described in
// session/value_table.h). Both engines run each line. The cases of texts/*.txt are a Relay module, and what it becomes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "session/value_table.h"

using namespace rldb;
using namespace rldb::value_table;

TEST_CASE("tests/relay/to_relax/values: values of operators") {
  golden::check_tables("relay/to_relax/values", 3, [](const std::vector<std::string>& cells) {
    const std::string text = fmt::format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", cells[0], cells[2]);
    return value_on("test.relay", text, cells[1], {session::Engine::Jit, session::Engine::Eval});
  });
}

TEST_CASE("tests/relay/to_relax/texts: what modules become") {
  golden::check_cases("relay/to_relax/texts", [](golden::Case& c) {
    const golden::Part* relay = c.find("RELAY");
    REQUIRE(relay);
    session::Session session;
    source::Diagnostics found;
    const bool loaded = session.load_text("test.relay", relay->text + "\n", found);
    c.set(loaded ? "GIVES" : "FAILS", {},
          std::string(
              support::trim(loaded ? ir::print(session.module(), {}) : source::render(found, session.sources()))));
    c.remove(loaded ? "FAILS" : "GIVES");
  });
}

TEST_CASE("bindings have the places of the Relay text") {
  session::Session session;
  source::Diagnostics found;
  REQUIRE(session.load_text("test.relay",
                            "#[version = \"0.0.5\"]\ndef @main(%x: float32) -> float32 {\n  let %y = exp(%x);\n"
                            "  negative(%y)\n}\n",
                            found));
  const auto* main = ir::as<ir::Function>(session.module()->find("main"));
  std::vector<std::uint32_t> lines;
  for (const ir::BindingBlock* block : main->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      const source::Span span = session.context().span_of(b);
      lines.push_back(session.sources().find(span.file)->line_column(span.begin).line);
    }
  CHECK(lines == std::vector<std::uint32_t>{3, 4});
}
