// TirMachine: a stack of activities, one a statement in progress; `step` advances the innermost one.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "eval/tir/environment.h"
#include "eval/tir/expr_eval.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"

namespace rldb::eval {

using ir::as;
using runtime::Error;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

// A statement in progress. What the numbers mean depends on the statement: a loop counts in `at` up to `end`, a
// sequence indexes in `at`, a block goes through its phases.
struct Activity {
  const ir::Stmt* stmt;
  std::int64_t at = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool started = false;
};

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims)
    if (__builtin_mul_overflow(n, d, &n)) return -1;
  return n;
}

std::vector<std::int64_t> compact_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

constexpr std::int64_t kMaxAllocation = std::int64_t(1) << 40;

}  // namespace

struct TirMachine::Impl {
  const ir::PrimFunc* f;
  const runtime::PackedRegistry* registry;
  Environment env;
  std::vector<Activity> stack;
  std::uint64_t steps = 0;
  Value result;
  std::unordered_set<const ir::Var*> matched;

  Impl(const ir::PrimFunc* f, const runtime::PackedRegistry* registry) : f(f), registry(registry) {}

  ExprEval expr() const { return ExprEval(env, registry); }

  // ---- buffers ----

  Result<std::vector<std::int64_t>> dims(ir::Span<const ir::Expr*> exprs) const {
    std::vector<std::int64_t> out;
    for (const ir::Expr* e : exprs) {
      RLDB_TRY(const std::int64_t d, expr().integer(e));
      out.push_back(d);
    }
    return out;
  }

  // The window that a buffer's fields describe over a pointer.
  Result<Unit> map_buffer(const ir::Buffer* b, Pointer at) {
    BufferValue v;
    v.buffer = b;
    v.dtype = b->dtype;
    v.storage = at.storage;
    v.byte_offset = at.byte_offset;
    v.end = at.end;
    RLDB_TRY(v.shape, dims(b->shape));
    if (b->strides.empty()) {
      v.strides = compact_strides(v.shape);
    } else {
      RLDB_TRY(v.strides, dims(b->strides));
    }
    if (b->elem_offset && !(as<ir::Var>(b->elem_offset) && !env.vars.find(b->elem_offset->id))) {
      RLDB_TRY(v.offset, expr().integer(b->elem_offset));
    }
    env.pointers[b->data] = at;
    env.buffers[b] = std::move(v);
    return Unit{};
  }

  Result<Unit> allocate_buffer(const ir::Buffer* b) {
    RLDB_TRY(const std::vector<std::int64_t> shape, dims(b->shape));
    RLDB_TRY(const std::vector<std::int64_t> extents, storage_extents(b, shape));
    RLDB_TRY(Pointer p, allocate(extents, b->dtype, b->name));
    return map_buffer(b, std::move(p));
  }

