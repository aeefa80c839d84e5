// LambdaLift: local functions become private functions of the module, named `<outer>_<local>`.
//
// Captured variables of a local function become trailing parameters, bound by R.make_closure; calls of a closure become
// R.invoke_closure (or the pure form), recursion calls the lifted function directly. Symbolic variables of the outer
// function that no parameter of the lifted one binds are captured as one R.Shape (TVM leaves them unbound).
#include <algorithm>
#include <map>
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/closure.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;
namespace {

// ---- names ----

class Names {
 public:
  explicit Names(const Module* module) : module_(module) {
    for (const ModuleEntry& e : module->entries) {
      const auto* f = as<Function>(e.function);
      if (!f) continue;
      path_.assign(1, std::string(e.name));
      visit(f->body);
    }
    choose();
  }

  // Empty when the function's own symbol is taken.
  std::string_view of(const Function* f) const {
    const auto found = names_.find(f);
    return found == names_.end() ? std::string_view() : std::string_view(found->second);
  }
  bool empty() const { return places_.empty(); }

 private:
  struct Place {
    const Function* function;
    std::vector<std::string> path;
  };

  void visit(const SeqExpr* s) {
    for (const BindingBlock* block : s->blocks) {
      for (const Binding* b : block->bindings) {
        if (const auto* f = as<Function>(b->value)) {
          path_.emplace_back(b->var->name);
          places_.push_back({f, path_});
          visit(f->body);
          path_.pop_back();
        } else if (const auto* branch = as<If>(b->value)) {
          visit(branch->then_branch);
          visit(branch->else_branch);
        }
      }
    }
  }

  // Tries schemes in turn; a proposal counts when the name is free and proposed only once in the same turn.
  template <class Scheme>
  void attempt(Scheme scheme) {
    std::map<std::string, std::vector<const Place*>> proposals;
    for (const Place& p : places_) {
      if (names_.count(p.function)) continue;
      std::string name = scheme(p);
      if (!name.empty() && !module_->find(name) && !used_.count(name)) proposals[name].push_back(&p);
    }
    for (auto& [name, by] : proposals) {
      if (by.size() != 1) continue;
      names_[by[0]->function] = name;
      used_.insert(name);
    }
  }

  void choose() {
    attempt([](const Place& p) {
      const Attr* a = find_attr(p.function->attrs, attr_name::GlobalSymbol);
      return a ? std::string(a->string) : std::string();
    });
    attempt([](const Place& p) { return p.path.front() + "_" + p.path.back(); });
    attempt([](const Place& p) {
      std::string all;
      if (p.path.size() > 2)
        for (const std::string& part : p.path) all += (all.empty() ? "" : "_") + part;
      return all;
    });
    for (int round = 0; names_.size() < places_.size(); ++round) {
      std::map<std::string, int> count;
      attempt([&](const Place& p) {
        const std::string base = p.path.front() + "_" + p.path.back();
        return base + "_" + std::to_string(count[base]++ + round);
      });
    }
  }

  const Module* module_;
  std::vector<std::string> path_;
  std::vector<Place> places_;
  std::map<const Function*, std::string> names_;
  std::unordered_set<std::string> used_;
};

// ---- lifting ----

class Lifter : public Rewriter {
 public:
  Lifter(Context& ctx, const Names& names, ModuleBuilder& builder) : Rewriter(ctx), names_(names), builder_(builder) {}

  const Function* run(const Function* f) {
    values_.insert(f->params.begin(), f->params.end());
    const Function* made = rewrite_function(f);
    if (made != f && made->body->type != made->ret_type && mentions_function(made->ret_type)) {
      // A lifted function has its own symbols: they cannot occur in the type of another.
      const Type* actual = made->body->type;
      const Type* result = mentions_function(actual) && actual->has_vars ? ctx_.any() : actual;
      const Function* typed = ctx_.function(made->params, made->body, result, made->is_pure, made->attrs);
      ctx_.set_origin(typed, f);
      return typed;
    }
    return made == f ? f : refine_result(ctx_, made);
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    values_.insert(b->var);
    if (const auto* f = as<Function>(b->value); f && !b->is_match_cast()) return lift(b, f);
    std::vector<const Binding*> out = default_binding(b);
    for (const Binding* made : out)
      if (is_closure(made->value, b->var->type)) closures_.insert(made->var);
    return out;
  }

