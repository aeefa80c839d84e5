// Moves of the reducer on a whole module: functions dropped, symbolic dims merged, constants made parameters,
// attributes of calls set to their defaults, dataflow blocks made plain.
#include <algorithm>
#include <unordered_set>

#include "repro/reduce/moves.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

using ir::as;

namespace {

// Sets another attribute of one call.
class SetOption : public ir::Rewriter {
 public:
  SetOption(ir::Context& ctx, const ir::Call* call, std::string_view name, const ir::Attr* value)
      : Rewriter(ctx), call_(call), name_(name), value_(value) {}

 private:
  const ir::Expr* visit_call(const ir::Call* call) override {
    if (call != call_) return Rewriter::visit_call(call);
    auto made = ctx_.call({call->callee, call->args, ctx_.with_attr(call->attrs, name_, value_), call->ty_args});
    return made.ok() ? *made : call;
  }
  const ir::Call* call_;
  std::string_view name_;
  const ir::Attr* value_;
};

// Turns a constant into a variable.
class Lift : public ir::Rewriter {
 public:
  Lift(ir::Context& ctx, const ir::Constant* constant, const ir::Var* v) : Rewriter(ctx), constant_(constant), v_(v) {}

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e == constant_ ? v_ : default_expr(e); }
  const ir::Constant* constant_;
  const ir::Var* v_;
};

const ir::Module* lift(ir::Context& ctx, const ir::Module* module, const std::string& name, const ir::Constant* c) {
  const auto* f = as<ir::Function>(module->find(name));
  const ir::Var* v = ctx.var("c", c->type);
  const auto* body = as<ir::SeqExpr>(Lift(ctx, c, v).rewrite(f->body));
  if (!body || body == f->body) return nullptr;
  std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  params.push_back(v);
  return with_function(ctx, module, name, ctx.function(params, body, f->ret_type, f->is_pure, f->attrs));
}

template <class Visit>
void for_each_call(const ir::Function* f, const Visit& visit) {
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* call = as<ir::Call>(n)) visit(call);
    return true;
  });
}

// Visits attributes that differ from the row's defaults.
template <class Visit>
void for_each_option(ir::Context& ctx, const ir::Call* call, const Visit& visit) {
  const ops::OpInfo* info = ops::find(call->callee);
  if (!info) return;
  for (const ops::AttrInfo& attr : info->attrs) {
    const ir::Attr* value = ir::find_attr(call->attrs, attr.name);
    if (!value || attr.required) continue;
    if (const ir::Attr* usual = ops::default_value(ctx, attr); !ir::attr_equal(value, usual)) visit(attr.name, usual);
  }
}

// Makes one call read one variable in place of another.
class OtherOperand : public ir::Rewriter {
 public:
  OtherOperand(ir::Context& ctx, const ir::Call* call, const ir::Var* from, const ir::Var* to)
      : Rewriter(ctx), call_(call), from_(from), to_(to) {}

 private:
  const ir::Expr* visit_call(const ir::Call* call) override {
    if (call != call_) return Rewriter::visit_call(call);
    std::vector<const ir::Expr*> args(call->args.begin(), call->args.end());
    std::replace(args.begin(), args.end(), static_cast<const ir::Expr*>(from_), static_cast<const ir::Expr*>(to_));
    auto made = ctx_.call({call->callee, args, call->attrs, call->ty_args});
    return made.ok() ? *made : call;
  }
  const ir::Call* call_;
  const ir::Var* from_;
  const ir::Var* to_;
};

constexpr std::size_t kMostOperands = 4;  // variables that are tried in place of one operand

// Drops some bindings.
class Drop : public ir::Rewriter {
 public:
  Drop(ir::Context& ctx, const std::unordered_set<const ir::Binding*>& dropped) : Rewriter(ctx), dropped_(dropped) {}

 private:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (dropped_.contains(b)) return {};
    return default_binding(b);
  }
  const std::unordered_set<const ir::Binding*>& dropped_;
};

// Binds another value.
class OtherValue : public ir::Rewriter {
 public:
  OtherValue(ir::Context& ctx, const ir::Binding* at, const ir::Expr* value) : Rewriter(ctx), at_(at), value_(value) {}

 private:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (b != at_) return default_binding(b);
    return {ctx_.binding(b->var, value_)};
  }
  const ir::Binding* at_;
  const ir::Expr* value_;
};

// A value of this type: an argument of the call or a parameter, or a tuple of them. Null: there is none.
const ir::Expr* value_of_type(ir::Context& ctx, const ir::Type* type, const ir::Call* call,
                              const std::vector<const ir::Var*>& params) {
  for (const ir::Expr* arg : call->args)
    if (arg->type == type) return arg;
  for (const ir::Var* p : params)
    if (p->type == type) return p;
  const auto* tuple = as<ir::TupleType>(type);
  if (!tuple) return nullptr;
  std::vector<const ir::Expr*> items;
  for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
    // The state of a loop comes back in the order that it went in.
    const bool in_place = i < call->args.size() && call->args[i]->type == tuple->fields[i];
    const ir::Expr* item = in_place ? call->args[i] : value_of_type(ctx, tuple->fields[i], call, params);
    if (!item) return nullptr;
    items.push_back(item);
  }
  return ctx.tuple(items);
}

std::vector<const ir::Var*> symbols_of(const ir::Function* f) {
  std::vector<const ir::Var*> out;
  for (const ir::Var* p : f->params) ir::collect_vars(p->type, out);
  std::vector<const ir::Var*> once;
  for (const ir::Var* v : out)
    if (std::find(once.begin(), once.end(), v) == once.end()) once.push_back(v);
  return once;
}

bool is_large(const ir::Constant* c) {
  const auto* t = as<ir::TensorType>(c->type);
  return t && t->ndim != 0;
}

}  // namespace

