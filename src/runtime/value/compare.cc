// Deep comparison with tolerance; the answer is a sentence that tells where, what, and how much.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "rldb/runtime/object_value.h"
#include "rldb/runtime/value.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "runtime/text/number_text.h"

namespace rldb::runtime {

namespace {

constexpr std::int64_t kPollEvery = 1 << 16;  // elements

constexpr int kMaxComparedDepth = 200;

std::string at_path(const std::string& path, const std::string& what) {
  return path.empty() ? what : fmt::format("at {}: {}", path, what);
}

std::string differ(const std::string& path, const Value& actual, const Value& expected) {
  return at_path(path, fmt::format("{}, expected {}", describe(actual), describe(expected)));
}

std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

// Facts about the elements that differ.
struct Census {
  std::int64_t differing = 0;
  std::int64_t first = -1;
  double max_absolute = 0;
  double max_relative = 0;
};

void note_difference(Census& census, std::int64_t index, double absolute, double expected) {
  if (census.differing++ == 0) census.first = index;
  if (std::isnan(absolute)) absolute = std::numeric_limits<double>::infinity();
  census.max_absolute = std::max(census.max_absolute, absolute);
  const double scale = std::fabs(expected);
  const double relative =
      scale > 0 && std::isfinite(scale) ? absolute / scale : std::numeric_limits<double>::infinity();
  census.max_relative = std::max(census.max_relative, relative);
}

bool close(double a, double b, const Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return tolerance.equal_nan && std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance.atol + tolerance.rtol * std::fabs(b);
}

Census count_floats(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  Census census;
  const std::int64_t n = actual.element_count();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % kPollEvery == 0) support::poll();
    const double a = actual.at(i);
    const double b = expected.at(i);
    if (!close(a, b, tolerance)) note_difference(census, i, std::fabs(a - b), b);
  }
  return census;
}

// Integers and booleans are compared as words: an int64 does not fit into a double. The tolerance
// applies to them too if it is at least one, as in NumPy's allclose.
Census count_integers(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  Census census;
  const DType t = actual.dtype();
  const std::int64_t n = actual.element_count();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % kPollEvery == 0) support::poll();
    const std::size_t at = std::size_t(i) * t.bytes();
    const std::int64_t a = load_as_int(actual.peek() + at, t);
    const std::int64_t b = load_as_int(expected.peek() + at, t);
    if (a == b) continue;
    const bool a_less = t.is_uint() ? std::uint64_t(a) < std::uint64_t(b) : a < b;
    const double absolute = double(a_less ? std::uint64_t(b) - std::uint64_t(a) : std::uint64_t(a) - std::uint64_t(b));
    const double reference = expected.at(i);
    if (absolute <= tolerance.atol + tolerance.rtol * std::fabs(reference)) continue;
    note_difference(census, i, absolute, reference);
  }
  return census;
}

std::string compare_tensors(const Value& actual, const Value& expected, const Tolerance& tolerance,
                            const std::string& path) {
  const Tensor& a = actual.as_tensor();
  const Tensor& b = expected.as_tensor();
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return differ(path, actual, expected);
  const DType t = a.dtype();
  if (!t.is_scalar()) {
    const bool same = std::equal(a.peek(), a.peek() + a.byte_size(), b.peek());
    return same ? "" : at_path(path, fmt::format("elements of `{}` differ", to_string(t)));
  }
  const Census census = t.is_float() ? count_floats(a, b, tolerance) : count_integers(a, b, tolerance);
  if (census.differing == 0) return "";
  const std::size_t at = std::size_t(census.first) * t.bytes();
  const std::int64_t total = a.element_count();
  if (a.ndim() == 0)
    return at_path(path,
                   fmt::format("{}, expected {}; difference {:.6g} absolute, {:.6g} relative (atol={:g}, rtol={:g})",
                               element_text(a.peek() + at, t), element_text(b.peek() + at, t), census.max_absolute,
                               census.max_relative, tolerance.atol, tolerance.rtol));
  return at_path(path, fmt::format("element {} is {}, expected {}; {} of {} differ{}; largest difference "
                                   "{:.6g} absolute, {:.6g} relative (atol={:g}, rtol={:g})",
                                   index_text(census.first, a.shape()), element_text(a.peek() + at, t),
                                   element_text(b.peek() + at, t), census.differing,
                                   support::counted(std::size_t(total), "element"), census.differing == 1 ? "s" : "",
                                   census.max_absolute, census.max_relative, tolerance.atol, tolerance.rtol));
}

