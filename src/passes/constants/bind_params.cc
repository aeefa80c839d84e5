// BindParams(func_name, params={"w": @w.npy}): parameters become constants of the function.
//
// A value is written as for `--input` (`@w.npy`, `2x3xf32=ones`), as NumPy prints an array, or as a number or a list of
// the parameter's dtype. The shapes of the values determine those of symbolic variables. A name that the function does
// not have is skipped with a warning, as in TVM, where one dictionary may serve several functions.
#include <algorithm>

#include "passes/common.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using runtime::Value;
using runtime::ValueKind;
using source::message;
using support::Failure;
using support::trim;

namespace {

// ---- values as text ----

// `array([1, 2], dtype=float32)` -> `[1, 2]`, float32. TVM's own arrays print `<... Tensor shape=(2,), cpu:0>` first.
struct ArrayText {
  std::string_view list;
  std::string_view dtype;
};
std::optional<ArrayText> array_text(std::string_view text) {
  if (text.starts_with('<')) {
    const std::size_t close = text.find('>');
    if (close == std::string_view::npos) return std::nullopt;
    text = trim(text.substr(close + 1));
  }
  if (text.starts_with('[')) return ArrayText{text, {}};
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.substr(0, open).ends_with("array") || !text.ends_with(')'))
    return std::nullopt;
  ArrayText found;
  for (const std::string_view item : split_items(text.substr(open + 1, text.size() - open - 2))) {
    if (item.starts_with('['))
      found.list = item;
    else if (item.starts_with("dtype="))
      found.dtype = unquote(item.substr(6));
    else
      return std::nullopt;
  }
  return found.list.empty() ? std::nullopt : std::optional<ArrayText>(found);
}

runtime::Result<Value> read_value(std::string_view text, const Type* type) {
  const auto* tensor = as<TensorType>(type);
  const DType wanted = tensor && !tensor->dtype.is_void() ? tensor->dtype : DType::Float(32);
  if (const auto array = array_text(text)) {
    const auto named = array->dtype.empty() ? wanted : runtime::parse_dtype(array->dtype);
    if (!named) return runtime::fail(runtime::ErrorKind::TypeMismatch, "no dtype `" + std::string(array->dtype) + "`");
    return runtime::parse_list(array->list, *named);
  }
  if (tensor && runtime::is_number_text(text))
    return runtime::parse_value_literal(runtime::to_string(wanted) + "=" + std::string(text));
  RLDB_TRY(Value value, runtime::parse_value_literal(text));
  // Files have no bfloat16 or float8: such arrays are stored as integers of the same width.
  if (value.is(ValueKind::Tensor) && value.as_tensor().dtype() != wanted && wanted.is_float() &&
      value.as_tensor().dtype().is_uint())
    return runtime::reinterpret_as(value, wanted);
  return value;
}

// ---- binding ----

class ParamBinder : public Rewriter {
 public:
  using Rewriter::Rewriter;

  Result<support::Unit> add(const Var* p, std::string_view text) {
    auto value = read_value(text, p->type);
    if (!value.ok())
      return Failure(message(diag::PassParamValue, p->name, "`" + std::string(text) + "`: " + value.error().message));
    if (!value->is(ValueKind::Tensor))
      return Failure(message(diag::PassParamValue, p->name, runtime::describe(*value) + " is not a tensor"));
    const Constant* constant = ctx_.constant(std::move(value).value());
    ctx_.set_origin(constant, p);
    constants_.push_back({p, constant});
    remap(p, constant);
    return learn(p, as<TensorType>(p->type), as<TensorType>(constant->type));
  }

  Result<const Function*> bind(const Function* f) {
    if (constants_.empty()) return f;
    for (const auto& [p, constant] : constants_) {
      const Type* wanted = rewrite_type(p->type);
      if (base_check(ctx_, wanted, constant->type) == BaseCheck::FailL0)
        return Failure(
            message(diag::PassParamValue, p->name, type_text(constant->type) + " is no " + type_text(wanted)));
    }
    RLDB_TRY_VOID(check_bound(f));
    return rebuilt(f);
  }

