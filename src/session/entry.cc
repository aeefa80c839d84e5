// Entries at the prompt: bare TVMScript. All or nothing: the module and values change only when every item of the entry
// was parsed, typed, verified and evaluated.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/eval/eval.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/size.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"
#include "session/engines.h"

namespace rldb::session {

using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::string_view kEntryFunction = "__entry__";

const ir::NamedAttr global_symbol(ir::Context& ctx, std::string_view name) {
  return ctx.named(attr_name::GlobalSymbol, ctx.attr(name));
}

void put(ir::Context& ctx, ValueTable& values, std::string name, Value value) {
  const ir::Var* var = ctx.var(name, type_of_value(ctx, value));
  values.put({std::move(name), std::move(value), var});
}

// The newest of a name is the one that later entries mean.
class SessionNames final : public frontend::OuterNames {
 public:
  SessionNames(ir::Context& ctx, const ValueTable& values, const SymbolTable& symbols)
      : ctx_(ctx), values_(values), symbols_(symbols) {}
  const ir::Expr* find(std::string_view name) const override {
    if (const NamedValue* v = values_.find(name)) {
      // As a number of the text, which constants and dimensions may have: `R.const(i)` in a loop.
      if (!symbols_.find(name)) {
        if (v->value.is(ValueKind::Int)) return ctx_.i64(v->value.as_int());
        if (v->value.is(ValueKind::Bool)) return ctx_.bool_imm(v->value.as_int() != 0);
        if (v->value.is(ValueKind::Float)) return ctx_.float_imm(runtime::DType::Float(64), v->value.as_float());
      }
      return v->var;
    }
    const ir::Var* const* symbol = symbols_.find(name);
    return symbol ? *symbol : nullptr;
  }
  std::vector<std::string_view> all() const override {
    std::vector<std::string_view> names;
    for (const NamedValue& v : values_.in_order()) names.push_back(v.name);
    for (const ir::Var* v : symbols_.in_order()) names.push_back(v->name);
    return names;
  }

 private:
  ir::Context& ctx_;
  const ValueTable& values_;
  const SymbolTable& symbols_;
};

// Names of functions that a value may call.
void collect_functions(const Value& value, std::vector<std::string_view>& out) {
  std::vector<const Value*> open{&value};  // lists nest as deep as they are long
  while (!open.empty()) {
    support::poll();
    const Value& v = *open.back();
    open.pop_back();
    if (v.is(ValueKind::Tuple))
      for (const Value& field : v.as_tuple().fields) open.push_back(&field);
    if (!v.is(ValueKind::Function)) continue;
    out.push_back(v.as_function().name);
    for (const Value& captured : v.as_function().captured) open.push_back(&captured);
  }
}

}  // namespace

namespace {

// Types of values; a tuple that occurs in many places is typed once.
class ValueTyper {
 public:
  explicit ValueTyper(ir::Context& ctx) : ctx_(ctx) {}
  const ir::Type* type_of(const Value& value, int depth = 0);

 private:
  const ir::Type* tuple_type(const Value& value, int depth);
  std::vector<const ir::Expr*> dims(const std::vector<std::int64_t>& shape) {
    std::vector<const ir::Expr*> exprs;
    for (const std::int64_t d : shape) exprs.push_back(ctx_.i64(d));
    return exprs;
  }

  ir::Context& ctx_;
  ir::TypeBudget budget_;
  std::unordered_map<const runtime::Object*, const ir::Type*> tuples_;
};

// A value whose type would be too large for a variable of a program is an Any.
const ir::Type* ValueTyper::tuple_type(const Value& value, int depth) {
  if (depth > ir::kMaxTypeDepth) return ctx_.any();
  if (const auto known = tuples_.find(value.object()); known != tuples_.end()) return known->second;
  support::poll();
  std::vector<const ir::Type*> fields;
  for (const Value& f : value.as_tuple().fields) fields.push_back(type_of(f, depth + 1));
  const ir::Type* type = ctx_.tuple_type(fields);
  if (budget_.size_of(type) > ir::kMaxTypeSize) type = ctx_.any();
  tuples_.emplace(value.object(), type);
  return type;
}

}  // namespace

const ir::Type* type_of_value(ir::Context& ctx, const Value& value) { return ValueTyper(ctx).type_of(value); }

namespace {

const ir::Type* ValueTyper::type_of(const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::Tensor:
      return ctx_.tensor(dims(value.as_tensor().shape()), value.as_tensor().dtype());
    case ValueKind::Shape:
      return ctx_.shape_type(dims(value.as_shape()));
    case ValueKind::Int:
      return ctx_.int64();
    case ValueKind::Bool:
      return ctx_.boolean();
    case ValueKind::Float:
      return ctx_.prim(runtime::DType::Float(64));
    case ValueKind::Tuple:
      return tuple_type(value, depth);
    case ValueKind::Function:
      return ctx_.opaque_func_type();
    case ValueKind::Null:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Storage:
    case ValueKind::Object:
      return ctx_.any();
  }
  RLDB_UNREACHABLE("value kind");
}

}  // namespace

