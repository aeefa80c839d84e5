// Evaluates a tree to a value, looking up names.
#include <fmt/format.h>

#include <cmath>

#include "expression/subscript.h"
#include "rldb/expression/array.h"
#include "rldb/expression/expression.h"
#include "rldb/expression/functions.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/tensor_file.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// An element of a rank-0 tensor as a Python number.
Result<Value> number_in(const Tensor& t) {
  RLDB_TRY_VOID(runtime::read_back(*t.storage()));
  const DType dtype = t.dtype();
  if (dtype.is_bool()) return Value::of_bool(t.at(0) != 0);
  if (dtype.is_float()) return Value::of_float(t.at(0));
  return Value::of_int(runtime::load_as_int(t.peek(), dtype));
}

// The dtypes whose values numbers represent exactly and print alike.
bool is_numbers_dtype(DType t) { return t.is_bool() || t == DType::Int(64) || t == DType::Float(64); }

class Evaluator {
 public:
  Evaluator(const Expression& e, const NameLookup& lookup, const CallHook& call)
      : e_(e), lookup_(lookup), call_(call) {}

  Result<Value> run() {
    RLDB_TRY(Value v, of(e_.root()));
    // A computed value without dimensions is a number.
    const bool single = computed_ && v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0;
    if (single && is_numbers_dtype(v.as_tensor().dtype())) return number_in(v.as_tensor());
    return v;
  }

 private:
  Result<Value> of(const Term& t) {
    support::poll();
    auto v = dispatch(t);
    computed_ = t.kind != TermKind::Name && t.kind != TermKind::File && !handed_on_;
    handed_on_ = false;
    return v;
  }

  Result<Value> dispatch(const Term& t) {
    switch (t.kind) {
      case TermKind::Constant:
        return t.value;
      case TermKind::Name:
        return lookup_(t.text);
      case TermKind::File:
        return runtime::load_tensor(t.text);
      case TermKind::Tuple:
      case TermKind::List:
        return sequence(t);
      case TermKind::Unary: {
        RLDB_TRY(const Value v, child(t, 0));
        return unary(t.ops[0], v);
      }
      case TermKind::Binary: {
        RLDB_TRY(const Value left, child(t, 0));
        RLDB_TRY(const Value right, child(t, 1));
        return binary(t.ops[0], left, right);
      }
      case TermKind::Compare:
        return comparison(t);
      case TermKind::And:
      case TermKind::Or:
        return logic(t, t.kind == TermKind::Or);
      case TermKind::Not: {
        RLDB_TRY(const Value v, child(t, 0));
        RLDB_TRY(const bool is, truth(v));
        return Value::of_bool(!is);
      }
      case TermKind::Subscript:
        return element(t);
      case TermKind::Attribute: {
        RLDB_TRY(const Value v, child(t, 0));
        return attribute_of(v, t.text);
      }
      case TermKind::Call:
        return call(t);
      case TermKind::Ellipsis:
      case TermKind::Slice:
        break;
    }
    return fail(ErrorKind::Unsupported, fmt::format("`{}` may be used in subscripts only", e_.text_of(t)));
  }
  Result<Value> child(const Term& t, std::size_t i) { return of(e_.child(t, i)); }

  Result<Value> sequence(const Term& t) {
    std::vector<Value> fields;
    for (std::size_t i = 0; i < t.children.size(); ++i) {
      RLDB_TRY(Value field, child(t, i));
      fields.push_back(std::move(field));
    }
    return Value::of_tuple(std::move(fields));
  }

  // `a < b < c` is `a < b and b < c`, with b evaluated once.
  Result<Value> comparison(const Term& t) {
    RLDB_TRY(Value left, child(t, 0));
    for (std::size_t i = 0;; ++i) {
      RLDB_TRY(Value right, child(t, i + 1));
      RLDB_TRY(Value holds, compare(t.ops[i], left, right));
      if (i + 1 == t.ops.size()) return holds;
      RLDB_TRY(const bool is, truth(holds));
      if (!is) return Value::of_bool(false);
      left = std::move(right);
    }
  }

  // Only the undecided part is evaluated.
  Result<Value> logic(const Term& t, bool decided_by) {
    for (std::size_t i = 0; i < t.children.size(); ++i) {
      RLDB_TRY(const Value v, child(t, i));
      RLDB_TRY(const bool is, truth(v));
      if (is == decided_by) return Value::of_bool(is);
    }
    return Value::of_bool(!decided_by);
  }

