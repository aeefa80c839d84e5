// Queries about a stop inside a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "debug/impl.h"
#include "debug/kernel/text.h"
#include "rldb/debug/kernel_threads.h"
#include "rldb/eval/machine_view.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;
using runtime::Value;

bool Debugger::Impl::value_in_kernel(const eval::TirMachine& k, std::string_view name, Value& out) {
  const auto variables = k.variables();
  for (auto it = variables.rbegin(); it != variables.rend(); ++it) {
    if (it->first->name != name) continue;
    out = it->second;
    return true;
  }
  const auto buffers = k.buffers();
  for (auto it = buffers.rbegin(); it != buffers.rend(); ++it) {
    if (it->first->name != name) continue;
    out = it->second;
    return true;
  }
  return false;
}

namespace {

// The elements that a statement reads and writes when it is executed, in text order, each once.
class Accesses {
 public:
  explicit Accesses(const eval::TirMachine& k) : k_(k) {}

  std::vector<Debugger::KernelAccess> of(const ir::Stmt* s) {
    if (const auto* st = as<ir::BufferStore>(s)) {
      for (const ir::Expr* i : st->indices) read(i);
      if (st->predicate) read(st->predicate);
      read(st->value);
      if (!st->predicate || holds(st->predicate)) write(st);
    } else if (const auto* st = as<ir::BindStmt>(s)) {
      read(st->value);
    } else if (const auto* st = as<ir::IfThenElse>(s)) {
      read(st->cond);
    } else if (const auto* st = as<ir::WhileStmt>(s)) {
      read(st->cond);
    } else if (const auto* st = as<ir::Evaluate>(s)) {
      read(st->value);
    } else if (const auto* st = as<ir::AssertStmt>(s)) {
      read(st->cond);
    }
    return std::move(out_);
  }

 private:
  bool holds(const ir::Expr* condition) const {
    auto v = k_.value_of(condition);
    return v.ok() && v->as_int() != 0;
  }

  // The branch of a choice that is not taken is not read.
  void read(const ir::Expr* e) {
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* load = as<ir::BufferLoad>(n)) {
        add(load->buffer, load->indices, load->dtype().lanes == 1 ? load : nullptr, false);
        return true;
      }
      const auto* select = as<ir::SelectExpr>(n);
      const auto* call = as<ir::Call>(n);
      const bool choice = call && ir::is_call_of(call, ir::intrin::IfThenElse);
      if (!select && !choice) return true;
      const ir::Expr* condition = select ? select->cond : call->args[0];
      read(condition);
      read(holds(condition) ? (select ? select->true_value : call->args[1])
                            : (select ? select->false_value : call->args[2]));
      return false;
    });
  }

  void write(const ir::BufferStore* st) {
    Debugger::KernelAccess* a = add(st->buffer, st->indices, nullptr, true);
    if (!a || st->value->dtype().lanes != 1) return;
    if (auto v = element(st->buffer, st->indices)) a->before = std::move(v);
    if (auto v = k_.value_of(st->value); v.ok() && a->before) a->after = std::move(v).value();
  }

  // Through the tensor behind the buffer: nothing has to be allocated for it.
  std::optional<Value> element(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    for (const auto& [buffer, value] : k_.buffers()) {
      if (buffer != b || !value.is(runtime::ValueKind::Tensor)) continue;
      const runtime::Tensor& t = value.as_tensor();
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        auto i = k_.value_of(indices[d]);
        if (!i.ok() || i->as_int() < 0 || i->as_int() >= t.shape()[d]) return std::nullopt;
        flat = flat * t.shape()[d] + i->as_int();
      }
      const std::byte* at = t.peek() + std::size_t(flat) * t.dtype().bytes();
      if (t.dtype().is_float()) return Value::of_float(runtime::load_as_double(at, t.dtype()));
      return Value::of_int(runtime::load_as_int(at, t.dtype()));
    }
    return std::nullopt;
  }

  Debugger::KernelAccess* add(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, const ir::Expr* value,
                              bool is_write) {
    Debugger::KernelAccess a;
    a.write = is_write;
    std::string said, now;
    for (const ir::Expr* i : indices) {
      if (i->dtype().lanes != 1) return nullptr;
      auto v = k_.value_of(i);
      said += (said.empty() ? "" : ", ") + ir::print_expr(i, {.tensor_ir = true});
      now += fmt::format("{}{}", now.empty() ? "" : ", ", v.ok() ? fmt::to_string(v->as_int()) : "?");
    }
    a.element = fmt::format("{}[{}]", b->name, said);
    a.at = fmt::format("{}[{}]", b->name, now);
    if (!seen_.insert((is_write ? "w" : "r") + a.element).second) return nullptr;
    if (value)
      if (auto v = k_.value_of(value); v.ok()) a.before = std::move(v).value();
    out_.push_back(std::move(a));
    return &out_.back();
  }

  const eval::TirMachine& k_;
  std::vector<Debugger::KernelAccess> out_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