const ir::Function* returning_its_body(ir::Context& ctx, const ir::Function* f) {
  if (f->body->type == f->ret_type) return f;
  const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
  return ctx.function(params, f->body, f->body->type, f->is_pure, f->attrs);
}

std::vector<Candidate> fewer_functions(ir::Context& ctx, const ir::Module* module) {
  std::vector<Candidate> out;
  if (module->entries.size() < 2) return out;  // an empty module is of no use
  for (const ir::ModuleEntry& e : module->entries)
    out.push_back({"function", [&ctx, module, name = std::string(e.name)] {
                     ir::ModuleBuilder builder(ctx, *module);
                     builder.remove(name);
                     return builder.build();
                   }});
  return out;
}

std::vector<Candidate> fewer_symbols(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  const std::vector<const ir::Var*> symbols = symbols_of(f);
  for (std::size_t i = symbols.size(); i-- > 1;)
    out.push_back({"symbolic dim", [&ctx, module, name, f, from = symbols[i], to = symbols[0]] {
                     return with_function(ctx, module, name, Unify(ctx, from, to).rewrite_function(f));
                   }});
  return out;
}

std::vector<Candidate> fewer_constants(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  ir::walk(as<ir::Function>(module->find(name))->body, [&](const ir::Node* n) {
    if (const auto* c = as<ir::Constant>(n); c && is_large(c))
      out.push_back({"constant", [&ctx, module, name, c] { return lift(ctx, module, name, c); }});
    return true;
  });
  return out;
}

std::vector<Candidate> usual_options(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  for_each_call(f, [&](const ir::Call* call) {
    for_each_option(ctx, call, [&](std::string_view attr, const ir::Attr* usual) {
      out.push_back({"option", [&ctx, module, name, f, call, attr, usual] {
                       const ir::Function* made = SetOption(ctx, call, attr, usual).rewrite_function(f);
                       return with_function(ctx, module, name, returning_its_body(ctx, made));
                     }});
    });
  });
  return out;
}

std::vector<Candidate> same_operands(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  std::vector<const ir::Var*> seen(f->params.begin(), f->params.end());
  const auto add = [&](const ir::Call* call, const ir::Var* from, const ir::Var* to) {
    out.push_back({"operand", [&ctx, module, name, f, call, from, to] {
                     const ir::Function* made = OtherOperand(ctx, call, from, to).rewrite_function(f);
                     return tidy(ctx, module, with_function(ctx, module, name, returning_its_body(ctx, made)), name);
                   }});
  };
  const auto add_all = [&](const ir::Call* call) {
    for (const ir::Expr* arg : call->args) {
      const auto* from = as<ir::Var>(arg);
      if (!from) continue;
      std::vector<const ir::Var*> others;
      for (const ir::Expr* to : call->args)
        if (const auto* v = as<ir::Var>(to)) others.push_back(v);
      others.insert(others.end(), seen.begin(), seen.end());
      std::size_t added = 0;
      std::unordered_set<const ir::Var*> tried{from};
      for (const ir::Var* to : others)
        if (to->type == from->type && added < kMostOperands && tried.insert(to).second) {
          add(call, from, to);
          ++added;
        }
    }
  };
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      ir::walk(b->value, [&](const ir::Node* n) {
        if (const auto* call = as<ir::Call>(n); call && as<ir::Op>(call->callee)) add_all(call);
        return true;
      });
      seen.push_back(b->var);
    }
  return out;
}

std::vector<Candidate> fewer_unread(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                    std::size_t size) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  const std::vector<const ir::Binding*> all = unread_bindings(f);
  for (std::size_t begin = 0; begin < all.size(); begin += size) {
    const std::size_t end = std::min(begin + size, all.size());
    out.push_back({"unread bindings", [&ctx, module, name, f, all, begin, end]() -> const ir::Module* {
                     const std::unordered_set<const ir::Binding*> dropped(all.begin() + std::ptrdiff_t(begin),
                                                                          all.begin() + std::ptrdiff_t(end));
                     const auto* body = as<ir::SeqExpr>(Drop(ctx, dropped).rewrite(f->body));
                     if (!body) return nullptr;
                     const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
                     const ir::Function* made = ctx.function(params, body, f->ret_type, f->is_pure, f->attrs);
                     return tidy(ctx, module, with_function(ctx, module, name, made), name);
                   }});
  }
  return out;
}

std::vector<Candidate> fewer_calls(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  std::vector<const ir::Var*> seen(f->params.begin(), f->params.end());
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = as<ir::Binding>(n);
    if (!b) return true;
    const auto* call = as<ir::Call>(b->value);
    if (call && as<ir::GlobalVar>(call->callee))
      if (const ir::Expr* value = value_of_type(ctx, b->var->type, call, seen))
        out.push_back({"call", [&ctx, module, name, f, b, value]() -> const ir::Module* {
                         const ir::Function* made = OtherValue(ctx, b, value).rewrite_function(f);
                         return tidy(ctx, module, with_function(ctx, module, name, made), name);
                       }});
    return true;
  });
  return out;
}

std::vector<Candidate> plain_blocks(ir::Context& ctx, const ir::Module* module) {
  std::vector<Candidate> out;
  out.push_back({"plain blocks", [&ctx, module] { return run_pass(ctx, module, passes::PassId::ToNonDataflow); }});
  return out;
}

std::size_t count_unusual_options(ir::Context& ctx, const ir::Function* f) {
  std::size_t n = 0;
  for_each_call(
      f, [&](const ir::Call* call) { for_each_option(ctx, call, [&](std::string_view, const ir::Attr*) { ++n; }); });
  return n;
}

std::size_t count_symbols(const ir::Function* f) { return symbols_of(f).size(); }

}  // namespace rldb::repro