  Result<Value> element(const Term& t) {
    RLDB_TRY(const Value base, child(t, 0));
    std::vector<IndexItem> items;
    for (std::size_t i = 1; i < t.children.size(); ++i) {
      const Term& index = e_.child(t, i);
      // `x[(0, 1)]` is `x[0, 1]`.
      if (index.kind == TermKind::Tuple && t.children.size() == 2) {
        for (std::size_t k = 0; k < index.children.size(); ++k) RLDB_TRY_VOID(add_index(e_.child(index, k), items));
      } else {
        RLDB_TRY_VOID(add_index(index, items));
      }
    }
    auto v = subscript(base, items);
    handed_on_ = base.is(ValueKind::Tuple);
    return v;
  }
  Result<support::Unit> add_index(const Term& t, std::vector<IndexItem>& items) {
    if (t.kind == TermKind::Ellipsis) {
      items.emplace_back(EllipsisIndex{});
    } else if (t.kind == TermKind::Slice) {
      SliceIndex slice;
      RLDB_TRY(slice.start, bound(t, 0));
      RLDB_TRY(slice.stop, bound(t, 1));
      RLDB_TRY(slice.step, bound(t, 2));
      items.emplace_back(slice);
    } else {
      RLDB_TRY(const Value v, of(t));
      RLDB_TRY(IndexItem item, index_of(v));
      items.push_back(std::move(item));
    }
    return support::Unit{};
  }
  static Result<IndexItem> index_of(const Value& v) {
    if (v.is_null()) return IndexItem(NewAxisIndex{});
    if (v.is(ValueKind::Tuple)) {
      RLDB_TRY(Value array, tensor_of_list(v));
      if (array.as_tensor().element_count() > 0) return IndexItem(std::move(array));
      RLDB_TRY(auto none, Tensor::empty({0}, DType::Int(64)));  // an empty list selects no element
      return IndexItem(Value(std::move(none)));
    }
    const bool single = v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0 && v.as_tensor().dtype().is_integral() &&
                        !v.as_tensor().dtype().is_bool();
    if (v.is(ValueKind::Tensor)) RLDB_TRY_VOID(runtime::read_back(*v.as_tensor().storage()));
    if (!single) return IndexItem(v);
    RLDB_TRY(Value number, number_in(v.as_tensor()));
    return IndexItem(std::move(number));
  }
  Result<std::optional<std::int64_t>> bound(const Term& slice, std::size_t i) {
    if (slice.children[i] < 0) return std::optional<std::int64_t>();
    RLDB_TRY(const Value v, child(slice, i));
    if (v.is_null()) return std::optional<std::int64_t>();
    RLDB_TRY(const Value number, number_of(v));
    if (number.is(ValueKind::Float)) return fail(ErrorKind::TypeMismatch, "a bound of a slice is not an integer");
    return std::optional<std::int64_t>(number.as_int());
  }

  // ---- calls ----

  Result<Value> call(const Term& t) {
    const Term& callee = e_.child(t, 0);
    const std::string dotted = dotted_name(e_, callee);
    if (callee.kind == TermKind::Name || dotted.starts_with("R.")) {
      const FunctionRow* known = callee.kind == TermKind::Name ? find_function(callee.text) : nullptr;
      if (!known && is_attribute(callee) && t.children.size() == 2) {
        RLDB_TRY(const Value v, child(t, 1));
        return attribute_of(v, callee.text);
      }
      return known ? call_known(*known, t, {}) : call_unknown(dotted, t);
    }
    auto object = child(callee, 0);
    const FunctionRow* known = find_function(callee.text);
    // `cls.f(x)`: a function of the module, unless `cls` is a value.
    if (!object.ok()) return dotted.empty() || !call_ ? object : call_unknown(dotted, t);
    if (known) return call_known(*known, t, {std::move(object).value()});
    return fail(ErrorKind::Unsupported, fmt::format("{} has no method `{}`", runtime::describe(*object), callee.text));
  }
  static bool is_attribute(const Term& callee) {
    for (const AttributeRow& row : attributes())
      if (row.name == callee.text && callee.kind == TermKind::Name) return true;
    return false;
  }
  Result<Value> call_known(const FunctionRow& row, const Term& t, std::vector<Value> arguments) {
    for (std::size_t i = 1; i < t.children.size(); ++i) {
      RLDB_TRY(Value v, child(t, i));
      arguments.push_back(std::move(v));
    }
    return call_function(row, std::move(arguments), t.keywords);
  }
  Result<Value> call_unknown(const std::string& name, const Term& t) {
    if (!call_) return fail(ErrorKind::Unsupported, fmt::format("there is no function `{}`", name));
    std::vector<CallArgument> arguments;
    for (std::size_t i = 1; i < t.children.size(); ++i) {
      const Term& term = e_.child(t, i);
      CallArgument argument;
      argument.keyword = t.keywords[i - 1];
      if (is_literal(term)) {
        argument.literal = e_.text_of(term);
      } else {
        RLDB_TRY(argument.value, of(term));
      }
      arguments.push_back(std::move(argument));
    }
    auto v = call_(name, arguments);
    handed_on_ = true;
    return v;
  }
  bool is_literal(const Term& t) const {
    const bool plain = t.kind == TermKind::Constant || t.kind == TermKind::Tuple || t.kind == TermKind::List ||
                       t.kind == TermKind::Unary;
    if (!plain) return false;
    for (std::size_t i = 0; i < t.children.size(); ++i)
      if (!is_literal(e_.child(t, i))) return false;
    return true;
  }

  const Expression& e_;
  const NameLookup& lookup_;
  const CallHook& call_;
  bool computed_ = false;   // the last term was: it did not merely pass on an existing value
  bool handed_on_ = false;  // the current term did
};

}  // namespace

Result<Value> number_of(const Value& v) {
  if (is_number(v)) return v;
  if (v.is(ValueKind::Tensor)) {
    const Tensor& t = v.as_tensor();
    if (t.element_count() == 1 && t.dtype().is_scalar() && !t.dtype().is_handle()) return number_in(t);
    return fail(ErrorKind::TypeMismatch,
                fmt::format("{} is not a scalar: index it, or use .any, .all, .max, .min, ...", runtime::describe(v)));
  }
  return fail(ErrorKind::TypeMismatch, fmt::format("{} is not a scalar", runtime::describe(v)));
}

Result<bool> truth(const Value& value) {
  RLDB_TRY(const Value v, number_of(value));
  return v.is(ValueKind::Float) ? v.as_float() != 0 : v.as_int() != 0;
}

Result<Value> evaluate(const Expression& expression, const NameLookup& lookup, const CallHook& call) {
  return Evaluator(expression, lookup, call).run();
}

Result<Value> evaluate_text(std::string_view text, const NameLookup& lookup, const CallHook& call) {
  RLDB_TRY(const Expression expression, parse(text));
  return evaluate(expression, lookup, call);
}

}  // namespace rldb::expression
