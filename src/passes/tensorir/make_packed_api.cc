// MakePackedAPI: a PrimFunc that the host may call becomes a function of TVM's calling convention: it gets records of
// its arguments, checks and reads them, and writes its result to a record.
//
// This applies to functions with a symbol whose target has a host. Calls of them by other functions become calls by
// symbol. Buffer parameters, which TVM takes from DLTensor records, are refused.
#include <fmt/format.h>

#include <unordered_map>

#include "passes/tensorir/ffi_any.h"
#include "passes/tensorir/prim_funcs.h"
#include "passes/tensorir/target.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kPackedConv = 1;  // TVM's CallingConv::kCPackedFunc
constexpr std::string_view kSymbolPrefix = "__tvm_ffi_";
constexpr std::string_view kComputeScope = "compute_scope";
constexpr std::string_view kTypeError = "TypeError";

// The symbol of a function that is converted to the convention; empty for others.
std::string_view packed_symbol(const PrimFunc* f) {
  const Attr* conv = find_attr(f->attrs, kCallingConv);
  const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
  return symbol && (!conv || conv->integer == 0) ? symbol->string : std::string_view();
}

// ---- arguments ----

class ArgumentReader {
 public:
  ArgumentReader(Context& ctx, std::string_view symbol, const PrimFunc* f) : ctx_(ctx), f_(f) {
    signature_ = fmt::format("{}(", symbol);
    for (const PrimParam& p : f->params)
      signature_ += fmt::format("{}{}: {}", &p == f->params.data() ? "" : ", ", p.var->name, type_text(p.var));
    signature_ += ")";
    args_ = ctx.var("args", ctx.pointer());
    count_ = ctx.var("num_args", ctx.prim(DType::Int(32)));
  }
  const Var* args() const { return args_; }
  const Var* count() const { return count_; }