  const Expr* visit_call(const Call* call) override {
    const auto* callee = as<Var>(call->callee);
    if (!callee) return Rewriter::visit_call(call);
    const auto nested = recursive_.find(callee);
    if (nested != recursive_.end()) {
      std::vector<const Expr*> args = rewritten(call->args);
      for (const Var* c : nested->second.captured) args.push_back(lookup(c));
      if (nested->second.symbols) args.push_back(rewrite(nested->second.symbols));
      return ctx_.call_typed(nested->second.function, args, rewrite_type(call->type), call->attrs, call->ty_args);
    }
    const auto* target = as<Var>(lookup(callee));
    if (!target || !closures_.count(target)) return Rewriter::visit_call(call);
    const auto* type = as<FuncType>(callee->type);
    const bool pure = type && type->pure;
    const Type* result = rewrite_type(call->type);
    return op_call(ctx_, pure ? op::InvokePureClosure : op::InvokeClosure, {target, ctx_.tuple(rewritten(call->args))},
                   result, {result});
  }

 private:
  // A closure that calls itself: the lifted function and the captures it must be given again.
  struct Recursion {
    const GlobalVar* function;
    std::vector<const Var*> captured;  // as named outside
    const Expr* symbols;
  };

  std::vector<const Expr*> rewritten(Span<const Expr*> list) {
    std::vector<const Expr*> out;
    for (const Expr* e : list) out.push_back(rewrite(e));
    return out;
  }

  bool is_closure(const Expr* value, const Type* was) const {
    if (as_call_of(value, op::MakeClosure)) return true;
    if (const auto* v = as<Var>(value)) return closures_.count(v) != 0;
    if (const auto* call = as<Call>(value))
      if (const auto* g = as<GlobalVar>(call->callee)) return closure_functions_.count(g->name) != 0;
    return was->kind == TypeKind::Func && value->type->kind == TypeKind::Any;
  }

  static bool contains(const std::vector<const Var*>& all, const Var* v) {
    return std::find(all.begin(), all.end(), v) != all.end();
  }
  // Variables that the types in a function mention: a type may be written in terms of a shape outside of it.
  static void collect_of_types(const SeqExpr* s, std::vector<const Var*>& out) {
    for (const BindingBlock* block : s->blocks)
      for (const Binding* b : block->bindings) {
        collect_vars(b->var->type, out);
        if (b->is_match_cast()) collect_vars(b->cast_type, out);
        if (const auto* f = as<Function>(b->value)) collect_of_types(f, out);
        if (const auto* branch = as<If>(b->value)) {
          collect_of_types(branch->then_branch, out);
          collect_of_types(branch->else_branch, out);
        }
      }
  }
  static void collect_of_types(const Function* f, std::vector<const Var*>& out) {
    for (const Var* p : f->params) collect_vars(p->type, out);
    collect_vars(f->ret_type, out);
    collect_of_types(f->body, out);
  }

