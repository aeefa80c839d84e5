// InjectDoubleBuffer: a buffer whose producer is marked double_buffer_scope gets two halves: one turn of the loop reads
// one half while the next turn's values go to the other. The first turn's values are computed before the loop.
//
// `split_loop`: the turns are written out by as many at a time (1: the last turn apart), so that halves are known.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/convert_ssa.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kWrite = "double_buffer_write";

// The memory that the marked statement fills, by a buffer or its pointer.
const Var* marked(const AttrStmt* a) {
  const Node* node = a->key == attr_name::DoubleBufferScope && a->node ? a->node->node : nullptr;
  if (const auto* b = as<Buffer>(node)) return b->data;
  return as<Var>(node);
}

// Erases what is used other than by loads, stores and marks: its address is taken.
void erase_pointers(const Node* part, std::unordered_set<const Var*>& memory) {
  walk(part, [&](const Node* n) {
    if (const auto* v = as<Var>(n)) memory.erase(v);
    const auto* a = as<AttrStmt>(n);
    if (!a || !marked(a)) return true;
    erase_pointers(a->value, memory);
    erase_pointers(a->body, memory);
    return false;
  });
}

std::unordered_set<const Var*> doubled_memory(const Stmt* body) {
  std::unordered_set<const Var*> out;
  walk(body, [&](const Node* n) {
    if (const auto* a = as<AttrStmt>(n); a && marked(a)) out.insert(marked(a));
    return true;
  });
  if (!out.empty()) erase_pointers(body, out);
  return out;
}

class StripWrites : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    return a && a->key == kWrite ? rewrite(a->body) : default_stmt(s);
  }
};

