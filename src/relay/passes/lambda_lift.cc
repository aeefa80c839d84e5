// LambdaLift: local functions become functions of the module.
//
// Without captured values the function itself becomes the global. Otherwise the global takes them and returns the
// function (`Closure=1`): a call of it makes a closure. A function that is recursive through its variable makes its own
// closure again where it needs it. A primitive function that is used as a value is wrapped in one that calls it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "relay/passes/common.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::relay {

namespace {

class Substitute : public AnfRewriter {
 public:
  Substitute(Context& ctx, const Var* var, const Expr* by) : AnfRewriter(ctx) { replace(var, by); }
};

// The type variables of a type, in creation order, each once.
void collect_type_variables(const Type* type, std::map<std::uint32_t, const TypeVar*>& out) {
  std::vector<const Type*> open{type};
  std::unordered_set<const Type*> seen;
  while (!open.empty()) {
    const Type* t = open.back();
    open.pop_back();
    if (!t || !seen.insert(t).second) continue;
    if (const auto* v = as<TypeVar>(t)) out[v->id] = v;
    if (const auto* tuple = as<TupleType>(t)) open.insert(open.end(), tuple->fields.begin(), tuple->fields.end());
    if (const auto* named = as<NamedType>(t)) open.insert(open.end(), named->args.begin(), named->args.end());
    if (const auto* reference = as<ReferenceType>(t)) open.push_back(reference->value);
    if (const auto* f = as<FunctionType>(t)) {
      open.insert(open.end(), f->params.begin(), f->params.end());
      open.push_back(f->result);
    }
  }
}

// Those that the text of `f` mentions but does not bind: parameters of the enclosing function.
std::vector<const TypeVar*> free_type_variables(const Function* f, const std::vector<const Var*>& captured) {
  std::map<std::uint32_t, const TypeVar*> found;
  for (const Var* v : captured) collect_type_variables(v->annotation, found);
  std::unordered_set<const TypeVar*> bound;
  for (const Expr* e : reachable(f)) {
    if (const auto* v = as<Var>(e)) collect_type_variables(v->annotation, found);
    if (const auto* l = as<Let>(e)) collect_type_variables(l->var->annotation, found);
    const auto* g = as<Function>(e);
    if (!g) continue;
    for (const Var* p : g->params) collect_type_variables(p->annotation, found);
    collect_type_variables(g->result, found);
    bound.insert(g->type_params.begin(), g->type_params.end());
  }
  std::vector<const TypeVar*> free;
  for (const auto& [id, v] : found)
    if (!bound.contains(v)) free.push_back(v);
  return free;
}

class Lifter : public AnfRewriter {
 public:
  Lifter(Context& ctx, std::vector<Definition>& lifted, const Module* m, std::string_view home)
      : AnfRewriter(ctx), lifted_(lifted), module_(m), home_(home) {}

  // Wraps a primitive function in one that calls it.
  const Function* wrapped(const Function* f) {
    std::vector<const Var*> params;
    std::vector<const Expr*> args;
    for (const Var* p : f->params) {
      params.push_back(ctx_.var(p->name, p->annotation));
      args.push_back(params.back());
    }
    const Var* result = ctx_.var("x", f->result);
    return ctx_.function({}, params, f->result, ctx_.let(result, ctx_.call(f, args), result));
  }

 private:
  const Expr* value(const Var* var, const Expr* v) override {
    const auto* f = as<Function>(v);
    if (!f) return v;
    if (!support::may_rewrite([&] { return fmt::format("lifts `%{}`", var->name); })) return v;
    if (is_primitive(f)) f = wrapped(f);
    std::vector<const Var*> captured = free_variables(f);
    const bool recursive = std::erase(captured, var) > 0;
    const GlobalVar* name = ctx_.global(new_name(var));
    const std::vector<const TypeVar*> types = free_type_variables(f, captured);
    if (captured.empty()) return plain(var, f, name, recursive, types);
    if (recursive) f = with_binding(f, var, call(name, captured));
    const Function* outer =
        ctx_.function(types, captured, type_of(f), f, std::vector<NamedAttr>{flag(ctx_, attr_name::Closure)});
    ctx_.set_span(outer, ctx_.span(v));
    lifted_.push_back({name, outer});
    const Expr* made = call(name, captured);
    ctx_.set_span(made, ctx_.span(v));
    return made;
  }

  const Expr* plain(const Var* var, const Function* f, const GlobalVar* name, bool recursive,
                    std::vector<const TypeVar*> types) {
    if (recursive) f = Substitute(ctx_, var, name).function(f);
    if (!types.empty()) {
      types.insert(types.end(), f->type_params.begin(), f->type_params.end());
      f = ctx_.function(types, f->params, f->result, f->body, f->attrs);
    }
    lifted_.push_back({name, f});
    replace(var, name);
    return nullptr;
  }

  // The type as annotated: a call of the closure's maker in its own body needs it. Null: an annotation is
  // missing.
  const Type* type_of(const Function* f) {
    std::vector<const Type*> params;
    for (const Var* p : f->params) params.push_back(p->annotation);
    const bool known =
        f->result && f->type_params.empty() && std::find(params.begin(), params.end(), nullptr) == params.end();
    return known ? ctx_.function_type({}, params, f->result) : nullptr;
  }

  const Expr* call(const GlobalVar* name, const std::vector<const Var*>& args) {
    return ctx_.call(name, std::vector<const Expr*>(args.begin(), args.end()));
  }

  const Function* with_binding(const Function* f, const Var* var, const Expr* v) {
    return ctx_.function(f->type_params, f->params, f->result, ctx_.let(var, v, f->body), f->attrs);
  }

  std::string_view new_name(const Var* var) {
    for (;;) {
      const std::string name =
          fmt::format("lifted_{}_{}{}", home_, var && !var->name.empty() ? var->name : "fn", count_);
      ++count_;
      const bool taken =
          std::any_of(lifted_.begin(), lifted_.end(), [&](const Definition& d) { return d.name->name == name; });
      if (!taken && !module_->find(name)) return ctx_.str(name);
    }
  }

  std::vector<Definition>& lifted_;
  const Module* module_;
  std::string_view home_;
  int count_ = 0;
};

}  // namespace

const Module* run_LambdaLift(PassEnv& env, const Module* m, const NoOptions&) {
  std::vector<Definition> functions;
  for (const Definition& d : m->functions) {
    std::vector<Definition> lifted;
    Lifter lifter(env.ctx, lifted, m, d.name->name);
    const bool done = has_attr(d.function, attr_name::Closure);
    functions.push_back({d.name, done                       ? d.function
                                 : is_primitive(d.function) ? lifter.wrapped(d.function)
                                                            : lifter.function(d.function)});
    functions.insert(functions.end(), lifted.begin(), lifted.end());
  }
  return env.ctx.module({m->types.begin(), m->types.end()}, std::move(functions));
}

}  // namespace rldb::relay
