// Copies from global to shared or local memory as instructions of NVIDIA's GPUs.
//
// InjectPTXAsyncCopy: within T.attr(0, "async_scope", 1) a store to shared memory of 4, 8 or 16 bytes read from global
// memory becomes T.ptx_cp_async; the scope itself is removed. One that stores zero where a condition is false becomes a
// copy with that condition.
// InjectPTXLDG32: in kernels for CUDA a store of T.if_then_else over one element that is read becomes the store of the
// other value and T.ptx_ldg32, which overwrites it if the condition holds.
#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/async_attrs.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_shared(std::string_view scope) { return scope == "shared" || scope == "shared.dyn"; }
bool is_global(std::string_view scope) { return scope.empty() || scope == "global"; }

bool is_zero(const Expr* e) {
  const auto* all = as<Broadcast>(e);
  const auto* f = as<FloatImm>(all ? all->value : e);
  return f && f->value == 0 && !std::signbit(f->value);  // a copy fills with +0
}

// The first of the elements that an index names, if they lie side by side; null otherwise.
const Expr* first_of(Context& ctx, const Expr* index) {
  if (index->dtype().lanes == 1) return index;
  const auto* ramp = as<Ramp>(index);
  if (ramp) return is_const(ramp->stride, 1) ? ramp->base : nullptr;
  // Into a part of merged shared memory.
  const auto* sum = as<BinaryExpr>(index);
  if (!sum || sum->kind != BinaryKind::Add) return nullptr;
  ramp = as<Ramp>(sum->a);
  const auto* offset = as<Broadcast>(sum->b);
  return ramp && offset && is_const(ramp->stride, 1) ? add(ctx, ramp->base, offset->value) : nullptr;
}

// The dtype of what a buffer's pointer points to.
DType pointee(const Buffer* b) {
  const auto* p = as<PointerType>(b->data->type);
  return p && !p->element.is_void() ? p->element : b->dtype;
}

class AsyncCopies : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool nested = false;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* a = as<AttrStmt>(s); a && a->key == kAsyncScope) {
      nested = nested || in_scope_;
      in_scope_ = true;
      const Stmt* body = rewrite(a->body);
      in_scope_ = false;
      return body ? body : no_op(ctx_);
    }
    const auto* store = as<BufferStore>(s);
    const Stmt* made =
        store && in_scope_ && !store->predicate && is_shared(store->buffer->scope) ? copy(store) : nullptr;
    return made ? made : default_stmt(s);
  }

 private:
  // Null: no copy.
  const Stmt* copy(const BufferStore* s) {
    if (const auto* load = as<BufferLoad>(s->value)) return copy(s, load, nullptr);
    const auto* choice = is_call_of(s->value, intrin::IfThenElse) ? as<Call>(s->value) : nullptr;
    if (!choice || choice->args.size() != 3 || !is_zero(choice->args[2])) return nullptr;
    const auto* load = as<BufferLoad>(choice->args[1]);
    return load ? copy(s, load, choice->args[0]) : nullptr;
  }

  const Stmt* copy(const BufferStore* s, const BufferLoad* load, const Expr* condition) {
    if (!is_global(load->buffer->scope) || load->predicate) return nullptr;
    if (load->indices.size() != 1 || s->indices.size() != 1) return nullptr;
    const int lanes = load->indices[0]->dtype().lanes;
    if (lanes != s->indices[0]->dtype().lanes) return nullptr;
    const DType element = load->buffer->dtype;
    const std::int64_t bytes = std::int64_t(lanes) * element.bytes();
    if (bytes != 4 && bytes != 8 && bytes != 16) return nullptr;
    const Expr *from = first_of(ctx_, load->indices[0]), *to = first_of(ctx_, s->indices[0]);
    if (!from || !to || !isa<Ramp>(load->indices[0]) != (lanes == 1)) return nullptr;
    // The memory of merged shared buffers is counted in bytes.
    if (pointee(s->buffer) != pointee(load->buffer))
      to = mul(ctx_, to, ctx_.int_imm(to->dtype(), pointee(load->buffer).bytes()));
    const Var *target = s->buffer->data, *source = load->buffer->data;
    const Expr* size = ctx_.i32(bytes);
    return ctx_.evaluate(
        condition ? ctx_.intrin(s->buffer->dtype, intrin::PtxCpAsync, {target, to, source, from, size, condition})
                  : ctx_.intrin(s->buffer->dtype, intrin::PtxCpAsync, {target, to, source, from, size}));
  }

  bool in_scope_ = false;
};

