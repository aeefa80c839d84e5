// Calls of Relax: arguments to ops::normalize_arguments, functions by their types, temporaries for nested calls.
#include <fmt/format.h>

#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_id.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/arguments.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_type.h"

namespace rldb::frontend::script {

Val emit_call(Reader& r, ir::Result<const ir::Call*> call, Node at) {
  if (call.ok()) return Val::of(static_cast<const ir::Expr*>(r.at(*call, at)));
  r.report(at.span(), std::move(call).error());
  return {};
}

Val emit_call(Reader& r, ir::Result<ir::CallSpec> spec, Node at) {
  if (spec.ok()) return emit_call(r, r.ctx.call(*spec), at);
  r.report(at.span(), std::move(spec).error());
  return {};
}

const ir::Expr* emit_temporary(Reader& r, const ir::Expr* value, Node at) {
  if (!r.fn || !r.fn->body) {
    r.error(at, diag::Misplaced, at.text());
    return value;
  }
  Body& body = *r.fn->body;
  const bool dataflow = body.in_dataflow();
  const FunctionState* whole = r.fn;
  while (whole->outer && whole->outer->body) whole = whole->outer;
  const TemporaryNames& written = whole->body->written_names();
  std::string_view name;
  do {
    int n = body.next_temporary();
    while (written.is_written(dataflow, n)) n = body.next_temporary();
    name = r.ctx.str(n == 0 ? std::string(dataflow ? "lv" : "gv") : fmt::format("{}{}", dataflow ? "lv" : "gv", n));
  } while (find_name(r, name));
  if (whole != r.fn) whole->body->note_inner_temporaries(body.temporaries());
  const ir::Var* v = dataflow ? r.ctx.dataflow_var(name, value->type) : r.ctx.var(name, value->type);
  r.at(v, at);
  body.append(r.at(r.ctx.binding(v, value), at));
  return v;
}

namespace {

bool holds_expression(const Val& v) {
  if (v.is_sequence()) {
    for (const Val& i : v.items)
      if (holds_expression(i)) return true;
    return false;
  }
  return v.expr() || v.is(ValKind::Region);
}

// One argument in the form that ops takes; false after a report.
bool make_argument(Reader& r, const Val& v, Node at, ops::CallArg& out) {
  if (v.poison()) return false;
  if (v.expr() || (v.is_sequence() && holds_expression(v))) {
    out.expr = to_leaf(r, v, at);
    return out.expr != nullptr;
  }
  if (v.is(ValKind::Module)) {
    r.error(at, diag::ExpectedValue, describe(r, v));
    return false;
  }
  out.attr = to_attr(r, v, at);
  return out.attr != nullptr;
}

bool is_out_type_op(std::string_view path) { return op::has(op::full_name(path), op::Trait::CallTir); }

// RFC 0089: R.call_tir(f, args, shape, dtype="float32"), and output_shape=, output_dtype=.
// Returns the output type, or null when the call is not of that form.
const ir::Type* rfc_output(Reader& r, Arguments& args, bool& bad) {
  Argument* dtype_arg = nullptr;
  Argument* shape_arg = nullptr;
  std::size_t at = 0;
  for (Argument& a : args.all()) {
    if (a.keyword == "dtype" || a.keyword == "output_dtype") dtype_arg = &a;
    if (a.keyword == "output_shape" || a.keyword == "shape") shape_arg = &a;
    if (a.keyword.empty() && at++ == 2) shape_arg = &a;
  }
  if (!dtype_arg || !shape_arg) return nullptr;
  dtype_arg->used = shape_arg->used = true;
  const auto dtype = to_dtype(r, args.value(dtype_arg), dtype_arg->node);
  const Val shape = args.value(shape_arg);
  bad = true;
  if (!dtype || shape.poison()) return nullptr;
  if (const ir::Expr* e = shape.expr(); e && !is_scalar_expr(e) && !ir::isa<ir::ShapeExpr>(e)) {
    const auto* t = ir::as<ir::ShapeType>(e->type);
    if (t && t->has_values) {
      bad = false;
      return r.ctx.tensor(t->values, *dtype);
    }
    if (t && ir::isa<ir::Var>(e)) {
      bad = false;
      return r.ctx.tensor_of(e, t->ndim, *dtype);
    }
    // A value of a less specific type (an Any from a packed function): nothing is known of the shape.
    if (e->type->kind == ir::TypeKind::Any) {
      bad = false;
      return r.ctx.tensor_ndim(ir::kUnknownNdim, *dtype);
    }
    r.error(shape_arg->node, diag::NotAShape, describe(r, shape));
    return nullptr;
  }
  const auto dims = to_dims(r, shape, shape_arg->node, ir::DType::Int(64));
  if (!dims) return nullptr;
  bad = false;
  return r.ctx.tensor(*dims, *dtype);
}

// Names that the RFC and older texts use for operators of the present.
std::string_view modern_name(std::string_view path) {
  static const std::unordered_map<std::string_view, op::Id> table = {
#define RLDB_OP_SPELLING(name, Op) {name, op::Id::Op},
#include "rldb/ir/op/rule.def"
  };
  const auto it = table.find(path);
  if (it == table.end() || ops::find(path)) return path;
  return op::short_name(op::row(it->second).name);
}

void report_at_argument(Reader& r, const CallNode& call, source::Message m, const std::vector<ops::CallArg>& given,
                        const std::vector<Argument*>& from, const ir::CallSpec* spec) {
  Node where = call.node;
  if (m.argument >= 0) {
    std::size_t i = static_cast<std::size_t>(m.argument);
    if (!spec && i < from.size()) where = from[i]->keyword.empty() ? from[i]->node : from[i]->name;
    if (spec && i < spec->args.size()) {
      for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k].expr == spec->args[i]) where = from[k]->node;
    }
  }
  if (const ops::OpInfo* info = spec ? ops::find(spec->callee) : nullptr; info && where.index() == call.node.index())
    if (const int k = ops::written_argument(*info, given, m); k >= 0) where = from[std::size_t(k)]->node;
  if (!m.attribute.empty())
    for (const Argument* a : from)
      if (a->keyword == m.attribute) where = a->node;
  r.report(where.span(), std::move(m));
}

