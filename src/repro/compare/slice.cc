// The bindings from which a tensor is computed, up to tensors that are given, in a function of their own.
#include "repro/compare/slice.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/reduce/moves.h"
#include "repro/values.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

// Most bindings of a part that is shown by itself.
constexpr std::size_t kMostBindings = 200;

bool has_numbers(const ir::TensorType* t) {
  return t->has_shape &&
         std::all_of(t->shape.begin(), t->shape.end(), [](const ir::Expr* dim) { return as<ir::IntImm>(dim); });
}

class RenamedVariables : public ir::Rewriter {
 public:
  using Rewriter::remap;
  using Rewriter::Rewriter;
};

}  // namespace

const ir::Var* GivenTensors::find(const Value& v) const {
  for (const auto& [var, value] : all_)
    if (value.is(ValueKind::Tensor) && v.is(ValueKind::Tensor) && same_bits(value.as_tensor(), v.as_tensor()))
      return var;
  return nullptr;
}

const ir::Var* GivenTensors::add(const std::string& name, const Value& v) {
  if (const ir::Var* known = find(v)) return known;
  std::string unique = name;
  for (int i = 1; names_.contains(unique); ++i) unique = fmt::format("{}_{}", name, i);
  names_.insert(unique);
  all_.emplace_back(ctx_.var(unique, session::type_of_value(ctx_, v)), v);
  return all_.back().first;
}

Slice::Slice(ir::Context& ctx, const Program& program, const Trace& trace, GivenTensors& given)
    : ctx_(ctx), program_(program), trace_(trace), given_(given) {
  f_ = as<ir::Function>(program.module->find(program.function));
  for (const ir::BindingBlock* block : f_->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      made_by_[b->var] = b;
      const auto [it, fresh] = by_variable_.emplace(b->var->name, b);
      if (!fresh) it->second = nullptr;
    }
}

bool Slice::take(std::size_t event, bool deep, std::string& why) {
  const Event& e = trace_.events[event];
  if (!taken_.insert(event).second) return true;
  const ir::Binding* own = own_binding(e.binding);
  if (!own) {
    why = fmt::format("`{}` is not computed at the top of `{}`", e.name(), program_.function);
    return false;
  }
  bindings_.insert(own);
  for (const Reading& r : e.inputs) {
    if (r.event == kNoEvent) {
      why = fmt::format("it is not known what computed `{}`", r.name);
      return false;
    }
    const Event& input = trace_.events[r.event];
    const ir::Var* known = given_.find(input.value);
    if (!known && (!deep || input.is_parameter())) known = given_.add(r.name, input.value);
    if (known) {
      by_name_[r.name] = known;
      for (const std::string& name : input.names) by_name_.emplace(name, known);
    } else if (!take(r.event, deep, why)) {
      return false;
    }
  }
  return bindings_.size() <= kMostBindings;
}

// The binding at the top of the function that is this one, or became it when operators were made kernels. Null: none.
const ir::Binding* Slice::own_binding(const ir::Binding* b) const {
  if (!b) return nullptr;
  if (const auto it = made_by_.find(b->var); it != made_by_.end() && it->second == b) return b;
  const auto named = by_variable_.find(b->var->name);
  return named == by_variable_.end() ? nullptr : named->second;
}

// Memory whose shape the program computes, say from its shape heap, as memory of the shape that it had in the run; the
// value itself otherwise.
const ir::Expr* Slice::value_of(const ir::Binding* b) const {
  const auto* call = as<ir::Call>(b->value);
  const auto* type = as<ir::TensorType>(b->var->type);
  if (!call || !op::is_call_with(call, op::Trait::Allocates) || !type || has_numbers(type)) return b->value;
  for (const Event& e : trace_.events) {
    const bool named = std::find(e.names.begin(), e.names.end(), b->var->name) != e.names.end();
    if (!named || e.function != program_.function || !e.value.is(ValueKind::Tensor)) continue;
    const auto* of_run = as<ir::TensorType>(session::type_of_value(ctx_, e.value));
    const ir::Expr* args[] = {ctx_.shape(of_run->shape), ctx_.dtype(of_run->dtype), ctx_.i64(0), ctx_.string("global")};
    const ir::Type* types[] = {of_run};
    return ctx_.call_typed(ctx_.op(op::BuiltinAllocTensor), args, of_run, {}, types);
  }
  return b->value;
}

const ir::Var* Slice::given_to(const ir::Var* v) const {
  const auto it = by_name_.find(v->name);
  return it == by_name_.end() ? nullptr : it->second;
}

