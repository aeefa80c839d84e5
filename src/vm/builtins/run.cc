// Operators that run as functions: printing, asserting, and those whose result's size depends on the data.
#include "rldb/bytecode/builtin/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "rldb/runtime/by_host.h"
#include "rldb/runtime/stoppable.h"
#include "vm/builtins/args.h"

namespace rldb::vm {
namespace {

// Python's str.format for `{}`, `{0}`, `{{`, `}}`; a specification after `:` is not supported.
Result<std::string> format_python(const Args& a, std::string_view format, PackedArgs values) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    if (c != '{') {
      if (c == '}') return a.fail(ErrorKind::TypeMismatch, "single `}` in the format string");
      out += c;
      continue;
    }
    std::size_t close = format.find('}', i);
    if (close == std::string_view::npos) return a.fail(ErrorKind::TypeMismatch, "`{` without `}` in the format string");
    std::string_view field = format.substr(i + 1, close - i - 1);
    std::size_t index = next++;
    if (!field.empty()) {
      if (field.size() > 4 || field.find_first_not_of("0123456789") != std::string_view::npos)
        return a.fail(ErrorKind::Unsupported,
                      fmt::format("format field `{{{}}}`; only {{}} and {{0}} are known", field));
      index = std::size_t(std::stoi(std::string(field)));
    }
    if (index >= values.size())
      return a.fail(ErrorKind::ArgumentCount,
                    fmt::format("the format string needs value {} of {}", index, values.size()));
    out += values[index].is(ValueKind::String) ? values[index].as_string() : format_value(values[index]);
    i = close;
  }
  return out;
}

std::string join_values(PackedArgs values, std::string_view separator) {
  std::string out;
  for (const Value& v : values) {
    if (&v != values.data()) out += separator;
    out += v.is(ValueKind::String) ? v.as_string() : format_value(v);
  }
  return out;
}

}  // namespace

Result<Value> builtin_RunPrint(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(RunPrint);
  if (!a[0].is(ValueKind::String)) return a.wrong(0, "a format string");
  const std::string& format = a[0].as_string();
  std::string text;
  if (format.empty()) {
    text = join_values(a.from(1), " ");
  } else {
    RLDB_TRY(text, format_python(a, format, a.from(1)));
  }
  site.program.output().write(text + "\n");
  return Value();
}

Result<Value> builtin_RunAssert(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RunAssert);
  bool holds = false;
  if (a[0].is(ValueKind::Bool) || a[0].is(ValueKind::Int)) {
    holds = a[0].as_int() != 0;
  } else {
    RLDB_TRY(runtime::Tensor * t, a.tensor(0));
    if (t->ndim() != 0 || !t->dtype().is_bool()) return a.wrong(0, "a bool or a 0-d bool tensor");
    holds = load_as_int(t->peek(), t->dtype()) != 0;
  }
  if (holds) return Value();
  if (!a[1].is(ValueKind::String)) return a.wrong(1, "a format string");
  std::string detail;
  if (!a[1].as_string().empty()) {
    RLDB_TRY(detail, format_python(a, a[1].as_string(), a.from(2)));
  } else {
    detail = join_values(a.from(2), ", ");
  }
  std::string text = "Assertion Failed";
  if (!detail.empty()) text += ": " + detail;
  return runtime::fail(ErrorKind::AssertFailed, std::move(text));
}

Result<Value> builtin_RunShapeToTensor(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RunShapeToTensor);
  RLDB_TRY(auto* shape, a.shape(0));
  RLDB_TRY(auto t, runtime::Tensor::empty({std::int64_t(shape->size())}, DType::Int(64)));
  if (!shape->empty()) std::memcpy(t->data(), shape->data(), shape->size() * sizeof(std::int64_t));
  return Value(t);
}

// ---- unique, nonzero ----

