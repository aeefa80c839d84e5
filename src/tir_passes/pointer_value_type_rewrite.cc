// PointerValueTypeRewrite: memory of which every access is of the same number of elements, which lie side by side from
// a multiple of that number on, becomes memory of vectors: A[T.Ramp(i * 4, 1, 4)] of float32 becomes A[i * 4 / 4] of
// float32x4. Devices that cannot see a pointer to scalars as one to vectors need it. A single element that is read, at
// a known place in its vector, is taken out by T.Shuffle.
//
// Memory stays as it is where its pointer is used other than by accesses, or by views of another dtype. Parameters of a
// kernel that a Relax function calls keep their types, as its tensors do.
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The memory behind a pointer, and how it is accessed.
struct Memory {
  DType element;
  std::vector<const Expr*> extents;       // last dimensions of the buffers over it; none for a bare pointer
  std::vector<const Expr*> scalar_reads;  // indices of single elements that are read
  int lanes = 0;                          // of the vectors; 0: not accessed as vectors
  bool defined = false;                   // by a parameter or an allocation
  bool fixed = false;                     // stays as it is
};
using Memories = std::unordered_map<const Var*, Memory>;

bool is_multiple(Context& ctx, Analyzer& analyzer, const Expr* e, int of) {
  return is_const(analyzer.simplify(floor_mod(ctx, e, ctx.int_imm(e->dtype(), of))), 0);
}
// Where in its vector the element is, if that is known.
std::optional<std::int64_t> place_in_vector(Context& ctx, Analyzer& analyzer, const Expr* e, int lanes) {
  return const_int(analyzer.simplify(floor_mod(ctx, e, ctx.int_imm(e->dtype(), lanes))));
}

class AccessFinder {
 public:
  AccessFinder(Context& ctx, bool keep_params) : ctx_(ctx), analyzer_(ctx), keep_params_(keep_params) {}
  bool has_block = false;

  Memories run(const PrimFunc* f) {
    for (const PrimParam& p : f->params) {
      const auto* pointer = as<PointerType>(p.var->type);
      if (p.buffer)
        define(p.buffer, keep_params_);
      else if (pointer && !pointer->element.is_void())
        define(p.var, pointer->element);
    }
    walk(f->body, [&](const Node* n) { return visit(n); });
    for (auto& [data, memory] : memories_) memory.fixed = memory.fixed || !memory.defined || !is_vector(memory);
    return std::move(memories_);
  }

 private:
  bool visit(const Node* n) {
    has_block = has_block || isa<SBlock>(n);
    if (const auto* loop = as<ForStmt>(n)) analyzer_.bind_range(loop->var, {loop->min, loop->extent});
    if (const auto* alloc = as<AllocBuffer>(n)) define(alloc->buffer, false);
    if (const auto* decl = as<DeclBuffer>(n)) {
      if (decl->data && decl->data != decl->buffer->data) use_pointer(decl->data);
      declare(decl->buffer, decl->data && decl->data != decl->buffer->data);
      return false;
    }
    if (const auto* load = as<BufferLoad>(n)) access(load->buffer, load->indices, load->dtype(), load->predicate, true);
    if (const auto* store = as<BufferStore>(n))
      access(store->buffer, store->indices, store->value->dtype(), store->predicate, false);
    if (const auto* v = as<Var>(n)) use_pointer(v);
    return true;
  }

  void use_pointer(const Expr* e) {
    walk(e, [&](const Node* n) {
      const auto* v = as<Var>(n);
      if (v && as<PointerType>(v->type)) memories_[v].fixed = true;
      return true;
    });
  }

  void define(const Var* pointer, DType element) {
    memories_[pointer].element = element;
    memories_[pointer].defined = true;
  }
  void define(const Buffer* b, bool fixed) {
    memories_[b->data].defined = true;
    declare(b, fixed);
  }
  void declare(const Buffer* b, bool fixed) {
    Memory& m = memories_[b->data];
    if (m.element.is_void()) m.element = b->dtype;
    // Strides count elements, and separators part dimensions that must not be merged.
    m.fixed = m.fixed || fixed || m.element != b->dtype || b->dtype.is_bool() || b->dtype.lanes != 1 ||
              b->shape.empty() || !b->strides.empty() || !b->axis_separators.empty() ||
              (b->elem_offset && !is_const(b->elem_offset, 0));
    if (!b->shape.empty()) m.extents.push_back(b->shape.back());
  }

  void access(const Buffer* b, Span<const Expr*> indices, DType value, const Expr* predicate, bool is_read) {
    Memory& m = memories_[b->data];
    if (indices.empty() || predicate || b->dtype != m.element) return void(m.fixed = true);
    const Expr* last = indices.back();
    if (is_read && last->dtype().is_scalar()) return m.scalar_reads.push_back(last);
    const auto* ramp = as<Ramp>(last);
    const auto lanes = ramp && is_const(ramp->stride, 1) ? const_int(ramp->lanes) : std::nullopt;
    const bool aligned = lanes && *lanes == value.lanes && is_multiple(ctx_, analyzer_, ramp->base, int(*lanes));
    if (!aligned || (m.lanes != 0 && m.lanes != value.lanes)) return void(m.fixed = true);
    m.lanes = value.lanes;
  }