void Session::set_value(std::string name, Value value) {
  // `$2`, a value that was printed, without a value: it is given up.
  const bool numbered = name.size() > 1 && name[0] == '$' && name[1] >= '0' && name[1] <= '9';
  if (numbered && value.is(ValueKind::Null)) {
    values_.erase(name);
    return;
  }
  put(*ctx_, values_, std::move(name), std::move(value));
}

const Value* Session::find_value(std::string_view name) const {
  const NamedValue* v = values_.find(name);
  return v ? &v->value : nullptr;
}

// Passes work on bindings: a call that is the result gets one.
static const ir::SeqExpr* with_bound_result(ir::Context& ctx, const ir::SeqExpr* value) {
  if (!ir::isa<ir::Call>(value->body) && !ir::isa<ir::If>(value->body) && !ir::isa<ir::TupleGetItem>(value->body))
    return value;
  const ir::Var* var = ctx.var("result", value->body->type);
  const std::vector<const ir::Binding*> bindings{ctx.binding(var, value->body)};
  std::vector<const ir::BindingBlock*> blocks(value->blocks.begin(), value->blocks.end());
  blocks.push_back(ctx.block(bindings));
  return ctx.seq(blocks, var);
}

// The values that an entry may use, while it is evaluated.
struct Session::EntryValues {
  ValueTable named;
  // Of its own earlier items, by the variables that the front end has created.
  std::unordered_map<const ir::Var*, Value> own;

  const Value* find(const ir::Var* v) const {
    if (const NamedValue* known = named.find(v->name); known && known->var == v) return &known->value;
    const auto known = own.find(v);
    return known == own.end() ? nullptr : &known->second;
  }
};

// The machine computes booleans as integers.
static Value with_booleans(const ir::Type* type, const Value& v) {
  const auto* scalar = ir::as<ir::PrimType>(type);
  if (scalar && scalar->dtype.is_bool() && v.is(ValueKind::Int)) return Value::of_bool(v.as_int() != 0);
  const auto* tuple = ir::as<ir::TupleType>(type);
  if (!tuple || !v.is(ValueKind::Tuple) || v.as_tuple().fields.size() != tuple->fields.size()) return v;
  if (std::none_of(tuple->fields.begin(), tuple->fields.end(), [](const ir::Type* t) {
        const auto* p = ir::as<ir::PrimType>(t);
        return (p && p->dtype.is_bool()) || ir::as<ir::TupleType>(t);
      }))
    return v;
  std::vector<Value> fields;
  for (std::size_t i = 0; i < tuple->fields.size(); ++i)
    fields.push_back(with_booleans(tuple->fields[i], v.as_tuple().fields[i]));
  return Value::of_tuple(std::move(fields));
}

// Runs `value` as the body of a function whose parameters are the session values it mentions.
std::optional<Value> Session::evaluate(const ir::SeqExpr* value, const ir::Module* module, const EntryValues& values,
                                       source::Span span, const EntryRunner& run, Diagnostics& out) {
  std::vector<const ir::Var*> params;
  std::vector<Value> args;
  for (const ir::Var* v : ir::free_vars(value)) {
    const Value* known = values.find(v);
    if (!known) {
      out.add(span, source::message(diag::NoValueYet, v->name));
      return std::nullopt;
    }
    params.push_back(v);
    args.push_back(*known);
  }
  // The parameters have the types of these very values: nothing about them is left to check at run time.
  const std::vector<ir::NamedAttr> attrs{global_symbol(*ctx_, kEntryFunction),
                                         ctx_->named(attr_name::NumInput, ctx_->attr(0))};
  value = with_bound_result(*ctx_, value);
  // Symbols that a match_cast of the entry binds end with it.
  const ir::Type* const result = ir::erase(
      *ctx_, value->type, [&](const ir::Var* v) { return std::find(params.begin(), params.end(), v) != params.end(); });
  const ir::Function* f = ctx_->function(params, value, result, false, attrs);
  ctx_->spans().set(f, span);
  ir::ModuleBuilder builder = module ? ir::ModuleBuilder(*ctx_, *module) : ir::ModuleBuilder(*ctx_);
  builder.set(kEntryFunction, f);
  // Functions that the entry does not reach need not be buildable.
  std::vector<std::string_view> roots{kEntryFunction};
  for (const Value& v : args) collect_functions(v, roots);
  const ir::Module* reached = ir::reachable_from(*ctx_, builder.build(), roots);
  auto built = build_module(reached, out);
  if (!built) return std::nullopt;
  std::optional<Value> made;
  if (run && reached->entries.size() > 1) {
    made = run(std::move(built), kEntryFunction, args);
  } else if (RunResult result = run_build(*built, kEntryFunction, args, out); result.ok) {
    made = std::move(result.value);
  }
  return made ? std::optional(with_booleans(value->type, *made)) : std::nullopt;
}