class DoubleBuffers : public Rewriter {
 public:
  DoubleBuffers(Context& ctx, std::unordered_set<const Var*> memory, std::int64_t split)
      : Rewriter(ctx), memory_(std::move(memory)), split_(split) {}
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    const auto* load = as<BufferLoad>(made);
    Half* half = load ? half_of(load->buffer) : nullptr;
    if (!half) return made;
    if (!half->read) return refuse(load->buffer, "it is read before the statement that fills it"), made;
    if (!is_inside(half->loop)) return refuse(load->buffer, "it is read outside of the loop that fills it"), made;
    const Expr* const at[] = {add(ctx_, mul(ctx_, half->read, half->size), load->indices[0])};
    return ctx_.load(doubled(load->buffer, *half), at, load->predicate);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* a = as<AttrStmt>(s); a && marked(a)) return producer(a);
    if (const auto* a = as<AllocBuffer>(s)) return allocation(a);
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    const Stmt* made = default_stmt(s);
    const auto* store = as<BufferStore>(made);
    Half* half = store ? half_of(store->buffer) : nullptr;
    if (!half) return made;
    if (!half->write) return refuse(store->buffer, "it is written outside of its double_buffer_scope"), made;
    const Expr* const at[] = {add(ctx_, mul(ctx_, half->write, half->size), store->indices[0])};
    return ctx_.store(doubled(store->buffer, *half), store->value, at, store->predicate);
  }

 private:
  struct Half {
    const AllocBuffer* alloc = nullptr;
    const Expr* size = nullptr;
    const Buffer* whole = nullptr;
    const ForStmt* loop = nullptr;
    const Var* write = nullptr;  // which half is filled; set inside of the scope
    const Expr* read = nullptr;
  };

  Half* half_of(const Buffer* b) {
    const auto it = halves_.find(b->data);
    return it == halves_.end() ? nullptr : &it->second;
  }

  bool is_inside(const ForStmt* loop) const { return std::find(loops_.begin(), loops_.end(), loop) != loops_.end(); }

  void refuse(const Buffer* b, std::string_view why) {
    if (refused.empty()) refused = fmt::format("`{}`: {}", b->name, why);
  }

  const Buffer* doubled(const Buffer* b, Half& half) {
    if (half.whole) return half.whole;
    Buffer fields = *b;
    fields.shape = ctx_.list(std::vector<const Expr*>{add(ctx_, b->shape[0], half.size)});
    half.whole = ctx_.buffer(fields);
    ctx_.set_origin(half.whole, b);
    return half.whole;
  }

  // It moves before the loop that fills it.
  const Stmt* allocation(const AllocBuffer* a) {
    if (!memory_.contains(a->buffer->data)) return a;
    if (a->buffer->shape.size() != 1) {
      refuse(a->buffer, "it has several dims: run FlattenBuffer first");
      return a;
    }
    order_.push_back(a->buffer->data);
    halves_[a->buffer->data] = {a, a->buffer->shape[0], nullptr, nullptr, nullptr, nullptr};
    return nullptr;
  }

  const Stmt* producer(const AttrStmt* a) {
    const auto it = halves_.find(marked(a));
    if (it == halves_.end()) return rewrite(a->body);  // its address is taken: as TVM, the mark is dropped
    Half& half = it->second;
    if (loops_.empty()) {
      refuse(half.alloc->buffer, "its double_buffer_scope must be inside of a loop");
      return a;
    }
    if (half.loop && half.loop != loops_.back()) refuse(half.alloc->buffer, "several loops fill it");
    half.loop = loops_.back();
    if (half.loop->step || !is_const(half.loop->min, 0))
      refuse(half.alloc->buffer, "the loop around its double_buffer_scope must begin at 0 and have the step 1");
    const Var* turn = half.loop->var;
    const DType t = turn->dtype();
    const Expr *one = ctx_.int_imm(t, 1), *two = ctx_.int_imm(t, 2), *zero = ctx_.int_imm(t, 0);
    const Expr* next = add(ctx_, turn, one);
    half.write = ctx_.var(std::string(turn->name) + ".db", turn->type);
    half.read = floor_mod(ctx_, turn, two);
    const Stmt* body = rewrite(a->body);
    const Var* which = std::exchange(half.write, nullptr);
    const Stmt* first = substitute(ctx_, body, {{which, zero}, {turn, zero}});
    const auto turns = const_int(half.loop->extent);
    if (!turns || *turns <= 0) first = ctx_.if_stmt(compare(ctx_, BinaryKind::LT, zero, half.loop->extent), first);
    before_[half.loop].push_back(first);
    body = substitute(ctx_, body, {{which, floor_mod(ctx_, next, two)}, {turn, next}});
    body = ctx_.attr_stmt(ctx_.attr_node(half.alloc->buffer->data), kWrite, ctx_.i32(1), body);
    return ctx_.if_stmt(compare(ctx_, BinaryKind::LT, next, half.loop->extent), body);
  }

  const Stmt* loop(const ForStmt* f) {
    loops_.push_back(f);
    const Stmt* made = default_stmt(f);
    loops_.pop_back();
    std::vector<const Stmt*> out;
    for (const Var* memory : order_)
      if (const Half& half = halves_.at(memory); half.loop == f && half.whole)
        out.push_back(ctx_.alloc_buffer(half.whole, half.alloc->annotations));
    const auto first = before_.find(f);
    if (first == before_.end()) return made;
    out.insert(out.end(), first->second.begin(), first->second.end());
    const auto* turns = as<ForStmt>(made);
    if (split_ != 0 && turns) {
      if (!is_const(turns->min, 0)) {
        if (refused.empty()) refused = fmt::format("the loop over `{}` must begin at 0", turns->var->name);
        return f;
      }
      split(turns, out);
    } else {
      out.push_back(made);
    }
    return ctx_.seq_stmt(out);
  }

  // Turns in groups, and the rest one by one.
  void split(const ForStmt* f, std::vector<const Stmt*>& out) {
    const DType t = f->var->dtype();
    const Expr* factor = ctx_.int_imm(t, split_);
    const Expr* groups = div(ctx_, sub(ctx_, f->extent, ctx_.int_imm(t, 1)), factor);
    const Var* outer = ctx_.var(std::string(f->var->name) + ".outer", f->var->type);
    std::vector<const Stmt*> group;
    for (std::int64_t i = 0; i < split_; ++i)
      group.push_back(substitute(ctx_, f->body, {{f->var, add(ctx_, mul(ctx_, outer, factor), ctx_.int_imm(t, i))}}));
    out.push_back(ctx_.for_stmt(outer, f->min, groups, f->for_kind, ctx_.seq_stmt(group), {}, f->thread_tag));
    const Stmt* rest = StripWrites(ctx_).rewrite(f->body);
    const Expr* base = mul(ctx_, groups, factor);
    for (std::int64_t i = 0; i < split_; ++i) {
      const Expr* at = add(ctx_, base, ctx_.int_imm(t, i));
      out.push_back(ctx_.if_stmt(compare(ctx_, BinaryKind::LT, at, f->extent), substitute(ctx_, rest, {{f->var, at}})));
    }
  }

  std::unordered_set<const Var*> memory_;
  std::int64_t split_;
  std::vector<const ForStmt*> loops_;
  std::unordered_map<const Var*, Half> halves_;
  std::vector<const Var*> order_;  // of their allocations
  std::unordered_map<const ForStmt*, std::vector<const Stmt*>> before_;
};

}  // namespace

Result<const Module*> inject_double_buffer(PassEnv& env, const Module* module,
                                           const InjectDoubleBufferOptions& options) {
  const std::int64_t split = options.split_loop;
  if (split < 0 || split > 64 || (split > 1 && split % 2 != 0))
    return support::Failure(
        source::message(diag::PassOptionValue, "split_loop", "0, 1 or an even number up to 64", std::to_string(split)));
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    std::unordered_set<const Var*> memory = doubled_memory(f->body);
    if (memory.empty()) return f;
    DoubleBuffers buffers(env.ctx, std::move(memory), split);
    const Stmt* body = buffers.rewrite(f->body);
    if (!buffers.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("a double buffer of `{}`", name), buffers.refused));
    return with_body(env.ctx, f, single_definitions(env.ctx, f, body));
  });
}

}  // namespace rldb::passes
