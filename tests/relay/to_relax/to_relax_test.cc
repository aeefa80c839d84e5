// Translations, by values and by text. RLDB_BLESS=1 rewrites the results.
//
// values/*.txt are tables: `parameters | inputs | expression | values`, or an error instead of the values (described in
// session/value_table.h). Both engines run each line. texts/*.txt hold a Relay module, a line `---`, and the resulting
// Relax module.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/ir/printer.h"
#include "session/value_table.h"

using namespace rldb;
using namespace rldb::value_table;

namespace {

std::string checked(const std::string& line) {
  const std::vector<std::string> cells = cells_of(line, '|');
  if (line.empty() || line[0] == '#' || cells.size() < 3) return line;
  const std::string text = fmt::format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", cells[0], cells[2]);
  const std::string got = value_of_main("test.relay", text, cells_of(cells[1], ';'), session::Engine::Jit);
  CAPTURE(line);
  // The engines word their errors differently.
  const std::string other = value_of_main("test.relay", text, cells_of(cells[1], ';'), session::Engine::Eval);
  CHECK((got.starts_with("!") ? other.substr(0, 1) : other) == (got.starts_with("!") ? "!" : got));
  if (!blesses()) CHECK(got == (cells.size() > 3 ? cells[3] : ""));
  return fmt::format("{} | {} | {} | {}", cells[0], cells[1], cells[2], got);
}

std::string whole(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("values of operators, by tables") {
  const std::size_t files = check_lines(RLDB_SOURCE_DIR "/tests/relay/to_relax/values", checked);
  CHECK(files >= 4);
}

TEST_CASE("what modules become") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RLDB_SOURCE_DIR "/tests/relay/to_relax/texts")) {
    ++files;
    const std::string text = whole(entry.path());
    const std::size_t line = text.find("---\n");
    const std::string relay = text.substr(0, line);
    session::Options options;
    options.machine = session::Machine::Relax;
    session::Session session(options);
    source::Diagnostics found;
    const bool loaded = session.load_text("test.relay", relay, found);
    const std::string got = loaded ? ir::print(session.module(), {}) : source::render(found, session.sources());
    CAPTURE(entry.path().string());
    if (blesses())
      std::ofstream(entry.path()) << relay << "---\n" << got;
    else
      CHECK(got == (line == std::string::npos ? "" : text.substr(line + 4)));
  }
  CHECK(files >= 3);
}

TEST_CASE("bindings have the places of the Relay text") {
  session::Options options;
  options.machine = session::Machine::Relax;
  session::Session session(options);
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
