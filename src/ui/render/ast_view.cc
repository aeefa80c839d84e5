// The tree of nodes as indented lines. A shared node is written wherever it is used: leaves are short.
#include "rldb/ui/render/ast_view.h"

#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/value.h"
#include "rldb/support/cancel.h"

namespace rldb::ui {

namespace {

using namespace ir;

// RFC 0089, section 4.1: the checked type has rank and dtype, the shape is a field of its own.
std::string checked_type(const Type* type) {
  if (const auto* t = as<TensorType>(type))
    return fmt::format("DynTensorType(ndim={}, dtype={})", t->ndim, t->dtype.is_void() ? "_" : to_string(t->dtype));
  if (as<ShapeType>(type)) return "ShapeType()";
  if (as<AnyType>(type)) return "ObjectType()";
  if (const auto* t = as<PrimType>(type)) return fmt::format("PrimType({})", to_string(t->dtype));
  if (const auto* t = as<TupleType>(type)) {
    std::string fields;
    for (const Type* f : t->fields) fields += (fields.empty() ? "" : ", ") + checked_type(f);
    return fmt::format("TupleType({})", fields);
  }
  return "FuncType()";
}

std::string shape_of(const Type* type) {
  const auto* t = as<TensorType>(type);
  if (!t) return {};
  if (t->shape_var) return fmt::format("  shape_ {}", print_expr(t->shape_var));
  if (!t->has_shape) return "  shape_ RuntimeDepShape";
  std::string dims;
  for (const Expr* d : t->shape) dims += (dims.empty() ? "" : ", ") + print_expr(d);
  return fmt::format("  shape_ ShapeExpr({})", dims);
}

class AstWriter {
 public:
  std::string out;

  void function(const Function* f, std::string_view name, int depth) {
    line(depth, fmt::format("Function {}{}", name, f->is_pure ? "" : "  is_pure=False"));
    line(depth + 1, "params");
    for (const Var* p : f->params) expr(p, depth + 2);
    expr(f->body, depth + 1, "body ");
    line(depth + 1, fmt::format("ret_type {}{}", checked_type(f->ret_type), shape_of(f->ret_type)));
    attributes(f->attrs, depth + 1);
  }

  void binding(const Binding* b, int depth) {
    support::poll();
    line(depth, b->is_match_cast() ? "MatchShape" : "VarBinding");
    expr(b->var, depth + 1, "var ");
    expr(b->value, depth + 1, "value ");
    if (b->cast_type) line(depth + 1, fmt::format("pattern {}{}", checked_type(b->cast_type), shape_of(b->cast_type)));
  }

 private:
  void line(int depth, std::string_view text) { out += fmt::format("{:{}}{}\n", "", 2 * depth, text); }
  void attributes(Span<NamedAttr> attrs, int depth) {
    for (const NamedAttr& a : attrs) line(depth, fmt::format("attr {}={}", a.name, print_attr(a.value)));
  }

  void sequence(const SeqExpr* s, int depth, std::string_view field) {
    line(depth, fmt::format("{}SeqExpr", field));
    for (const BindingBlock* block : s->blocks) {
      line(depth + 1, block->is_dataflow() ? "DataflowBlock" : "BindingBlock");
      for (const Binding* b : block->bindings) binding(b, depth + 2);
    }
    expr(s->body, depth + 1, "body ");
  }

  void call(const Call* c, int depth, std::string_view field) {
    line(depth, fmt::format("{}Call  {}{}", field, checked_type(c->type), shape_of(c->type)));
    expr(c->callee, depth + 1, "op ");
    for (const Expr* a : c->args) expr(a, depth + 1, "arg ");
    for (const Type* t : c->ty_args) line(depth + 1, fmt::format("type_arg {}{}", checked_type(t), shape_of(t)));
    attributes(c->attrs, depth + 1);
  }

  void expr(const Expr* e, int depth, std::string_view field = "") {
    const auto typed = [&](std::string_view what) {
      line(depth, fmt::format("{}{}  {}{}", field, what, checked_type(e->type), shape_of(e->type)));
    };
    if (const auto* s = as<SeqExpr>(e)) return sequence(s, depth, field);
    if (const auto* c = as<Call>(e); c && !as<PrimType>(c->type)) return call(c, depth, field);
    if (const auto* v = as<Var>(e))
      return typed(fmt::format("{} {}", v->is_dataflow() ? "DataflowVar" : "Var", v->name));
    if (const auto* g = as<GlobalVar>(e)) return line(depth, fmt::format("{}GlobalVar {}", field, g->name));
    if (const auto* o = as<Op>(e)) return line(depth, fmt::format("{}Op {}", field, o->name));
    if (const auto* x = as<ExternFunc>(e)) return line(depth, fmt::format("{}ExternFunc \"{}\"", field, x->symbol));
    if (const auto* c = as<Constant>(e)) return typed(fmt::format("Constant {}", runtime::describe(*c->value)));
    if (const auto* f = as<Function>(e)) return function(f, "", depth);
    if (const auto* t = as<Tuple>(e)) {
      line(depth, fmt::format("{}Tuple", field));
      for (const Expr* item : t->items) expr(item, depth + 1);
      return;
    }
    if (const auto* t = as<TupleGetItem>(e)) {
      typed(fmt::format("TupleGetItem {}", t->index));
      return expr(t->tuple, depth + 1, "tuple ");
    }
    if (const auto* i = as<If>(e)) {
      typed("If");
      expr(i->cond, depth + 1, "cond ");
      sequence(i->then_branch, depth + 1, "true_branch ");
      return sequence(i->else_branch, depth + 1, "false_branch ");
    }
    if (as<ShapeExpr>(e)) return line(depth, fmt::format("{}ShapeExpr {}", field, print_expr(e)));
    line(depth, fmt::format("{}PrimExpr {}", field, print_expr(e)));
  }
};

}  // namespace

std::string ast_text(const Function* f, std::string_view name, std::string_view wanted) {
  AstWriter writer;
  if (wanted.empty()) {
    writer.function(f, name, 0);
    return std::move(writer.out);
  }
  walk(f->body, [&](const Node* n) {
    const auto* b = as<Binding>(n);
    if (b && b->var->name == wanted && writer.out.empty()) writer.binding(b, 0);
    return writer.out.empty();
  });
  return std::move(writer.out);
}

}  // namespace rldb::ui
