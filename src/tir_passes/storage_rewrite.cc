// StorageRewrite: allocations that are not live at the same time share memory, and unused ones are removed.
//
// An allocation is visible in the rest of its sequence, so it is live up to the last statement of the sequence that
// uses its memory. After that, allocations of the same dtype and scope that are not larger become buffers over its
// memory: in the same sequence, or nested in its later statements. One that is written element by element where the
// other is read for the last time may reuse the memory in that very statement.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Pointers = std::unordered_set<const Var*>;

// The buffer that a statement allocates: T.alloc_buffer, and T.decl_buffer without given memory; null for others.
const Buffer* allocated_by(const Stmt* s) {
  if (const auto* a = as<AllocBuffer>(s)) return is_plain_allocation(a) ? a->buffer : nullptr;
  const auto* d = as<DeclBuffer>(s);
  return d && !d->data ? d->buffer : nullptr;
}

// The memory shared through buffers declared over it.
class Aliases {
 public:
  explicit Aliases(const Stmt* body) {
    walk(body, [&](const Node* n) {
      if (const auto* d = as<DeclBuffer>(n); d && d->data)
        if (const auto* v = as<Var>(d->data)) root_[d->buffer->data] = root(v);
      if (const auto* b = as<BindStmt>(n))
        if (const auto* v = as<Var>(b->value); v && as<PointerType>(b->var->type)) root_[b->var] = root(v);
      return true;
    });
  }
  const Var* root(const Var* v) const {
    const auto it = root_.find(v);
    return it == root_.end() ? v : it->second;
  }

 private:
  std::unordered_map<const Var*, const Var*> root_;
};

void add_uses(const Node* s, const Aliases& aliases, Pointers& out) {
  walk(s, [&](const Node* n) {
    if (const auto* l = as<BufferLoad>(n)) out.insert(aliases.root(l->buffer->data));
    if (const auto* st = as<BufferStore>(n)) out.insert(aliases.root(st->buffer->data));
    if (const auto* v = as<Var>(n)) out.insert(aliases.root(v));
    if (const auto* b = as<SBlock>(n)) {
      for (const BufferRegion& r : b->reads) out.insert(aliases.root(r.buffer->data));
      for (const BufferRegion& r : b->writes) out.insert(aliases.root(r.buffer->data));
    }
    return true;
  });
}

// ---- elementwise stores ----

// The loops around one store, if the statement contains nothing else.
struct ElementwiseStore {
  std::vector<const ForStmt*> loops;
  const BufferStore* store = nullptr;
};

ElementwiseStore only_store(const Stmt* s) {
  ElementwiseStore out;
  while (const auto* f = as<ForStmt>(s)) {
    if (f->step || f->for_kind == ForKind::Parallel || f->for_kind == ForKind::ThreadBinding) return {};
    out.loops.push_back(f);
    s = f->body;
  }
  out.store = as<BufferStore>(s);
  if (out.store && out.store->predicate) out.store = nullptr;
  return out;
}

