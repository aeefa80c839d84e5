// Values of operators on every engine. operator_values/*.txt are tables of `parameters | inputs | expression | values`,
// or an error instead of the values (described in value_table.h); the values were computed by hand or with NumPy.
#include "session/value_table.h"

using namespace rldb;
using namespace rldb::value_table;

namespace {

// Parameters are written `x: (2, 3) float32`, in the notation of R.Tensor.
std::string parameters_of(const std::string& cell) {
  std::string out;
  for (const std::string& p : cells_of(cell, ';')) {
    const std::size_t colon = p.find(':'), close = p.rfind(')');
    out += fmt::format("{}{}: R.Tensor({}, \"{}\")", out.empty() ? "" : ", ", p.substr(0, colon),
                       p.substr(colon + 1, close - colon), support::trim(p.substr(close + 1)));
  }
  return out;
}

std::string checked(const std::string& line) {
  const std::vector<std::string> cells = cells_of(line, '|');
  if (line.empty() || line[0] == '#' || cells.size() < 3) return line;
  const std::string text =
      fmt::format("@R.function\ndef main({}):\n    return {}\n", parameters_of(cells[0]), cells[2]);
  const std::vector<std::string> inputs = cells_of(cells[1], ';');
  const std::string got = value_of_main("test.py", text, inputs, session::Engine::Jit);
  CAPTURE(line);
  for (const session::Engine other : {session::Engine::Vm, session::Engine::Eval}) {
    CAPTURE(to_string(other));
    // The engines word their errors differently.
    const std::string theirs = value_of_main("test.py", text, inputs, other);
    CHECK((got.starts_with("!") ? theirs.substr(0, 1) : theirs) == (got.starts_with("!") ? "!" : got));
  }
  if (!blesses()) CHECK(got == (cells.size() > 3 ? cells[3] : ""));
  return fmt::format("{} | {} | {} | {}", cells[0], cells[1], cells[2], got);
}

}  // namespace

TEST_CASE("values of operators on every engine, by tables") {
  CHECK(check_lines(RLDB_SOURCE_DIR "/tests/session/operator_values", checked) >= 3);
}