 private:
  static std::string type_text(const Type* t) { return "`" + print_type(t) + "`"; }

  // The dims of a value determine the variables in the parameter's type.
  Result<support::Unit> learn(const Var* p, const TensorType* wanted, const TensorType* got) {
    if (!wanted || !wanted->has_shape || wanted->shape.size() != got->shape.size()) return support::Unit{};
    for (std::size_t i = 0; i < wanted->shape.size(); ++i) {
      const auto* v = as<Var>(wanted->shape[i]);
      if (!v) continue;
      const Expr* known = lookup(v);
      if (known != v && as<IntImm>(known)->value != as<IntImm>(got->shape[i])->value)
        return Failure(message(diag::PassParamValue, p->name,
                               "`" + std::string(v->name) + "` is " + print_expr(known) + " by another value, here " +
                                   print_expr(got->shape[i])));
      remap(v, got->shape[i]);
    }
    return support::Unit{};
  }

  // A variable that only a bound parameter determined, and only inside an expression (`n * 2`), would be lost.
  Result<support::Unit> check_bound(const Function* f) {
    std::unordered_set<const Var*> known;
    for (const Var* p : f->params)
      if (!is_bound(p)) bound_symbols(p->type, known);
    for (const auto& [p, constant] : constants_) {
      std::vector<const Var*> mentioned;
      collect_vars(p->type, mentioned);
      for (const Var* v : mentioned)
        if (lookup(v) == v && !known.count(v))
          return Failure(message(diag::PassParamValue, p->name,
                                 "`" + std::string(v->name) + "` would have nothing left that gives its value"));
    }
    return support::Unit{};
  }

  bool is_bound(const Var* p) const { return lookup(p) != p; }

  const Function* rebuilt(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params)
      if (!is_bound(p)) params.push_back(define_var(p));
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Function* made =
        ctx_.function(params, body, rewrite_type(f->ret_type), f->is_pure, rewrite_attrs(remaining_inputs(f)));
    ctx_.set_origin(made, f);
    return made;
  }

  // `num_input` counts the leading parameters that are not weights: bound ones are removed.
  Span<NamedAttr> remaining_inputs(const Function* f) {
    const Attr* count = find_attr(f->attrs, attr_name::NumInput);
    if (!count || count->integer < 0) return f->attrs;
    const std::size_t inputs = std::min(std::size_t(count->integer), f->params.size());
    const auto gone = std::count_if(f->params.begin(), f->params.begin() + std::ptrdiff_t(inputs),
                                    [&](const Var* p) { return is_bound(p); });
    return gone == 0 ? f->attrs : ctx_.with_attr(f->attrs, attr_name::NumInput, ctx_.attr(count->integer - gone));
  }

  std::vector<std::pair<const Var*, const Constant*>> constants_;
};

Result<const Function*> bind(PassEnv& env, const Function* f, const pipeline::option::Dict& values) {
  ParamBinder binder(env.ctx);
  for (const auto& [name, value] : values) {
    const Var* found = nullptr;
    for (const Var* p : f->params) {
      if (p->name != name) continue;
      if (found) return Failure(message(diag::PassParamValue, name, "two parameters have that name"));
      found = p;
    }
    if (!found)
      env.diagnostics.add(env.ctx.span_of(f), message(diag::PassParamUnknown, name));
    else
      RLDB_TRY_VOID(binder.add(found, value.written));
  }
  return binder.bind(f);
}

}  // namespace

Result<const Module*> bind_params(PassEnv& env, const Module* module, const BindParamsOptions& options) {
  if (!options.func_name) return Failure(message(diag::PassOptionValue, "func_name", "a function's name", "nothing"));
  if (!options.params)
    return Failure(message(diag::PassOptionValue, "params", "a dictionary `{name: value}`", "nothing"));
  const std::string& wanted = *options.func_name;
  const Expr* found = module->find(wanted);
  if (!isa<Function>(found)) return Failure(message(diag::PassNoFunction, wanted));
  return map_functions(env, module, [&](std::string_view at, const Function* f) -> Result<const Function*> {
    if (at != wanted) return f;
    return bind(env, f, *options.params);
  });
}

}  // namespace rldb::passes