// The fields of a variable that is known to be a tuple, each bound; null: it is not. As in TVM's NormalizeCallTIR,
// whose result is normalised once more.
const ir::Expr* tuple_of_fields(Reader& r, const ir::Expr* variable, Node at) {
  const auto* type = ir::as<ir::TupleType>(variable->type);
  if (!type) return nullptr;
  std::vector<const ir::Expr*> fields;
  for (std::size_t i = 0; i < type->fields.size(); ++i) {
    auto field = r.ctx.tuple_get(variable, std::int64_t(i));
    if (!field.ok()) return nullptr;
    fields.push_back(emit_temporary(r, r.at(*field, at), at));
  }
  return r.ctx.tuple(fields);
}

// The arguments of call_tir are written in line; a variable that is bound to a tuple is replaced by it, and another one
// by its fields.
void inline_tuple(Reader& r, std::vector<ops::CallArg>& given, Node at) {
  if (r.module && !r.module->check_well_formed) return;  // the text is accepted unchanged
  std::size_t position = 0;
  for (ops::CallArg& a : given) {
    const bool is_args = a.keyword == "args" || (a.keyword.empty() && position == 1);
    position += a.keyword.empty() ? 1 : 0;
    const auto* v = is_args ? ir::as<ir::Var>(a.expr) : nullptr;
    for (FunctionState* f = v ? r.fn : nullptr; f; f = f->outer)
      if (const auto it = f->tuples.find(v); it != f->tuples.end()) a.expr = it->second;
    if (v && a.expr == v)
      if (const ir::Expr* fields = tuple_of_fields(r, v, at)) a.expr = fields;
  }
}

// An operator without a row: types among its positions are its output types.
void name_type_arguments(std::vector<ops::CallArg>& given) {
  for (ops::CallArg& a : given) {
    if (!a.keyword.empty() || !a.attr) continue;
    const bool list =
        a.attr->is(ir::AttrKind::List) && !a.attr->items.empty() && a.attr->items[0]->is(ir::AttrKind::Type);
    if (list || a.attr->is(ir::AttrKind::Type)) a.keyword = "out_ty";
  }
}

