// MakePackedAPI: a PrimFunc that the host may call becomes a function of TVM's calling convention: it gets records of
// its arguments, checks and reads them, and writes its result to a record.
//
// This applies to functions with a symbol whose target has a host. Calls of them by other functions become calls by
// symbol. Arguments that are tensors are records of DLTensors (packed_arguments.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "rldb/ir/attr_name/host.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/device.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/ffi_any.h"
#include "tir_passes/packed_arguments.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kPackedConv = 1;  // TVM's CallingConv::kCPackedFunc
constexpr std::string_view kSymbolPrefix = "__tvm_ffi_";

const runtime::DeviceKind& device_of(const Attr* target) {
  const runtime::DeviceKind* found = runtime::find_device_kind(target_kind(target));
  return found ? *found : *runtime::find_device_kind(runtime::kHostDevice);
}

// The symbol of a function that is converted to the convention; empty for others.
std::string_view packed_symbol(const PrimFunc* f) {
  const Attr* conv = find_attr(f->attrs, attr_name::CallingConv);
  const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
  return symbol && (!conv || conv->integer == 0) ? symbol->string : std::string_view();
}

// ---- result ----

class ResultWriter : public Rewriter {
 public:
  ResultWriter(Context& ctx, const Var* result) : Rewriter(ctx), result_(result) {}
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s); f && f->for_kind == ForKind::Parallel) {
      ++parallel_;
      const Stmt* made = default_stmt(s);
      --parallel_;
      return made;
    }
    const auto* e = as<Evaluate>(s);
    if (!e || !is_call_of(e->value, intrin::Ret)) return default_stmt(s);
    const auto* ret = as<Call>(e->value);
    if (parallel_ > 0) refused = "it returns from a parallel loop";
    if (ret->args.size() != 1) refused = "a return without a value";
    return refused.empty() ? written(s, ret->args[0]) : s;
  }

 private:
  const Stmt* written(const Stmt* s, const Expr* value) {
    std::vector<const Stmt*> out;
    const DType t = value->dtype();
    if (t.is_bool()) {
      ffi::set_any(ctx_, result_, 0, ffi::kBool, ctx_.cast(DType::Int(64), value), out);
    } else if (t.is_integral()) {
      ffi::set_any(ctx_, result_, 0, ffi::kInt, ctx_.cast(DType::Int(64), value), out);
    } else if (t.is_float()) {
      ffi::set_any(ctx_, result_, 0, ffi::kFloat, ctx_.cast(DType::Float(64), value), out);
    } else {
      refused = fmt::format("it returns `{}`, which is not a number", print_expr(value));
      return s;
    }
    out.push_back(ctx_.evaluate(ctx_.intrin(DType::Int(32), intrin::Ret, {ctx_.i32(0)})));
    for (const Stmt* part : out) ctx_.set_origin(part, s);
    return ctx_.seq_stmt(out);
  }

  const Var* result_;
  int parallel_ = 0;
};

// Calls of functions that now take records.
class CallsBySymbol : public Rewriter {
 public:
  CallsBySymbol(Context& ctx, const std::unordered_map<std::string_view, std::string_view>& symbols)
      : Rewriter(ctx), symbols_(symbols) {}

 protected:
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const auto* call = as<Call>(made);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto symbol = callee ? symbols_.find(callee->name) : symbols_.end();
    if (symbol == symbols_.end()) return made;
    std::vector<const Expr*> args{ctx_.string(symbol->second)};
    args.insert(args.end(), call->args.begin(), call->args.end());
    args.push_back(ffi::null_handle(ctx_));
    return ctx_.call_typed(ctx_.op(info(intrin::TvmCallCpacked).op), args, ctx_.prim(DType::Int(32)));
  }

 private:
  const std::unordered_map<std::string_view, std::string_view>& symbols_;
};

Result<const PrimFunc*> packed_function(Context& ctx, std::string_view name, const PrimFunc* f) {
  const std::string_view symbol = packed_symbol(f);
  const Attr* target = find_attr(f->attrs, kTargetAttr);
  const auto refuse = [&](std::string why) {
    return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`", std::move(why)));
  };
  if (symbol.empty()) return f;
  if (!target) return refuse("it has no attribute `target`: run BindTarget first");
  const Attr* host = host_of(ctx, target);
  if (!host) return f;
  const runtime::DeviceKind& device = device_of(target);
  PackedArguments arguments(ctx, symbol, f, device.type, device.device);
  const Var* self = ctx.var("self_handle", ctx.pointer());
  const Var* result = ctx.var("result", ctx.pointer(DType::Void(), "global"));
  ResultWriter writer(ctx, result);
  const Stmt* computes = writer.rewrite(f->body);
  if (!writer.refused.empty()) return refuse(writer.refused);
  std::vector<const Stmt*> inner;
  const bool tensors = std::any_of(f->params.begin(), f->params.end(), [](const PrimParam& p) { return p.buffer; });
  if (tensors && is_gpu(target)) inner.push_back(arguments.set_device());
  inner.push_back(ctx.attr_stmt(ctx.attr(0), attr_name::ComputeScope, ctx.string(fmt::format("{}_compute_", symbol)),
                                computes ? computes : no_op(ctx)));
  inner.push_back(ctx.evaluate(ctx.intrin(DType::Int(32), intrin::Ret, {ctx.i32(0)})));
  const Stmt* body = arguments.around(ctx.seq_stmt(inner));
  if (!arguments.refused.empty()) return refuse(arguments.refused);
  Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::CallingConv, ctx.attr(kPackedConv));
  attrs = ctx.with_attr(attrs, kTargetAttr, host);
  attrs = ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(fmt::format("{}{}", kSymbolPrefix, symbol)));
  const PrimParam params[] = {
      {self, nullptr}, {arguments.args(), nullptr}, {arguments.count(), nullptr}, {result, nullptr}};
  const PrimFunc* made = ctx.prim_func(params, ctx.prim(DType::Int(32)), body, attrs, f->s_tir);
  for (const Var* v : free_vars(made))
    if (v->type->kind != TypeKind::Pointer)  // pointers come with the declarations of their buffers
      return refuse(fmt::format("`{}` is used, and no argument tells its value", v->name));
  ctx.set_origin(made, f);
  return made;
}

}  // namespace

Result<const Module*> make_packed_api(PassEnv& env, const Module* module, const NoOptions&) {
  std::unordered_map<std::string_view, std::string_view> symbols;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<PrimFunc>(e.function); f && !packed_symbol(f).empty())
      symbols.emplace(e.name, packed_symbol(f));
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const PrimFunc* called = with_body(env.ctx, f, CallsBySymbol(env.ctx, symbols).rewrite(f->body));
    return packed_function(env.ctx, name, called);
  });
}

}  // namespace rldb::passes
