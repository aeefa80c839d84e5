// Loop fission at barriers. The threads of a block run one after the other from barrier to barrier, in the evaluator's
// order: x inside y inside z. Loops, conditions and sequences that contain a barrier are executed once for all threads,
// so that their bounds and conditions must be the same for each; everything else is inside a loop over the threads.
#include "codegen/llvm/lower/barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

int place_of(std::string_view tag) { return ir::is_thread_idx(tag) ? tag.back() : 'z' + 1; }

// A break or continue that leaves the statement, or a thread's loop in it.
bool may_leave(const Stmt* s) {
  bool found = false;
  ir::walk(s, [&](const ir::Node* n) {
    const auto* loop = as<ir::ForStmt>(n);
    if (as<ir::WhileStmt>(n) || (loop && loop->thread_tag.empty())) return false;
    found = found || ir::is_call_of(as<Expr>(n), ir::intrin::BreakLoop) ||
            ir::is_call_of(as<Expr>(n), ir::intrin::ContinueLoop);
    return !found;
  });
  return found;
}

// Operations of threads that a loop over them cannot perform.
void check_meetings(const Stmt* root) {
  if (may_leave(root)) refuse("a thread may leave a loop around those that it meets");
  ir::walk(root, [](const ir::Node* n) {
    const auto* call = as<ir::Call>(n);
    if (!call) return true;
    if (ir::is_call_of(call, ir::intrin::Ret)) refuse("a thread may return before the others reach a barrier");
    const ir::Meeting meeting = ir::meeting_of(call);
    if (meeting != ir::Meeting::None && meeting != ir::Meeting::Barrier)
      refuse(fmt::format("its threads exchange values by `T.{}`", ir::called_intrinsic(call)->name));
    const auto* scope = call->args.empty() ? nullptr : as<ir::StringImm>(call->args[0]);
    if (meeting == ir::Meeting::Barrier && scope && scope->value == "global") refuse("its blocks wait for each other");
    return true;
  });
}

bool is_own_scope(std::string_view scope) { return scope == "local" || scope == "warp"; }

using OwnData = std::unordered_set<const ir::Var*>;

// Memory of threads that is allocated somewhere in a statement.
OwnData own_allocations(const Stmt* s) {
  OwnData out;
  const auto note = [&](const ir::Buffer* b) {
    if (is_own_scope(b->scope)) out.insert(b->data);
  };
  ir::walk(s, [&](const ir::Node* n) {
    if (const auto* block = as<ir::SBlock>(n))
      for (const ir::Buffer* b : block->alloc_buffers) note(b);
    if (const auto* a = as<ir::AllocBuffer>(n)) note(a->buffer);
    if (const auto* d = as<ir::DeclBuffer>(n); d && !d->data) note(d->buffer);
    if (const auto* d = as<ir::DeclBuffer>(n); d && d->data && out.contains(as<ir::Var>(d->data)))
      out.insert(d->buffer->data);
    if (const auto* a = as<ir::AllocateStmt>(n); a && is_own_scope(a->scope)) out.insert(a->var);
    return true;
  });
  return out;
}