  std::vector<const Binding*> lift(const Binding* b, const Function* f) {
    const std::string_view name = ctx_.str(names_.of(f));
    std::vector<const Var*> captured;
    std::vector<const Var*> symbols;
    bool recursive = false;
    for (const Var* v : free_vars(f)) {
      if (v == b->var) {
        recursive = true;
      } else if (!values_.count(v)) {
        symbols.push_back(v);
      } else if (isa<Var>(lookup(v)) || isa<Constant>(lookup(v))) {
        captured.push_back(v);  // not a lifted sibling: that is a global now
      }
    }
    std::vector<const Var*> mentioned;
    collect_of_types(f, mentioned);
    std::vector<const Var*> known_shapes;
    for (const Var* v : mentioned) {
      if (!values_.count(v) || contains(captured, v) || contains(known_shapes, v)) continue;
      const auto* shape = as<ShapeType>(v->type);
      if (shape && shape->has_values) {
        known_shapes.push_back(v);
        std::vector<const Var*> dims;
        collect_vars(shape, dims);
        for (const Var* d : dims)
          if (!values_.count(d) && !contains(symbols, d)) symbols.push_back(d);
      } else if (isa<Var>(lookup(v))) {
        captured.push_back(v);
      }
    }
    // The type of a captured value may have a symbol that the function does not mention: `n` of a dim `n + 1`.
    std::vector<const Var*> of_captured;
    for (const Var* c : captured) collect_vars(c->type, of_captured);
    for (const Var* v : of_captured)
      if (!values_.count(v) && !contains(symbols, v)) symbols.push_back(v);
    const VarMap outer = vars_;
    const auto outer_recursive = recursive_;
    std::vector<const Expr*> environment;
    for (const Var* c : captured) environment.push_back(lookup(c));
    const std::vector<const Var*> params = make_params(f, captured, symbols, known_shapes, environment);
    const Expr* symbol_argument = environment.size() > captured.size() ? symbol_shape(symbols_left_) : nullptr;
    const bool closure = !environment.empty();

    std::vector<const Type*> param_types;
    for (const Var* p : params) param_types.push_back(p->type);
    const Type* declared = rewrite_type(f->ret_type);
    const GlobalVar* self = ctx_.global_var(name, ctx_.func_type(param_types, declared, f->is_pure));
    if (recursive && closure) {
      recursive_[b->var] = {self, captured, symbol_argument};
    } else if (!closure) {
      remap(b->var, self);
    }
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Type* ret = recursive ? declared : result_type(declared, body->type, param_types);
    const Function* lifted = ctx_.function(params, body, ret, f->is_pure, f->attrs);
    ctx_.set_origin(lifted, f);
    builder_.set(name, lifted);
    if (closure || is_closure(body->body, f->ret_type)) closure_functions_.insert(name);
    vars_ = outer;
    recursive_ = outer_recursive;

    const GlobalVar* global = ctx_.global_var(name, lifted->type);
    if (!closure) {
      remap(b->var, global);
      return {};
    }
    const Call* value = op_call(ctx_, op::MakeClosure, {global, ctx_.tuple(environment)}, ctx_.any());
    ctx_.set_origin(value, f);
    const Var* var =
        b->var->is_dataflow() ? ctx_.dataflow_var(b->var->name, ctx_.any()) : ctx_.var(b->var->name, ctx_.any());
    ctx_.set_origin(var, b->var);
    remap(b->var, var);
    closures_.insert(var);
    return {remake_binding(ctx_, b, var, value)};
  }