namespace {

ir::Span<const ir::Expr*> dims_written(const ir::Type* type) {
  if (const auto* t = ir::as<ir::TensorType>(type); t && t->has_shape) return t->shape;
  if (const auto* t = ir::as<ir::ShapeType>(type); t && t->has_values) return t->values;
  return {};
}

// The dims of T that are expressions of symbolic variables, once those have their values. A symbol without one is
// diagnosed: nothing was checked.
bool computed_dims_fit(ir::Context& ctx, source::Span span, ir::Span<const ir::Expr*> wanted,
                       ir::Span<const ir::Expr*> got, const ValueTable& named,
                       const std::unordered_map<const ir::Var*, Value>& own, bool& fits, Diagnostics& out) {
  ir::Analyzer analyzer(ctx);
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    if (ir::isa<ir::Var>(wanted[i]) || ir::const_int(wanted[i])) continue;
    std::vector<const ir::Var*> vars;
    ir::collect_vars(wanted[i], vars);
    ir::VarMap values;
    for (const ir::Var* v : vars) {
      const auto here = own.find(v);
      const NamedValue* n = named.find(v->name);
      const Value* value = here != own.end() ? &here->second : n ? &n->value : nullptr;
      if (!value || !value->is(ValueKind::Int)) {
        out.add(span, source::message(diag::VerifyUndefinedSymbol, v->name));
        return false;
      }
      values.emplace(v, ctx.i64(value->as_int()));
    }
    const std::optional<std::int64_t> size = ir::const_int(got[i]);
    const auto computed = ir::const_int(analyzer.simplify(ir::substitute(ctx, wanted[i], values)));
    fits = !size || !computed || *size == *computed;
  }
  return true;
}

// `x = R.match_cast(y, T)`: the symbolic variables of T get the dims of the value, as values of the session. False: the
// value is of another type, which is diagnosed.
bool take_dims(ir::Context& ctx, const frontend::ParsedItem& item, const Value& value, SymbolTable& symbols,
               ValueTable& named, std::unordered_map<const ir::Var*, Value>& own, Diagnostics& out) {
  const ir::Type* const actual = type_of_value(ctx, value);
  const auto wanted = dims_written(item.annotation), got = dims_written(actual);
  const auto* cast = ir::as<ir::TensorType>(item.annotation);
  const auto* given = ir::as<ir::TensorType>(actual);
  bool fits = wanted.empty() || wanted.size() == got.size();
  fits = fits && (!cast || (given && (cast->dtype.is_void() || cast->dtype == given->dtype)));
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    const std::optional<std::int64_t> size = ir::const_int(got[i]);
    const auto* v = ir::as<ir::Var>(wanted[i]);
    std::optional<std::int64_t> known = ir::const_int(wanted[i]);
    if (const NamedValue* n = v ? named.find(v->name) : nullptr; n && n->value.is(ValueKind::Int))
      known = n->value.as_int();
    fits = !known || !size || *known == *size;
    if (!v || known || !size) continue;
    put(ctx, named, std::string(v->name), Value::of_int(*size));
    own[v] = Value::of_int(*size);
    symbols.erase(v->name);
  }
  if (fits && !computed_dims_fit(ctx, item.span, wanted, got, named, own, fits, out)) return false;
  if (!fits)
    out.add(item.span,
            source::message(diag::RunFailed, fmt::format("match_cast: the value is {}, not {}",
                                                         runtime::describe(value), ir::print_type(item.annotation))));
  return fits;
}

}  // namespace