  bool is_vector(const Memory& m) {
    if (m.lanes <= 1) return false;
    for (const Expr* extent : m.extents)
      if (!is_multiple(ctx_, analyzer_, extent, m.lanes)) return false;
    for (const Expr* index : m.scalar_reads)
      if (!place_in_vector(ctx_, analyzer_, index, m.lanes)) return false;
    return true;
  }

  Context& ctx_;
  Analyzer analyzer_;
  bool keep_params_;
  Memories memories_;
};

class Vectors : public Rewriter {
 public:
  Vectors(Context& ctx, const Memories& memories) : Rewriter(ctx), memories_(memories), analyzer_(ctx) {
    for (const auto& [data, m] : memories) {
      if (m.fixed) continue;
      const auto* old = as<PointerType>(data->type);
      const Var* made = ctx.var(data->name, ctx.pointer(m.element.with_lanes(m.lanes), old ? old->scope : ""));
      ctx.set_origin(made, data);
      remap(data, made);
    }
  }

  const PrimFunc* run(const PrimFunc* f) {
    const Stmt* body = rewrite(f->body);
    if (body == f->body) return f;
    std::vector<PrimParam> params;
    for (const PrimParam& p : f->params) params.push_back({as<Var>(lookup(p.var)), visit_buffer(p.buffer)});
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, body, f->attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    const Memory* m = b ? vectors_of(b) : nullptr;
    if (!m) return b;
    if (const auto known = buffers_.find(b); known != buffers_.end()) return known->second;
    Buffer fields = *b;
    std::vector<const Expr*> shape(b->shape.begin(), b->shape.end());
    shape.back() = quotient(shape.back(), m->lanes);
    fields.shape = ctx_.list(std::span<const Expr* const>(shape));
    fields.dtype = m->element.with_lanes(m->lanes);
    fields.data = as<Var>(lookup(b->data));
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    const Memory* m = load ? vectors_of(load->buffer) : nullptr;
    if (!m) return default_expr(e);
    std::vector<const Expr*> at = rewritten(load->indices);
    const auto place =
        at.back()->dtype().is_scalar() ? place_in_vector(ctx_, analyzer_, at.back(), m->lanes) : std::nullopt;
    at.back() = index_of_vector(at.back(), m->lanes);
    const Expr* vector = ctx_.load(visit_buffer(load->buffer), at);
    if (!place) return vector;
    const Expr* const index[] = {ctx_.i32(*place)};
    return ctx_.shuffle({{vector}}, index);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* loop = as<ForStmt>(s)) analyzer_.bind_range(loop->var, {loop->min, loop->extent});
    const auto* store = as<BufferStore>(s);
    const Memory* m = store ? vectors_of(store->buffer) : nullptr;
    if (!m) return default_stmt(s);
    std::vector<const Expr*> at = rewritten(store->indices);
    at.back() = index_of_vector(at.back(), m->lanes);
    return ctx_.store(visit_buffer(store->buffer), rewrite(store->value), at);
  }

 private:
  const Memory* vectors_of(const Buffer* b) const {
    const auto found = memories_.find(b->data);
    return found == memories_.end() || found->second.fixed ? nullptr : &found->second;
  }
  std::vector<const Expr*> rewritten(Span<const Expr*> list) {
    std::vector<const Expr*> out;
    for (const Expr* e : list) out.push_back(rewrite(e));
    return out;
  }
  // As TVM writes it: not simplified.
  const Expr* quotient(const Expr* e, int lanes) { return div(ctx_, e, ctx_.int_imm(e->dtype(), lanes)); }
  const Expr* index_of_vector(const Expr* index, int lanes) {
    const auto* ramp = as<Ramp>(index);
    return quotient(ramp ? ramp->base : index, lanes);
  }

  const Memories& memories_;
  Analyzer analyzer_;
};

// PrimFuncs that Relax functions name.
std::unordered_set<std::string_view> called_by_relax(const Module* module) {
  std::unordered_set<std::string_view> out;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function))
      walk(f, [&](const Node* n) {
        if (const auto* g = as<GlobalVar>(n)) out.insert(g->name);
        return true;
      });
  return out;
}

}  // namespace

Result<const Module*> pointer_value_type_rewrite(PassEnv& env, const Module* module, const NoOptions&) {
  const std::unordered_set<std::string_view> called = called_by_relax(module);
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    AccessFinder finder(env.ctx, called.contains(name));
    const Memories memories = finder.run(f);
    if (finder.has_block)
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`",
                                              "it has blocks: run LowerOpaqueBlock first"));
    return Vectors(env.ctx, memories).run(f);
  });
}

}  // namespace rldb::passes
