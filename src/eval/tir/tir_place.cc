// Places of a TirMachine: the variables in scope, and the way to a place without running its statements.
#include <fmt/format.h>

#include <algorithm>

#include "eval/tir/tir_machine_impl.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using support::Unit;

namespace {

// The statements directly inside one, each on the way to those below.
std::vector<const ir::Stmt*> inner_statements(const ir::Stmt* s) {
  std::vector<const ir::Stmt*> inner;
  const auto add = [&](const ir::Stmt* part) {
    if (part) inner.push_back(part);
  };
  if (const auto* seq = as<ir::SeqStmt>(s)) inner.assign(seq->stmts.begin(), seq->stmts.end());
  if (const auto* loop = as<ir::ForStmt>(s)) add(loop->body);
  if (const auto* loop = as<ir::WhileStmt>(s)) add(loop->body);
  if (const auto* attr = as<ir::AttrStmt>(s)) add(attr->body);
  if (const auto* branch = as<ir::IfThenElse>(s)) {
    add(branch->then_case);
    add(branch->else_case);
  }
  const auto* realize = as<ir::SBlockRealize>(s);
  if (const auto* block = realize ? realize->block : as<ir::SBlock>(s)) {
    add(block->init);
    add(block->body);
  }
  return inner;
}

// From the root to a statement; empty: it is not below the root.
std::vector<const ir::Stmt*> way_to(const ir::Stmt* root, const ir::Stmt* to) {
  struct Visit {
    const ir::Stmt* stmt;
    std::vector<const ir::Stmt*> inner;
    std::size_t next = 0;
  };
  std::vector<Visit> open;
  if (root) open.push_back({root, inner_statements(root)});
  while (!open.empty()) {
    support::poll();
    Visit& top = open.back();
    if (top.stmt == to) break;
    if (top.next == top.inner.size()) {
      open.pop_back();
      continue;
    }
    const ir::Stmt* inner = top.inner[top.next++];
    open.push_back({inner, inner_statements(inner)});
  }
  std::vector<const ir::Stmt*> way;
  for (const Visit& v : open) way.push_back(v.stmt);
  return way;
}

Scalar scalar_of(const Value& v) {
  return v.is(runtime::ValueKind::Float) ? of_float(v.as_float()) : of_int(v.as_int());
}

support::Failure<runtime::Error> not_told(std::string_view what) {
  return fail(ErrorKind::Unsupported, fmt::format("the place does not say what `{}` is", what));
}

}  // namespace

// ---- the scope ----

bool TirMachine::Impl::inside(const ir::Stmt* s) const {
  return std::any_of(stack.begin(), stack.end(),
                     [&](const Activity& a) { return a.stmt == s && (a.started || as<ir::WhileStmt>(s)); });
}

std::vector<std::pair<const ir::Var*, Value>> TirMachine::Impl::variables() const {
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
    if (const auto* attr = as<ir::AttrStmt>(a.stmt); attr && attr->thread_var && a.started) add(attr->thread_var);
    if (const auto* r = as<ir::SBlockRealize>(a.stmt); r && a.started)
      for (const ir::IterVar& axis : r->block->iter_vars) add(axis.var);
    if (const auto* seq = as<ir::SeqStmt>(a.stmt))
      for (std::size_t i = 0; i + 1 < std::size_t(a.at); ++i)
        if (const auto* b = as<ir::BindStmt>(seq->stmts[i])) add(b->var);
  }
  return out;
}

std::vector<std::pair<const ir::Buffer*, Value>> TirMachine::Impl::buffers() const {
  std::vector<std::pair<const ir::Buffer*, Value>> out;
  const auto add = [&](const ir::Buffer* b) {
    const auto it = b ? env.buffers.find(b) : env.buffers.end();
    if (it != env.buffers.end()) out.emplace_back(b, it->second.as_value());
  };
  for (const ir::PrimParam& p : f->params) add(p.buffer);
  for (const Activity& a : stack) {
    const auto* realize = as<ir::SBlockRealize>(a.stmt);
    if (const auto* block = realize ? realize->block : as<ir::SBlock>(a.stmt); block && a.started) {
      for (const ir::Buffer* b : block->alloc_buffers) add(b);
      for (const ir::MatchBufferRegion& m : block->match_buffers) add(m.buffer);
    }
    if (const auto* seq = as<ir::SeqStmt>(a.stmt))
      for (std::size_t i = 0; i + 1 < std::size_t(a.at); ++i) {
        if (const auto* s = as<ir::AllocBuffer>(seq->stmts[i])) add(s->buffer);
        if (const auto* s = as<ir::DeclBuffer>(seq->stmts[i])) add(s->buffer);
      }
  }
  return out;
}

// ---- to a place ----

Result<Unit> TirMachine::Impl::seek(const TirPlace& place) {
  const std::vector<const ir::Stmt*> way = way_to(f->body, place.statement);
  if (way.empty()) return fail(ErrorKind::Unsupported, "the statement is not of this kernel");
  stack.clear();
  steps = place.steps;
  for (std::size_t i = 0; i < way.size(); ++i)
    RLDB_TRY_VOID(enter_on_the_way(way[i], i + 1 < way.size() ? way[i + 1] : nullptr, place));
  return Unit{};
}