EntryResult Session::enter(std::string_view text, Diagnostics& out, const EntryRunner& run) {
  EntryResult result;
  result.ok = false;
  const std::string name = fmt::format("<prompt:{}>", ++engines_->entries);
  const source::FileId file = sources_.add(name, std::string(text));
  const ir::Module* staged = module();
  EntryValues values{values_, {}};
  SymbolTable symbols = symbols_;
  const SessionNames names(*ctx_, values_, symbols_);
  const frontend::ParseResult parsed = frontend::parse_input(*ctx_, sources_, file, {staged, {}, {}, &names}, out);
  if (!parsed.ok) return result;

  for (const frontend::ParsedItem& item : parsed.items) {
    EntryResult::Item done{item.kind, std::string(item.name), std::nullopt, nullptr};
    switch (item.kind) {
      case frontend::ItemKind::Module:
        staged = item.module;
        if (!ir::verify(*ctx_, staged, out)) return result;
        break;
      case frontend::ItemKind::Function: {
        ir::ModuleBuilder builder = staged ? ir::ModuleBuilder(*ctx_, *staged) : ir::ModuleBuilder(*ctx_);
        builder.set(item.name, item.function);
        staged = builder.build();
        if (!ir::verify_function(*ctx_, staged, item.name, out)) return result;
        done.type = item.function->type;
        break;
      }
      case frontend::ItemKind::Binding:
      case frontend::ItemKind::Expression: {
        auto value = evaluate(item.value, staged, values, item.span, run, out);
        if (!value) return result;
        if (item.is_match_cast && !take_dims(*ctx_, item, *value, symbols, values.named, values.own, out))
          return result;
        done.value = *value;
        done.type = item.var ? item.var->type : item.value->type;
        if (item.kind == frontend::ItemKind::Binding) {
          put(*ctx_, values.named, std::string(item.name), *value);
          values.own[item.var] = *value;
        }
        if (!value->is_null()) put(*ctx_, values.named, "_", *value);
        break;
      }
      case frontend::ItemKind::Symbols:
        for (const ir::Var* v : item.symbols) {
          symbols.erase(v->name);
          symbols.put(v);
          values.named.erase(v->name);
        }
        break;
    }
    result.items.push_back(std::move(done));
  }
  // From here on only the history can fail, which comes first.
  if (staged != module()) set_module(staged);
  values_ = std::move(values.named);
  symbols_ = std::move(symbols);
  result.ok = true;
  return result;
}

namespace {

// Takes the value of a binding of the outermost function, and stops the run there.
class BindingValue final : public eval::Watcher {
 public:
  explicit BindingValue(std::string_view name) : name_(name) {}
  void enter(std::string_view, const ir::Function*, runtime::PackedArgs) override { ++depth_; }
  void leave(const Value&) override { --depth_; }
  runtime::Result<support::Unit> bound(const ir::Binding* b, const Value& v) override {
    if (depth_ != 1 || b->var->name != name_) return support::Unit{};
    value = v;
    return runtime::fail(runtime::ErrorKind::Unsupported, "the value is known");
  }
  std::optional<Value> value;

 private:
  std::string_view name_;
  int depth_ = 0;
};

}  // namespace

std::optional<Value> Session::value_of_binding(std::string_view function, std::string_view binding,
                                               std::span<const Value> args, Diagnostics& out) {
  BindingValue watcher(binding);
  Diagnostics found;
  (void)run_watched(module(), function, args, watcher, found);
  if (watcher.value) return std::move(watcher.value);
  for (const source::Diagnostic& d : found.all()) out.add(d);
  return std::nullopt;
}

std::optional<Value> Session::evaluate_with(std::string_view text, std::span<const std::pair<std::string, Value>> scope,
                                            Diagnostics& out, const EntryRunner& run) {
  EntryValues values{values_, {}};
  for (const auto& [name, value] : scope) put(*ctx_, values.named, name, value);
  const SessionNames names(*ctx_, values.named, symbols_);
  const source::FileId file = sources_.add("<expression>", std::string(text));
  const frontend::ParseResult parsed = frontend::parse_input(*ctx_, sources_, file, {module(), {}, {}, &names}, out);
  if (!parsed.ok) return std::nullopt;
  if (parsed.items.size() != 1 || parsed.items[0].kind != frontend::ItemKind::Expression) {
    out.add({file, 0, std::uint32_t(text.size())}, source::message(diag::NoSuchThing, "expression", text));
    return std::nullopt;
  }
  return evaluate(parsed.items[0].value, module(), values, parsed.items[0].span, run, out);
}

const ir::Type* Session::type_of(std::string_view text, Diagnostics& out) {
  if (module()) {
    if (const ir::Expr* f = module()->find(text)) return f->type;
  }
  const source::FileId file = sources_.add(fmt::format("<prompt:{}>", ++engines_->entries), std::string(text));
  const SessionNames names(*ctx_, values_, symbols_);
  const frontend::ParseResult parsed = frontend::parse_input(*ctx_, sources_, file, {module(), {}, {}, &names}, out);
  if (!parsed.ok || parsed.items.empty()) return nullptr;
  const frontend::ParsedItem& last = parsed.items.back();
  if (last.var) return last.var->type;
  if (last.value) return last.value->type;
  return last.function ? last.function->type : nullptr;
}

}  // namespace rldb::session
