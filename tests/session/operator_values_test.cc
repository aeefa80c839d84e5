// Values of operators on every engine. operator_values/*.txt are tables of `parameters | inputs | expression | values`,
// or an error instead of the values (described in value_table.h); the values were computed by hand or with NumPy.
#include "session/value_table.h"

using namespace rldb;
using namespace rldb::value_table;

namespace {

// Parameters are written `x: (2, 3) float32`, in the notation of R.Tensor.
std::string parameters_of(const std::string& cell) {
  std::string out;
  for (const std::string& p : golden::cells_of(cell, ';')) {
    const std::size_t colon = p.find(':'), close = p.rfind(')');
    out += fmt::format("{}{}: R.Tensor({}, \"{}\")", out.empty() ? "" : ", ", p.substr(0, colon),
                       p.substr(colon + 1, close - colon), support::trim(p.substr(close + 1)));
  }
  return out;
}

}  // namespace

TEST_CASE("tests/session/operator_values: values of operators on every engine") {
  golden::check_tables("session/operator_values", 3, [](const std::vector<std::string>& cells) {
    const std::string text =
        fmt::format("@R.function\ndef main({}):\n    return {}\n", parameters_of(cells[0]), cells[2]);
    return value_on("test.py", text, cells[1], {session::Engine::Jit, session::Engine::Vm, session::Engine::Eval});
  });
}