// `inner` is null for the statement of the place itself.
Result<Unit> TirMachine::Impl::enter_on_the_way(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place) {
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    const auto at = std::size_t(std::find(seq->stmts.begin(), seq->stmts.end(), inner) - seq->stmts.begin());
    stack.push_back({s, std::int64_t(at) + 1});
    return declare_before(seq, at, place);
  }
  if (const auto* loop = as<ir::ForStmt>(s)) return enter_loop(loop, !inner, place);
  if (as<ir::SBlockRealize>(s) || as<ir::SBlock>(s)) return enter_block(s, inner, place);
  if (const auto* attr = as<ir::AttrStmt>(s); attr && inner) {
    if (!attr->thread_var) return Unit{};  // it was replaced by its body
    return enter_one_thread(attr);
  }
  if (as<ir::IfThenElse>(s) && inner) return Unit{};
  push(s);
  return Unit{};
}

// Compiled code, which reports places, launches at most one thread.
Result<Unit> TirMachine::Impl::enter_one_thread(const ir::AttrStmt* s) {
  RLDB_TRY(const std::int64_t extent, expr().integer(s->value));
  if (extent != 1) return not_told(s->thread_var->name);
  env.vars.set(s->thread_var->id, of_int(0));
  Activity a{s};
  a.started = true;
  a.at = a.end = 1;
  stack.push_back(a);
  return Unit{};
}

Result<Unit> TirMachine::Impl::enter_loop(const ir::ForStmt* loop, bool at_head, const TirPlace& place) {
  const auto value = place.variables.find(loop->var);
  if (value == place.variables.end()) return not_told(loop->var->name);
  Activity a{loop};
  RLDB_TRY(const std::int64_t min, expr().integer(loop->min));
  if (const auto end = place.loop_ends.find(loop); end != place.loop_ends.end()) {
    a.end = end->second;
  } else {
    RLDB_TRY(const std::int64_t extent, expr().integer(loop->extent));
    a.end = min + extent;
  }
  if (loop->step) {
    RLDB_TRY(a.step, expr().integer(loop->step));
  }
  // At its head a loop has completed the previous iteration.
  const std::int64_t now = value->second.as_int();
  a.started = !at_head || now != min;
  a.at = at_head ? now : now + a.step;
  if (a.started) env.vars.set(loop->var->id, of_int(wrap(at_head ? now - a.step : now, loop->var->dtype())));
  stack.push_back(a);
  return Unit{};
}

Result<Unit> TirMachine::Impl::enter_block(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place) {
  const auto* realize = as<ir::SBlockRealize>(s);
  const auto* block = realize ? realize->block : as<ir::SBlock>(s);
  stack.push_back({s});
  if (!inner && !place.init_done) return Unit{};
  if (realize)
    for (const ir::IterVar& axis : block->iter_vars) {
      const auto value = place.variables.find(axis.var);
      if (value == place.variables.end()) return not_told(axis.var->name);
      env.vars.set(axis.var->id, scalar_of(value->second));
    }
  for (const ir::Buffer* b : block->alloc_buffers)
    if (const auto memory = place.allocations.find(b); memory != place.allocations.end())
      RLDB_TRY_VOID(map_buffer(b, Pointer::to(memory->second.as_tensor())));
  RLDB_TRY_VOID(open_block_buffers(block));
  stack.back().started = true;
  stack.back().at = !inner || inner == block->init ? 1 : 2;
  return Unit{};
}

// Declarations in the statements before the one at `end`.
Result<Unit> TirMachine::Impl::declare_before(const ir::SeqStmt* seq, std::size_t end, const TirPlace& place) {
  const auto memory_of = [&](const ir::Node* n) {
    const auto it = place.allocations.find(n);
    return it == place.allocations.end() ? nullptr : &it->second;
  };
  for (std::size_t i = 0; i < end; ++i) {
    const ir::Stmt* s = seq->stmts[i];
    if (const auto* st = as<ir::BindStmt>(s)) {
      if (as<ir::PointerType>(st->var->type)) {
        RLDB_TRY_VOID(bind(st->var, st->value));
        continue;
      }
      const auto value = place.variables.find(st->var);
      if (value == place.variables.end()) return not_told(st->var->name);
      env.vars.set(st->var->id, scalar_of(value->second));
    } else if (const auto* st = as<ir::AllocBuffer>(s)) {
      const Value* memory = memory_of(st->buffer);
      if (!memory) return not_told(st->buffer->name);
      RLDB_TRY_VOID(map_buffer(st->buffer, Pointer::to(memory->as_tensor())));
    } else if (const auto* st = as<ir::DeclBuffer>(s)) {
      const Value* memory = memory_of(st->buffer);
      RLDB_TRY_VOID(memory ? map_buffer(st->buffer, Pointer::to(memory->as_tensor())) : declare(st));
    } else if (const auto* st = as<ir::AllocateStmt>(s)) {
      const Value* memory = memory_of(st->var);
      if (!memory) return not_told(st->var->name);
      env.pointers[st->var] = Pointer::to(memory->as_tensor());
    } else if (const auto* st = as<ir::AllocateConstStmt>(s)) {
      env.pointers[st->var] = Pointer::to(st->value->as_tensor());
    }
  }
  return Unit{};
}

}  // namespace rldb::eval
