// Expressions and NumPy's values for them: the table in numpy.txt.
#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <map>

#include "rldb/expression/expression.h"
#include "runtime/made_values.h"

using namespace rldb;
using namespace rldb::expression;
using namespace rldb::runtime::testing;
using runtime::DType;
using runtime::Value;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

Value tensor(std::vector<std::int64_t> shape, DType dtype, const std::vector<double>& values) {
  auto t = runtime::Tensor::empty(std::move(shape), dtype).value();
  for (std::int64_t i = 0; i < t->element_count(); ++i) {
    std::byte* to = t->data() + std::size_t(i) * dtype.bytes();
    if (dtype.is_float())
      runtime::store_double(to, dtype, values[std::size_t(i)]);
    else
      runtime::store_int(to, dtype, std::int64_t(values[std::size_t(i)]));
  }
  return Value(t);
}

const std::map<std::string, Value, std::less<>>& names() {
  static const auto made = [] {
    std::vector<double> y;
    for (int i = 0; i < 24; ++i) y.push_back(i * 7 % 11 - 5);
    return std::map<std::string, Value, std::less<>>{
        {"x", tensor({2, 3}, DType::Float(32), {-2, -1, 0, 1, 2, 3})},
        {"y", tensor({2, 3, 4}, DType::Float(32), y)},
        {"h", tensor({4}, DType::Float(16), {0.1, 2.5, -3.75, 1000.5})},
        {"i", tensor({2, 3}, DType::Int(64), {3, -7, 4611686018427387904.0, 5, 0, -1})},
        {"j", tensor({3}, DType::Int(8), {100, -100, 27})},
        {"u", tensor({3}, DType::UInt(8), {200, 3, 255})},
        {"b", tensor({3}, DType::Bool(), {1, 0, 1})},
        {"w", tensor({6}, DType::Float(32), {kNan, kInf, -kInf, 0, -0.0, 1.5})},
        {"d", tensor({4}, DType::Float(64), {0.1, 0.2, 0.3, 0.45})},
        {"z", tensor({0, 3}, DType::Float(32), {})},
        {"f8", tensor({3}, DType{runtime::TypeCode::Float8E4M3FN, 8, 1}, {1.5, -2, 400})},
        {"bf", tensor({2}, DType::BFloat16(), {1.5, 3})},
        {"big", tensor({2}, DType::UInt(64), {1, 2})},
    };
  }();
  return made;
}

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text)
    if (c != '\n' && c != ' ')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

std::string reply_to(std::string_view text) {
  const auto v = evaluate_text(text, [&](std::string_view name) -> runtime::Result<Value> {
    const auto it = names().find(name);
    if (it == names().end()) return runtime::fail(runtime::ErrorKind::UnknownFunction, "no " + std::string(name));
    return it->second;
  });
  return v.ok() ? one_line(runtime::format_value(*v)) : "error: " + v.error().message;
}

}  // namespace

TEST_CASE("expressions give what NumPy gives") {
  std::ifstream table(RLDB_SOURCE_DIR "/tests/expression/numpy.txt");
  REQUIRE(table.good());
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    const auto arrow = line.find("  =>  ");
    if (line.starts_with('#') || arrow == std::string::npos) continue;
    const std::string text = line.substr(0, arrow), expected = line.substr(arrow + 6);
    CAPTURE(text);
    const std::string got = reply_to(text);
    if (expected.starts_with("error: "))
      CHECK(got.substr(0, expected.size()) == expected);
    else
      CHECK(got == expected);
    ++count;
  }
  CHECK(count > 150);
}
