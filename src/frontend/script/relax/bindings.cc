// Bindings of Relax functions: `x = ...` with and without annotation, unpacking, symbolic variables.
#include <unordered_set>

#include "frontend/script/module.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/relax/body_reader.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/size.h"
#include "rldb/ir/type_relation.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::script {

std::optional<ir::DType> symbol_declaration(Reader& r, Node value) {
  if (!value.is(Kind::Call)) return std::nullopt;
  const Node function = value.child(Field::Function);
  if (function.text() == "TypeVar" || function.text() == "typing.TypeVar") return ir::DType::Int(64);
  const Path p = path_of(r, function);
  if (p.space != Space::Tir) return std::nullopt;
  const Node arguments = value.child(Field::Arguments);
  if (p.rest == "var") {  // RFC: T.var("int32"); T.var("n") names the variable
    ir::DType t = ir::DType::Int(64);
    for (Node a : arguments.children())
      if (a.is(Kind::String))
        if (const auto given = runtime::parse_dtype(eval(r, a).text)) t = *given;
    return t;
  }
  if (!arguments.children().empty()) return std::nullopt;
  const auto t = runtime::parse_dtype(p.rest);
  return t && !t->is_void() && !t->is_handle() ? t : std::nullopt;
}

const ir::Var* define_symbol(Reader& r, Node name, ir::DType dtype) {
  for (FunctionState* f = r.fn; f; f = f->outer) {
    const auto it = f->symbols.find(name.text());
    if (it == f->symbols.end()) continue;
    const ir::Var* v = it->second.var;
    if (v->dtype() != dtype) {
      source::Message m =
          source::message(diag::SymbolDType, name.text(), runtime::to_string(dtype), runtime::to_string(v->dtype()));
      m.notes.push_back({it->second.span, "named by the signature here"});
      r.report(name.span(), std::move(m));
    }
    r.fn->scope.define(v->name, Val::of(v), name.span());
    return v;
  }
  const ir::Type* type = r.ctx.prim(dtype);
  const bool remembered = r.memo && r.memo->function() == r.fn;
  const ir::Var* v = remembered ? r.memo->take_variable(name.text(), type, false) : nullptr;
  if (!v) v = r.ctx.var(name.text(), type);
  r.at(v, name);
  r.fn->scope.define(v->name, Val::of(v), name.span());
  return v;
}

void BodyReader::binding(Node s) {
  const Node target = s.child(Field::Target);
  Node value = s.child(Field::Value);
  while (value.is(Kind::Parenthesized)) value = value.child(Field::Value);
  if (has_several_targets(s)) {
    r_.error(s, diag::UnsupportedSyntax, "a chain of assignments");
    std::vector<Node> names;
    for (Node t : s.children()) {
      if (t.field() != Field::Target) continue;
      if (t.is(Kind::Identifier)) names.push_back(t);
      for (Node c : t.children())
        if (c.is(Kind::Identifier)) names.push_back(c);
    }
    return poison(names);
  }
  if (target.is(Kind::Tuple) || target.is(Kind::List)) return unpack(s, target, value);
  if (!target.is(Kind::Identifier)) {
    if (target && !target.is(Kind::Missing)) r_.error(target, diag::BadTarget);
    return;
  }
  // The value read from a damaged line is not what was meant.
  if (cut_short(s)) return define_broken(target, nullptr);
  // The variables of a local function's signature, which follows.
  if (is_type_var(s)) {
    if (memo_) memo_->declared_symbol();
    r_.names.type_vars.insert(target.text());
    return;
  }
  if (const auto dtype = symbol_declaration(r_, value)) return declare(s, target, *dtype);
  if (const Path callee = value.is(Kind::Call) ? path_of(r_, value.child(Field::Function)) : Path();
      callee.space == Space::Relax && (callee.rest == "match_cast" || callee.rest == "match_shape")) {
    match_cast(s, target, value, callee.rest == "match_shape");
    return;
  }
  const Node annotation = s.child(Field::Annotation);
  const ir::Type* type = annotation ? read_type(r_, annotation) : nullptr;
  const Val v = [&] {
    const Expected::Scope expected(r_.expected, type, value);
    return eval(r_, value);
  }();
  assign(s, target, v, value, type, annotation);
}