FrameInfo Debugger::Impl::kernel_frame() const {
  const KernelStepper& k = *run->kernel();
  FrameInfo info;
  info.in_kernel = true;
  info.where.function = k.name();
  if (const ir::Stmt* s = k.seen().current()) info.where.span = session.context().span_of(s);
  return info;
}

std::optional<Debugger::KernelPosition> Debugger::kernel_position() const {
  if (!impl_->run || !impl_->run->in_kernel()) return std::nullopt;
  const KernelStepper& k = *impl_->run->kernel();
  const KernelText text(impl_->session, k.name(), k.function());
  KernelPosition p;
  p.kernel = k.name();
  p.source = text.source();
  p.steps = k.machine().steps();
  if (const ir::Stmt* s = k.seen().current()) {
    p.statement = s->id;
    p.text = ir::print_stmt(s);
    // The head of a loop or block, not its contents.
    if (const auto line = p.text.find('\n'); line != std::string::npos) p.text.resize(line);
    p.line = text.line_of(s);
    p.accesses = Accesses(k.seen()).of(s);
  }
  const auto variables = k.seen().variables();
  for (const auto& [var, value] : variables) p.variables.emplace_back(var->name, value);
  for (const ir::Stmt* s : k.seen().enclosing()) {
    if (const auto* realize = as<ir::SBlockRealize>(s)) p.blocks.emplace_back(realize->block->name);
    const auto* loop = as<ir::ForStmt>(s);
    const auto* launch = as<ir::AttrStmt>(s);
    const ir::Var* counted = loop ? loop->var : launch ? launch->thread_var : nullptr;
    if (!counted || s == k.seen().current()) continue;
    for (const auto& [var, value] : variables)
      if (var == counted) p.loops.emplace_back(var->name, value);
  }
  for (const auto& [buffer, value] : k.seen().buffers()) p.buffers.emplace_back(buffer->name, value);
  return p;
}

std::vector<Debugger::KernelLine> Debugger::kernel_lines(std::size_t count, std::optional<std::uint32_t> around) const {
  std::vector<KernelLine> lines;
  if (!impl_->run || !impl_->run->in_kernel()) return lines;
  const KernelStepper& k = *impl_->run->kernel();
  const KernelText text(impl_->session, k.name(), k.function());
  const std::uint32_t current = text.line_of(k.seen().current());
  const std::uint32_t middle = around.value_or(current);
  const auto half = std::uint32_t(count / 2);
  const std::uint32_t first = std::max(text.first_line(), middle > half ? middle - half : 1);
  for (std::uint32_t n = first; n <= text.last_line() && lines.size() < count; ++n)
    lines.push_back({n, text.line(n), n == current});
  return lines;
}

std::vector<KernelThread> kernel_threads(const Debugger& debugger) {
  std::vector<KernelThread> list;
  const Debugger::Impl& d = impl_of(debugger);
  if (!d.run || !d.run->in_kernel()) return list;
  const KernelStepper& k = *d.run->kernel();
  const KernelText text(d.session, k.name(), k.function());
  for (const eval::ThreadView& t : eval::threads_of(k.seen())) {
    KernelThread row{t.name, {}, 0, {}, t.current};
    using State = eval::ThreadView::State;
    row.state = t.state == State::Done      ? "done"
                : t.state == State::Waiting ? "waits"
                : t.state == State::Ready   ? "runs"
                                            : "not begun";
    if (t.at) {
      row.line = text.line_of(t.at);
      row.statement = ir::print_stmt(t.at);
      row.statement.resize(std::min(row.statement.size(), row.statement.find('\n')));
    }
    list.push_back(std::move(row));
  }
  return list;
}

bool look_at_thread(Debugger& debugger, std::size_t thread) {
  Debugger::Impl& d = impl_of(debugger);
  return d.run && d.run->in_kernel() && d.run->kernel()->look_at_thread(thread);
}

}  // namespace rldb::debug