// Memory of threads that is allocated around them, as schedules do, is allocated by their outermost statement, if
// it is used there only.
class OwnMemoryInside : public ir::Rewriter {
 public:
  OwnMemoryInside(ir::Context& ctx, const Stmt* body) : Rewriter(ctx) {
    std::vector<const ir::Buffer*> own;
    std::unordered_map<const ir::Var*, std::unordered_set<const Stmt*>> users;
    const auto note_users = [&](const ir::Node* n, const Stmt* root) {
      const auto* load = as<ir::BufferLoad>(n);
      const auto* store = as<ir::BufferStore>(n);
      if (load) users[load->buffer->data].insert(root);
      if (store) users[store->buffer->data].insert(root);
      if (const auto* v = as<ir::Var>(n)) users[v].insert(root);
    };
    ir::walk(body, [&](const ir::Node* n) {
      const auto* s = as<Stmt>(n);
      if (const auto* block = as<ir::SBlock>(n))
        for (const ir::Buffer* b : block->alloc_buffers)
          if (b->scope == "local") own.push_back(b);
      if (const auto* a = as<ir::AllocBuffer>(n); a && a->buffer->scope == "local") own.push_back(a->buffer);
      if (!s || ir::thread_tag(s).empty()) {
        note_users(n, nullptr);
        return true;
      }
      ir::walk(s, [&](const ir::Node* part) {
        note_users(part, s);
        return true;
      });
      return false;
    });
    for (const ir::Buffer* b : own) {
      const auto& roots = users[b->data];
      if (roots.size() != 1 || !*roots.begin() || !ir::has_barrier(*roots.begin())) continue;
      moved_[*roots.begin()].push_back(b);
      all_moved_.insert(b);
    }
  }

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* block = as<ir::SBlock>(s);
    if (block && std::any_of(block->alloc_buffers.begin(), block->alloc_buffers.end(),
                             [&](const ir::Buffer* b) { return all_moved_.contains(b); })) {
      ir::SBlock fields = *as<ir::SBlock>(default_stmt(s));
      std::vector<const ir::Buffer*> kept;
      for (const ir::Buffer* b : block->alloc_buffers)
        if (!all_moved_.contains(b)) kept.push_back(b);
      fields.alloc_buffers = ctx_.list(kept);
      return ctx_.sblock(fields);
    }
    if (const auto* a = as<ir::AllocBuffer>(s); a && all_moved_.contains(a->buffer)) return ctx_.evaluate(ctx_.i32(0));
    const auto moved = moved_.find(s);
    const auto* loop = as<ir::ForStmt>(s);
    if (moved == moved_.end() || !loop) return default_stmt(s);
    std::vector<const Stmt*> body;
    for (const ir::Buffer* b : moved->second) body.push_back(ctx_.alloc_buffer(b));
    body.push_back(loop->body);
    return ctx_.for_stmt(loop->var, loop->min, loop->extent, loop->for_kind, ctx_.seq_stmt(body), loop->annotations,
                         loop->thread_tag, loop->step);
  }

 private:
  std::unordered_map<const Stmt*, std::vector<const ir::Buffer*>> moved_;
  std::unordered_set<const ir::Buffer*> all_moved_;
};

// Allocations below threads are per thread; an allocation above them would be one for all.
void check_own_memory(const Stmt* root, const OwnData& all) {
  const OwnData inside = own_allocations(root);
  const auto check = [&](const ir::Var* data, std::string_view name) {
    if (all.contains(data) && !inside.contains(data))
      refuse(fmt::format("`{}`, which each thread has, is allocated before the threads begin", name));
  };
  ir::walk(root, [&](const ir::Node* n) {
    if (const auto* load = as<ir::BufferLoad>(n)) check(load->buffer->data, load->buffer->name);
    if (const auto* store = as<ir::BufferStore>(n)) check(store->buffer->data, store->buffer->name);
    if (const auto* v = as<ir::Var>(n)) check(v, v->name);
    return true;
  });
}

