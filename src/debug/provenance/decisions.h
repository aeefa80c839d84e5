// The `if`s of Relax behind a value: those that decided that a call was made, and those that chose which memory a name
// stands for.
//
// A branch that only names a value (`w = z`) writes nothing, and one that calls a function leaves the writing to it: so
// a value depends on its conditions whoever wrote its bytes. Branches are found in the code: they are nested, and each
// place of a function is executed once in an activation. User: WhyMemory.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "debug/look/code_map.h"
#include "debug/provenance/write_history.h"

namespace rldb::debug {

struct Decision {
  CallMoment read;  // of the condition, as a number
  std::size_t interval = 0;
  Pc branch = 0;
  bool taken = false;  // the then branch
};

// A register as the code at a place sees it.
struct RegisterPlace {
  bytecode::RegName reg = 0;
  Pc pc = 0;
  std::uint64_t activation = 0, time = 0;
};

class Decisions {
 public:
  Decisions(const CodeMap& map, WriteHistory& history) : map_(map), history_(history) {}

  // Of a machine of the run: who called whom. Without it the history has to be executed back to each call.
  void note_frames(const vm::Machine& m);

  // The innermost first, those around the calls of the functions that it is made in at the end; at most kMost.
  static constexpr std::size_t kMost = 100;
  std::vector<Decision> of_call(const CallMoment& call);
  std::vector<Decision> of_register(RegisterPlace at);
  // Of the branches around a place that the activation has left by another one: the name still stands for what it had.
  std::vector<Decision> left_since(const RegisterPlace& then, Pc now);

 private:
  // One side of an If: [begin, end) in its function.
  struct Arm {
    Pc branch, begin, end;
    bool is_then;
  };
  bool has_branches();
  const std::vector<Arm>& arms_of(FunctionIndex function);
  // Those around a place, the innermost first.
  std::vector<const Arm*> around(Pc pc);
  std::optional<Decision> decision(Pc branch, std::uint64_t activation, std::uint64_t before);
  std::optional<EnterMoment> caller_of(std::uint64_t activation);
  bool was_called(Pc pc, std::uint64_t activation, std::uint64_t before, std::uint64_t since);
  std::optional<RegisterPlace> argument(const RegisterPlace& parameter);
  std::optional<RegisterPlace> behind(Pc definition, const RegisterPlace& at);
  std::optional<RegisterPlace> returned(const EnterMoment& call, std::uint64_t before);
  std::optional<Pc> definition_before(bytecode::RegName reg, Pc end, Pc begin) const;

  const CodeMap& map_;
  WriteHistory& history_;
  std::optional<bool> has_branches_;
  std::map<FunctionIndex, std::vector<Arm>> arms_;
  std::map<std::uint64_t, EnterMoment> callers_;  // by activation
};

}  // namespace rldb::debug