  // The product of these many elements holds a buffer: its shape, or what its offset and strides span (rows as long as
  // the outermost stride, the last one too).
  Result<std::vector<std::int64_t>> storage_extents(const ir::Buffer* b, const std::vector<std::int64_t>& shape) const {
    const auto* free = as<ir::Var>(b->elem_offset);
    const bool moved = b->elem_offset && !(free && !env.vars.find(free->id)) && !ir::is_const(b->elem_offset, 0);
    if ((b->strides.empty() && !moved) || product(shape) < 0) return shape;
    std::vector<std::int64_t> strides = compact_strides(shape);
    if (!b->strides.empty()) {
      RLDB_TRY(strides, dims(b->strides));
      strides.resize(shape.size(), 1);
    }
    const auto too_large = [&] {
      return fail(ErrorKind::OutOfMemory, fmt::format("cannot allocate buffer `{}`: its size overflows", b->name));
    };
    std::int64_t last = 0, rows = 0;
    bool some = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (strides[i] < 0)
        return fail(ErrorKind::Unsupported,
                    fmt::format("cannot allocate buffer `{}`: its stride {} is {}", b->name, i, strides[i]));
      some = some && shape[i] > 0;
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last) ||
          (i == 0 && __builtin_mul_overflow(shape[0], strides[0], &rows)))
        return too_large();
    }
    std::int64_t count = some ? std::max(last + 1, rows) : 0;
    if (moved) {
      RLDB_TRY(const std::int64_t offset, expr().integer(b->elem_offset));
      if (offset < 0)
        return fail(ErrorKind::Unsupported,
                    fmt::format("cannot allocate buffer `{}`: its offset is {}", b->name, offset));
      if (__builtin_add_overflow(count, offset, &count)) return too_large();
    }
    return std::vector<std::int64_t>{count};
  }

  Result<Pointer> allocate(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name) {
    const std::int64_t count = product(shape);
    if (count < 0 || count > kMaxAllocation)
      return fail(ErrorKind::OutOfMemory,
                  fmt::format("cannot allocate buffer `{}`: its shape is negative or too large", name));
    RLDB_TRY(runtime::Ref<runtime::Storage> storage, runtime::Storage::allocate(std::size_t(count) * dtype.bytes()));
    const std::size_t bytes = storage->size();
    return Pointer{std::move(storage), 0, bytes};
  }

  // A sub-region under another name: T.match_buffer(A[0:4, j], ...).
  Result<Unit> match_region(const ir::MatchBufferRegion& m) {
    RLDB_TRY(BufferValue source, expr().buffer(m.source.buffer));
    BufferValue v;
    v.buffer = m.buffer;
    v.dtype = m.buffer->dtype;
    v.storage = source.storage;
    v.byte_offset = source.byte_offset;
    v.end = source.end;
    v.offset = source.offset;
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < m.source.region.size(); ++i) {
      RLDB_TRY(const std::int64_t min, expr().integer(m.source.region[i].min));
      RLDB_TRY(const std::int64_t extent, expr().integer(m.source.region[i].extent));
      if (min < 0 || extent < 0 || min + extent > source.shape[i])
        return fail(ErrorKind::OutOfBounds,
                    fmt::format("match_buffer of `{}`, dimension {}: {}:{} is not inside its {} element(s)",
                                m.source.buffer->name, i, min, min + extent, source.shape[i]));
      v.offset += min * source.strides[i];
      extents.push_back(extent);
    }
    // Leading dimensions of extent 1 may be left out of the target.
    const std::size_t skipped = extents.size() - std::min(extents.size(), m.buffer->shape.size());
    for (std::size_t i = 0; i < m.buffer->shape.size(); ++i) {
      const std::int64_t extent = extents[skipped + i];
      const std::int64_t stride = source.strides[skipped + i];
      note_matched(m.buffer->shape[i]);
      if (i < m.buffer->strides.size()) note_matched(m.buffer->strides[i]);
      if (auto bad = bind_dim(m.buffer->shape[i], extent, m.buffer->name, i); !bad.ok()) return bad;
      v.shape.push_back(extent);
      v.strides.push_back(stride);
      if (i < m.buffer->strides.size()) {
        if (auto bad = bind_dim(m.buffer->strides[i], stride, m.buffer->name, i); !bad.ok()) return bad;
      }
    }
    if (const auto* offset = as<ir::Var>(m.buffer->elem_offset)) env.vars.set(offset->id, of_int(v.offset));
    env.pointers[m.buffer->data] = Pointer{v.storage, v.byte_offset, v.end};
    env.buffers[m.buffer] = std::move(v);
    return Unit{};
  }

  // A variable that a match_buffer defines is defined anew each time its block is entered.
  void note_matched(const ir::Expr* e) {
    if (const auto* v = as<ir::Var>(e); v && !env.vars.find(v->id)) matched.insert(v);
  }

  // A dimension that is a fresh variable is defined; anything else has to agree.
  Result<Unit> bind_dim(const ir::Expr* e, std::int64_t value, std::string_view buffer, std::size_t dim) {
    const auto* v = as<ir::Var>(e);
    if (v && (!env.vars.find(v->id) || matched.contains(v))) {
      env.vars.set(v->id, of_int(value));
      return Unit{};
    }
    RLDB_TRY(const std::int64_t known, expr().integer(e));
    if (known == value) return Unit{};
    return fail(ErrorKind::ShapeMismatch, fmt::format("buffer `{}`, dimension {}: `{}` is {} but the value has {}",
                                                      buffer, dim, ir::print_expr(e), known, value));
  }

  // ---- starting ----

  Result<Unit> start(runtime::PackedArgs args) {
    if (args.size() != f->params.size())
      return fail(ErrorKind::ArgumentCount,
                  fmt::format("the kernel takes {} argument(s) but {} were given", f->params.size(), args.size()));
    env = {};
    stack.clear();
    steps = 0;
    // Scalars and bare dims first: other dims may be expressions over them.
    for (std::size_t i = 0; i < args.size(); ++i) {
      const ir::PrimParam& p = f->params[i];
      if (p.buffer) {
        if (auto bad = bind_bare_dims(p.buffer, args[i]); !bad.ok()) return bad;
      } else if (args[i].is(ValueKind::Tensor)) {
        env.pointers[p.var] = Pointer::to(args[i].as_tensor());
      } else {
        const DType t = p.var->dtype();
        const Scalar v = args[i].is(ValueKind::Float) ? of_float(args[i].as_float()) : of_int(args[i].as_int());
        env.vars.set(p.var->id, convert(v, args[i].is(ValueKind::Float) ? DType::Float(64) : DType::Int(64),
                                        t.is_void() ? DType::Int(64) : t));
      }
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      const ir::Buffer* b = f->params[i].buffer;
      if (!b) continue;
      const runtime::Tensor& t = args[i].as_tensor();
      for (std::size_t d = 0; d < b->shape.size(); ++d)
        if (auto bad = bind_dim(b->shape[d], t.shape()[d], b->name, d); !bad.ok()) return bad;
      const std::vector<std::int64_t> strides = compact_strides(t.shape());
      for (std::size_t d = 0; d < b->strides.size() && d < strides.size(); ++d)
        if (auto bad = bind_dim(b->strides[d], strides[d], b->name, d); !bad.ok()) return bad;
      if (const auto* offset = as<ir::Var>(b->elem_offset)) env.vars.set(offset->id, of_int(0));
      if (auto bad = map_buffer(b, Pointer::to(t)); !bad.ok()) return bad;
      env.pointers[f->params[i].var] = Pointer::to(t);
    }
    push(f->body);
    settle();
    return Unit{};
  }

  Result<Unit> bind_bare_dims(const ir::Buffer* b, const Value& arg) {
    if (!arg.is(ValueKind::Tensor))
      return fail(ErrorKind::TypeMismatch,
                  fmt::format("parameter `{}` wants a tensor, but {} was given", b->name, runtime::describe(arg)));
    const runtime::Tensor& t = arg.as_tensor();
    if (t.shape().size() != b->shape.size() || t.dtype() != b->dtype)
      return fail(ErrorKind::TypeMismatch,
                  fmt::format("parameter `{}` wants rank {} and {}, but {} was given", b->name, b->shape.size(),
                              runtime::to_string(b->dtype), runtime::describe(arg)));
    for (std::size_t d = 0; d < b->shape.size(); ++d)
      if (const auto* v = as<ir::Var>(b->shape[d]); v && !env.vars.find(v->id))
        env.vars.set(v->id, of_int(t.shape()[d]));
    return Unit{};
  }

  // ---- running ----

  void push(const ir::Stmt* s) {
    if (s) stack.push_back({s});
  }

  Result<Unit> step() {
    if (stack.empty()) return Unit{};
    ++steps;
    auto advanced = advance();
    if (!advanced.ok()) return support::Failure(annotate(std::move(advanced).error()));
    settle();
    return Unit{};
  }

  // Passes over what a user would not call a statement: sequences, and loops and blocks that are only waiting to end.
  void settle() {
    while (!stack.empty()) {
      Activity& top = stack.back();
      if (const auto* seq = as<ir::SeqStmt>(top.stmt)) {
        if (std::size_t(top.at) < seq->stmts.size())
          push(seq->stmts[std::size_t(top.at++)]);
        else
          stack.pop_back();
      } else if (as<ir::ForStmt>(top.stmt) && top.started && top.at >= top.end) {
        stack.pop_back();
      } else if ((as<ir::SBlockRealize>(top.stmt) || as<ir::SBlock>(top.stmt)) && top.started && top.at == 2) {
        stack.pop_back();
      } else {
        return;
      }
    }
  }

  Result<Unit> advance() {
    Activity& top = stack.back();
    const ir::Stmt* s = top.stmt;
    if (const auto* st = as<ir::BufferStore>(s)) return pop_after(store_element(st));
    if (const auto* st = as<ir::ForStmt>(s)) return advance_loop(st, top);
    if (const auto* st = as<ir::SBlockRealize>(s)) return advance_block(st->block, st, top);
    if (const auto* st = as<ir::SBlock>(s)) return advance_block(st, nullptr, top);
    if (const auto* st = as<ir::BindStmt>(s)) return pop_after(bind(st->var, st->value));
    if (const auto* st = as<ir::IfThenElse>(s)) {
      RLDB_TRY(const Scalar c, expr().eval(st->cond));
      stack.pop_back();
      push(c.i ? st->then_case : st->else_case);
      return Unit{};
    }
    if (const auto* st = as<ir::WhileStmt>(s)) {
      RLDB_TRY(const Scalar c, expr().eval(st->cond));
      if (c.i)
        push(st->body);
      else
        stack.pop_back();
      return Unit{};
    }
    if (const auto* st = as<ir::Evaluate>(s)) return evaluate(st->value);
    if (const auto* st = as<ir::AssertStmt>(s)) return pop_after(check(st));
    if (const auto* st = as<ir::AllocBuffer>(s)) return pop_after(allocate_buffer(st->buffer));
    if (const auto* st = as<ir::DeclBuffer>(s)) return pop_after(declare(st));
    if (const auto* st = as<ir::AllocateStmt>(s)) return pop_after(allocate_pointer(st));
    if (const auto* st = as<ir::AllocateConstStmt>(s)) {
      const runtime::Tensor& t = st->value->as_tensor();
      env.pointers[st->var] = Pointer::to(t);
      return pop_after(Unit{});
    }
    if (const auto* st = as<ir::AttrStmt>(s)) return enter_attr(st);
    return fail(ErrorKind::Unsupported,
                fmt::format("the evaluator has no meaning for the statement `{}`", ir::print_stmt(s)));
  }

  Result<Unit> pop_after(Result<Unit> done) {
    if (done.ok()) stack.pop_back();
    return done;
  }

  Result<Unit> bind(const ir::Var* var, const ir::Expr* value) {
    if (as<ir::PointerType>(var->type)) {
      if (const auto* v = as<ir::Var>(value)) {
        if (const auto it = env.pointers.find(v); it != env.pointers.end()) {
          const Pointer p = it->second;
          env.pointers[var] = p;
          return Unit{};
        }
      }
      return fail(ErrorKind::Unsupported,
                  fmt::format("the evaluator cannot follow the pointer `{}`", ir::print_expr(value)));
    }
    const int lanes = lanes_of(value);
    if (lanes > 1) {
      std::vector<Scalar> values;
      for (int lane = 0; lane < lanes; ++lane) {
        RLDB_TRY(const Scalar v, expr().eval(value, lane));
        values.push_back(v);
      }
      env.vectors[var] = std::move(values);
      return Unit{};
    }
    RLDB_TRY(const Scalar v, expr().eval(value));
    env.vars.set(var->id, v);
    return Unit{};
  }

  Result<Unit> store_element(const ir::BufferStore* st) {
    const int lanes = lanes_of(st->value);
    // All lanes are read before any is written: a vector statement has one time.
    std::vector<Scalar> values;
    for (int lane = 0; lane < lanes; ++lane) {
      RLDB_TRY(const Scalar v, expr().eval(st->value, lane));
      if (lanes == 1) return store_lane(st, 0, v);
      values.push_back(v);
    }
    for (int lane = 0; lane < lanes; ++lane)
      if (auto done = store_lane(st, lane, values[std::size_t(lane)]); !done.ok()) return done;
    return Unit{};
  }

  Result<Unit> store_lane(const ir::BufferStore* st, int lane, Scalar v) {
    if (st->predicate) {
      RLDB_TRY(const Scalar on, expr().eval(st->predicate, lane));
      if (!on.i) return Unit{};
    }
    RLDB_TRY(std::byte * at, expr().address(st->buffer, st->indices, lane));
    store(at, st->buffer->dtype.element(), v);
    return Unit{};
  }

  Result<Unit> advance_loop(const ir::ForStmt* loop, Activity& top) {
    if (!top.started) {
      RLDB_TRY(const std::int64_t min, expr().integer(loop->min));
      RLDB_TRY(const std::int64_t extent, expr().integer(loop->extent));
      if (loop->step) {
        RLDB_TRY(top.step, expr().integer(loop->step));
        if (top.step <= 0)
          return fail(ErrorKind::Unsupported, fmt::format("loop `{}` has step {}", loop->var->name, top.step));
      }
      top.started = true;
      top.at = min;
      top.end = min + extent;  // of the domain; `step` strides over it
    }
    if (top.at >= top.end) return Unit{};
    env.vars.set(loop->var->id, of_int(wrap(top.at, loop->var->dtype())));
    top.at += top.step;
    push(loop->body);
    return Unit{};
  }

  // Phases: 0 not entered, 1 init done, 2 body running.
  Result<Unit> advance_block(const ir::SBlock* block, const ir::SBlockRealize* realize, Activity& top) {
    if (top.at == 1) {
      top.at = 2;
      push(block->body);
      return Unit{};
    }
    bool first = true;  // every reduction axis is at its start
    if (realize) {
      RLDB_TRY(const Scalar on, expr().eval(realize->predicate));
      if (!on.i) {
        stack.pop_back();
        return Unit{};
      }
      for (std::size_t i = 0; i < block->iter_vars.size(); ++i) {
        const ir::IterVar& axis = block->iter_vars[i];
        RLDB_TRY(const Scalar v, expr().eval(realize->iter_values[i]));
        env.vars.set(axis.var->id, v);
        if (axis.kind != ir::IterKind::Reduce) continue;
        RLDB_TRY(const std::int64_t min, expr().integer(axis.dom.min));
        first = first && v.i == min;
      }
    }
    for (const ir::Buffer* b : block->alloc_buffers) {
      // An allocation stays what it is when its block is entered again: enclosing loops share it.
      if (env.buffers.contains(b)) continue;
      if (auto done = allocate_buffer(b); !done.ok()) return done;
    }
    for (const ir::MatchBufferRegion& m : block->match_buffers) {
      // Dimensions are bound anew each time.
      if (auto done = match_region(m); !done.ok()) return done;
    }
    top.started = true;
    if (block->init && first) {
      top.at = 1;
      push(block->init);
    } else {
      top.at = 2;
      push(block->body);
    }
    return Unit{};
  }

  Result<Unit> check(const ir::AssertStmt* st) {
    RLDB_TRY(const Scalar c, expr().eval(st->cond));
    if (c.i) return Unit{};
    std::string text;
    for (const std::string_view part : st->message_parts) text += part;
    return fail(ErrorKind::AssertFailed,
                fmt::format("{}: {}", st->error_kind, text.empty() ? ir::print_expr(st->cond) : text));
  }

  Result<Unit> declare(const ir::DeclBuffer* st) {
    const auto* data = st->data ? as<ir::Var>(st->data) : st->buffer->data;
    const auto it = data ? env.pointers.find(data) : env.pointers.end();
    if (it == env.pointers.end()) {
      if (!st->data) return allocate_buffer(st->buffer);
      return fail(ErrorKind::Unsupported,
                  fmt::format("the evaluator cannot follow the pointer behind `{}`", st->buffer->name));
    }
    return map_buffer(st->buffer, it->second);
  }

  Result<Unit> allocate_pointer(const ir::AllocateStmt* st) {
    RLDB_TRY(const std::vector<std::int64_t> shape, dims(st->extents));
    RLDB_TRY(env.pointers[st->var], allocate(shape, st->dtype, st->var->name));
    return Unit{};
  }

  Result<Unit> enter_attr(const ir::AttrStmt* st) {
    if (st->thread_var) {
      RLDB_TRY(const std::int64_t extent, expr().integer(st->value));
      if (extent != 1)
        return fail(ErrorKind::Unsupported,
                    fmt::format("the evaluator does not run GPU threads (`{}` of extent {})", st->key, extent));
      env.vars.set(st->thread_var->id, of_int(0));
    }
    stack.pop_back();
    push(st->body);
    return Unit{};
  }

  Result<Unit> evaluate(const ir::Expr* e) {
    const auto* c = as<ir::Call>(e);
    if (ir::is_call_of(e, ir::Intrinsic::Ret)) {
      if (!c->args.empty()) {
        RLDB_TRY(result, expr().as_value(c->args[0]));
      }
      stack.clear();
      return Unit{};
    }
    const bool for_good = ir::is_call_of(e, ir::Intrinsic::BreakLoop);
    if (for_good || ir::is_call_of(e, ir::Intrinsic::ContinueLoop)) return leave_loop(for_good);
    if (ir::is_call_of(e, ir::Intrinsic::TvmStorageSync)) return pop_after(Unit{});  // one thread: nothing to wait for
    if (is_packed_call(e)) {
      RLDB_TRY(const Value ignored, expr().call_packed(c));
      (void)ignored;
      return pop_after(Unit{});
    }
    RLDB_TRY(const Scalar ignored, expr().eval(e));
    (void)ignored;
    return pop_after(Unit{});
  }

  Result<Unit> leave_loop(bool for_good) {
    while (!stack.empty() && !as<ir::ForStmt>(stack.back().stmt) && !as<ir::WhileStmt>(stack.back().stmt))
      stack.pop_back();
    if (stack.empty()) return fail(ErrorKind::Raised, "break or continue outside a loop");
    if (for_good) stack.pop_back();
    return Unit{};
  }

  // Names the loop variables that an error happened under.
  Error annotate(Error error) const {
    std::string text;
    for (const auto& [var, value] : variables())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", var->name, runtime::format_value(value));
    if (!text.empty()) error.notes.push_back("with " + text);
    return error;
  }

  std::vector<std::pair<const ir::Var*, Value>> variables() const {
    std::vector<std::pair<const ir::Var*, Value>> out;
    const auto add = [&](const ir::Var* v) {
      if (const Scalar* s = env.vars.find(v->id))
        out.emplace_back(v, v->dtype().is_float() ? Value::of_float(s->f) : Value::of_int(s->i));
    };
    for (const ir::PrimParam& p : f->params) {
      if (!p.buffer) add(p.var);
      if (!p.buffer) continue;
      for (const ir::Expr* d : p.buffer->shape)
        if (const auto* v = as<ir::Var>(d)) {
          const bool known = std::any_of(out.begin(), out.end(), [&](const auto& row) { return row.first == v; });
          if (!known) add(v);
        }
    }
    for (const Activity& a : stack) {
      if (const auto* loop = as<ir::ForStmt>(a.stmt); loop && a.started) add(loop->var);
      if (const auto* r = as<ir::SBlockRealize>(a.stmt); r && a.started)
        for (const ir::IterVar& axis : r->block->iter_vars) add(axis.var);
      if (const auto* seq = as<ir::SeqStmt>(a.stmt))
        for (std::size_t i = 0; i < std::size_t(a.at) && i < seq->stmts.size(); ++i)
          if (const auto* b = as<ir::BindStmt>(seq->stmts[i])) add(b->var);
    }
    return out;
  }
};

