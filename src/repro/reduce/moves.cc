// Moves of the reducer: smaller modules derived from one, well-formed or not.
#include "repro/reduce/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

using ir::as;

namespace {

constexpr std::size_t kMostInPlace = 8;  // variables that are tried in place of one binding

const ir::Function* function_of(const ir::Module* module, const std::string& name) {
  return as<ir::Function>(module->find(name));
}

std::vector<const ir::Binding*> bindings_of(const ir::Function* f) {
  std::vector<const ir::Binding*> out;
  for (const ir::BindingBlock* block : f->body->blocks)
    out.insert(out.end(), block->bindings.begin(), block->bindings.end());
  return out;
}

// The number of inputs before the parameters is not kept up to date.
ir::Span<ir::NamedAttr> without_inputs(ir::Context& ctx, ir::Span<ir::NamedAttr> attrs) {
  return ctx.with_attr(attrs, attr_name::NumInput, nullptr);
}

const ir::Function* remake(ir::Context& ctx, const ir::Function* f, const std::vector<const ir::Var*>& params,
                           const ir::SeqExpr* body) {
  return ctx.function(params, body, body->type, f->is_pure, without_inputs(ctx, f->attrs));
}

// Bindings to be left out, and replacements for their variables.
class Replace : public ir::Rewriter {
 public:
  Replace(ir::Context& ctx, const ir::VarMap& by) : Rewriter(ctx), by_(by) {
    for (const auto& [var, value] : by) remap(var, value);
  }

 private:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (by_.contains(b->var)) return {};
    return default_binding(b);
  }
  const ir::VarMap& by_;
};

// The body up to a binding, whose value becomes the result. The variable has to be visible outside its block.
const ir::Module* cut_at(ir::Context& ctx, const ir::Module* module, const std::string& name, std::size_t index) {
  const ir::Function* f = function_of(module, name);
  std::vector<const ir::BindingBlock*> blocks;
  const ir::Var* result = nullptr;
  std::size_t at = 0;
  for (const ir::BindingBlock* block : f->body->blocks) {
    std::vector<const ir::Binding*> kept;
    for (const ir::Binding* b : block->bindings) {
      if (at++ > index) break;
      if (at <= index || !b->var->is_dataflow()) {
        kept.push_back(b);
        result = b->var;
        continue;
      }
      result = ctx.var(b->var->name, b->var->type);
      kept.push_back(b->is_match_cast() ? ctx.match_cast(result, b->value, b->cast_type)
                                        : ctx.binding(result, b->value));
    }
    if (!kept.empty()) blocks.push_back(ctx.block(kept, block->is_dataflow()));
    if (at > index) break;
  }
  if (!result || !holds_values(result->type)) return nullptr;
  const ir::SeqExpr* body = ctx.seq(blocks, result);
  return tidy(ctx, module, with_function(ctx, module, name, remake(ctx, f, {f->params.begin(), f->params.end()}, body)),
              name);
}

std::vector<const ir::Var*> symbols_in(const ir::Type* type) {
  std::vector<const ir::Var*> out;
  ir::collect_vars(type, out);
  return out;
}

// One of its dims is this variable: the caller determines it by the tensor.
bool defines(const ir::Var* param, const ir::Var* symbol) {
  const auto dims = [](const ir::Type* t) -> ir::Span<const ir::Expr*> {
    if (const auto* tensor = as<ir::TensorType>(t); tensor && tensor->has_shape) return tensor->shape;
    if (const auto* shape = as<ir::ShapeType>(t); shape && shape->has_values) return shape->values;
    return {};
  }(param->type);
  return std::find(dims.begin(), dims.end(), symbol) != dims.end();
}

}  // namespace

