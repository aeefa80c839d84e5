// Tables of values: each line is run, and its result is written at its end. RLDB_BLESS=1 rewrites the results.
//
// Inputs are separated by `;`: numbers that fill the tensor repeatedly (none: 0, 1, 2, ...), after the shape if the
// type does not give it (`2x3: 1 -1`).
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rldb/session/session.h"
#include "rldb/support/text.h"

namespace rldb::value_table {

inline bool blesses() { return std::getenv("RLDB_BLESS") != nullptr; }

inline std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(separator, at);
    cells.emplace_back(support::trim(line.substr(at, end == std::string::npos ? end : end - at)));
    if (end == std::string::npos) return cells;
    at = end + 1;
  }
}

inline runtime::Value input_of(const ir::Type* type, std::string text) {
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
  return result.ok ? text_of(result.value) : first_error(found);
}

// Passes each line of the files in a folder to `checked`, which returns the correct line.
inline std::size_t check_lines(const std::filesystem::path& folder,
                               const std::function<std::string(const std::string&)>& checked) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    std::ifstream file(entry.path());
    std::string out;
    for (std::string line; std::getline(file, line);) out += checked(line) + "\n";
    file.close();
    if (blesses()) std::ofstream(entry.path()) << out;
  }
  return files;
}

}  // namespace rldb::value_table
