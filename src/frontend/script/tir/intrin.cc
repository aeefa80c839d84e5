// Intrinsics of TensorIR by name: their arguments, and the dtype of their results.
#include <fmt/format.h>

#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/unary.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_tir.h"

namespace rldb::frontend::script {

namespace {

using Rule = ir::IntrinsicDType;

Rule rule_of(std::string_view name) {
  const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
  return row ? row->dtype : Rule::First;
}

// Families whose names grow with the hardware: T.ptx.mma.sync, T.cuda.atomic_add, T.warp.copy.
bool is_device_family(std::string_view path) {
  static const std::unordered_set<std::string_view> families = {
      "ptx",     "cuda", "nvshmem", "webgpu",    "metal",  "trn",  "nki",     "tile",
      "cluster", "cta",  "wg",      "warpgroup", "thread", "warp", "hexagon", "rocm"};
  const std::size_t dot = path.find('.');
  return dot != std::string_view::npos && families.count(path.substr(0, dot)) > 0;
}

// A name unknown to us and to TVM is an error if it is close to a known one; else it is kept with a warning.
bool is_intrinsic(Reader& r, const CallNode& call) {
  static const std::vector<std::string_view> known = [] {
    std::vector<std::string_view> names = {"int8",   "int16",   "int32",   "int64",   "uint8",    "uint16",
                                           "uint32", "uint64",  "float16", "float32", "float64",  "bfloat16",
                                           "bool",   "boolean", "sblock",  "init",    "prim_func"};
    names.insert(names.end(), ir::intrinsic_names().begin(), ir::intrinsic_names().end());
    for (const auto& rows :
         {tir_handlers(), tir_statement_handlers(), tir_buffer_handlers(), tir_loop_handlers(), tir_block_handlers()})
      for (const HandlerRow& row : rows) names.push_back(row.path);
    return names;
  }();
  static const std::unordered_set<std::string_view> table(known.begin(), known.end());
  if (table.count(call.path) || is_device_family(call.path)) return true;
  const std::string_view near = source::nearest(call.path, known);
  if (!near.empty()) {
    r.error_hint(call.function, fmt::format("did you mean `T.{}`?", near), diag::UnknownCallee, call.shown());
    return false;
  }
  r.report(call.function.span(), source::message(diag::IntrinsicNotKnown, call.shown()));
  return true;
}

// Kept under TVM's registered name.
const ir::Op* registered_op(Reader& r, std::string_view name) {
  if (const ir::IntrinsicInfo* row = ir::find_intrinsic(name)) return r.ctx.op(row->op);
  return r.ctx.op(std::string(ir::kTirPrefix) + std::string(name));
}

struct IntrinsicParts {
  std::vector<const ir::Expr*> args;
  std::optional<ir::DType> dtype;  // given by the text
  const ir::Type* type = nullptr;  // given by the text, when it is a pointer
  std::vector<ir::NamedAttr> attrs;
  bool keyword_dtype = false;
};

const ir::Expr* intrinsic_argument(Reader& r, const Val& v, Node at) {
  if (v.is(ValKind::Str)) return r.ctx.string(v.text);
  if (v.is(ValKind::None)) return r.ctx.int_imm(ir::DType::Int(32), 0);
  if (v.is(ValKind::Buffer)) return v.buffer()->data;
  if (v.is(ValKind::Lambda)) return lambda_expr(r, v, at);
  if (v.type() || (v.is(ValKind::Path) && type_of_path(r, v) && !try_dtype(v))) {
    r.error(at, diag::ExpectedScalar, describe(r, v));
    return nullptr;
  }
  return to_operand(r, v, at);
}

void take_dtype(Reader& r, const Val& v, Node at, IntrinsicParts& out) {
  const ir::Type* type = v.is(ValKind::Expr) ? v.expr()->type : v.type();
  if (type && type->kind == ir::TypeKind::Pointer) {
    if (type != r.ctx.pointer()) out.type = type;  // a pointer to nothing in particular is "handle"
    out.dtype = ir::DType::Handle();
    return;
  }
  out.dtype = to_dtype(r, v, at);
}

bool read_intrinsic(Reader& r, const CallNode& call, Rule rule, IntrinsicParts& out) {
  Arguments args(r, call);
  bool good = true;
  for (Argument& a : args.all()) {
    a.used = true;
    if (a.keyword == "span") continue;
    const Val v = args.value(&a);
    if (v.poison()) {
      good = false;
      continue;
    }
    if (a.keyword == "dtype") {
      take_dtype(r, v, a.node, out);
      out.keyword_dtype = true;
      good = good && out.dtype;
      continue;
    }
    const bool could_be_dtype = try_dtype(v) || v.type() || (v.expr() && v.fresh);
    if (a.keyword.empty() && rule == Rule::DTypeFirst && !out.dtype && out.args.empty() && could_be_dtype &&
        !(call.path.starts_with("call_") && out.keyword_dtype)) {
      take_dtype(r, v, a.node, out);
      good = good && out.dtype;
      continue;
    }
    if (a.keyword.empty() && rule == Rule::DTypeLast && &a == &args.all().back() && (v.is(ValKind::Str) || v.type())) {
      take_dtype(r, v, a.node, out);
      continue;
    }
    if (!a.keyword.empty()) {
      const ir::Attr* attr = to_attr(r, v, a.node);
      good = good && attr;
      if (attr) out.attrs.push_back(r.ctx.named(a.keyword, attr));
      continue;
    }
    out.args.push_back(intrinsic_argument(r, v, a.node));
    good = good && out.args.back();
  }
  return good;
}

ir::DType default_dtype(Rule rule, const std::vector<const ir::Expr*>& args) {
  const ir::DType first = args.empty() ? ir::DType::Handle() : args[0]->dtype();
  switch (rule) {
    case Rule::First:
    case Rule::Match:
      return first.is_void() ? ir::DType::Handle() : first;
    case Rule::Bool:
      return ir::DType::Bool(first.is_void() || first.is_handle() ? 1 : first.lanes);
    case Rule::Int32:
      return ir::DType::Int(32);
    case Rule::Int64:
      return ir::DType::Int(64);
    case Rule::Handle:
      return ir::DType::Handle();
    case Rule::Void:
      return ir::DType::Void();
    case Rule::DTypeFirst:
    case Rule::DTypeLast:
      return ir::DType::Handle();
  }
  return first;
}

// A shuffle has the dtype of its value, a mask of lanes is a word; for the others the rule decides.
ir::DType usual_dtype(Rule rule, std::string_view name, const std::vector<const ir::Expr*>& args) {
  const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
  const ir::Meeting meeting = row ? ir::meeting_of(row->id) : ir::Meeting::None;
  if (meeting == ir::Meeting::Shuffle && args.size() > 1) return args[1]->dtype();
  return meeting == ir::Meeting::ActiveMask ? ir::DType::UInt(32) : default_dtype(rule, args);
}

// As an attribute the void dtype means that there is none; hence the name.
const ir::Attr* dtype_attr(Reader& r, ir::DType dtype) {
  return dtype.is_void() ? r.ctx.attr("void") : r.ctx.attr(dtype);
}

bool same_size(ir::DType a, ir::DType b) {
  const bool counts = !a.is_handle() && !b.is_handle() && !a.is_void() && !b.is_void() && a.lanes > 0 && b.lanes > 0;
  return !counts || a.bits * a.lanes == b.bits * b.lanes;
}

Val make_intrinsic(Reader& r, const CallNode& call, std::string_view name) {
  const Rule rule = rule_of(name);
  IntrinsicParts p;
  if (!read_intrinsic(r, call, rule, p)) return {};
  if (rule == Rule::Match && p.args.size() == 2) {
    auto both = ir::match_dtypes(r.ctx, p.args[0], p.args[1]);
    if (!both.ok()) {
      r.report(call.node.span(), std::move(both).error());
      return {};
    }
    p.args = {both->first, both->second};
  }
  if (const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
      row && row->id == ir::intrin::Pow && !p.args.empty() && p.args[0]->dtype().is_integral())
    return r.error(call.node, diag::PowerOfIntegers, runtime::to_string(p.args[0]->dtype()));
  if (const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
      row && rule == Rule::Match && p.args.size() == 2 && p.attrs.empty() && !p.dtype && !p.type) {
    const ir::Expr* made = ir::make_bits(r.ctx, row->id, p.args[0], p.args[1]);
    if (made == p.args[0]) return Val::of(made);
    if (!ir::isa<ir::Call>(made)) return Val::of(r.at(made, call.node));
  }
  if ((rule == Rule::DTypeFirst || rule == Rule::DTypeLast) && !p.dtype)
    return r.error(call.node, diag::MissingArgument, "dtype", call.shown());
  const ir::DType usual = usual_dtype(rule, name, p.args);
  const ir::DType dtype = p.dtype ? *p.dtype : usual;
  if (const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
      row && row->id == ir::intrin::Reinterpret && p.args.size() == 1 && !same_size(p.args[0]->dtype(), dtype))
    return r.error(call.node, diag::ReinterpretSize, runtime::to_string(p.args[0]->dtype()), runtime::to_string(dtype));
  if (const ir::IntrinsicInfo* row = ir::find_intrinsic(name);
      row && p.args.size() == 1 && p.attrs.empty() && dtype == usual && !p.type && row->arity == 1) {
    const ir::Expr* made = ir::make_unary(r.ctx, row->id, p.args[0]);
    const auto* same = ir::as<ir::Call>(made);
    if (!same || same->args[0] != p.args[0]) return Val::of(made == p.args[0] ? made : r.at(made, call.node));
  }
  // A dtype that the name does not imply is kept as the call's attribute, so that it can be printed again.
  if (p.keyword_dtype && rule != Rule::DTypeFirst && rule != Rule::DTypeLast && (dtype != usual || p.type))
    p.attrs.push_back(r.ctx.named("dtype", p.type ? r.ctx.attr(p.type) : dtype_attr(r, dtype)));
  const ir::Type* type = p.type            ? p.type
                         : dtype.is_void() ? static_cast<const ir::Type*>(r.ctx.void_type())
                                           : r.ctx.prim(dtype);
  return Val::of(
      static_cast<const ir::Expr*>(r.at(r.ctx.call_typed(registered_op(r, name), p.args, type, p.attrs), call.node)));
}

}  // namespace

Val named_intrinsic(Reader& r, const CallNode& call) {
  if (is_intrinsic(r, call)) return make_intrinsic(r, call, call.path);
  // Names used in its arguments deserve their own errors.
  Arguments args(r, call);
  for (Argument& a : args.all()) args.value(&a);
  return {};
}

// T.call_intrin("int32", "tirx.tvm_storage_sync", ...): the intrinsic of that name.
Val call_intrin(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto t_value = args.require(0, "dtype");
  const auto name_value = args.require(1, "func_name");
  if (!t_value || !name_value) return {};
  const auto t = to_dtype(r, *t_value, args.node(0, "dtype"));
  auto name = to_str(r, *name_value, args.node(1, "func_name"));
  if (!t || !name) return {};
  for (std::string_view prefix : {std::string_view("tirx."), ir::kTirPrefix})
    if (name->starts_with(prefix)) name->remove_prefix(prefix.size());
  std::vector<const ir::Expr*> values;
  for (Argument& a : args.all()) {
    if (a.used) continue;
    a.used = true;
    values.push_back(intrinsic_argument(r, args.value(&a), a.node));
    if (!values.back()) return {};
  }
  const Rule rule = rule_of(*name);
  std::vector<ir::NamedAttr> attrs;
  if (rule != Rule::DTypeFirst && rule != Rule::DTypeLast && usual_dtype(rule, *name, values) != *t)
    attrs.push_back(r.ctx.named("dtype", dtype_attr(r, *t)));
  const ir::Type* type = t->is_void() ? static_cast<const ir::Type*>(r.ctx.void_type()) : r.ctx.prim(*t);
  return Val::of(
      static_cast<const ir::Expr*>(r.at(r.ctx.call_typed(registered_op(r, *name), values, type, attrs), call.node)));
}

// T.address_of(A[i]) keeps the access unchanged.
Val address_of(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "obj");
  args.find("dtype");
  args.finish();
  if (!v || v->poison()) return {};
  const ir::Expr* e = nullptr;
  if (v->is(ValKind::Buffer)) {
    std::vector<const ir::Expr*> zeros;
    for (const ir::Expr* d : v->buffer()->shape) zeros.push_back(r.ctx.int_imm(d->dtype(), 0));
    e = r.ctx.load(v->buffer(), zeros);
  } else {
    e = to_scalar(r, *v, args.node(0, "obj"));
  }
  if (!e) return {};
  const ir::Expr* list[] = {e};
  return Val::of(static_cast<const ir::Expr*>(
      r.at(r.ctx.call_typed(r.ctx.op(ir::info(ir::intrin::AddressOf).op), list, r.ctx.prim(ir::DType::Handle())),
           call.node)));
}

Val call_in_tir(Reader& r, const ir::Expr* callee, const CallNode& call) {
  Arguments args(r, call);
  std::vector<const ir::Expr*> values;
  bool good = true;
  for (Argument& a : args.all()) {
    a.used = true;
    values.push_back(intrinsic_argument(r, args.value(&a), a.node));
    good = good && values.back();
  }
  if (!good) return {};
  const auto* f = ir::as<ir::FuncType>(callee->type);
  if (!f) return r.error(call.function, diag::NotAFunction, describe(r, Val::of(callee)));
  const ir::Type* type = f->ret && f->ret->kind != ir::TypeKind::Any ? f->ret : r.ctx.void_type();
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.call_typed(callee, values, type), call.node)));
}

}  // namespace rldb::frontend::script