namespace {

// Order of two elements as numpy sorts: numbers ascending, NaN last.
int compare_elements(const std::byte* x, const std::byte* y, DType t) {
  if (t.is_float()) {
    double p = load_as_double(x, t), q = load_as_double(y, t);
    bool p_nan = std::isnan(p), q_nan = std::isnan(q);
    if (p_nan || q_nan) return int(p_nan) - int(q_nan);
    return p < q ? -1 : p > q;
  }
  std::int64_t p = load_as_int(x, t), q = load_as_int(y, t);
  if (t.is_uint()) {
    auto up = std::uint64_t(p), uq = std::uint64_t(q);
    return up < uq ? -1 : up > uq;
  }
  return p < q ? -1 : p > q;
}

// A tensor as `count` items along an axis, each of outer x inner elements (flattened: one element each).
struct Items {
  const runtime::Tensor& t;
  std::int64_t outer = 1, count = 0, inner = 1;

  const std::byte* element(std::int64_t item, std::int64_t o, std::int64_t i) const {
    return t.peek() + std::size_t((o * count + item) * inner + i) * t.dtype().bytes();
  }
  int compare(std::int64_t x, std::int64_t y) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        if (int c = compare_elements(element(x, o, i), element(y, o, i), t.dtype())) return c;
    return 0;
  }
};

struct UniqueGroups {
  std::vector<std::int64_t> first;  // first occurrence of each distinct item
  std::vector<std::int64_t> count;
  std::vector<std::int64_t> inverse;  // item -> position in `first`
};

UniqueGroups group(const Items& items, bool sorted, runtime::Watch& watch) {
  std::vector<std::int64_t> order(std::size_t(items.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    watch.look();
    return items.compare(x, y) < 0;
  });
  UniqueGroups g;
  g.inverse.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    watch.look();
    if (i == 0 || items.compare(order[i - 1], order[i]) != 0) {
      g.first.push_back(order[i]);
      g.count.push_back(0);
    }
    ++g.count.back();
    g.inverse[std::size_t(order[i])] = std::int64_t(g.first.size()) - 1;
  }
  if (sorted) return g;
  // In order of first occurrence.
  std::vector<std::size_t> rank(g.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::sort(rank.begin(), rank.end(), [&](std::size_t x, std::size_t y) { return g.first[x] < g.first[y]; });
  UniqueGroups by_position;
  std::vector<std::int64_t> place(rank.size());
  for (std::size_t i = 0; i < rank.size(); ++i) {
    by_position.first.push_back(g.first[rank[i]]);
    by_position.count.push_back(g.count[rank[i]]);
    place[rank[i]] = std::int64_t(i);
  }
  for (std::int64_t p : g.inverse) by_position.inverse.push_back(place[std::size_t(p)]);
  return by_position;
}

Result<Value> int_tensor(const std::vector<std::int64_t>& values) {
  RLDB_TRY(auto t, runtime::Tensor::empty({std::int64_t(values.size())}, DType::Int(64)));
  if (!values.empty()) std::memcpy(t->data(), values.data(), values.size() * sizeof(std::int64_t));
  return Value(t);
}

Result<Value> take_items(const Items& items, const std::vector<std::int64_t>& which, std::vector<std::int64_t> shape) {
  RLDB_TRY(auto out, runtime::Tensor::empty(std::move(shape), items.t.dtype()));
  std::byte* to = out->data();
  std::size_t bytes = std::size_t(items.inner) * items.t.dtype().bytes();
  for (std::int64_t o = 0; o < items.outer; ++o)
    for (std::int64_t item : which) {
      if (bytes > 0) std::memcpy(to, items.element(item, o, 0), bytes);
      to += bytes;
    }
  return Value(out);
}

}  // namespace

