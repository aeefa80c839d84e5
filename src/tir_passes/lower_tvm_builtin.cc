// LowerTVMBuiltin: on the host, calls of packed functions fill argument records on a stack and pass those; memory other
// than small arrays comes from the device's workspace and is returned at the end of its scope.
//
// The stacks are allocated once per function and once per body of a parallel loop; nested calls use consecutive
// places.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/ffi_any.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kDeviceType = "device_type", kDeviceId = "device_id";
constexpr std::int64_t kCpu = 1;               // in DLPack's device numbering
constexpr std::int64_t kMaxStackBytes = 1024;  // arrays of this size and more do not go on the stack

class BuiltinLowerer : public Rewriter {
 public:
  explicit BuiltinLowerer(Context& ctx) : Rewriter(ctx), device_type_(ctx.i32(kCpu)), device_id_(ctx.i32(0)) {}
  std::string refused;

  // The body preceded by the stacks that its calls need.
  const Stmt* with_stacks(const Stmt* body) {
    Stacks outer = std::exchange(stacks_, Stacks());
    stacks_.arguments = ctx_.var("stack_ffi_any", ctx_.pointer());
    stacks_.arrays = ctx_.var("stack_array", ctx_.pointer());
    const Expr* const none[] = {ctx_.i64(0)};
    stacks_.shapes = ctx_.buffer("stack_shape", none, DType::Int(64));
    body = scope(body);
    std::vector<const Stmt*> parts;
    const auto reserve = [&](const Var* v, std::string_view what, std::int64_t count) {
      parts.push_back(ctx_.bind(
          v, ctx_.intrin(DType::Handle(), intrin::TvmStackAlloca, {ctx_.string(what), ctx_.i32(std::int32_t(count))})));
    };
    if (stacks_.most.arguments) reserve(stacks_.arguments, "tvm_ffi_any", stacks_.most.arguments);
    if (stacks_.most.arrays) reserve(stacks_.arrays, "array", stacks_.most.arrays);
    if (stacks_.has_shapes) {
      reserve(stacks_.shapes->data, "shape", stacks_.most.shapes);
      const Expr* const extent[] = {ctx_.i64(stacks_.most.shapes)};
      Buffer sized = *stacks_.shapes;
      sized.shape = ctx_.list(std::span<const Expr* const>(extent));
      const Buffer* made = ctx_.buffer(sized);
      parts.push_back(ctx_.decl_buffer(made, made->data));
      body = OtherBuffer(ctx_, stacks_.shapes, made).rewrite(body);
    }
    stacks_ = std::move(outer);
    if (parts.empty()) return body;
    parts.push_back(body);
    return ctx_.seq_stmt(parts);
  }

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    std::vector<const Stmt*> outer = std::exchange(before_, {});
    const Stmt* made = lowered(s);
    std::vector<const Stmt*> parts = std::exchange(before_, std::move(outer));
    if (parts.empty()) return made;
    if (made) parts.push_back(made);
    for (const Stmt* part : parts) ctx_.set_origin(part, s);
    return ctx_.seq_stmt(parts);
  }

  const Expr* visit_call(const Call* c) override {
    const IntrinsicInfo* row = called_intrinsic(c);
    if (!row) return default_expr(c);
    if (row->id == intrin::TvmCallPacked) return packed(c, intrin::TvmCallPackedLowered);
    if (row->id == intrin::TvmCallCpacked) return packed(c, intrin::TvmCallCpackedLowered);
    if (row->id == intrin::TvmStackMakeShape) return shape(c);
    if (row->id == intrin::TvmStackMakeArray) return array(c);
    return default_expr(c);
  }

 private:
  struct Sizes {
    std::int64_t arguments = 0, arrays = 0, shapes = 0;
  };
  struct Stacks {
    const Var* arguments = nullptr;
    const Var* arrays = nullptr;
    const Buffer* shapes = nullptr;
    bool has_shapes = false;
    Sizes now, most;
  };
  // Replaces the provisional stack of shapes by the final one, whose size is known at the end.
  class OtherBuffer : public Rewriter {
   public:
    OtherBuffer(Context& ctx, const Buffer* from, const Buffer* to) : Rewriter(ctx) { remap_buffer(from, to); }

   protected:
    const Buffer* visit_buffer(const Buffer* b) override {
      const auto it = buffers_.find(b);
      return it == buffers_.end() ? b : it->second;
    }
  };

  // ---- statements ----

  // A statement followed by the release of the memory that it takes from the workspace.
  const Stmt* scope(const Stmt* s) {
    std::vector<const Stmt*> outer = std::exchange(frees_, {});
    const Stmt* made = rewrite(s);
    std::vector<const Stmt*> frees = std::exchange(frees_, std::move(outer));
    if (frees.empty()) return made;
    std::vector<const Stmt*> parts;
    if (made) parts.push_back(made);
    parts.insert(parts.end(), frees.rbegin(), frees.rend());
    return ctx_.seq_stmt(parts);
  }

  const Stmt* lowered(const Stmt* s) {
    if (isa<SBlock>(s)) refused = "it has blocks: run LowerOpaqueBlock first";
    if (const auto* st = as<AllocBuffer>(s)) return allocation(st);
    if (const auto* st = as<AttrStmt>(s)) return attribute(st);
    if (const auto* st = as<ForStmt>(s)) return loop(st);
    if (const auto* st = as<IfThenElse>(s)) {
      const Expr* cond = rewrite(st->cond);
      const Stmt* then_case = scope(st->then_case);
      const Stmt* else_case = st->else_case ? scope(st->else_case) : nullptr;
      if (cond == st->cond && then_case == st->then_case && else_case == st->else_case) return st;
      return ctx_.if_stmt(cond, then_case ? then_case : no_op(ctx_), else_case);
    }
    if (const auto* st = as<WhileStmt>(s)) {
      const Expr* cond = rewrite(st->cond);
      if (!before_.empty()) refused = "the condition of a `while` calls a packed function";
      const Stmt* body = scope(st->body);
      return cond == st->cond && body == st->body ? s : ctx_.while_stmt(cond, body);
    }
    return default_stmt(s);
  }

  const Stmt* loop(const ForStmt* f) {
    const Expr* min = rewrite(f->min);
    const Expr* extent = rewrite(f->extent);
    const Stmt* body = f->for_kind == ForKind::Parallel ? with_stacks(f->body) : scope(f->body);
    if (min == f->min && extent == f->extent && body == f->body) return f;
    return ctx_.for_stmt(f->var, min, extent, f->for_kind, body ? body : no_op(ctx_), f->annotations, f->thread_tag,
                         f->step);
  }

  const Stmt* attribute(const AttrStmt* a) {
    if (a->key != kDeviceType && a->key != kDeviceId) {
      const Expr* value = rewrite(a->value);
      const Stmt* body = scope(a->body);
      return value == a->value && body == a->body
                 ? a
                 : ctx_.attr_stmt(a->node, a->key, value, body ? body : no_op(ctx_), a->thread_var);
    }
    const Expr*& device = a->key == kDeviceType ? device_type_ : device_id_;
    const Expr* outer = std::exchange(device, a->value);
    const Stmt* body = rewrite(a->body);
    (a->key == kDeviceType ? device_type_ : device_id_) = outer;
    return body ? body : no_op(ctx_);
  }

  const Stmt* allocation(const AllocBuffer* s) {
    const Buffer* b = s->buffer;
    const Expr* count = product(ctx_, b->shape);
    const std::int64_t width = std::int64_t(b->dtype.bytes());
    const auto n = const_int(count);
    const bool on_stack =
        is_const(device_type_, kCpu) && b->scope == "global" && n && *n > 0 && *n < kMaxStackBytes / width;
    if (on_stack) return s;
    const Expr* const device[] = {cast_to(ctx_, DType::Int(32), device_type_),
                                  cast_to(ctx_, DType::Int(32), device_id_)};
    const Expr* bytes = mul(ctx_, ctx_.int_imm(DType::UInt(64), width), cast_to(ctx_, DType::UInt(64), count));
    const Expr* memory =
        ctx_.intrin(DType::Handle(), intrin::TVMBackendAllocWorkspace,
                    {device[0], device[1], bytes, ctx_.i32(std::int32_t(b->dtype.code)), ctx_.i32(b->dtype.bits)});
    const Stmt* fail = ctx_.evaluate(ctx_.intrin(DType::Handle(), intrin::TvmThrowLastError, {}));
    const Expr* freed = ctx_.intrin(DType::Int(32), intrin::TVMBackendFreeWorkspace, {device[0], device[1], b->data});
    frees_.push_back(ctx_.if_stmt(ctx_.binary(BinaryKind::NE, freed, ctx_.i32(0)), fail));
    const Stmt* const parts[] = {ctx_.decl_buffer(b, memory), ctx_.if_stmt(ffi::is_null(ctx_, b->data), fail)};
    return ctx_.seq_stmt(parts);
  }

  // ---- calls ----

  const Expr* packed(const Call* c, Intrinsic lowered_to) {
    const std::int64_t count = std::int64_t(c->args.size()) - 1;
    if (count < 0) return c;
    const Sizes before = stacks_.now;
    const std::int64_t begin = before.arguments;
    stacks_.now.arguments += count + 1;  // and the result
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(rewrite(a));
    const Expr* stack = stacks_.arguments;
    for (std::int64_t i = 0; i < count; ++i) set_argument(stack, begin + i, args[std::size_t(i) + 1]);
    ffi::set_any(ctx_, stack, begin + count, ffi::kNone, ctx_.i64(0), before_);
    Sizes& most = stacks_.most;
    most = {std::max(most.arguments, stacks_.now.arguments), std::max(most.arrays, stacks_.now.arrays),
            std::max(most.shapes, stacks_.now.shapes)};
    stacks_.now = before;
    const Expr* const lowered[] = {args[0], stack, ctx_.i32(std::int32_t(begin)),
                                   ctx_.i32(std::int32_t(begin + count))};
    return ctx_.call_typed(ctx_.op(info(lowered_to).op), lowered, c->type, c->attrs);
  }

  void set_argument(const Expr* stack, std::int64_t index, const Expr* arg) {
    if (isa<StringImm>(arg)) {
      const Expr* text = ctx_.intrin(DType::Handle(), intrin::Reinterpret, {arg});
      return ffi::set_any(ctx_, stack, index, ffi::kRawString, text, before_);
    }
    const DType t = arg->dtype();
    if (as<PointerType>(arg->type) || t.is_handle()) return set_pointer(stack, index, arg);
    if (t.is_bool()) return ffi::set_any(ctx_, stack, index, ffi::kBool, arg, before_);
    if (t.is_float()) {
      const Expr* value = t == DType::Float(64) ? arg : ctx_.cast(DType::Float(64), arg);
      return ffi::set_any(ctx_, stack, index, ffi::kFloat, value, before_);
    }
    const Expr* value = t == DType::Int(64) ? arg : ctx_.cast(DType::Int(64), arg);
    ffi::set_any(ctx_, stack, index, ffi::kInt, value, before_);
  }

  void set_pointer(const Expr* stack, std::int64_t index, const Expr* arg) {
    const auto* c = as<Call>(arg);
    const bool is_array =
        c && is_call_of(c, intrin::TvmStructGet) && c->args.size() > 2 && is_const(c->args[2], ffi::kTensorAddress);
    if (is_array) return ffi::set_any(ctx_, stack, index, ffi::kTensorPointer, arg, before_);
    const auto type = [&](ffi::Type t) { return ffi::set_field(ctx_, stack, index, ffi::kTypeIndex, ctx_.i32(t)); };
    before_.push_back(ctx_.if_stmt(ffi::is_null(ctx_, arg), type(ffi::kNone), type(ffi::kOpaquePointer)));
    before_.push_back(ffi::set_field(ctx_, stack, index, ffi::kPadding, ctx_.i32(0)));
    before_.push_back(ffi::set_field(ctx_, stack, index, ffi::kValue, arg));
  }

  const Expr* shape(const Call* c) {
    stacks_.has_shapes = true;
    const std::int64_t begin = stacks_.now.shapes;
    stacks_.now.shapes += std::int64_t(c->args.size());
    const auto cell = [&](std::int64_t i) { return std::vector<const Expr*>{ctx_.i32(std::int32_t(begin + i))}; };
    for (std::size_t i = 0; i < c->args.size(); ++i)
      before_.push_back(
          ctx_.store(stacks_.shapes, cast_to(ctx_, DType::Int(64), rewrite(c->args[i])), cell(std::int64_t(i))));
    return ctx_.intrin(DType::Handle(), intrin::AddressOf, {ctx_.load(stacks_.shapes, cell(0))});
  }

  // args: data, shape, strides, the number of dims, a value of the dtype, the offset in elements
  const Expr* array(const Call* c) {
    const std::int64_t index = stacks_.now.arrays++;
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(rewrite(a));
    if (args.size() < 6) {
      refused = "T.tvm_stack_make_array with fewer than 6 arguments";
      return c;
    }
    const Expr* stack = stacks_.arrays;
    const auto set = [&](ffi::Field f, const Expr* value) {
      before_.push_back(ffi::set_field(ctx_, stack, index, f, value));
    };
    const DType t = args[4]->dtype();
    const auto uint = [&](int bits, std::int64_t v) { return ctx_.int_imm(DType::UInt(bits), v); };
    set(ffi::kTensorData, args[0]);
    set(ffi::kTensorShape, args[1]);
    set(ffi::kTensorStrides, is_const(args[2], 0) ? ffi::null_handle(ctx_) : args[2]);
    set(ffi::kTensorNdim, args[3]);
    set(ffi::kTensorTypeCode, uint(8, std::int64_t(t.code)));
    set(ffi::kTensorTypeBits, uint(8, t.bits));
    set(ffi::kTensorTypeLanes, uint(16, t.lanes));
    const Expr* offset = args[5];
    if (!is_const(offset, 0)) offset = mul(ctx_, offset, ctx_.int_imm(offset->dtype(), std::int64_t(t.bytes())));
    set(ffi::kTensorByteOffset, cast_to(ctx_, DType::UInt(64), offset));
    set(ffi::kTensorDeviceId, cast_to(ctx_, DType::Int(32), device_id_));
    set(ffi::kTensorDeviceType, cast_to(ctx_, DType::Int(32), device_type_));
    return ffi::get_field(ctx_, stack, index, ffi::kTensorAddress, DType::Handle());
  }

  Stacks stacks_;
  const Expr* device_type_;
  const Expr* device_id_;
  std::vector<const Stmt*> before_;  // to be placed before the current statement
  std::vector<const Stmt*> frees_;   // of the current scope
};

bool runs_on_host(const PrimFunc* f) {
  if (is_set(f->attrs, attr_name::IsHostFunc)) return true;
  const Attr* target = find_attr(f->attrs, kTargetAttr);
  return target && !is_gpu(target);
}

}  // namespace

Result<const Module*> lower_tvm_builtin(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (!runs_on_host(f)) return f;
    BuiltinLowerer lowerer(env.ctx);
    const Stmt* body = lowerer.with_stacks(f->body);
    if (!lowerer.refused.empty())
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`", lowerer.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