// A tensor that a call takes and does not read: it is given too.
bool Slice::is_passed_on(const ir::Var* v) {
  const auto made = made_by_.find(v);
  if (made != made_by_.end() && bindings_.contains(made->second)) return false;
  for (std::size_t i = trace_.events.size(); i-- > 0;) {
    const Event& e = trace_.events[i];
    const bool named = std::find(e.names.begin(), e.names.end(), v->name) != e.names.end();
    if (!named || e.function != program_.function || !e.value.is(ValueKind::Tensor)) continue;
    if (taken_.contains(i)) return false;
    by_name_[std::string(v->name)] = given_.add(std::string(v->name), e.value);
    return true;
  }
  return false;
}

// Variables of dataflow blocks become plain ones.
bool Slice::ends_at(std::size_t event, std::string& why) {
  std::vector<const ir::Binding*> open(bindings_.begin(), bindings_.end());
  while (!open.empty()) {
    const ir::Binding* b = open.back();
    open.pop_back();
    const ir::Expr* value = value_of(b);
    for (const ir::Var* v : value == b->value ? ir::free_vars(b) : ir::free_vars(value)) {
      const auto made = made_by_.find(v);
      if (given_to(v) || is_passed_on(v)) continue;
      if (made == made_by_.end() || !bindings_.insert(made->second).second) continue;
      open.push_back(made->second);
    }
  }
  RenamedVariables renamed(ctx_);
  for (const auto& [v, b] : made_by_)
    if (const ir::Var* known = given_to(v)) renamed.remap(v, known);
  for (const ir::Var* p : f_->params)
    if (const ir::Var* known = given_to(p)) renamed.remap(p, known);
  std::vector<const ir::Binding*> bindings;
  std::map<std::string, const ir::Var*, std::less<>> vars;
  for (const ir::BindingBlock* block : f_->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      if (!bindings_.contains(b)) continue;
      const ir::Expr* value = renamed.rewrite(value_of(b));
      const ir::Var* var = ctx_.var(b->var->name, b->is_match_cast() ? b->var->type : value->type);
      bindings.push_back(b->is_match_cast() ? ctx_.match_cast(var, value, b->cast_type) : ctx_.binding(var, value));
      if (!given_to(b->var)) renamed.remap(b->var, var);
      vars[std::string(b->var->name)] = var;
    }
  const ir::Var* result = nullptr;
  for (const std::string& name : trace_.events[event].names)
    if (const auto it = vars.find(name); it != vars.end() && holds_values(it->second->type)) result = it->second;
  if (!result) why = "the tensor has no variable";
  if (!result) return false;
  const ir::BindingBlock* blocks[] = {ctx_.block(bindings)};
  result_ = ctx_.seq(blocks, result);
  return true;
}

const ir::Module* Slice::finished() const {
  std::vector<const ir::Var*> params;
  for (const auto& [var, value] : given_.all()) params.push_back(var);
  const ir::Function* made = ctx_.function(params, result_, result_->type, f_->is_pure,
                                           ctx_.with_attr(f_->attrs, attr_name::NumInput, nullptr));
  const std::string_view roots[] = {program_.function};
  return ir::reachable_from(ctx_, with_function(ctx_, program_.module, program_.function, made), roots);
}

// The symbolic dims of the function as the numbers that they are for these arguments.
Program with_numbers(session::Session& session, Program p, std::string& why) {
  const auto* f = as<ir::Function>(p.module->find(p.function));
  std::string map;
  for (std::size_t i = 0; f && i < f->params.size() && i < p.args.size(); ++i) {
    const auto* t = as<ir::TensorType>(f->params[i]->type);
    if (!t || !t->has_shape || !p.args[i].is(ValueKind::Tensor)) continue;
    for (std::size_t d = 0; d < t->shape.size(); ++d)
      if (const auto* v = as<ir::Var>(t->shape[d]))
        if (const std::string name = fmt::format("\"{}\": ", v->name); map.find(name) == std::string::npos)
          map += fmt::format("{}{}{}", map.empty() ? "" : ", ", name, p.args[i].as_tensor().shape()[d]);
  }
  if (map.empty()) return p;
  session.set_program(p.module);
  source::Diagnostics found;
  const std::string pass(passes::info(passes::PassId::BindSymbolicVars).name);
  if (session.run_passes(fmt::format("{}(binding_map={{{}}}, func_name={})", pass, map, p.function), found))
    p.module = session.module();
  else
    why = found.first_error();
  return p;
}

}  // namespace rldb::repro