TirMachine::TirMachine(const ir::PrimFunc* f, const runtime::PackedRegistry* registry)
    : impl_(std::make_unique<Impl>(f, registry)) {}
TirMachine::~TirMachine() = default;
TirMachine::TirMachine(const TirMachine& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}

Result<Unit> TirMachine::start(runtime::PackedArgs args) { return impl_->start(args); }
bool TirMachine::running() const { return !impl_->stack.empty(); }
const ir::Stmt* TirMachine::current() const { return impl_->stack.empty() ? nullptr : impl_->stack.back().stmt; }
Result<Unit> TirMachine::step() { return impl_->step(); }
std::vector<std::pair<const ir::Var*, Value>> TirMachine::variables() const { return impl_->variables(); }
std::vector<std::pair<const ir::Buffer*, Value>> TirMachine::buffers() const {
  std::vector<std::pair<const ir::Buffer*, Value>> out;
  for (const ir::PrimParam& p : impl_->f->params)
    if (p.buffer)
      if (const auto it = impl_->env.buffers.find(p.buffer); it != impl_->env.buffers.end())
        out.emplace_back(p.buffer, it->second.as_value());
  for (const auto& [buffer, value] : impl_->env.buffers) {
    const bool known = std::any_of(out.begin(), out.end(), [&, b = buffer](const auto& row) { return row.first == b; });
    if (!known) out.emplace_back(buffer, value.as_value());
  }
  // Parameters in their order, then the rest by age.
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const ir::Buffer* buffer) {
      for (std::size_t i = 0; i < impl_->f->params.size(); ++i)
        if (impl_->f->params[i].buffer == buffer) return std::pair(std::size_t(i), std::uint32_t(0));
      return std::pair(impl_->f->params.size(), buffer->id);
    };
    return rank(a.first) < rank(b.first);
  });
  return out;
}
std::uint64_t TirMachine::steps() const { return impl_->steps; }
Value TirMachine::result() const { return impl_->result; }

}  // namespace rldb::eval
