#include "debug/profile/eval_observer.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/builtin.h"
#include "rldb/debug/model_node.h"

namespace rldb::debug {

using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;

namespace {

CallKind kind_of_callee(std::string_view name, const ir::PrimFunc* f) {
  if (f) return CallKind::Kernel;
  return bytecode::find_builtin(name) ? CallKind::Builtin : CallKind::Packed;
}

}  // namespace

int EvalObserver::binding_row() {
  if (functions_.empty()) return -1;
  const ir::Binding* b = bindings_.empty() ? nullptr : bindings_.back();
  const auto [it, fresh] = binding_rows_.try_emplace({functions_.back(), b}, -1);
  if (!fresh) return it->second;
  ProfileRow row;
  row.function = functions_.back();
  row.name =
      b ? fmt::format("{}:{}", row.function, b->var->name) : fmt::format("{}, outside of bindings", row.function);
  source::Span span = b ? session_.context().span_of(b) : source::Span();
  if (b && !span) span = session_.context().span_of(b->value);
  if (b && !span) span = session_.context().span_of(b->var);
  if (const source::Buffer* text = session_.sources().find(span.file); text && span) {
    row.file = text->name();
    row.line = text->line_column(span.begin).line;
  }
  row.node = model_node_label(session_, span);
  return it->second = collector_.add_binding(std::move(row));
}

int EvalObserver::callee_row(std::string_view name, CallKind kind) {
  const auto it = callee_rows_.find(name);
  if (it != callee_rows_.end()) return it->second;
  return callee_rows_.emplace(name, collector_.add_callee(std::string(name), kind)).first->second;
}

void EvalObserver::note_called(int binding, std::string_view name) {
  std::vector<std::string>& known = called_by_[binding];
  if (std::find(known.begin(), known.end(), name) == known.end()) known.emplace_back(name);
}

// The clock runs while the outermost call does: not while its module is prepared.
void EvalObserver::enter(std::string_view name, const ir::Function*, PackedArgs) {
  if (!collector_.running()) collector_.begin_run();
  const int binding = binding_row();
  note_called(binding, name);
  collector_.enter(callee_row(name, CallKind::Function), binding, CallKind::Function);
  functions_.emplace_back(name);
}

void EvalObserver::leave(const Value&) {
  functions_.pop_back();
  collector_.leave();
  if (functions_.empty()) collector_.end_run();
}

Result<support::Unit> EvalObserver::calling(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  if (!collector_.running()) collector_.begin_run();
  const CallKind kind = kind_of_callee(name, f);
  const int callee = callee_row(name, kind), binding = binding_row();
  note_called(binding, name);
  if (!f) {
    collector_.enter(callee, binding, kind);
    return support::Unit{};
  }
  const auto& found = costs_.of_kernel(std::size_t(binding + 1), f, callee, args);
  collector_.enter(callee, binding, kind, found.cost, found.shapes);
  return support::Unit{};
}

Result<support::Unit> EvalObserver::called(std::string_view name, const ir::PrimFunc* f, PackedArgs args,
                                           const Value& result) {
  if (kind_of_callee(name, f) == CallKind::Packed)
    collector_.leave(CallCosts::bytes_of(args, result));
  else
    collector_.leave();
  if (functions_.empty()) collector_.end_run();
  return support::Unit{};
}

void EvalObserver::note_callees(Profile& profile) const {
  for (const auto& [row, names] : called_by_)
    if (row >= 0) profile.bindings[std::size_t(row)].callees = names;
}

}  // namespace rldb::debug