// R.call_tir_inplace(f, args, indices, out_ty): its own order of positions.
void name_inplace_arguments(std::vector<ops::CallArg>& given) {
  std::size_t position = 0;
  for (ops::CallArg& a : given) {
    if (!a.keyword.empty()) continue;
    if (position == 2) a.keyword = "inplace_indices";
    if (position == 3) a.keyword = "out_ty";
    ++position;
  }
}

bool takes_meta_constant(const ir::CallSpec& spec) {
  for (const ir::Expr* a : spec.args) {
    if (ir::isa<ir::MetaConstant>(a)) return true;
    if (const auto* t = ir::as<ir::Tuple>(a))
      for (const ir::Expr* i : t->items)
        if (ir::isa<ir::MetaConstant>(i)) return true;
  }
  return false;
}

// An operator that the registry does not know: typed by the annotation, with one note per name.
Val unknown_operator(Reader& r, const CallNode& call, const ir::CallSpec& spec, const ir::Type* annotation) {
  const std::string_view near = ops::nearest_name(call.path);
  std::string hint = near.empty() ? std::string() : fmt::format("did you mean `R.{}`?", near);
  const ir::Type* type = annotation ? annotation : spec.ty_args.size() == 1 ? spec.ty_args[0] : nullptr;
  if (!type && !spec.ty_args.empty()) type = r.ctx.tuple_type(spec.ty_args);
  if (!type) {
    if (hint.empty()) hint = "annotate the variable to keep the call with that type";
    return r.error_hint(call.function, std::move(hint), diag::OperatorWithoutType, call.shown());
  }
  if (r.memo) r.memo->read_always();  // whether it is noted depends on the text before it
  if (r.options.unknown_op_notes && r.noted_ops.insert(call.path).second)
    r.report(call.function.span(), source::message(diag::OperatorNotKnown, call.shown()).with_hint(std::move(hint)));
  return Val::of(static_cast<const ir::Expr*>(
      r.at(r.ctx.call_typed(spec.callee, spec.args, type, spec.attrs, spec.ty_args), call.node)));
}

}  // namespace

namespace {

// Intermediate calls made by a function such as R.linear get bindings of their own.
const ir::Expr* bind_inner_calls(Reader& r, const ir::Expr* e, Node at) {
  const auto* call = ir::as<ir::Call>(e);
  if (!call || call->type->kind == ir::TypeKind::Prim) return e;
  std::vector<const ir::Expr*> args;
  for (const ir::Expr* a : call->args) args.push_back(bind_inner_calls(r, a, at));
  return emit_temporary(
      r, r.at(r.ctx.call_typed(call->callee, r.ctx.list(args), call->type, call->attrs, call->ty_args), at), at);
}

// `self` is the object of x.astype(...), which is its first argument.
Val operator_call(Reader& r, const CallNode& call, const Val* self) {
  const ir::Type* annotation = r.expected.at(call.node);
  std::string_view name = modern_name(call.path);
  Arguments args(r, call);
  std::vector<ops::CallArg> given;
  std::vector<Argument*> from;
  bool good = true;
  bool bad_output = false;
  const ir::Type* rfc_type = is_out_type_op(name) ? rfc_output(r, args, bad_output) : nullptr;
  good = !bad_output;
  Argument self_argument;
  if (self) {
    self_argument.node = call.function;
    ops::CallArg out;
    if (!make_argument(r, *self, call.function, out)) return {};
    given.push_back(out);
    from.push_back(&self_argument);
  }
  for (Argument& a : args.all()) {
    if (a.used && is_out_type_op(name)) continue;
    a.used = true;
    ops::CallArg out;
    out.keyword = a.keyword;
    if (!make_argument(r, args.value(&a), a.node, out)) {
      good = false;
      continue;
    }
    given.push_back(out);
    from.push_back(&a);
  }
  if (!good) return {};
  if (name == short_op::CallTir && !given.empty() && given[0].attr && given[0].attr->is(ir::AttrKind::String)) {
    // RFC 0089, section 3: a packed function by its name.
    name = short_op::CallDpsPacked;
    r.error(from[0]->node, diag::PackedByCallTir, given[0].attr->string, given[0].attr->string);
  }
  Argument type_argument;
  if (rfc_type) {
    ops::CallArg out;
    out.keyword = "out_ty";
    out.attr = r.ctx.attr(rfc_type);
    given.push_back(out);
    type_argument.node = call.node;
    from.push_back(&type_argument);
  }
  if (name == short_op::CallTirInplace)
    name_inplace_arguments(given);
  else if (is_out_type_op(name))
    inline_tuple(r, given, call.node);
  if (!ops::find(name)) name_type_arguments(given);
  auto spec = ops::normalize_arguments(r.ctx, name, given);
  if (!spec.ok()) {
    report_at_argument(r, call, std::move(spec).error(), given, from, nullptr);
    return {};
  }
  std::vector<const ir::Expr*> leaves;
  for (const ir::Expr* a : spec->args) leaves.push_back(bind_inner_calls(r, a, call.node));
  spec->args = r.ctx.list(leaves);
  const auto* op = ir::as<ir::Op>(spec->callee);
  if (op && r.ctx.typer() && !r.ctx.typer()->is_known(op->name)) return unknown_operator(r, call, *spec, annotation);
  // RFC 0089 has no type arguments: the annotation gives the result type of a packed function.
  if (name == "call_packed" && annotation && spec->ty_args.empty() && r.rfc_spelling())
    spec->ty_args = r.ctx.list(std::vector<const ir::Type*>{annotation});
  auto made = r.ctx.call(*spec);
  if (!made.ok() && annotation && takes_meta_constant(*spec)) {
    // Nothing is known of a constant whose metadata is missing from the text: the annotation is trusted.
    return Val::of(static_cast<const ir::Expr*>(
        r.at(r.ctx.call_typed(spec->callee, spec->args, annotation, spec->attrs, spec->ty_args), call.node)));
  }
  if (!made.ok()) {
    report_at_argument(r, call, std::move(made).error(), given, from, &*spec);
    return {};
  }
  return Val::of(static_cast<const ir::Expr*>(r.at(*made, call.node)));
}

}  // namespace