class GlobalLoads : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Stmt* run(const Stmt* body) {
    walk(body, [&](const Node* n) {
      if (const auto* store = as<BufferStore>(n)) written_.insert(store->buffer->data);
      return !isa<Expr>(n);
    });
    const Stmt* made = rewrite(body);
    if (!predicate_) return made;
    const Stmt* const parts[] = {ctx_.alloc_buffer(predicate_), ctx_.alloc_buffer(places_), made};
    return ctx_.seq_stmt(parts);
  }

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* store = as<BufferStore>(s);
    const auto* choice = store && is_call_of(store->value, intrin::IfThenElse) ? as<Call>(store->value) : nullptr;
    const Stmt* made = choice && choice->args.size() == 3 && !store->predicate ? load(store, choice) : nullptr;
    return made ? made : default_stmt(s);
  }

 private:
  const Stmt* load(const BufferStore* s, const Call* choice) {
    const auto* read = as<BufferLoad>(choice->args[1]);
    // The index is computed whether or not the condition holds. A read where it does not hold is left, too: TVM takes
    // it for one where it does.
    if (!read || read->indices.size() != 1 || s->indices.size() != 1 || read->predicate) return nullptr;
    if (!is_global(read->buffer->scope) || !is_pure_value(read->indices[0])) return nullptr;
    if (written_.contains(read->buffer->data)) return nullptr;  // the load is for memory that stays as it is
    if (s->buffer->dtype != DType::Float(32) || read->buffer->dtype != DType::Float(32)) return nullptr;
    if (read->indices[0]->dtype() != DType::Int(32) || s->indices[0]->dtype() != DType::Int(32)) return nullptr;
    make_buffers();
    const Expr *zero = ctx_.i32(0), *one = ctx_.i32(1);
    const Expr* from = ctx_.load(places_, {{zero}});
    const Expr* to = ctx_.load(places_, {{one}});
    const Expr* element = ctx_.load(read->buffer, {{from}});
    const Call* call = ctx_.intrin(s->buffer->dtype, intrin::PtxLdg32,
                                   {s->buffer->data, ctx_.load(predicate_, {{zero}}), element, to});
    const Stmt* const parts[] = {ctx_.store(places_, read->indices[0], {{zero}}),
                                 ctx_.store(places_, s->indices[0], {{one}}),
                                 ctx_.store(predicate_, choice->args[0], {{zero}}),
                                 ctx_.store(s->buffer, choice->args[2], {{to}}), ctx_.evaluate(call)};
    return ctx_.seq_stmt(parts);
  }

  void make_buffers() {
    if (predicate_) return;
    const Expr* const two[] = {ctx_.i32(2)};
    const Expr* const one[] = {ctx_.i32(1)};
    places_ = ctx_.buffer("addr", two, DType::Int(32), "local");
    predicate_ = ctx_.buffer("predicate", one, DType::Bool(), "local");
  }

  std::unordered_set<const Var*> written_;  // pointers
  const Buffer* places_ = nullptr;
  const Buffer* predicate_ = nullptr;
};

}  // namespace

Result<const Module*> inject_ptx_async_copy(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    AsyncCopies copies(env.ctx);
    const Stmt* body = copies.rewrite(f->body);
    if (copies.nested)
      return support::Failure(source::message(diag::PassUnsupported, fmt::format("`{}`", name),
                                              "it has an asynchronous scope within another one"));
    return with_body(env.ctx, f, body);
  });
}

Result<const Module*> inject_ptx_ldg32(PassEnv& env, const Module* module, const InjectPTXLDG32Options& options) {
  if (!options.enable_inject_ptx_intrin) return module;
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target || target_kind(target) != "cuda") return f;
    return with_body(env.ctx, f, GlobalLoads(env.ctx).run(f->body));
  });
}

}  // namespace rldb::passes
