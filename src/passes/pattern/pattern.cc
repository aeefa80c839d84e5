// Builds patterns, and writes them as text.
#include "rldb/passes/pattern.h"

#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_name.h"
#include "rldb/runtime/dtype.h"

namespace rldb::passes {

namespace {

Pattern make(PatternNode node) { return Pattern(std::make_shared<const PatternNode>(std::move(node))); }

Pattern named(PatternKind kind, std::string_view name) {
  PatternNode node;
  node.kind = kind;
  node.name = name;
  return make(std::move(node));
}

Pattern of_parts(PatternKind kind, std::vector<Pattern> parts) {
  PatternNode node;
  node.kind = kind;
  node.parts = std::move(parts);
  return make(std::move(node));
}

std::string list(const std::vector<Pattern>& parts, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < parts.size(); ++i) text += (i > from ? ", " : "") + to_string(parts[i]);
  return text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t d : shape) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return "[" + text + "]";
}

}  // namespace

Pattern Pattern::call(std::vector<Pattern> args) const {
  args.insert(args.begin(), *this);
  return of_parts(PatternKind::Call, std::move(args));
}
Pattern Pattern::any_call() const {
  PatternNode node;
  node.kind = PatternKind::Call;
  node.parts = {*this};
  node.any_arguments = true;
  return make(std::move(node));
}
Pattern Pattern::operator|(const Pattern& other) const { return of_parts(PatternKind::Or, {*this, other}); }
Pattern Pattern::operator&(const Pattern& other) const { return of_parts(PatternKind::And, {*this, other}); }
Pattern Pattern::operator~() const { return of_parts(PatternKind::Not, {*this}); }
Pattern Pattern::operator[](std::int64_t index) const { return is_tuple_get_item(*this, index); }
Pattern Pattern::has_dtype(ir::DType dtype) const {
  PatternNode node;
  node.kind = PatternKind::HasDtype;
  node.parts = {*this};
  node.dtype = dtype;
  return make(std::move(node));
}
Pattern Pattern::has_shape(std::vector<std::int64_t> shape) const {
  PatternNode node;
  node.kind = PatternKind::HasShape;
  node.parts = {*this};
  node.shape = std::move(shape);
  return make(std::move(node));
}
Pattern Pattern::has_attr(std::string name, std::string value) const {
  PatternNode node;
  node.kind = PatternKind::HasAttr;
  node.parts = {*this};
  node.name = std::move(name);
  node.value = std::move(value);
  return make(std::move(node));
}

Pattern wildcard() { return make({}); }
Pattern is_op(std::string_view name) { return named(PatternKind::Op, op::full_name(name)); }
Pattern is_gv(std::string_view name) { return named(PatternKind::GlobalVar, name); }
Pattern is_extern(std::string_view name) { return named(PatternKind::ExternFunc, name); }
Pattern is_var(std::string_view name) { return named(PatternKind::Var, name); }
Pattern is_const() { return named(PatternKind::Constant, {}); }
Pattern is_tuple(std::vector<Pattern> fields) { return of_parts(PatternKind::Tuple, std::move(fields)); }
Pattern is_tuple_get_item(const Pattern& tuple, std::int64_t index) {
  PatternNode node;
  node.kind = PatternKind::TupleGetItem;
  node.parts = {tuple};
  node.index = index;
  return make(std::move(node));
}
Pattern is_call_tir(std::string_view function, std::vector<Pattern> args) {
  return is_op(op::CallTir)(is_gv(function), is_tuple(std::move(args)));
}
Pattern is_call_dps_packed(std::string_view function, std::vector<Pattern> args) {
  return is_op(op::CallDpsPacked)(is_extern(function), is_tuple(std::move(args)));
}

std::string to_string(const Pattern& p) {
  const auto about = [&](const std::string& rest) { return to_string(p->parts[0]) + rest; };
  switch (p->kind) {
    case PatternKind::Wildcard:
      return "wildcard()";
    case PatternKind::Op:
      return "is_op(\"" + p->name + "\")";
    case PatternKind::GlobalVar:
      return "is_gv(\"" + p->name + "\")";
    case PatternKind::ExternFunc:
      return "is_extern(\"" + p->name + "\")";
    case PatternKind::Var:
      return "is_var(\"" + p->name + "\")";
    case PatternKind::Constant:
      return "is_const()";
    case PatternKind::Call:
      return about(p->any_arguments ? "(...)" : "(" + list(p->parts, 1) + ")");
    case PatternKind::Tuple:
      return "is_tuple([" + list(p->parts, 0) + "])";
    case PatternKind::TupleGetItem:
      return "is_tuple_get_item(" + about(p->index < 0 ? "" : ", " + std::to_string(p->index)) + ")";
    case PatternKind::Or:
      return "(" + about(" | ") + to_string(p->parts[1]) + ")";
    case PatternKind::And:
      return "(" + about(" & ") + to_string(p->parts[1]) + ")";
    case PatternKind::Not:
      return "~" + to_string(p->parts[0]);
    case PatternKind::HasDtype:
      return about(".has_dtype(\"" + runtime::to_string(p->dtype) + "\")");
    case PatternKind::HasShape:
      return about(".has_shape(" + shape_text(p->shape) + ")");
    case PatternKind::HasAttr:
      return about(".has_attr({\"" + p->name + "\": " + p->value + "})");
  }
  return {};
}

}  // namespace rldb::passes
