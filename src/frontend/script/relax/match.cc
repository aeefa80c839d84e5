// R.match_cast and R.match_shape: patterns that declare symbolic variables.
#include "frontend/script/module.h"
#include "frontend/script/relax/body_reader.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

// The type that match_shape's pattern asserts of a value; new names in it are declared.
const ir::Type* BodyReader::pattern_type(const ir::Expr* value, const Val& pattern, Node at) {
  const auto dims = to_dims(r_, pattern, at, ir::DType::Int(64));
  if (!dims) return nullptr;
  if (value->type->kind == ir::TypeKind::Shape) return r_.ctx.shape_type(*dims);
  const auto* t = ir::as<ir::TensorType>(value->type);
  return r_.ctx.tensor(*dims, t ? t->dtype : ir::DType::Void(), t ? t->vdevice : nullptr);
}

// Undefined bare names of the pattern become symbolic variables.
void BodyReader::declare_pattern(Node n) {
  if (n.is(Kind::Identifier)) {
    const Val* known = find_name(r_, n.text());
    if (!known || !known->expr()) define_symbol(r_, n, ir::DType::Int(64));
    return;
  }
  if (n.is(Kind::Tuple) || n.is(Kind::List) || n.is(Kind::Parenthesized))
    for (Node c : n.children()) declare_pattern(c);
}

void BodyReader::match_cast(Node s, Node target, Node value, bool is_match_shape) {
  CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "match_cast"};
  Arguments args(r_, call);
  const auto subject = args.require(0, "value");
  const ir::Expr* e = subject ? to_leaf(r_, *subject, args.node(0, "value")) : nullptr;
  const ir::Type* type = nullptr;
  Argument* pattern = args.find(1, is_match_shape ? "pattern" : "ty");
  if (!pattern && !is_match_shape) pattern = args.find("struct_info");
  if (!pattern) {
    r_.error(value, diag::MissingArgument, is_match_shape ? "pattern" : "ty", call.shown());
  } else if (is_match_shape) {
    declare_pattern(pattern->node);
    const Val p = args.value(pattern);
    type = e ? pattern_type(e, p, pattern->node) : nullptr;
  } else {
    pattern->used = true;
    type = read_type(r_, pattern->node);
  }
  args.finish();
  const Node annotation = s.child(Field::Annotation);
  const ir::Type* annotated = annotation ? read_type(r_, annotation) : nullptr;
  if (!e || !type) return define_broken(target, annotated ? annotated : type);
  if (ir::base_check(r_.ctx, type, e->type) == ir::BaseCheck::FailL0 &&
      ir::base_check(r_.ctx, e->type, type) == ir::BaseCheck::FailL0) {
    r_.error(pattern->node, diag::CastImpossible, ir::print_type(e->type), ir::print_type(type));
    return define_broken(target, annotated ? annotated : type);
  }
  if (annotated && ir::base_check(r_.ctx, annotated, type) == ir::BaseCheck::FailL0)
    r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(annotated), ir::print_type(type));
  if (!within_limits(target, type) || (annotated && !within_limits(target, annotated))) return;
  const ir::Var* v = make_var(target, annotated ? annotated : type);
  body_.append(r_.at(r_.ctx.match_cast(v, e, type), s));
  fn_.scope.define(v->name, Val::of(v), target.span());
}

// n, m = R.match_shape(x.shape): the targets are the pattern.
void BodyReader::match_shape_targets(Node s, const std::vector<Node>& targets, Node value) {
  CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "match_shape"};
  Arguments args(r_, call);
  const auto subject = args.require(0, "value");
  const ir::Expr* e = nullptr;
  if (subject && subject->is_sequence()) {
    if (const auto dims = to_dims(r_, *subject, args.node(0, "value"), ir::DType::Int(64))) e = r_.ctx.shape(*dims);
  } else if (subject) {
    e = to_leaf(r_, *subject, args.node(0, "value"));
  }
  args.finish();
  if (!e) return poison(targets);
  std::vector<Val> dims;
  for (Node t : targets)
    if (t.is(Kind::Identifier)) dims.push_back(Val::of(define_symbol(r_, t, ir::DType::Int(64))));
  const ir::Type* type = pattern_type(e, Val::of_list(ValKind::Tuple, r_.keep(dims)), value);
  if (!type) return;
  const ir::Var* v = body_.in_dataflow() ? r_.ctx.dataflow_var("_", type) : r_.ctx.var("_", type);
  body_.append(r_.at(r_.ctx.match_cast(v, e, type), s));
}

void BodyReader::bare_match(Node s, Node value, bool is_match_shape) {
  // Only its effect on symbolic variables is needed.
  match_cast(s, value.child(Field::Function), value, is_match_shape);
}

}  // namespace rldb::frontend::script