void BodyReader::assign(Node s, Node target, const Val& v, Node value, const ir::Type* type, Node annotation) {
  switch (v.kind) {
    case ValKind::Poison:
      // The annotation, if there is one, allows the rest to be checked.
      return define_broken(target, type);
    case ValKind::Module:
    case ValKind::Path:
    case ValKind::Lambda:
    case ValKind::DType:
    case ValKind::Dict:
    case ValKind::Type:
    case ValKind::Attr:
      // Parse-time aliases: cls = Module, f = R.add.
      fn_.scope.define(target.text(), v, target.span());
      return;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, in_relax, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
      break;
  }
  if (v.fresh) {  // a meta value
    fn_.scope.define(target.text(), v, target.span());
    return;
  }
  const ir::Expr* e = nullptr;
  if (v.is_sequence() && ir::as<ir::ShapeType>(type)) {
    // RFC: lv3: R.Shape = (n * m,)
    if (const auto dims = to_dims(r_, v, value, ir::DType::Int(64))) e = r_.at(r_.ctx.shape(*dims), value);
  } else if (const auto* prim = ir::as<ir::PrimType>(type); prim && v.is_number() && !v.is(ValKind::Bool)) {
    // i: R.Prim("int32") = 2: the annotation gives the literal its dtype.
    const bool fits =
        prim->dtype.is_float() || (v.is(ValKind::Int) && prim->dtype.is_integral() && !prim->dtype.is_bool());
    e = fits ? to_scalar(r_, v, value, prim->dtype) : to_relax(r_, v, value);
  } else {
    e = to_relax(r_, v, value);
  }
  if (!e) return define_broken(target, type);
  bind(s, target, e, type, annotation);
}

void BodyReader::define_broken(Node target, const ir::Type* type) {
  ++broken_definitions_;
  fn_.scope.define(target.text(), type ? Val::of(make_var(target, type)) : Val(), target.span());
}

bool BodyReader::makes_output(std::string_view name) const {
  if (!outputs_) return false;
  const auto it = outputs_->last.find(name);
  return it != outputs_->last.end() && it->second == outputs_->statement;
}

// A variable of a tuple is looked through by its users: after an edit they must see a new one.
const ir::Var* BodyReader::make_var(Node target, const ir::Type* type, bool is_tuple) {
  const bool dataflow = body_.in_dataflow() && !makes_output(target.text());
  if (const ir::Var* v = memo_ && !is_tuple ? memo_->take_variable(target.text(), type, dataflow) : nullptr)
    return r_.at(v, target);
  return r_.at(dataflow ? r_.ctx.dataflow_var(target.text(), type) : r_.ctx.var(target.text(), type), target);
}

// The registry does not see the module's devices: the annotation tells which one a copy goes to.
bool BodyReader::is_device_copy(const ir::Expr* e) {
  const auto* call = ir::as<ir::Call>(e);
  const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
  return op && op->name == op::ToVdevice;
}

// Each statement may double the type of the one before it: a type that is immense when written out is refused here.
bool BodyReader::within_limits(Node target, const ir::Type* type) {
  support::poll();
  auto fault = budget_.add(target.text(), type);
  if (!fault) return true;
  // Once all variables together are too much, each further one is.
  const bool together = fault->id == diag::TypesTooLarge;
  if (!together || !together_too_large_) r_.report(target.span(), std::move(*fault));
  together_too_large_ = together_too_large_ || together;
  define_broken(target, nullptr);
  return false;
}