// relax.Call(op, [args], attrs, ty_args=[...]): the call unchanged, nothing normalized.
Val call_node(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto op = args.require(0, "op");
  const auto list = args.require(1, "args");
  const auto attrs = args.get(2, "attrs");
  std::vector<const ir::Type*> types;
  for (std::string_view key : {"ty_args", "sinfo_args"})
    if (Argument* a = args.find(key == "ty_args" ? 3 : 99, key)) {
      const Val v = args.value(a);
      for (const Val& item : v.is_sequence() ? v.items : std::span<const Val>(&v, 1))
        if (const ir::Type* t = to_type(r, item, a->node)) types.push_back(t);
    }
  args.find("span");
  args.finish();
  if (!op || !list || op->poison() || list->poison()) return {};
  if (!list->is_sequence()) return r.error(args.node(1, "args"), diag::ExpectedList, "args");
  ir::CallSpec spec;
  spec.callee = to_leaf(r, *op, args.node(0, "op"));
  std::vector<const ir::Expr*> values;
  for (const Val& item : list->items) values.push_back(to_leaf(r, item, item.cst ? item.cst : args.node(1, "args")));
  for (const ir::Expr* e : values)
    if (!e) return {};
  if (!spec.callee) return {};
  spec.args = r.ctx.list(values);
  spec.ty_args = r.ctx.list(types);
  std::vector<ir::NamedAttr> fields;
  if (attrs && attrs->is(ValKind::Dict)) fields = to_fields(r, *attrs, args.node(2, "attrs"));
  spec.attrs = r.ctx.list(fields);
  return emit_call(r, r.ctx.call(spec), call.node);
}

// The registry does not see the module's devices; "cuda:1:global" of R.to_vdevice names one of them.
const ir::Type* device_copy_type(Reader& r, const ir::Expr* e, Node at) {
  const auto* call = ir::as<ir::Call>(e);
  const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
  const auto* t = ir::as<ir::TensorType>(e->type);
  if (!op || op->name != op::ToVdevice || !t || !r.module || r.module->vdevices.empty()) return nullptr;
  const ir::Attr* dst = ir::find_attr(call->attrs, op_attr::DstVdevice);
  if (!dst || !dst->is(ir::AttrKind::String)) return nullptr;
  const ir::VDevice* device = read_vdevice(r, Val::of_str(dst->string), at);
  if (!device) return nullptr;
  if (t->has_shape) return r.ctx.tensor(t->shape, t->dtype, device);
  if (t->shape_var) return r.ctx.tensor_of(t->shape_var, t->ndim, t->dtype, device);
  return r.ctx.tensor_ndim(t->ndim, t->dtype, device);
}