// Tuples that were found to agree: one that occurs in many places is compared once.
using Agreed = std::set<std::pair<const Object*, const Object*>>;

// Keys and values in turn.
Value items_of(const MapValue& map) {
  std::vector<Value> fields;
  for (const auto& [key, value] : map.items) {
    fields.push_back(key);
    fields.push_back(value);
  }
  return Value::of_tuple(std::move(fields));
}

bool same_plain_object(const Value& x, const Value& y) {
  if (const auto* a = object_in<DeviceValue>(x), *b = object_in<DeviceValue>(y); a && b) return a->device == b->device;
  if (const auto* a = object_in<BytesValue>(x), *b = object_in<BytesValue>(y); a && b) return a->bytes == b->bytes;
  if (const auto* a = object_in<PointerValue>(x), *b = object_in<PointerValue>(y); a && b)
    return a->pointer == b->pointer;
  return false;
}

std::string compare_at(const Value& actual, const Value& expected, const Tolerance& tolerance, const std::string& path,
                       int depth, Agreed& agreed) {
  support::poll();
  if (actual.kind() != expected.kind()) return differ(path, actual, expected);
  bool same = true;
  switch (actual.kind()) {
    case ValueKind::Null:
      break;
    case ValueKind::Int:
    case ValueKind::Bool:
      same = actual.as_int() == expected.as_int();
      break;
    case ValueKind::Float:
      same = close(actual.as_float(), expected.as_float(), tolerance);
      break;
    case ValueKind::DType:
      same = actual.as_dtype() == expected.as_dtype();
      break;
    case ValueKind::String:
      same = actual.as_string() == expected.as_string();
      break;
    case ValueKind::Shape:
      same = actual.as_shape() == expected.as_shape();
      break;
    case ValueKind::Tensor:
      return compare_tensors(actual, expected, tolerance, path);
    case ValueKind::Tuple: {
      const auto& a = actual.as_tuple().fields;
      const auto& b = expected.as_tuple().fields;
      if (a.size() != b.size()) return differ(path, actual, expected);
      if (depth >= kMaxComparedDepth) return at_path(path, "tuples are nested too deep to compare");
      if (agreed.count({actual.object(), expected.object()})) return "";
      for (std::size_t i = 0; i < a.size(); ++i) {
        std::string found = compare_at(a[i], b[i], tolerance, fmt::format("{}[{}]", path, i), depth + 1, agreed);
        if (!found.empty()) return found;
      }
      agreed.emplace(actual.object(), expected.object());
      return "";
    }
    case ValueKind::Object:
      if (actual.object() == expected.object()) return "";
      if (const auto* a = object_in<MapValue>(actual), *b = object_in<MapValue>(expected); a && b)
        return compare_at(items_of(*a), items_of(*b), tolerance, path, depth + 1, agreed);
      same = same_plain_object(actual, expected);
      break;
    case ValueKind::Function: {
      // Two programs make two objects of a function: it is known by its name and by what it has captured.
      if (actual.object() == expected.object()) return "";
      const Function& a = actual.as_function();
      const Function& b = expected.as_function();
      if (a.name != b.name || a.captured.size() != b.captured.size()) return differ(path, actual, expected);
      if (depth >= kMaxComparedDepth) return at_path(path, "closures are nested too deep to compare");
      for (std::size_t i = 0; i < a.captured.size(); ++i) {
        const std::string place = fmt::format("{}.captured[{}]", path, i);
        std::string found = compare_at(a.captured[i], b.captured[i], tolerance, place, depth + 1, agreed);
        if (!found.empty()) return found;
      }
      return "";
    }
    case ValueKind::Storage:
      // Its bytes are nobody's until a tensor is put there.
      same = actual.storage_ref()->size() == expected.storage_ref()->size();
      break;
  }
  return same ? "" : differ(path, actual, expected);
}

}  // namespace

std::string compare(const Value& actual, const Value& expected, const Tolerance& tolerance) {
  Agreed agreed;
  return compare_at(actual, expected, tolerance, "", 0, agreed);
}

}  // namespace rldb::runtime
