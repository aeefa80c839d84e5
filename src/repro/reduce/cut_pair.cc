// Cuts two programs to the computation of their first difference.
#include "rldb/repro/cut_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "repro/borrow.h"
#include "repro/reduce/moves.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

// Most bindings of a part that is shown by itself.
constexpr std::size_t kMostBindings = 200;

bool same_bits(const Value& a, const Value& b) {
  if (!a.is(ValueKind::Tensor) || !b.is(ValueKind::Tensor)) return false;
  const runtime::Tensor &x = a.as_tensor(), &y = b.as_tensor();
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         (x.byte_size() == 0 || std::memcmp(x.data(), y.data(), x.byte_size()) == 0);
}

// The tensors that the cut programs take.
class Given {
 public:
  explicit Given(ir::Context& ctx) : ctx_(ctx) {}

  // Null: there is none with this value.
  const ir::Var* find(const Value& v) const {
    for (const auto& [var, value] : all_)
      if (same_bits(value, v)) return var;
    return nullptr;
  }
  const ir::Var* add(const std::string& name, const Value& v) {
    if (const ir::Var* known = find(v)) return known;
    std::string unique = name;
    for (int i = 1; names_.contains(unique); ++i) unique = fmt::format("{}_{}", name, i);
    names_.insert(unique);
    all_.emplace_back(ctx_.var(unique, session::type_of_value(ctx_, v)), v);
    return all_.back().first;
  }
  const std::vector<std::pair<const ir::Var*, Value>>& all() const { return all_; }

 private:
  ir::Context& ctx_;
  std::vector<std::pair<const ir::Var*, Value>> all_;
  std::set<std::string> names_;
};

// The part of one program from which a tensor is computed.
class Slice {
 public:
  Slice(ir::Context& ctx, const Program& program, const Trace& trace, Given& given)
      : ctx_(ctx), program_(program), trace_(trace), given_(given) {
    f_ = as<ir::Function>(program.module->find(program.function));
    for (const ir::BindingBlock* block : f_->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        made_by_[b->var] = b;
        const auto [it, fresh] = by_variable_.emplace(b->var->name, b);
        if (!fresh) it->second = nullptr;
      }
  }

  // `deep`: also what computes the tensors that it reads, up to those that are given already. False: `why`.
  bool take(std::size_t event, bool deep, std::string& why) {
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

  // With the tensor as its result. Null: `why`.
  const ir::Module* module(std::size_t event, std::string& why) {
    std::vector<const ir::Binding*> open(bindings_.begin(), bindings_.end());
    while (!open.empty()) {
      const ir::Binding* b = open.back();
      open.pop_back();
      for (const ir::Var* v : ir::free_vars(b)) {
        const auto made = made_by_.find(v);
        if (given_to(v) || made == made_by_.end() || !bindings_.insert(made->second).second) continue;
        open.push_back(made->second);
      }
    }
    return build(event, why);
  }

 private:
  // The binding at the top of the function that is this one, or became it when operators were made kernels. Null: none.
  const ir::Binding* own_binding(const ir::Binding* b) const {
    if (!b) return nullptr;
    if (const auto it = made_by_.find(b->var); it != made_by_.end() && it->second == b) return b;
    const auto named = by_variable_.find(b->var->name);
    return named == by_variable_.end() ? nullptr : named->second;
  }

  const ir::Var* given_to(const ir::Var* v) const {
    const auto it = by_name_.find(v->name);
    return it == by_name_.end() ? nullptr : it->second;
  }

  class Remap : public ir::Rewriter {
   public:
    using Rewriter::remap;
    using Rewriter::Rewriter;
  };

  // Variables of dataflow blocks become plain ones.
  const ir::Module* build(std::size_t event, std::string& why) {
    Remap remap(ctx_);
    for (const auto& [v, b] : made_by_)
      if (const ir::Var* known = given_to(v)) remap.remap(v, known);
    for (const ir::Var* p : f_->params)
      if (const ir::Var* known = given_to(p)) remap.remap(p, known);
    std::vector<const ir::Binding*> bindings;
    std::map<std::string, const ir::Var*, std::less<>> vars;
    for (const ir::BindingBlock* block : f_->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        if (!bindings_.contains(b)) continue;
        const ir::Expr* value = remap.rewrite(b->value);
        const ir::Var* var = ctx_.var(b->var->name, b->is_match_cast() ? b->var->type : value->type);
        bindings.push_back(b->is_match_cast() ? ctx_.match_cast(var, value, b->cast_type) : ctx_.binding(var, value));
        if (!given_to(b->var)) remap.remap(b->var, var);
        vars[std::string(b->var->name)] = var;
      }
    const ir::Var* result = nullptr;
    for (const std::string& name : trace_.events[event].names)
      if (const auto it = vars.find(name); it != vars.end() && holds_values(it->second->type)) result = it->second;
    if (!result) why = "the tensor has no variable";
    if (!result) return nullptr;
    const ir::BindingBlock* blocks[] = {ctx_.block(bindings)};
    result_ = ctx_.seq(blocks, result);
    return program_.module;
  }

 public:
  // With all that is given as parameters.
  const ir::Module* finished() const {
    std::vector<const ir::Var*> params;
    for (const auto& [var, value] : given_.all()) params.push_back(var);
    const ir::Function* made = ctx_.function(params, result_, result_->type, f_->is_pure,
                                             ctx_.with_attr(f_->attrs, attr_name::NumInput, nullptr));
    const std::string_view roots[] = {program_.function};
    return ir::reachable_from(ctx_, with_function(ctx_, program_.module, program_.function, made), roots);
  }

 private:
  ir::Context& ctx_;
  const Program& program_;
  const Trace& trace_;
  Given& given_;
  const ir::Function* f_ = nullptr;
  const ir::SeqExpr* result_ = nullptr;
  std::unordered_map<const ir::Var*, const ir::Binding*> made_by_;
  std::map<std::string_view, const ir::Binding*> by_variable_;  // null: several have this name
  std::unordered_set<const ir::Binding*> bindings_;
  std::set<std::size_t> taken_;
  std::map<std::string, const ir::Var*, std::less<>> by_name_;
};

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
  session.history().start(p.module);
  source::Diagnostics found;
  const std::string pass(passes::info(passes::PassId::BindSymbolicVars).name);
  if (session.run_passes(fmt::format("{}(binding_map={{{}}}, func_name={})", pass, map, p.function), found))
    p.module = session.module();
  else
    why = found.first_error();
  return p;
}