void BodyReader::bind(Node s, Node target, const ir::Expr* e, const ir::Type* type, Node annotation) {
  const ir::Type* value_type = e->type;
  if (!type) type = device_copy_type(r_, e, s.child(Field::Value));
  const auto distributed = [](const ir::Type* t) { return t && t->kind == ir::TypeKind::DTensor; };
  const bool checked = (!r_.module || r_.module->check_well_formed) && distributed(type) == distributed(value_type) &&
                       !is_device_copy(e);
  if (checked && type && type != value_type && ir::base_check(r_.ctx, type, value_type) == ir::BaseCheck::FailL0) {
    source::Message m =
        source::message(diag::AnnotationMismatch, target.text(), ir::print_type(type), ir::print_type(value_type));
    r_.report(annotation.span(), std::move(m));
  }
  if (!within_limits(target, type ? type : value_type)) return;
  const ir::Var* v = make_var(target, type ? type : value_type, ir::isa<ir::Tuple>(e));
  body_.append(r_.at(r_.ctx.binding(v, e), s));
  if (const auto* t = ir::as<ir::Tuple>(e)) fn_.tuples[v] = t;
  fn_.scope.define(v->name, Val::of(v), target.span());
}

// n = T.int64(): names a symbolic variable; nothing is bound.
void BodyReader::declare(Node s, Node target, ir::DType dtype) {
  if (const Node annotation = s.child(Field::Annotation)) {
    const ir::Type* type = read_type(r_, annotation);
    if (type && type != r_.ctx.prim(dtype))
      r_.error(annotation, diag::AnnotationMismatch, target.text(), ir::print_type(type),
               ir::print_type(r_.ctx.prim(dtype)));
  }
  if (memo_) memo_->declared_symbol();
  define_symbol(r_, target, dtype);
}

// The first name that stands twice in a target, also in a tuple inside it.
static Node repeated_name(Node target, std::unordered_set<std::string_view>& seen) {
  if (target.is(Kind::Identifier)) return seen.insert(target.text()).second ? Node() : target;
  for (Node t : target.children())
    if (const Node found = repeated_name(t, seen)) return found;
  return {};
}

void BodyReader::unpack(Node s, Node target, Node value) {
  std::vector<Node> targets;
  for (Node t : target.children()) targets.push_back(t);
  std::unordered_set<std::string_view> seen;
  if (const Node twice = repeated_name(target, seen)) {
    r_.error(twice, diag::VerifyRedefined, twice.text());
    return poison(targets);
  }
  if (value.is(Kind::Tuple) || value.is(Kind::List)) {
    std::vector<Node> values;
    for (Node v : value.children()) values.push_back(v);
    if (values.size() != targets.size()) {
      r_.error(target, diag::UnpackCount, targets.size(), values.size());
      return poison(targets);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (const auto dtype = symbol_declaration(r_, values[i])) {
        if (memo_) memo_->declared_symbol();
        define_symbol(r_, targets[i], *dtype);
      } else {
        assign(s, targets[i], eval(r_, values[i]), values[i], nullptr, {});
      }
    }
    return;
  }
  if (const Path callee = value.is(Kind::Call) ? path_of(r_, value.child(Field::Function)) : Path();
      callee.space == Space::Relax && callee.rest == "match_shape")
    return match_shape_targets(s, targets, value);
  const Val v = eval(r_, value);
  if (v.is_sequence()) {
    if (v.items.size() != targets.size()) {
      r_.error(target, diag::UnpackCount, targets.size(), v.items.size());
      return poison(targets);
    }
    for (std::size_t i = 0; i < targets.size(); ++i) assign(s, targets[i], v.items[i], value, nullptr, {});
    return;
  }
  const ir::Expr* e = to_leaf(r_, v, value);
  if (!e) return poison(targets);
  const auto* tuple = ir::as<ir::TupleType>(e->type);
  if (!tuple || tuple->fields.size() != targets.size()) {
    if (tuple) {
      r_.error(target, diag::UnpackCount, targets.size(), tuple->fields.size());
    } else {
      r_.error(value, diag::NotATuple, describe(r_, v));
    }
    return poison(targets);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto field = r_.ctx.tuple_get(e, std::int64_t(i));
    if (field.ok()) assign(s, targets[i], Val::of(static_cast<const ir::Expr*>(*field)), value, nullptr, {});
  }
}

void BodyReader::poison(const std::vector<Node>& targets) {
  ++broken_definitions_;
  for (Node t : targets)
    if (t.is(Kind::Identifier)) fn_.scope.define(t.text(), Val(), t.span());
}

}  // namespace rldb::frontend::script