const ir::Function* without_unread_parameters(ir::Context& ctx, const ir::Function* before, const ir::Function* f) {
  const auto free = ir::free_vars(f->body);
  const std::vector<const ir::Var*> result = symbols_in(f->ret_type);
  std::unordered_set<const ir::Var*> read(free.begin(), free.end());
  if (before) {
    const auto free_before = ir::free_vars(before->body);
    for (const ir::Var* p : before->params)
      if (std::find(free_before.begin(), free_before.end(), p) == free_before.end()) read.insert(p);
  }
  std::vector<const ir::Var*> kept(f->params.begin(), f->params.end());
  const auto is_needed = [&](const ir::Var* p) {
    if (read.contains(p)) return true;
    const std::vector<const ir::Var*> symbols = symbols_in(p->type);
    return std::any_of(symbols.begin(), symbols.end(), [&](const ir::Var* s) {
      bool used = read.contains(s) || std::find(result.begin(), result.end(), s) != result.end(), known = false;
      for (const ir::Var* other : kept) {
        if (other == p) continue;
        const std::vector<const ir::Var*> theirs = symbols_in(other->type);
        used = used || std::find(theirs.begin(), theirs.end(), s) != theirs.end();
        known = known || defines(other, s);
      }
      return used && !known;
    });
  };
  for (std::size_t i = kept.size(); i-- > 0;)
    if (!is_needed(kept[i])) kept.erase(kept.begin() + std::ptrdiff_t(i));
  if (kept.size() == f->params.size()) return f;
  return ctx.function(kept, f->body, f->ret_type, f->is_pure, without_inputs(ctx, f->attrs));
}

const ir::Module* replace(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::VarMap& by,
                          const std::vector<const ir::Var*>& new_params) {
  const ir::Function* f = function_of(module, name);
  if (!new_params.empty() && is_called(module, name)) return nullptr;  // its callers give it no more arguments
  Replace rewriter(ctx, by);
  const auto* body = as<ir::SeqExpr>(rewriter.rewrite(f->body));
  if (!body) return nullptr;
  std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  params.insert(params.end(), new_params.begin(), new_params.end());
  return tidy(ctx, module, with_function(ctx, module, name, remake(ctx, f, params, body)), name);
}

bool holds_values(const ir::Type* t) {
  if (as<ir::TensorType>(t)) return true;
  const auto* tuple = as<ir::TupleType>(t);
  return tuple && !tuple->fields.empty() && std::all_of(tuple->fields.begin(), tuple->fields.end(), holds_values);
}

const ir::Module* with_function(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                const ir::Function* f) {
  ir::ModuleBuilder builder(ctx, *module);
  builder.set(name, f);
  return builder.build();
}

const ir::Module* run_pass(ir::Context& ctx, const ir::Module* module, passes::PassId id) {
  source::Diagnostics ignored;
  passes::PassEnv env{ctx, ignored};
  auto made = passes::info(id).run(env, module, {});
  return made.ok() ? *made : nullptr;
}

const ir::Module* without_all_unread(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  const std::string_view roots[] = {name};
  module = run_pass(ctx, ir::reachable_from(ctx, module, roots), passes::PassId::DeadCodeElimination);
  const ir::Function* f = module ? function_of(module, name) : nullptr;
  if (!f || is_called(module, name)) return module;
  const ir::Function* made = without_unread_parameters(ctx, nullptr, f);
  return made == f ? module : with_function(ctx, module, name, made);
}

std::size_t count_bindings(const ir::Module* module, const std::string& name) {
  const ir::Function* f = function_of(module, name);
  return f ? bindings_of(f).size() : 0;
}

std::vector<Candidate> cuts(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const std::size_t n = count_bindings(module, name);
  // Halves, quarters, ...: an early cut that keeps the symptom saves most.
  std::set<std::size_t> met;
  for (std::size_t parts = 2; parts <= 64 && parts <= 2 * n; parts *= 2)
    for (std::size_t k = 1; k < parts; ++k) {
      const std::size_t at = n * k / parts;
      if (at + 1 < n && met.insert(at).second)
        out.push_back({"cut", [&ctx, module, name, at] { return cut_at(ctx, module, name, at); }});
    }
  return out;
}