  // Parameters of the lifted function: its own, the captured values, and the symbols that neither binds. From now on it
  // has its own symbolic variables.
  std::vector<const Var*> make_params(const Function* f, const std::vector<const Var*>& captured,
                                      const std::vector<const Var*>& symbols,
                                      const std::vector<const Var*>& known_shapes,
                                      std::vector<const Expr*>& environment) {
    std::vector<const Var*> signature;
    for (const Var* p : f->params) collect_vars(p->type, signature);
    for (const Expr* e : environment) collect_vars(e->type, signature);
    symbols_left_.clear();
    for (const Var* v : symbols)
      if (!bound_by_dims(f, environment, v) && !bound_by_dims(f, environment, lookup(v))) symbols_left_.push_back(v);
    std::vector<const Expr*> left;  // as the surrounding function, which may be lifted itself, has them
    for (const Var* v : symbols_left_) {
      signature.push_back(v);
      left.push_back(lookup(v));
    }
    const Expr* shape = left.empty() ? nullptr : ctx_.shape(left);
    std::unordered_map<const Expr*, const Var*> own_of;
    std::unordered_set<const Expr*> own_vars;
    for (const Var* v : signature) {
      const Expr* outside = lookup(v);
      if (values_.count(v) || !isa<Var>(outside) || own_vars.count(outside)) continue;
      const Var*& own = own_of[outside];
      if (!own) {
        own = ctx_.var(v->name, v->type);
        ctx_.set_origin(own, v);
        own_vars.insert(own);
        remap(cast<Var>(outside), own);
      }
      remap(v, own);
    }
    // A shape whose dims are known needs no capture: types are written in terms of the dims.
    for (const Var* v : known_shapes) remap(v, rewrite(ctx_.shape(as<ShapeType>(v->type)->values)));
    std::vector<const Var*> params;
    // A captured shape comes after the function's own parameters: their types cannot be written in terms of it.
    const auto known = [&](const Var* v) { return std::find(captured.begin(), captured.end(), v) == captured.end(); };
    for (const Var* p : f->params) {
      values_.insert(p);
      params.push_back(define_var(p, rewrite_type(erase(ctx_, p->type, known))));
    }
    for (std::size_t i = 0; i < captured.size(); ++i) {
      const Var* p = ctx_.var(captured[i]->name, rewrite_type(environment[i]->type));
      ctx_.set_origin(p, captured[i]);
      if (const auto* from = as<Var>(environment[i]); from && closures_.count(from)) closures_.insert(p);
      remap(captured[i], p);
      if (const auto* from = as<Var>(environment[i])) remap(from, p);
      params.push_back(p);
    }
    if (shape) {
      environment.push_back(shape);
      params.push_back(ctx_.var("symbols", rewrite_type(shape->type)));
    }
    return params;
  }

  // A dim that is a plain variable binds it; one in a compound expression does not.
  static bool bound_by_dims(const Function* f, const std::vector<const Expr*>& environment, const Expr* v) {
    const auto binds = [&](const auto& self, const Type* t) -> bool {
      Span<const Expr*> dims;
      if (const auto* tensor = as<TensorType>(t)) dims = tensor->shape;
      if (const auto* shape = as<ShapeType>(t)) dims = shape->values;
      if (std::find(dims.begin(), dims.end(), v) != dims.end()) return true;
      if (const auto* tuple = as<TupleType>(t))
        for (const Type* field : tuple->fields)
          if (self(self, field)) return true;
      return false;
    };
    for (const Var* p : f->params)
      if (binds(binds, p->type)) return true;
    for (const Expr* e : environment)
      if (binds(binds, e->type)) return true;
    return false;
  }

  const Expr* symbol_shape(const std::vector<const Var*>& symbols) {
    std::vector<const Expr*> values;
    for (const Var* v : symbols) values.push_back(v);
    return ctx_.shape(values);
  }

  // The result type of the body, when the signature can express it.
  const Type* result_type(const Type* declared, const Type* actual, const std::vector<const Type*>& params) {
    std::vector<const Var*> known;
    for (const Type* p : params) collect_vars(p, known);
    std::vector<const Var*> used;
    collect_vars(actual, used);
    const bool sayable = std::all_of(used.begin(), used.end(), [&](const Var* v) {
      return std::find(known.begin(), known.end(), v) != known.end();
    });
    if (sayable) return actual;
    return mentions_function(declared) ? ctx_.any() : declared;
  }

  const Names& names_;
  ModuleBuilder& builder_;
  std::unordered_set<const Var*> values_;    // variables that hold run-time values
  std::unordered_set<const Var*> closures_;  // new variables that hold closures
  std::unordered_set<std::string_view> closure_functions_;
  std::unordered_map<const Var*, Recursion> recursive_;
  std::vector<const Var*> symbols_left_;
};

}  // namespace

Result<const Module*> lambda_lift(PassEnv& env, const Module* module, const NoOptions&) {
  const Names names(module);
  if (names.empty()) return module;
  ModuleBuilder builder(env.ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = Lifter(env.ctx, names, builder).run(f);
    if (made != f) builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