  std::vector<const Stmt*> read_all() {
    const auto n = std::int64_t(f_->params.size());
    check(compare(ctx_, BinaryKind::EQ, count_, ctx_.i32(std::int32_t(n))),
          {"Expected ", std::to_string(n), " arguments", kWhenCalling, signature_, "`"});
    if (n > 0) check(ctx_.not_(ffi::is_null(ctx_, args_)), {"args pointer is NULL", kWhenCalling, signature_, "`"});
    for (std::int64_t i = 0; i < n; ++i) read(i, f_->params[std::size_t(i)].var);
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kWhenCalling = " when calling:\n  `";

  static std::string type_text(const Var* v) {
    return as<PointerType>(v->type) || v->dtype().is_handle() ? "handle" : runtime::to_string(v->dtype());
  }

  void check(const Expr* cond, std::initializer_list<std::string_view> parts) {
    std::vector<std::string_view> texts;
    for (const std::string_view part : parts) texts.push_back(ctx_.str(part));
    out_.push_back(ctx_.assert_stmt(cond, kTypeError, texts));
  }
  void check_type(std::int64_t index, const Expr* cond, std::string_view expected) {
    check(cond, {"Mismatched type on argument #", std::to_string(index), kWhenCalling, signature_, "`,\n  expected ",
                 expected});
  }

  const Expr* is(const Var* type, ffi::Type t) { return ctx_.binary(BinaryKind::EQ, type, ctx_.i32(t)); }
  const Expr* one_of(const Var* type, std::initializer_list<ffi::Type> list) {
    const Expr* out = nullptr;
    for (const ffi::Type t : list) out = out ? ctx_.binary(BinaryKind::Or, out, is(type, t)) : is(type, t);
    return out;
  }
  // The value in the record, converted to the dtype.
  const Expr* value(std::int64_t index, DType record, DType wanted) {
    const Expr* e = ffi::get_field(ctx_, args_, index, ffi::kValue, record);
    return record == wanted ? e : ctx_.cast(wanted, e);
  }

  void read(std::int64_t index, const Var* param) {
    const Var* type = ctx_.var(fmt::format("{}_type_index", param->name), ctx_.prim(DType::Int(32)));
    ctx_.set_origin(type, param);
    out_.push_back(ctx_.bind(type, ffi::get_field(ctx_, args_, index, ffi::kTypeIndex, DType::Int(32))));
    const Expr* got = decoded(index, type, param);
    const Stmt* bound = ctx_.bind(param, got);
    ctx_.set_origin(bound, param);
    out_.push_back(bound);
  }

  const Expr* decoded(std::int64_t index, const Var* type, const Var* param) {
    const DType t = param->dtype();
    if (as<PointerType>(param->type) || t.is_handle()) return pointer(index, type);
    if (t.is_bool()) {
      check_type(index, one_of(type, {ffi::kBool, ffi::kInt}), "boolean");
      return value(index, DType::Int(64), t);
    }
    if (t.is_integral()) {
      check_type(index, one_of(type, {ffi::kInt, ffi::kBool}), "int");
      return value(index, DType::Int(64), t);
    }
    check_type(index, one_of(type, {ffi::kFloat, ffi::kInt, ffi::kBool}), "float");
    return ctx_.select(is(type, ffi::kFloat), value(index, DType::Float(64), t),
                       ctx_.cast(t, value(index, DType::Int(64), DType::Int(64))));
  }

  const Expr* pointer(std::int64_t index, const Var* type) {
    constexpr std::int32_t kTensorCell = 24;  // offset of the DLTensor in a tensor object, in bytes
    const Expr* object = ctx_.binary(BinaryKind::GE, type, ctx_.i32(ffi::kObjectsBegin));
    check_type(
        index,
        ctx_.binary(BinaryKind::Or, one_of(type, {ffi::kNone, ffi::kOpaquePointer, ffi::kTensorPointer}), object),
        "pointer");
    const Expr* given = value(index, DType::Handle(), DType::Handle());
    const Expr* inside = ctx_.intrin(DType::Handle(), intrin::HandleAddByteOffset, {given, ctx_.i32(kTensorCell)});
    return ctx_.intrin(DType::Handle(), intrin::IfThenElse, {is(type, ffi::kTensor), inside, given});
  }

  Context& ctx_;
  const PrimFunc* f_;
  std::string signature_;
  const Var* args_;
  const Var* count_;
  std::vector<const Stmt*> out_;
};

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
    return ctx_.call_typed(ctx_.op(info(intrin::TvmCallCpacked).op), args, call->type);
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
  for (const PrimParam& p : f->params)
    if (p.buffer)
      return refuse(fmt::format("parameter `{}` is a buffer; arguments that are tensors are not read from records",
                                p.buffer->name));
  ArgumentReader reader(ctx, symbol, f);
  const Var* self = ctx.var("self_handle", ctx.pointer());
  const Var* result = ctx.var("result", ctx.pointer(DType::Void(), "global"));
  ResultWriter writer(ctx, result);
  const Stmt* computes = writer.rewrite(f->body);
  if (!writer.refused.empty()) return refuse(writer.refused);
  std::vector<const Stmt*> body = reader.read_all();
  body.push_back(ctx.attr_stmt(ctx.attr(0), kComputeScope, ctx.string(fmt::format("{}_compute_", symbol)),
                               computes ? computes : no_op(ctx)));
  body.push_back(ctx.evaluate(ctx.intrin(DType::Int(32), intrin::Ret, {ctx.i32(0)})));
  Span<NamedAttr> attrs = ctx.with_attr(f->attrs, kCallingConv, ctx.attr(kPackedConv));
  attrs = ctx.with_attr(attrs, kTargetAttr, host);
  attrs = ctx.with_attr(attrs, attr_name::GlobalSymbol, ctx.attr(fmt::format("{}{}", kSymbolPrefix, symbol)));
  const PrimParam params[] = {{self, nullptr}, {reader.args(), nullptr}, {reader.count(), nullptr}, {result, nullptr}};
  const PrimFunc* made = ctx.prim_func(params, ctx.prim(DType::Int(32)), ctx.seq_stmt(body), attrs, f->s_tir);
  ctx.set_origin(made, f);
  return made;
}

}  // namespace

Result<const Module*> make_packed_api(PassEnv& env, const Module* module, const PassOptions&) {
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