std::vector<Candidate> bindings_to_parameters(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                              std::size_t size) {
  std::vector<Candidate> out;
  const std::vector<const ir::Binding*> all = bindings_of(function_of(module, name));
  for (std::size_t begin = 0; begin < all.size(); begin += size) {
    const std::size_t end = std::min(begin + size, all.size());
    out.push_back({"parameters", [&ctx, module, name, all, begin, end]() -> const ir::Module* {
                     ir::VarMap by;
                     std::vector<const ir::Var*> params;
                     for (std::size_t i = begin; i < end; ++i) {
                       if (!holds_values(all[i]->var->type)) continue;
                       params.push_back(ctx.var(all[i]->var->name, all[i]->var->type));
                       by[all[i]->var] = params.back();
                     }
                     return by.empty() ? nullptr : replace(ctx, module, name, by, params);
                   }});
  }
  return out;
}

std::vector<Candidate> bindings_to_operands(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const std::vector<const ir::Binding*> all = bindings_of(function_of(module, name));
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const ir::Binding* b = *it;
    std::vector<const ir::Var*> operands;
    const auto add = [&](const ir::Var* v) {
      if (v->type == b->var->type && std::find(operands.begin(), operands.end(), v) == operands.end())
        operands.push_back(v);
    };
    ir::walk(b->value, [&](const ir::Node* n) {
      if (const auto* v = as<ir::Var>(n)) add(v);
      return true;
    });
    // A field of a split of a concat is often one of the tensors that the concat joins.
    for (const ir::Var* p : function_of(module, name)->params) add(p);
    for (auto earlier = it + 1; earlier != all.rend() && operands.size() < kMostInPlace; ++earlier)
      add((*earlier)->var);
    if (operands.size() > kMostInPlace) operands.resize(kMostInPlace);
    for (const ir::Var* v : operands)
      out.push_back({"operand", [&ctx, module, name, b, v] {
                       const ir::VarMap by{{b->var, v}};
                       return replace(ctx, module, name, by, {});
                     }});
  }
  return out;
}

// Public functions are made private first: only those are inlined.
static const ir::Module* with_all_inlined(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  ir::ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = as<ir::Function>(e.function);
        f && e.name != name && ir::find_attr(f->attrs, attr_name::GlobalSymbol)) {
      const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
      builder.set(e.name, ctx.function(params, f->body, f->ret_type, f->is_pure,
                                       ctx.with_attr(f->attrs, attr_name::GlobalSymbol, nullptr)));
      changed = true;
    }
  const ir::Module* made = changed ? run_pass(ctx, builder.build(), passes::PassId::InlinePrivateFunctions) : nullptr;
  made = made && made->find(name) ? tidy(ctx, module, made, name) : nullptr;
  return made && made->entries.size() < module->entries.size() ? made : nullptr;
}

std::vector<Candidate> simpler_signatures(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  out.push_back({"unread", [&ctx, module, name] { return without_all_unread(ctx, module, name); }});
  out.push_back({"parameters", [&ctx, module, name]() -> const ir::Module* {
                   const ir::Function* f = function_of(module, name);
                   const ir::Function* made = without_unread_parameters(ctx, nullptr, f);
                   return made == f ? nullptr : with_function(ctx, module, name, made);
                 }});
  using passes::PassId;
  for (const PassId id : {PassId::InlinePrivateFunctions, PassId::CanonicalizeBindings, PassId::RemoveUnusedParameters,
                          PassId::RemoveUnusedOutputs})
    out.push_back({std::string(passes::info(id).name), [&ctx, module, name, id]() -> const ir::Module* {
                     const ir::Module* made = run_pass(ctx, module, id);
                     return made && made != module && made->find(name) ? tidy(ctx, module, made, name) : nullptr;
                   }});
  out.push_back({"inline", [&ctx, module, name] { return with_all_inlined(ctx, module, name); }});
  return out;
}

std::vector<std::int64_t> static_dims(const ir::Module* module) {
  std::set<std::int64_t> dims;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = as<ir::Function>(e.function))
      for (const ir::Var* p : f->params)
        if (const auto* t = as<ir::TensorType>(p->type); t && t->has_shape)
          for (const ir::Expr* d : t->shape)
            if (const auto* n = as<ir::IntImm>(d); n && n->value > 1) dims.insert(n->value);
  return {dims.rbegin(), dims.rend()};
}

}  // namespace rldb::repro
