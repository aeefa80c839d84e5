// ValueFinder: the value of any name in the source, as seen at a stop.
//
// In this order: the contents of a register of the frame; a symbolic variable of the shape heap; a value whose register
// was freed, fetched from the moment it was computed; a binding without code of its own, recomputed by the evaluator,
// also one of a function that was inlined; a value of the session. How it was obtained is reported, unless it is
// directly available. Users: Debugger::evaluate, breakpoint conditions (which use only values that are directly
// available), `:why`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "debug/impl.h"
#include "debug/look/inlined.h"
#include "debug/look/recompute.h"

namespace rldb::debug {

class ValueFinder {
 public:
  // `may_go_back`: values may be fetched from the past, which re-executes. `part`: see Debugger::Impl.
  ValueFinder(const Debugger::Impl& d, const vm::Machine& m, const CodeMap& map, std::size_t frame, int part,
              bool may_go_back);

  // Errors explain why there is no value: not reached, its place; not executed; no such name.
  runtime::Result<runtime::Value> find(std::string_view name);
  runtime::Result<runtime::Value> value_of_binding(int binding);
  // Only what is in memory now, under that name or another one of the same value (`left = alloc`, also before the
  // binding is reached): nothing is computed, nothing fetched from the past.
  runtime::Result<runtime::Value> held(std::string_view name);
  // Its register was given up after its last use.
  bool was_freed(std::string_view name) const;
  // The operands of a binding that is computed again: as they were when the code that serves it had run, as far as
  // there is a history, else as they are. For as long as this object lives.
  Lookup operands_of(int binding);
  // The binding that a name refers to here; -1: none.
  int binding_of(std::string_view name) const;
  // One line per value that is not directly available: `lv1 as of its definition, time 12`.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<runtime::Value> in_register(std::uint32_t variable);
  std::optional<runtime::Value> in_memory(const ir::Var* v);
  // Of a kernel's result in place: the memory that it overwrote, as long as a register holds it, else as it was then.
  std::optional<runtime::Value> overwritten(int binding);
  std::optional<runtime::Value> from_history(std::uint32_t variable);
  // After the latest change by a command that was made while its register held it.
  std::optional<runtime::Value> changed_since(const UserVariable& v, std::uint64_t time);
  std::optional<runtime::Value> symbol(std::string_view name);
  std::optional<runtime::Value> lookup(const ir::Var* v);
  const InlinedCalls& inlined() const;
  // A parameter of the function that is inlined here, or a binding of any that is inlined into the frame's.
  std::optional<runtime::Result<runtime::Value>> inlined_value(std::string_view name);
  std::optional<runtime::Result<runtime::Value>> of_model(std::string_view name);
  std::optional<runtime::Value> value_of(const ir::Expr* argument);
  std::optional<runtime::Value> given(const ir::Var* v);
  runtime::Error not_computed(int binding) const;
  BindingReach reached(int binding) const;
  // Of several with a name: the nearest whose place is on the way.
  int nearest(const std::vector<int>& same) const;
  const vm::Frame& frame() const { return m_.frames()[frame_]; }
  std::string_view function() const;

  const Debugger::Impl& d_;
  const vm::Machine& m_;
  const CodeMap& map_;
  std::size_t frame_;
  int here_ = -1;        // the binding at which the frame is
  bool at_end_ = false;  // it returns next: all its bindings have been reached
  bool may_go_back_;
  mutable std::optional<InlinedCalls> inlined_;  // made when it is first asked
  int depth_ = 0;                                // of arguments of inlined calls that are computed
  std::unordered_map<std::uint32_t, std::optional<runtime::Value>> fetched_;
  std::vector<std::string> notes_;
};

// The time of the last change by a command of a variable's value while a register of the frame held it, not before
// `since` nor after now.
std::optional<std::uint64_t> changed_last(const Debugger::Impl& d, const UserVariable& v, std::size_t frame,
                                          std::uint64_t since);

}  // namespace rldb::debug
