// Translations, by values and by text. RLDB_BLESS=1 rewrites what comes out.
//
// values/*.txt are tables: `parameters | inputs | expression | values`, or what is wrong instead of the values. Inputs
// are separated by `;`: numbers that fill the tensor again and again (none: 0, 1, 2, ...), behind the shape where
// the type does not say it (`2x3: 1 -1`). Both engines run each line. texts/*.txt hold a Relay module, a line `---`,
// and the Relax module that it becomes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/ir/printer.h"
#include "rldb/session/session.h"
#include "rldb/support/text.h"

using namespace rldb;

namespace {

bool blesses() { return std::getenv("RLDB_BLESS") != nullptr; }

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(separator, at);
    cells.emplace_back(support::trim(line.substr(at, end == std::string::npos ? end : end - at)));
    if (end == std::string::npos) return cells;
    at = end + 1;
  }
}

runtime::Value input_of(const ir::Type* type, std::string text) {
  const auto* t = ir::as<ir::TensorType>(type);
  REQUIRE(t);
  std::vector<std::int64_t> shape;
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
    for (const std::string& d : cells_of(text.substr(0, colon), 'x')) shape.push_back(std::stoll(d));
    text = text.substr(colon + 1);
  } else {
    for (const ir::Expr* d : t->shape) shape.push_back(ir::as<ir::IntImm>(d)->value);
  }
  std::vector<double> numbers;
  std::istringstream in(text);
  for (std::string word; in >> word;) numbers.push_back(std::stod(word));
  auto made = runtime::Tensor::empty(shape, t->dtype);
  REQUIRE(made.ok());
  for (std::int64_t i = 0; i < (*made)->element_count(); ++i)
    runtime::store_double((*made)->data() + std::size_t(i) * t->dtype.bytes(), t->dtype,
                          numbers.empty() ? double(i) : numbers[std::size_t(i) % numbers.size()]);
  return runtime::Value(*made);
}

// `float32(2, 2) 0 1 2 3`; the fields of a tuple in parentheses.
std::string text_of(const runtime::Value& v) {
  if (v.is(runtime::ValueKind::Tuple)) {
    std::string all;
    for (const runtime::Value& f : v.as_tuple().fields) all += (all.empty() ? "" : "; ") + text_of(f);
    return "(" + all + ")";
  }
  if (!v.is(runtime::ValueKind::Tensor)) return runtime::format_brief(v);
  const runtime::Tensor& t = v.as_tensor();
  std::string text = fmt::format("{}({})", runtime::to_string(t.dtype()), fmt::join(t.shape(), ", "));
  for (std::int64_t i = 0; i < t.element_count(); ++i) text += fmt::format(" {:.5g}", t.at(i));
  return text;
}

std::string first_error(const source::Diagnostics& found) {
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) return "! " + d.message;
  return "! nothing said";
}

std::string value_of_main(const std::string& text, const std::vector<std::string>& inputs, session::Engine engine) {
  session::Options options;
  options.engine = engine;
  session::Session session(options);
  source::Diagnostics found;
  if (!session.load_text("test.relay", text, found)) return first_error(found);
  const auto* main = ir::as<ir::Function>(session.module()->find("main"));
  std::vector<runtime::Value> args;
  for (std::size_t i = 0; i < main->params.size(); ++i)
    args.push_back(input_of(main->params[i]->type, i < inputs.size() ? inputs[i] : ""));
  const session::RunResult result = session.run("main", args, found);
  return result.ok ? text_of(result.value) : first_error(found);
}

std::string checked(const std::string& line) {
  const std::vector<std::string> cells = cells_of(line, '|');
  if (line.empty() || line[0] == '#' || cells.size() < 3) return line;
  const std::string text = fmt::format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", cells[0], cells[2]);
  const std::string got = value_of_main(text, cells_of(cells[1], ';'), session::Engine::Jit);
  CAPTURE(line);
  // The engines say what is wrong in words of their own.
  const std::string other = value_of_main(text, cells_of(cells[1], ';'), session::Engine::Eval);
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
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RLDB_SOURCE_DIR "/tests/relay/to_relax/values")) {
    ++files;
    std::istringstream in(whole(entry.path()));
    std::string out;
    for (std::string line; std::getline(in, line);) out += checked(line) + "\n";
    if (blesses()) std::ofstream(entry.path()) << out;
  }
  CHECK(files >= 4);
}

TEST_CASE("what modules become") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RLDB_SOURCE_DIR "/tests/relay/to_relax/texts")) {
    ++files;
    const std::string text = whole(entry.path());
    const std::size_t line = text.find("---\n");
    const std::string relay = text.substr(0, line);
    session::Session session;
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
