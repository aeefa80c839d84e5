// An execution and the machine: what it takes from there, where it hands over.
#include "eval/compiled/execution.h"

#include <algorithm>

#include "eval/compiled/statements.h"
#include "rldb/ir/threads.h"

namespace rldb::eval {

using ir::as;
using runtime::Result;
using support::Unit;

const Program* CompiledStatements::find(const ir::Stmt* s, const ir::PrimFunc* f, bool places_barriers) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = made_.try_emplace(s);
  if (!fresh) return it->second.get();
  const ir::PlacedBarriers* placed = places_barriers ? barriers_of(f) : nullptr;
  if (!placed || !placed->are_below(s)) it->second = compile(s);
  return it->second.get();
}

const ir::PlacedBarriers* CompiledStatements::barriers(const ir::PrimFunc* f) {
  const std::lock_guard lock(mutex_);
  return barriers_of(f);
}

const ir::PlacedBarriers* CompiledStatements::barriers_of(const ir::PrimFunc* f) {
  auto it = barriers_.find(f);
  if (it == barriers_.end()) it = barriers_.emplace(f, std::make_unique<const ir::PlacedBarriers>(f->body)).first;
  return it->second->empty() ? nullptr : it->second.get();
}

Result<TirMachine::Impl::Execution::Outcome> TirMachine::Impl::Execution::run() {
  if (!prepare()) return Outcome::Refused;
  m_.stack.pop_back();
  base_ = m_.stack.size();
  inside_loop_ = !m_.stack.empty() && as<ir::ForStmt>(m_.stack.back().stmt);
  return execute();
}

bool TirMachine::Impl::Execution::prepare() {
  for (const Program::Free& f : p_.free) {
    const Scalar* value = m_.env.vars.find(f.var->id);
    if (!value) return false;
    set(f.to, *value, kind_of(f.var->dtype().element()));
  }
  dimensions_.resize(p_.buffers.size() * 16);
  for (std::uint32_t i = 0; i < p_.buffers.size(); ++i) find(i);
  return true;
}

void TirMachine::Impl::Execution::find(std::uint32_t number) {
  Dimension* const dimensions = &dimensions_[number * 16];
  std::fill_n(dimensions, 16, Dimension());
  const auto it = m_.env.buffers.find(p_.buffers[number]);
  if (it == m_.env.buffers.end()) return;
  const BufferValue& value = it->second;
  const std::size_t rank = p_.buffers[number]->shape.size(), bytes = value.dtype.bytes();
  if (rank > kMaxRank || value.shape.size() != rank || value.strides.size() != rank || !value.storage ||
      value.end < value.byte_offset || bytes == 0)
    return;
  for (std::size_t i = 0; i <= rank; ++i)
    dimensions[i] = {i < rank ? std::uint64_t(std::max<std::int64_t>(value.shape[i], 0)) : 1,
                     i < rank ? value.strides[i] : 0, value.storage->data() + value.byte_offset,
                     (value.end - value.byte_offset) / bytes, value.offset};
}

// ---- to the machine ----

std::vector<const Frame*> TirMachine::Impl::Execution::frames_to(std::uint32_t frame) const {
  std::vector<const Frame*> out;
  for (; frame != kNone; frame = p_.frames[frame].parent) out.push_back(&p_.frames[frame]);
  std::reverse(out.begin(), out.end());
  return out;
}

void TirMachine::Impl::Execution::set_variables(std::uint32_t frame) {
  for (const Frame* f : frames_to(frame))
    for (const Frame::Variable& v : f->variables) {
      const Kind kind = kind_of(v.var->dtype().element());
      if (v.lanes.size() == 1) {
        m_.env.vars.set(v.var->id, operand(v.lanes[0], kind));
        continue;
      }
      std::vector<Scalar>& lanes = m_.env.vectors[v.var];
      lanes.clear();
      for (const std::uint32_t reg : v.lanes) lanes.push_back(operand(reg, kind));
    }
}

// Between two iterations a loop has the value of the previous one; before the first it has not begun.
void TirMachine::Impl::Execution::push_loop(const Frame& f, bool between) {
  Activity a{f.stmt};
  const std::int64_t now = regs_[f.var].i, step = regs_[f.step].i;
  a.started = !between || now != regs_[f.min].i;
  if (a.started) {
    a.at = between ? now : now + step;
    a.end = regs_[f.end].i;
    a.step = step;
    if (between)
      for (const Frame::Variable& v : f.variables) m_.env.vars.set(v.var->id, of_int(now - step));
  }
  m_.stack.push_back(a);
}

