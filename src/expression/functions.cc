// The functions and attributes of the expression language, from the rows of function.def.
#include "rldb/expression/functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "expression/form.h"
#include "rldb/expression/array.h"
#include "rldb/support/text.h"

namespace rldb::expression {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

std::vector<FunctionRow::Parameter> parameters_of(std::string_view text) {
  std::vector<FunctionRow::Parameter> list;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string_view one = support::trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    FunctionRow::Parameter p;
    if (one.starts_with('*')) {
      p.rest = true;
      one.remove_prefix(1);
    }
    const auto equals = one.find('=');
    p.optional = equals != std::string_view::npos;
    p.name = one.substr(0, equals);
    list.push_back(p);
  }
  return list;
}

std::vector<FunctionRow> make_functions() {
  std::vector<FunctionRow> rows{
#define RLDB_FUNCTION(id, name, parameters, doc) {name, parameters, doc, function_##id, parameters_of(parameters)},
#include "rldb/expression/function.def"
  };
  return rows;
}

}  // namespace

const std::vector<FunctionRow>& functions() {
  static const std::vector<FunctionRow> rows = make_functions();
  return rows;
}

const FunctionRow* find_function(std::string_view name) {
  for (const FunctionRow& row : functions())
    if (row.name == name) return &row;
  return nullptr;
}

std::string FunctionRow::misfit(std::size_t count, const std::vector<std::string>& keywords, bool method) const {
  const auto takes = [&] { return fmt::format("`{}` takes ({})", name, parameters); };
  const std::size_t first = method ? 1 : 0;
  const std::size_t named =
      std::size_t(std::count_if(keywords.begin(), keywords.end(), [](const std::string& k) { return !k.empty(); }));
  const std::size_t positional = count - named;
  std::vector<bool> given(list.size());
  for (std::size_t i = 0; i < positional; ++i) {
    if (i < list.size())
      given[i] = true;
    else if (!list.back().rest)
      return fmt::format("{}, but got {}", takes(), support::counted(positional - first, "argument"));
  }
  for (const std::string& keyword : keywords) {
    if (keyword.empty()) continue;
    const auto at = std::find_if(list.begin(), list.end(), [&](const Parameter& p) { return p.name == keyword; });
    if (at == list.end() || at->rest) return fmt::format("{}; it has no `{}`", takes(), keyword);
    const auto i = std::size_t(at - list.begin());
    if (given[i]) return fmt::format("`{}` is given twice", keyword);
    given[i] = true;
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!given[i] && !list[i].optional && !list[i].rest)
      return fmt::format("{}: `{}` is missing", takes(), list[i].name);
  return {};
}

Result<Value> call_function(const FunctionRow& row, std::vector<Value> arguments,
                            const std::vector<std::string>& keywords) {
  Arguments bound;
  bound.values.resize(row.list.size());
  // Keywords belong to the last arguments.
  const std::size_t before = arguments.size() - keywords.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view keyword = i < before ? std::string_view() : std::string_view(keywords[i - before]);
    std::size_t to = i;
    if (!keyword.empty())
      for (to = 0; row.list[to].name != keyword;) ++to;
    if (to >= row.list.size() || row.list[to].rest)
      bound.rest.push_back(std::move(arguments[i]));
    else
      bound.values[to] = std::move(arguments[i]);
  }
  return row.run(bound);
}

// ---- attributes ----

namespace {

using Attribute = Result<Value> (*)(const Value&);

Result<Value> has(const Value& v, std::string_view test) {
  RLDB_TRY(const Value tests, call_function(*find_function(test), {v}, {}));
  RLDB_TRY(const Value any, call_function(*find_function("any"), {tests}, {}));
  return number_of(any);
}

}  // namespace

// Every tensor has a size and a dtype, whether or not its elements are numbers.
static Result<support::Ref<Tensor>> any_tensor(const Value& v) {
  return v.is(ValueKind::Tensor) ? v.tensor_ref() : as_tensor(v);
}
static Result<Value> attribute_Shape(const Value& v) {
  RLDB_TRY(const auto t, any_tensor(v));
  return Value::of_shape(t->shape());
}
static Result<Value> attribute_Ndim(const Value& v) {
  if (v.is(ValueKind::Shape)) return Value::of_int(std::int64_t(v.as_shape().size()));
  RLDB_TRY(const auto t, any_tensor(v));
  return Value::of_int(t->ndim());
}
static Result<Value> attribute_Size(const Value& v) {
  if (v.is(ValueKind::Tuple)) return Value::of_int(std::int64_t(v.as_tuple().fields.size()));
  RLDB_TRY(const auto t, any_tensor(v));
  return Value::of_int(t->element_count());
}
static Result<Value> attribute_DType(const Value& v) {
  RLDB_TRY(const auto t, any_tensor(v));
  return Value::of_string(runtime::to_string(t->dtype()));
}
static Result<Value> attribute_Nbytes(const Value& v) {
  RLDB_TRY(const auto t, any_tensor(v));
  return Value::of_int(std::int64_t(t->byte_size()));
}
static Result<Value> attribute_T(const Value& v) { return function_Transpose({{v, Value()}, {}}); }
static Result<Value> attribute_HasNan(const Value& v) { return has(v, "isnan"); }
static Result<Value> attribute_HasInf(const Value& v) { return has(v, "isinf"); }

const std::vector<AttributeRow>& attributes() {
  static const std::vector<AttributeRow> rows{
#define RLDB_ATTRIBUTE(id, name, doc) {name, doc},
#include "expression/attribute.def"
  };
  return rows;
}

Result<Value> attribute_of(const Value& v, std::string_view name) {
  static constexpr std::pair<std::string_view, Attribute> kRows[] = {
#define RLDB_ATTRIBUTE(id, name, doc) {name, attribute_##id},
#include "expression/attribute.def"
  };
  const bool holds = is_number(v) || v.is(ValueKind::Tensor) || v.is(ValueKind::Shape) || v.is(ValueKind::Tuple);
  for (const auto& [known, get] : kRows)
    if (holds && known == name) return get(v);
  const FunctionRow* function = holds ? find_function(name) : nullptr;
  if (function && function->is_fact()) return call_function(*function, {v}, {});
  return fail(ErrorKind::Unsupported, fmt::format("{} has no `.{}`", runtime::describe(v), name));
}

}  // namespace rldb::expression