Val relax_operator(Reader& r, const CallNode& call) { return operator_call(r, call, nullptr); }

Val relax_method(Reader& r, const Val& object, std::string_view name, const CallNode& call) {
  if (!ops::find(name))
    return r.error(call.function.child(Field::Attribute), diag::NoAttribute, describe(r, object), name);
  CallNode as_operator = call;
  as_operator.space = Space::Relax;
  as_operator.path = name;
  return operator_call(r, as_operator, &object);
}

namespace {

const Member* member_of(Reader& r, const ir::Expr* callee) {
  const auto* g = ir::as<ir::GlobalVar>(callee);
  if (!g || !r.module) return nullptr;
  const auto it = r.module->by_name.find(g->name);
  return it == r.module->by_name.end() ? nullptr : it->second;
}

// A function whose result is unknown because of errors in it: uses of it are not checked.
bool is_broken_member(Reader& r, const ir::Expr* callee) {
  const Member* m = member_of(r, callee);
  if (!m || m->declared) return m && m->lost_parameters;
  return m->damaged_header || m->state == Member::State::Failed || (m->state == Member::State::Done && m->broken);
}

// Where the wrongly called function declares its parameters.
void note_parameters(Reader& r, const Member& member, source::Message& m) {
  std::string params;
  for (const ir::Var* p : member.signature->params) {
    params += params.empty() ? "" : ", ";
    params += fmt::format("{}: {}", p->name, ir::print_type(p->type));
  }
  const source::Span first =
      member.signature->params.empty() ? source::Span{} : r.ctx.spans().get(member.signature->params[0]->id);
  m.notes.push_back({first, fmt::format("`{}` takes ({})", member.name, params)});
}

}  // namespace

Val call_function(Reader& r, const ir::Expr* computed, const CallNode& call) {
  const ir::Expr* callee = as_leaf(r, computed, call.function);
  if (!callee) return {};
  Arguments args(r, call);
  std::vector<const ir::Expr*> values;
  std::vector<Node> nodes;
  std::vector<const ir::Type*> ty_args;
  bool good = true;
  for (Argument& a : args.all()) {
    a.used = true;
    if (a.keyword == "ty_args" || a.keyword == "sinfo_args") {
      const ir::Type* t = to_type(r, args.value(&a), a.node);
      good = good && t;
      if (t) ty_args.push_back(t);
      continue;
    }
    if (!a.keyword.empty()) {
      r.error(a.name, diag::UnknownKeyword, a.keyword, call.shown());
      good = false;
      continue;
    }
    values.push_back(to_leaf(r, args.value(&a), a.node));
    nodes.push_back(a.node);
    good = good && values.back();
  }
  if (!good) return {};
  if (is_broken_member(r, callee)) {
    r.note_lost_callee();
    return {};
  }
  ir::CallSpec spec;
  spec.callee = callee;
  spec.args = r.ctx.list(values);
  spec.ty_args = r.ctx.list(ty_args);
  auto made = r.ctx.call(spec);
  if (made.ok()) return Val::of(static_cast<const ir::Expr*>(r.at(*made, call.node)));
  source::Message m = std::move(made).error();
  if (const Member* member = member_of(r, callee)) {
    // A lowered module calls kernels so, with arguments of their types.
    const bool is_kernel = member->kind == Kind::PrimFunc || ir::isa<ir::PrimFunc>(member->function);
    if (is_kernel && m.argument < 0) {
      m = source::message(diag::PrimFuncCalled, member->name)
              .with_hint(fmt::format("write `R.call_tir({}, (...), out_ty=R.Tensor(...))`", call.shown()));
      r.report(call.node.span(), std::move(m));
      return {};
    }
    if (member->signature) note_parameters(r, *member, m);
  }
  const bool narrow = m.argument >= 0 && std::size_t(m.argument) < nodes.size();
  r.report(narrow ? nodes[std::size_t(m.argument)].span() : call.node.span(), std::move(m));
  return {};
}

}  // namespace rldb::frontend::script