void TirMachine::Impl::Execution::rebuild_stack(const Place& place) {
  m_.stack.resize(base_);
  for (const Frame* f : frames_to(place.frame)) {
    if (f->kind == Frame::Kind::Loop) push_loop(*f, false);
    if (f->kind != Frame::Kind::Fixed) continue;
    Activity a{f->stmt};
    a.at = f->at;
    a.started = f->started;
    m_.stack.push_back(a);
  }
  set_variables(place.frame);
  if (place.loop != kNone)
    push_loop(p_.frames[place.loop], true);
  else
    m_.push(place.stmt);
}

TirMachine::Impl::Execution::Outcome TirMachine::Impl::Execution::hand_over(std::uint32_t place) {
  m_.steps = steps_ - p_.places[place].undo;
  rebuild_stack(p_.places[place]);
  return Outcome::HandedOver;
}

std::optional<TirMachine::Impl::Execution::Outcome> TirMachine::Impl::Execution::poll(std::uint32_t place) {
  constexpr std::uint64_t kPollEvery = 1 << 16;
  const std::uint64_t until = limits_.until.value_or(UINT64_MAX);
  if (steps_ > until) return hand_over(place);
  if (limits_.interrupt && *limits_.interrupt) {
    hand_over(place);
    return Outcome::Interrupted;
  }
  stop_ = until - steps_ < kPollEvery ? until : steps_ + kPollEvery;
  return std::nullopt;
}

// False: it did more than to execute one statement, and the machine goes on.
Result<bool> TirMachine::Impl::Execution::walk(std::uint32_t at) {
  const Place& place = p_.places[at];
  m_.steps = steps_ - place.undo + 1;
  rebuild_stack(place);
  const std::size_t before = m_.stack.size();
  auto done = m_.advance_statement();
  if (!done.ok()) return support::Failure(m_.annotate(std::move(done).error()));
  if (m_.stack.size() + 1 != before) {
    m_.settle();
    RLDB_TRY_VOID(m_.take_turns());
    return false;
  }
  m_.stack.resize(base_);
  return true;
}

bool TirMachine::Impl::Execution::open_buffers(const ir::SBlock* b, std::uint32_t frame) {
  const auto known = [&](const ir::Buffer* made) { return m_.env.buffers.contains(made); };
  if (b->match_buffers.empty() && std::all_of(b->alloc_buffers.begin(), b->alloc_buffers.end(), known)) return true;
  set_variables(frame);
  return m_.open_block_buffers(b).ok();
}

// ---- run (TirMachine) ----

Result<TirMachine::Ran> TirMachine::Impl::run(const RunLimits& limits) {
  while (!stack.empty()) {
    if (limits.until && steps >= *limits.until) return Ran::AtLimit;
    if (limits.interrupt && *limits.interrupt) return Ran::Interrupted;
    RLDB_TRY(const bool done, run_compiled(limits));
    if (done || stack.empty()) continue;
    if (limits.interrupt && *limits.interrupt) return Ran::Interrupted;
    if (limits.until && steps >= *limits.until) return Ran::AtLimit;
    RLDB_TRY_VOID(step());
  }
  return Ran::Finished;
}

// False: the machine has to make a step.
Result<bool> TirMachine::Impl::run_compiled(const RunLimits& limits) {
  const Activity& top = stack.back();
  const auto* attr = as<ir::AttrStmt>(top.stmt);
  const bool candidate = as<ir::ForStmt>(top.stmt) || as<ir::SBlockRealize>(top.stmt) || as<ir::SBlock>(top.stmt) ||
                         as<ir::WhileStmt>(top.stmt) || (attr && attr->thread_var);
  if (!candidate || watcher || top.started || top.at != 0) return false;
  if (const ir::PlacedBarriers* more = grid && !top.met ? placed() : nullptr; more && more->before(top.stmt))
    return false;
  const Program* program = statements().find(top.stmt, f, places_barriers);
  if (!program || (!program->threads.empty() && (grid || inside_launch() || repeats(program->threads)))) return false;
  RLDB_TRY(const Execution::Outcome outcome, Execution(*this, *program, limits).run());
  if (outcome != Execution::Outcome::Done) return false;
  settle();
  RLDB_TRY_VOID(take_turns());
  return true;
}

// A launch below it may be of the same threads.
bool TirMachine::Impl::inside_launch() const {
  return std::any_of(stack.begin(), stack.end() - 1, [](const Activity& a) {
    const auto* attr = as<ir::AttrStmt>(a.stmt);
    return attr && attr->thread_var;
  });
}

// Threads with one of these tags are open: those of the program may be the same.
bool TirMachine::Impl::repeats(const std::vector<std::string_view>& tags) const {
  return std::any_of(stack.begin(), stack.end() - 1, [&](const Activity& a) {
    const std::string_view tag = ir::thread_tag(a.stmt);
    return !tag.empty() && std::find(tags.begin(), tags.end(), tag) != tags.end();
  });
}

}  // namespace rldb::eval