static Result<Value> unique(const Args& a, runtime::Watch& watch) {
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  if (t->dtype().lanes != 1) return a.wrong(0, "a tensor of scalars");
  bool flags[4] = {};  // sorted, return_index, return_inverse, return_counts
  for (std::size_t i = 1; i < std::min<std::size_t>(a.size(), 5); ++i) {
    RLDB_TRY(std::int64_t flag, a.integer(i));
    flags[i - 1] = flag != 0;
  }
  Items items{*t};
  std::vector<std::int64_t> shape;
  std::size_t axis = 0;
  if (a.size() == 6 && !a[5].is_null()) {
    RLDB_TRY(std::int64_t given, a.integer(5));
    if (given < 0) given += t->ndim();
    if (given < 0 || given >= t->ndim())
      return a.fail(ErrorKind::OutOfBounds, fmt::format("axis of {}", describe(a[0])));
    axis = std::size_t(given);
    shape = t->shape();
    items.count = shape[axis];
    for (std::size_t d = 0; d < axis; ++d) items.outer *= shape[d];
    for (std::size_t d = axis + 1; d < shape.size(); ++d) items.inner *= shape[d];
  } else {
    shape = {t->element_count()};
    items.count = t->element_count();
  }
  UniqueGroups g = group(items, flags[0], watch);
  shape[axis] = std::int64_t(g.first.size());
  RLDB_TRY(Value values, take_items(items, g.first, std::move(shape)));
  if (!flags[1] && !flags[2] && !flags[3]) return values;
  std::vector<Value> results{values};
  const std::vector<std::int64_t>* more[] = {&g.first, &g.inverse, &g.count};
  for (int i = 0; i < 3; ++i) {
    if (!flags[i + 1]) continue;
    RLDB_TRY(Value v, int_tensor(*more[i]));
    results.push_back(std::move(v));
  }
  return Value::of_tuple(std::move(results));
}

Result<Value> builtin_RunUnique(const CallSite&, PackedArgs given) {
  return runtime::by_host(builtin::RunUnique, given, [](PackedArgs args) -> Result<Value> {
    RLDB_ARGS(RunUnique);
    return runtime::stoppable("the search for distinct elements", [&](runtime::Watch& w) { return unique(a, w); });
  });
}

static Result<Value> nonzero(const Args& a, runtime::Watch& watch) {
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  if (t->dtype().lanes != 1) return a.wrong(0, "a tensor of scalars");
  // numpy treats a 0-d tensor as one with one element.
  std::vector<std::int64_t> shape = t->shape();
  if (shape.empty()) shape.push_back(1);
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < t->element_count(); ++i) {
    watch.look();
    if (t->at(i) != 0) found.push_back(i);
  }
  std::int64_t rank = std::int64_t(shape.size()), n = std::int64_t(found.size());
  RLDB_TRY(auto out, runtime::Tensor::empty({rank, n}, DType::Int(64)));
  auto* to = reinterpret_cast<std::int64_t*>(out->data());
  for (std::int64_t k = 0; k < n; ++k) {
    watch.look();
    std::int64_t flat = found[std::size_t(k)];
    for (std::int64_t d = rank - 1; d >= 0; --d) {
      to[d * n + k] = flat % shape[std::size_t(d)];
      flat /= shape[std::size_t(d)];
    }
  }
  return Value(out);
}

Result<Value> builtin_RunNonzero(const CallSite&, PackedArgs given) {
  return runtime::by_host(builtin::RunNonzero, given, [](PackedArgs args) -> Result<Value> {
    RLDB_ARGS(RunNonzero);
    return runtime::stoppable("the search for elements that are not zero",
                              [&](runtime::Watch& w) { return nonzero(a, w); });
  });
}

Result<Value> builtin_RunInspect(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RunInspect);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  const std::string field = a.text(1);
  const DType dtype = t->dtype();
  if (field == "tensor_ndim") return Value::of_int(t->ndim());
  if (field == "tensor_dtype_code") return Value::of_int(std::int64_t(dtype.code));
  if (field == "tensor_dtype_bits") return Value::of_int(dtype.bits);
  if (field == "tensor_dtype_lanes") return Value::of_int(dtype.lanes);
  if (field == "tensor_byte_offset") return Value::of_int(std::int64_t(t->byte_offset()));
  if (field == "tensor_elem_offset") return Value::of_int(std::int64_t(t->byte_offset() / dtype.bytes()));
  const bool is_shape = field == "tensor_shape_i";
  if ((!is_shape && field != "tensor_stride_i") || a.size() < 3) return a.wrong(1, "a field of a tensor");
  RLDB_TRY(const std::int64_t axis, a.integer(2));
  if (axis < 0 || axis >= t->ndim())
    return a.fail(ErrorKind::OutOfBounds, fmt::format("axis {} of {}", axis, describe(a[0])));
  if (is_shape) return Value::of_int(t->shape()[std::size_t(axis)]);
  std::int64_t stride = 1;
  for (std::size_t d = std::size_t(axis) + 1; d < t->shape().size(); ++d) stride *= t->shape()[d];
  return Value::of_int(stride);
}

}  // namespace rldb::vm