std::size_t event_of(const Trace& trace, const std::string& function, const std::string& name,
                     const ir::Binding* binding) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool named = std::find(e.names.begin(), e.names.end(), name) != e.names.end();
    if (e.function == function && named && (!binding || e.binding == binding)) return i;
  }
  return kNoEvent;
}

std::optional<CutPair> cut(session::Session& session, Program a, Program b, const Tolerances& tolerances,
                           std::string& why) {
  a = with_numbers(session, a, why);
  b = with_numbers(session, b, why);
  if (!why.empty()) return std::nullopt;
  const Trace ta = record(session, a), tb = record(session, b);
  const Comparison c = compare(session.context(), ta, tb, tolerances);
  why = "the first difference is not in one computation whose inputs are equal";
  if (c.verdict != Comparison::Verdict::Differs || !c.first || !c.first->fault_is_here()) return std::nullopt;
  const FirstDifference& d = *c.first;
  const std::size_t at_b = event_of(tb, b.function, d.name, d.binding);
  const std::size_t at_a = event_of(ta, a.function, d.other_name, nullptr);
  if (at_a == kNoEvent || at_b == kNoEvent) return std::nullopt;
  Given given(session.context());
  Slice of_b(session.context(), b, tb, given), of_a(session.context(), a, ta, given);
  if (!of_b.take(at_b, false, why) || !of_a.take(at_a, true, why)) return std::nullopt;
  if (!of_b.module(at_b, why) || !of_a.module(at_a, why)) return std::nullopt;
  CutPair out{a, b, {}};
  out.a.module = of_a.finished();
  out.b.module = of_b.finished();
  out.a.args.clear();
  for (const auto& [var, value] : given.all()) {
    out.a.args.push_back(value);
    out.values.push_back({std::string(var->name), value, false});
  }
  out.b.args = out.a.args;
  source::Diagnostics found;
  why = "the parts by themselves are not well-formed";
  if (!ir::verify(session.context(), out.a.module, found) || !ir::verify(session.context(), out.b.module, found))
    return std::nullopt;
  why = "the parts by themselves do not differ";
  if (compare(session, out.a, out.b, tolerances).verdict != Comparison::Verdict::Differs) return std::nullopt;
  why.clear();
  return out;
}

}  // namespace

std::optional<CutPair> cut_pair(session::Session& session, const Program& a, const Program& b,
                                const Tolerances& tolerances, std::string& why) {
  const bool plain = a.module && b.module && a.outputs == 0 && b.outputs == 0;
  if (!plain) why = "one of the programs writes its results to arguments";
  if (!plain) return std::nullopt;
  const Borrow borrow(session);
  if (auto made = cut(session, a, b, tolerances, why)) return made;
  // The computation may be in a function of its own, as FuseOps leaves it.
  Program flat_a = a, flat_b = b;
  flat_a.module = run_pass(session.context(), a.module, passes::PassId::InlinePrivateFunctions);
  flat_b.module = run_pass(session.context(), b.module, passes::PassId::InlinePrivateFunctions);
  if (!flat_a.module || !flat_b.module || (flat_a.module == a.module && flat_b.module == b.module)) return std::nullopt;
  std::string ignored;
  return cut(session, flat_a, flat_b, tolerances, ignored);
}

}  // namespace rldb::repro
