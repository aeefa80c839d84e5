// Moves of the reducer on a whole module: functions dropped, symbolic dims merged, constants made parameters,
// attributes of calls set to their defaults, dataflow blocks made plain.
#include <algorithm>

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
  for_each_call(f, [&](const ir::Call* call) {
    if (!as<ir::Op>(call->callee)) return;
    for (const ir::Expr* from : call->args)
      for (const ir::Expr* to : call->args) {
        const auto *a = as<ir::Var>(from), *b = as<ir::Var>(to);
        if (a && b && a != b && a->type == b->type)
          out.push_back({"operand of its own", [&ctx, module, name, f, call, a, b] {
                           const ir::Function* made = OtherOperand(ctx, call, a, b).rewrite_function(f);
                           return tidy(ctx, with_function(ctx, module, name, returning_its_body(ctx, made)), name);
                         }});
      }
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
