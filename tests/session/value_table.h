// Tables of values (golden/golden.h): each line is run, and its result is its last cell.
//
// Inputs are separated by `;`: numbers that fill the tensor repeatedly (none: 0, 1, 2, ...), after the shape if the
// type does not give it (`2x3: 1 -1`).
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "golden/golden.h"
#include "rldb/session/prepare.h"
#include "rldb/session/session.h"
#include "rldb/support/text.h"

namespace rldb::value_table {

inline runtime::Value input_of(const ir::Type* type, std::string text) {
  const auto* t = ir::as<ir::TensorType>(type);
  REQUIRE(t);
  std::vector<std::int64_t> shape;
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
    for (const std::string& d : golden::cells_of(text.substr(0, colon), 'x')) shape.push_back(std::stoll(d));
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
inline std::string text_of(const runtime::Value& v) {
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

inline std::string first_error(const source::Diagnostics& found) { return "! " + found.first_error("nothing said"); }

inline std::string value_of_main(const std::string& file, const std::string& text,
                                 const std::vector<std::string>& inputs, session::Engine engine) {
  session::Options options;
  options.engine = engine;
  options.machine = session::Machine::Relax;
  session::Session session(options);
  source::Diagnostics found;
  if (!session.load_text(file, text, found)) return first_error(found);
  const auto* main = ir::as<ir::Function>(session.module()->find("main"));
  std::vector<runtime::Value> args;
  for (std::size_t i = 0; i < main->params.size(); ++i)
    args.push_back(input_of(main->params[i]->type, i < inputs.size() ? inputs[i] : ""));
  const session::RunResult result = session.run("main", args, found);
  if (!result.ok) return first_error(found);
  const std::string value = text_of(result.value);
  if (engine != session::Engine::Jit) return value;
  // Inputs are small, so that the first run was in the quick tier; compiled ahead, kernels are in the full one.
  const auto build = session.runnable(found);
  REQUIRE(build);
  session::prepare_kernels(*build, "main");
  const session::RunResult again = session.run("main", args, found);
  CHECK((again.ok ? text_of(again.value) : first_error(found)) == value);
  return value;
}

// On the first engine, after a comparison with the others; their errors may be worded differently.
inline std::string value_on(const std::string& file, const std::string& text, const std::string& inputs,
                            std::initializer_list<session::Engine> engines) {
  const std::vector<std::string> cells = golden::cells_of(inputs, ';');
  std::string first;
  for (const session::Engine engine : engines) {
    CAPTURE(to_string(engine));
    const std::string got = value_of_main(file, text, cells, engine);
    if (first.empty()) first = got;
    CHECK((first.starts_with("!") ? got.substr(0, 1) : got) == (first.starts_with("!") ? "!" : first));
  }
  return first;
}

}  // namespace rldb::value_table