// No two iterations access the same element: each loop variable is an index by itself, or a digit of the only index.
bool is_injective(const ElementwiseStore& e) {
  std::vector<std::pair<const Expr*, std::int64_t>> parts;  // summands with their factors
  std::vector<const Expr*> open(e.store->indices.begin(), e.store->indices.end());
  const bool digits = open.size() == 1;
  while (!open.empty()) {
    const Expr* at = open.back();
    open.pop_back();
    const auto* sum = as<BinaryExpr>(at);
    if (digits && sum && sum->op() == BinaryKind::Add) {
      open.push_back(sum->a);
      open.push_back(sum->b);
    } else if (const auto factor = sum && sum->op() == BinaryKind::Mul ? const_int(sum->b) : std::nullopt;
               digits && factor) {
      parts.emplace_back(sum->a, *factor);
    } else {
      parts.emplace_back(at, 1);
    }
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::int64_t reach = 1;  // the range covered by the digits so far
  std::size_t found = 0;
  for (const auto& part : parts) {
    const auto& [what, factor] = part;
    const auto loop =
        std::find_if(e.loops.begin(), e.loops.end(), [&](const ForStmt* f) { return f->var == part.first; });
    if (loop == e.loops.end()) {
      if (!isa<IntImm>(what)) return false;
      continue;
    }
    ++found;
    if (!digits || parts.size() == 1) continue;
    if (factor < reach) return false;
    if (&part == &parts.back()) continue;  // nothing is above the highest digit
    const auto extent = const_int((*loop)->extent);
    if (!extent || *extent < 1 || __builtin_mul_overflow(factor, *extent, &reach)) return false;
  }
  return found == e.loops.size();
}

// Whether `to` may share the memory of `from` although the statement reads one and writes the other.
bool in_place(const Stmt* s, const Var* from, const Var* to, const Aliases& aliases, Analyzer& analyzer) {
  const ElementwiseStore e = only_store(s);
  if (!e.store || e.store->buffer->data != to || e.store->indices.empty() || !is_injective(e)) return false;
  bool good = true;
  walk(e.store->value, [&](const Node* n) {
    if (const auto* l = as<BufferLoad>(n)) {
      const Var* data = l->buffer->data;
      if (data == to) good = false;
      if (aliases.root(data) == from) {
        good = good && data == from && l->buffer->dtype == e.store->buffer->dtype && !l->predicate &&
               l->indices.size() == e.store->indices.size() && l->buffer->shape.size() == e.store->buffer->shape.size();
        for (std::size_t i = 0; good && i < l->indices.size(); ++i)
          good = analyzer.prove_equal(l->indices[i], e.store->indices[i]) &&
                 (i == 0 || analyzer.prove_equal(l->buffer->shape[i], e.store->buffer->shape[i]));
      }
    }
    if (const auto* v = as<Var>(n)) good = good && aliases.root(v) != from && v != to;  // the pointer itself
    return good;
  });
  return good;
}

// ---- sharing ----

// An allocation in a sequence, and the statements of the sequence between which it is used.
struct Life {
  const Buffer* buffer;
  std::size_t at;
  std::size_t first, last;
};

constexpr std::size_t kMaxMemories = 256;  // searched for each allocation

// Memory that allocations use one after the other.
struct Memory {
  const Buffer* buffer;     // whose memory it is
  std::size_t from;         // visible after this statement of the sequence
  std::vector<Life> users;  // in the sequence, in order
  bool is_free(std::size_t i) const {
    const auto after =
        std::upper_bound(users.begin(), users.end(), i, [](std::size_t at, const Life& l) { return at < l.first; });
    return i >= from && (after == users.begin() || std::prev(after)->last < i);
  }
};

class Sharing : public Rewriter {
 public:
  Sharing(Context& ctx, const Aliases& aliases, const PrimFunc* f) : Rewriter(ctx), aliases_(aliases), analyzer_(ctx) {
    for (const PrimParam& p : f->params) {
      given_.insert(p.var);
      std::vector<const Var*> vars;
      for (const Expr* e : p.buffer ? sizes_of(p.buffer) : std::vector<const Expr*>{}) collect_vars(e, vars);
      given_.insert(vars.begin(), vars.end());
    }
  }

  const Stmt* run(const Stmt* body) {
    const Stmt* made = rewrite(body);
    if (hoisted_.empty()) return made;
    std::vector<const Stmt*> all = hoisted_;
    if (const auto* seq = as<SeqStmt>(made))
      all.insert(all.end(), seq->stmts.begin(), seq->stmts.end());
    else
      all.push_back(made);
    if (const auto* old = as<SeqStmt>(body);
        old && std::equal(all.begin(), all.end(), old->stmts.begin(), old->stmts.end()))
      return body;
    return ctx_.seq_stmt(all);
  }

 protected:
  const Expr* visit_expr(const Expr* e) override { return buffers_.empty() ? e : default_expr(e); }
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto it = buffers_.find(b);
    return it == buffers_.end() ? b : it->second;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq);
    const auto* loop = as<ForStmt>(s);
    const bool in_order = !loop || loop->for_kind == ForKind::Serial || loop->for_kind == ForKind::Unrolled;
    if (in_order && thread_tag(s).empty()) return default_stmt(s);
    // Code that runs in parallel with other iterations cannot reuse memory allocated outside.
    std::vector<const Buffer*> outside = std::exchange(free_, {});
    const bool alone = std::exchange(alone_, false);
    const Stmt* made = default_stmt(s);
    free_ = std::move(outside);
    alone_ = alone;
    return made;
  }

 private:
  const Stmt* sequence(const SeqStmt* seq) {
    const std::vector<Life> lives = lives_of(seq);
    std::unordered_set<const Buffer*> used;
    for (const Life& l : lives) used.insert(l.buffer);
    std::unordered_map<const Buffer*, const Buffer*> taken;
    const std::vector<Memory> memory = plan(seq, lives, taken);
    const std::vector<const Buffer*> outside = free_;
    std::vector<const Stmt*> out;
    for (std::size_t i = 0; i < seq->stmts.size(); ++i) {
      const Stmt* s = seq->stmts[i];
      for (const Life& l : lives)
        if (l.first == i && is_hoisted(l.buffer, taken)) hoisted_.push_back(without_annotations(seq->stmts[l.at]));
      if (const Buffer* b = allocated_by(s)) {
        const auto from = taken.find(b);
        if (from != taken.end())
          out.push_back(over(s, b, from->second));
        else if (used.contains(b) && !is_hoisted(b, taken))
          out.push_back(without_annotations(s));
        continue;
      }
      if (!isa<BufferStore>(s) && !isa<Evaluate>(s)) {
        free_.clear();
        for (const Memory& m : memory)
          if (m.is_free(i)) free_.push_back(m.buffer);
      }
      out.push_back(rewrite(s));
    }
    free_ = outside;
    if (std::equal(out.begin(), out.end(), seq->stmts.begin(), seq->stmts.end())) return seq;
    return out.empty() ? no_op(ctx_) : ctx_.seq_stmt(out);
  }

  // Memory of its own is allocated before everything else of the function, also out of loops, as in TVM, unless its
  // size is computed in the function, or each thread or iteration needs its own.
  bool is_hoisted(const Buffer* b, const std::unordered_map<const Buffer*, const Buffer*>& taken) {
    if (!alone_ || taken.contains(b)) return false;
    bool known = true;
    for (const Expr* size : sizes_of(b))
      walk(size, [&](const Node* n) {
        const auto* v = as<Var>(n);
        if (isa<BufferLoad>(n) || (v && !given_.contains(v))) known = false;
        return known;
      });
    return known;
  }

  static std::vector<const Expr*> sizes_of(const Buffer* b) {
    std::vector<const Expr*> out(b->shape.begin(), b->shape.end());
    out.insert(out.end(), b->strides.begin(), b->strides.end());
    if (b->elem_offset) out.push_back(b->elem_offset);
    return out;
  }

  const Stmt* without_annotations(const Stmt* s) {
    const auto* a = as<AllocBuffer>(s);
    if (!a || a->annotations.empty()) return s;
    const Stmt* made = ctx_.alloc_buffer(a->buffer);
    ctx_.set_origin(made, s);
    return made;
  }

  // The allocations that are used, ordered by first use.
  std::vector<Life> lives_of(const SeqStmt* seq) {
    std::vector<Life> lives;
    std::unordered_map<const Var*, std::size_t> index;
    for (std::size_t i = 0; i < seq->stmts.size(); ++i)
      if (const Buffer* b = allocated_by(seq->stmts[i])) {
        index[b->data] = lives.size();
        lives.push_back({b, i, SIZE_MAX, 0});
      }
    for (std::size_t i = 0; !lives.empty() && i < seq->stmts.size(); ++i) {
      if (allocated_by(seq->stmts[i])) continue;
      Pointers used;
      add_uses(seq->stmts[i], aliases_, used);
      for (const Var* v : used)
        if (const auto it = index.find(v); it != index.end()) {
          Life& l = lives[it->second];
          l.first = std::min(l.first, i);
          l.last = i;
        }
    }
    std::erase_if(lives, [](const Life& l) { return l.first == SIZE_MAX; });
    std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.first < b.first; });
    return lives;
  }

  std::vector<Memory> plan(const SeqStmt* seq, const std::vector<Life>& lives,
                           std::unordered_map<const Buffer*, const Buffer*>& taken) {
    std::vector<Memory> memory;
    for (const Buffer* b : free_) memory.push_back({b, 0, {}});
    for (const Life& life : lives) {
      // As in TVM, first the memory of what the same statement reads for the last time.
      auto it = std::find_if(memory.begin(), memory.end(),
                             [&](const Memory& m) { return visible(life, m) && follows_in_place(seq, life, m); });
      if (it == memory.end())
        it = std::find_if(memory.begin(), memory.end(),
                          [&](const Memory& m) { return visible(life, m) && is_free_for(life, m); });
      const bool shared =
          it != memory.end() && support::may_rewrite([&] {
            return fmt::format("buffer `{}` gets the memory of `{}`", life.buffer->name, it->buffer->name);
          });
      if (!shared) {
        if (memory.size() < kMaxMemories) memory.push_back({life.buffer, life.at, {life}});
        continue;
      }
      it->users.push_back(life);
      taken[life.buffer] = it->buffer;
    }
    return memory;
  }

  bool visible(const Life& life, const Memory& m) { return m.from <= life.at && fits(life.buffer, m.buffer); }
  static bool is_free_for(const Life& life, const Memory& m) {
    return m.users.empty() || m.users.back().last < life.first;
  }
  bool follows_in_place(const SeqStmt* seq, const Life& life, const Memory& m) {
    if (m.users.empty() || m.users.back().last != life.first) return false;
    return in_place(seq->stmts[life.first], m.users.back().buffer->data, life.buffer->data, aliases_, analyzer_);
  }

  bool fits(const Buffer* b, const Buffer* memory) {
    if (b->dtype != memory->dtype || b->scope != memory->scope || !is_plain(b) || !is_plain(memory)) return false;
    if (b->data_alignment > memory->data_alignment) return false;
    const Expr* wanted = product(ctx_, b->shape);
    const Expr* there = product(ctx_, memory->shape);
    const auto m = const_int(wanted), n = const_int(there);
    return m && n ? *m <= *n : analyzer_.prove_equal(wanted, there);
  }
  static bool is_plain(const Buffer* b) {
    return b->strides.empty() && (!b->elem_offset || is_const(b->elem_offset, 0)) && b->axis_separators.empty();
  }

  // Declares the buffer over the other's memory.
  const Stmt* over(const Stmt* s, const Buffer* b, const Buffer* memory) {
    Buffer fields = *b;
    fields.data = memory->data;
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    remap(b->data, memory->data);
    const Stmt* decl = ctx_.decl_buffer(made, memory->data);
    ctx_.set_origin(decl, s);
    return decl;
  }

  const Aliases& aliases_;
  Analyzer analyzer_;
  Pointers given_;                    // variables that the function's parameters define
  std::vector<const Stmt*> hoisted_;  // allocations that come first
  bool alone_ = true;                 // no other thread or iteration runs at the same time
  std::vector<const Buffer*> free_;   // memory of enclosing sequences that is currently unused
};

}  // namespace

Result<const Module*> storage_rewrite(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Aliases aliases(f->body);
    return with_body(env.ctx, f, Sharing(env.ctx, aliases, f).run(f->body));
  });
}

}  // namespace rldb::passes
