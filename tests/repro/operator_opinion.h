// A third opinion on operators, beside legalisation and the engines: their results by definitions in the manner of
// NumPy, written from the operators' documentation. Arrays of doubles, plain loops; nothing here knows how an operator
// is lowered.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/expr.h"
#include "rldb/runtime/value.h"

namespace rldb::repro_test {

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  runtime::DType dtype;
  std::int64_t size() const { return std::int64_t(data.size()); }
};

// A call whose operands are known.
struct KnownCall {
  std::vector<Array> args;  // tensors; of a tuple of tensors each; numbers as arrays without dims
  ir::Span<ir::NamedAttr> attrs;
  std::vector<std::int64_t> shape;                                   // of the result
  runtime::DType dtype;                                              // of the result
  std::optional<std::int64_t> integer(std::string_view name) const;  // none: absent, or None
  double real(std::string_view name, double fallback) const;
  bool flag(std::string_view name) const;
  std::string text(std::string_view name) const;
  // None: absent, or None. One number counts as a list of one.
  std::optional<std::vector<std::int64_t>> list(std::string_view name) const;
};

// The elements of the result, before they are converted to its dtype. None: the definition does not cover this call.
using Definition = std::function<std::optional<std::vector<double>>(const KnownCall&)>;
const std::map<std::string_view, Definition>& definitions();  // by the names after R.
void add_elementwise(std::map<std::string_view, Definition>& to);
void add_arrays(std::map<std::string_view, Definition>& to);
void add_windows(std::map<std::string_view, Definition>& to);

// ---- arrays ----

std::int64_t product(const std::vector<std::int64_t>& shape);
std::vector<std::int64_t> index_in(std::int64_t flat, const std::vector<std::int64_t>& shape);
std::int64_t flat_of(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& shape);
// The element for an index into a shape that the array is broadcast to.
double broadcast_at(const Array& a, const std::vector<std::int64_t>& index);

}  // namespace rldb::repro_test