class Splitter : public ir::Rewriter {
 public:
  Splitter(ir::Context& ctx, OwnData all) : Rewriter(ctx), all_own_(std::move(all)) {}

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* loop = ir::thread_tag(s).empty() ? nullptr : as<ir::ForStmt>(s);
    if (!inside_) return loop && ir::has_barrier(s) ? open(s) : default_stmt(s);
    if (loop && !ir::is_block_idx(loop->thread_tag)) {
      name_thread(loop);
      return rewrite(loop->body);
    }
    const auto* store = as<ir::BufferStore>(s);
    const ir::Buffer* own = store ? own_buffer(store->buffer) : nullptr;
    if (!own) return default_stmt(s);
    if (store->predicate) refuse(fmt::format("it stores to `{}`, which each thread has, under a mask", own->name));
    const Expr* value = rewrite(store->value);
    return ctx_.store(own, value, with_thread(own, store->indices));
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* load = inside_ ? as<ir::BufferLoad>(e) : nullptr;
    const ir::Buffer* own = load ? own_buffer(load->buffer) : nullptr;
    if (!own) return Rewriter::visit_expr(e);
    if (load->predicate) refuse(fmt::format("it loads from `{}`, which each thread has, under a mask", own->name));
    return ctx_.load(own, with_thread(own, load->indices));
  }
  const Expr* visit_call(const ir::Call* call) override {
    if (inside_ && ir::is_call_of(call, ir::intrin::AddressOf))
      for (const Expr* arg : call->args)
        if (const auto* load = as<ir::BufferLoad>(arg); load && own_buffer(load->buffer)) refuse_pointer(load->buffer);
    return default_expr(call);
  }
  // Loads and stores do not come here: a region, a view or an address.
  const ir::Buffer* visit_buffer(const ir::Buffer* b) override {
    if (inside_ && own_buffer(b)) refuse_pointer(b);
    return Rewriter::visit_buffer(b);
  }
  const Expr* visit_var(const ir::Var* v) override {
    if (inside_ && own_memory_.contains(v))
      refuse(fmt::format("the address of `{}`, which each thread has, is taken", v->name));
    return Rewriter::visit_var(v);
  }

 private:
  struct Axis {
    std::string_view tag;
    const ir::Var* var;
    const Expr* extent;
  };
  // Memory of one thread: its elements, and how many there are.
  struct Own {
    ir::DType dtype;
    std::int64_t count;
  };

  // The parts of a sequence: statements for all threads at once, and those that each thread executes next.
  struct Pieces {
    std::vector<const Stmt*> all, each;
  };

  // ---- threads ----

  const Stmt* open(const Stmt* root) {
    check_meetings(root);
    check_own_memory(root, all_own_);
    ir::walk(root, [&](const ir::Node* n) {
      const auto* s = as<Stmt>(n);
      const auto* loop = s && !ir::thread_tag(s).empty() ? as<ir::ForStmt>(s) : nullptr;
      if (loop && !ir::is_block_idx(loop->thread_tag) && !find_axis(loop->thread_tag)) {
        if (!ir::const_int(loop->extent))
          refuse(fmt::format("how many threads `{}` has is not a constant", loop->thread_tag));
        axes_.push_back({loop->thread_tag, loop->var, loop->extent});
      }
      return true;
    });
    std::sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) {
      return std::pair(place_of(a.tag), a.tag) < std::pair(place_of(b.tag), b.tag);
    });
    inside_ = true;
    const Stmt* made = split(root);
    inside_ = false;
    axes_.clear();
    own_memory_.clear();
    own_buffers_.clear();
    return made;
  }

  const Axis* find_axis(std::string_view tag) const {
    const auto it = std::find_if(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.tag == tag; });
    return it == axes_.end() ? nullptr : &*it;
  }

  // The variable of another loop over the same threads is that of the thread.
  void name_thread(const ir::ForStmt* loop) {
    const Axis& axis = *find_axis(loop->thread_tag);
    if (ir::const_int(loop->min) != 0 || ir::const_int(loop->extent) != ir::const_int(axis.extent) || loop->step)
      refuse(fmt::format("threads `{}` are counted in two ways", axis.tag));
    if (loop->var != axis.var) remap(loop->var, ir::cast_to(ctx_, loop->var->dtype(), axis.var));
  }

  const Stmt* each_thread(const Stmt* s) {
    for (const Axis& a : axes_)
      s = ctx_.for_stmt(a.var, ctx_.int_imm(a.var->dtype(), 0), a.extent, ir::ForKind::Serial, s);
    return s;
  }

  // The same for each thread.
  const Expr* common(const Expr* e, std::string_view what) {
    e = rewrite(e);
    if (!is_common(e))
      refuse(fmt::format("{} `{}`, below which threads meet, may differ between them", what, ir::print_expr(e)));
    return e;
  }
  bool is_common(const Expr* e) const {
    bool same = true;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* v = as<ir::Var>(n);
      if (v) same = same && std::none_of(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.var == v; });
      if (const auto* call = as<ir::Call>(n)) {
        const ir::IntrinsicInfo* row = ir::called_intrinsic(call);
        same = same && row && row->purity == ir::IntrinsicPurity::Pure;
      }
      return same;
    });
    return same;
  }

  // ---- memory ----

  [[noreturn]] static void refuse_pointer(const ir::Buffer* b) {
    refuse(fmt::format("`{}`, which each thread has, is used by more than loads and stores", b->name));
  }

  static std::optional<std::int64_t> count_of(ir::Span<const Expr*> shape) {
    std::int64_t count = 1;
    for (const Expr* e : shape) {
      const auto extent = ir::const_int(e);
      if (!extent || __builtin_mul_overflow(count, *extent, &count)) return std::nullopt;
    }
    return count;
  }

  void own_memory(const ir::Var* data, ir::DType dtype, ir::Span<const Expr*> shape, std::string_view name) {
    const auto count = count_of(shape);
    if (!count) refuse(fmt::format("the size of `{}`, which each thread has, is not a constant", name));
    own_memory_[data] = {dtype, *count};
  }

  ir::Span<const Expr*> with_threads(ir::Span<const Expr*> shape) {
    std::vector<const Expr*> dims(shape.begin(), shape.end());
    for (const Axis& a : axes_) dims.push_back(a.extent);
    return ctx_.list(dims);
  }

  // The buffer with a place for each thread after its own dims; null: it is not private to threads.
  const ir::Buffer* own_buffer(const ir::Buffer* b) {
    if (const auto it = own_buffers_.find(b); it != own_buffers_.end()) return it->second;
    const auto memory = own_memory_.find(b->data);
    if (memory == own_memory_.end()) return nullptr;
    const bool moved = b->elem_offset && ir::const_int(b->elem_offset) != 0;
    if (!b->strides.empty() || moved || memory->second.dtype != b->dtype || count_of(b->shape) != memory->second.count)
      refuse(fmt::format("`{}` is a view of memory that each thread has", b->name));
    ir::Buffer fields = *b;
    fields.shape = with_threads(b->shape);
    return own_buffers_[b] = ctx_.buffer(fields);
  }

  std::vector<const Expr*> with_thread(const ir::Buffer* own, ir::Span<const Expr*> indices) {
    std::vector<const Expr*> at;
    for (const Expr* i : indices) {
      at.push_back(rewrite(i));
      if (at.back()->dtype().lanes > 1)
        refuse(fmt::format("`{}`, which each thread has, is used by vectors", own->name));
    }
    for (const Axis& a : axes_) at.push_back(a.var);
    return at;
  }

  // ---- statements with a barrier below ----

  const Stmt* split(const Stmt* s) {
    if (!ir::has_barrier(s)) return each_thread(rewrite(s));
    if (const auto* seq = as<ir::SeqStmt>(s)) return split_all(seq->stmts);
    if (const auto* loop = as<ir::ForStmt>(s)) return split_loop(loop);
    if (const auto* loop = as<ir::WhileStmt>(s)) {
      if (may_leave(loop->body)) refuse("a thread may leave a loop in which it meets others");
      return ctx_.while_stmt(common(loop->cond, "the condition"), split(loop->body));
    }
    if (const auto* test = as<ir::IfThenElse>(s)) {
      const Expr* cond = common(test->cond, "the condition");
      const Stmt* then_case = split(test->then_case);
      return ctx_.if_stmt(cond, then_case, test->else_case ? split(test->else_case) : nullptr);
    }
    if (const auto* attr = as<ir::AttrStmt>(s); attr && !attr->thread_var)
      return ctx_.attr_stmt(attr->node, attr->key, common(attr->value, "the value"), split(attr->body));
    if (const auto* block = as<ir::SBlockRealize>(s)) return split_block(block);
    const auto* call = as<ir::Evaluate>(s);
    if (call && ir::meeting_of(call->value) == ir::Meeting::Barrier) return ctx_.evaluate(ctx_.i32(0));
    refuse("a barrier is a part of a larger statement");
  }

  const Stmt* split_loop(const ir::ForStmt* loop) {
    if (!loop->thread_tag.empty() && !ir::is_block_idx(loop->thread_tag)) {
      name_thread(loop);
      return split(loop->body);
    }
    if (loop->for_kind == ir::ForKind::Vectorized)
      refuse(fmt::format("the lanes of loop `{}` meet at a barrier", loop->var->name));
    if (may_leave(loop->body))
      refuse(fmt::format("a thread may leave loop `{}`, in which it meets others", loop->var->name));
    const Expr* min = common(loop->min, "the bound");
    const Expr* extent = common(loop->extent, "the bound");
    const Expr* step = loop->step ? common(loop->step, "the step") : nullptr;
    return ctx_.for_stmt(loop->var, min, extent, loop->for_kind, split(loop->body), loop->annotations, loop->thread_tag,
                         step);
  }

  // A block is its body, with the values of its axes.
  const Stmt* split_block(const ir::SBlockRealize* realize) {
    const ir::SBlock* block = realize->block;
    if (block->init || !block->match_buffers.empty())
      refuse(fmt::format("block `{}` has a barrier, and an init or views", block->name));
    for (std::size_t i = 0; i < block->iter_vars.size(); ++i) {
      const ir::Var* axis = block->iter_vars[i].var;
      remap(axis, ir::cast_to(ctx_, axis->dtype(), rewrite(realize->iter_values[i])));
    }
    Pieces out;
    for (const ir::Buffer* b : block->alloc_buffers) allocate(ctx_.alloc_buffer(b), out);
    const Expr* predicate = common(realize->predicate, "the predicate");
    const Stmt* body = split(block->body);
    out.all.push_back(ir::const_int(predicate) == 1 ? body : ctx_.if_stmt(predicate, body));
    return ctx_.seq_stmt(out.all);
  }

  const Stmt* split_all(ir::Span<const Stmt*> stmts) {
    Pieces out;
    for (const Stmt* s : stmts) {
      if (const auto* a = as<ir::AllocBuffer>(s)) {
        allocate(a, out);
      } else if (const auto* a = as<ir::AllocateStmt>(s)) {
        allocate(a, out);
      } else if (const auto* d = as<ir::DeclBuffer>(s)) {
        declare(d, out);
      } else if (const auto* b = as<ir::BindStmt>(s); b && !ir::has_barrier(b)) {
        bind(b, out);
      } else if (ir::has_barrier(s)) {
        flush(out);
        out.all.push_back(split(s));
      } else if (const Stmt* made = rewrite(s)) {
        out.each.push_back(made);
      }
    }
    flush(out);
    return ctx_.seq_stmt(out.all);
  }

  void flush(Pieces& out) {
    if (out.each.empty()) return;
    out.all.push_back(each_thread(ctx_.seq_stmt(out.each)));
    out.each.clear();
  }

  static bool is_own(std::string_view scope, std::string_view name) {
    if (scope == "warp") refuse(fmt::format("`{}` is memory of a warp", name));
    return scope == "local";
  }

  void allocate(const ir::AllocBuffer* a, Pieces& out) {
    const ir::Buffer* b = a->buffer;
    if (!is_own(b->scope, b->name)) {
      out.all.push_back(rewrite(a));
      return;
    }
    own_memory(b->data, b->dtype, b->shape, b->name);
    out.all.push_back(ctx_.alloc_buffer(own_buffer(b), a->annotations));
  }
  void allocate(const ir::AllocateStmt* a, Pieces& out) {
    if (!is_own(a->scope, a->var->name)) {
      out.all.push_back(rewrite(a));
      return;
    }
    own_memory(a->var, a->dtype, a->extents, a->var->name);
    out.all.push_back(ctx_.allocate(a->var, a->dtype, with_threads(a->extents), a->scope, a->annotations));
  }

  void declare(const ir::DeclBuffer* d, Pieces& out) {
    const auto* data = d->data ? as<ir::Var>(d->data) : d->buffer->data;
    if (const auto memory = own_memory_.find(data); data && memory != own_memory_.end()) {
      const Own own = memory->second;
      own_memory_.emplace(d->buffer->data, own);
      out.all.push_back(ctx_.decl_buffer(own_buffer(d->buffer), d->data));
      return;
    }
    if (d->data) (void)common(d->data, "the memory");
    for (const Expr* e : d->buffer->shape) (void)common(e, "the shape");
    for (const Expr* e : d->buffer->strides) (void)common(e, "the stride");
    if (d->buffer->elem_offset) (void)common(d->buffer->elem_offset, "the offset");
    flush(out);
    out.all.push_back(rewrite(d));
  }

  // A bound value is the same for all threads, or is kept for each.
  void bind(const ir::BindStmt* b, Pieces& out) {
    const Expr* value = rewrite(b->value);
    if (is_common(value)) {
      flush(out);
      out.all.push_back(ctx_.bind(b->var, value));
      return;
    }
    const ir::DType t = value->dtype();
    if (t.is_handle() || t.is_void() || t.lanes > 1)
      refuse(fmt::format("`{}`, which each thread has, is not a number", b->var->name));
    const ir::Buffer* kept = ctx_.buffer(b->var->name, with_threads({}), t, "local");
    std::vector<const Expr*> at;
    for (const Axis& a : axes_) at.push_back(a.var);
    out.all.push_back(ctx_.alloc_buffer(kept));
    out.each.push_back(ctx_.store(kept, value, at));
    remap(b->var, ctx_.load(kept, at));
  }

  const OwnData all_own_;  // of the whole function
  bool inside_ = false;    // of threads that meet
  std::vector<Axis> axes_;
  std::unordered_map<const ir::Var*, Own> own_memory_;
  std::unordered_map<const ir::Buffer*, const ir::Buffer*> own_buffers_;
};

}  // namespace

support::Result<const ir::PrimFunc*, std::string> split_at_barriers(ir::Context& ctx, const ir::PrimFunc* f) {
  if (!ir::threads_wait(f->body)) return f;
  try {
    f = OwnMemoryInside(ctx, f->body).rewrite_prim_func(f);
    return Splitter(ctx, own_allocations(f->body)).rewrite_prim_func(f);
  } catch (Refused& r) {
    return support::Failure(std::move(r.why));
  }
}

}  // namespace rldb::codegen
