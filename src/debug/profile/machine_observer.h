// Observes a run of either VM for a profile. The Relax VM reports its calls; the Relay VM its instructions, whose
// calls are found in the map of its code, tail calls by the frame that they replace. Users: profile.cc.
#pragma once

#include <memory>

#include "debug/look/code_map.h"
#include "debug/profile/call_costs.h"

namespace rldb::debug {

// The rows of the code, for both machines.
class ObservedCode {
 public:
  ObservedCode(std::shared_ptr<const session::Build> build, session::Session& session, Collector& collector);

  const bytecode::Executable& executable() const { return *build_->executable; }
  int binding_at(Pc pc) const { return binding_of_[std::size_t(pc)]; }
  int callee(FunctionIndex f);
  int callee_named(const std::string& name, CallKind kind);
  CallKind kind(FunctionIndex f) const;
  // A builtin that changes or computes tensors, as opposed to one that allocates, frees or deals with shapes.
  bool moves_data(FunctionIndex f) const { return moves_[std::size_t(f)]; }
  const ir::PrimFunc* kernel(FunctionIndex f) const;
  // Rows of bindings: the kernels and functions that their code calls.
  void note_callees(Profile& profile) const;

 private:
  std::shared_ptr<const session::Build> build_;
  Collector& collector_;
  std::vector<int> binding_of_;                 // by pc
  std::vector<int> callees_;                    // by function
  std::vector<bool> moves_;                     // by function
  std::unordered_map<std::string, int> named_;  // closures of other programs
};

class MachineObserver : public vm::Hook {
 public:
  MachineObserver(ObservedCode& code, Collector& collector, CallCosts& costs)
      : code_(code), collector_(collector), costs_(costs) {}
  vm::CallAction before_call(const vm::Machine& m, const vm::CallEvent& event) override;
  void after_call(const vm::Machine& m, const vm::CallEvent& event, const runtime::Value& result) override;

 private:
  ObservedCode& code_;
  Collector& collector_;
  CallCosts& costs_;
};

class RelayObserver : public vm::Hook {
 public:
  RelayObserver(ObservedCode& code, Collector& collector, CallCosts& costs)
      : code_(code), collector_(collector), costs_(costs) {}
  bool before_instruction(const vm::Machine& m) override;
  bool after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) override;

 private:
  bool calls_function(const bytecode::Instruction& i) const;
  void read_arguments(const vm::Machine& m, const bytecode::Instruction& i);

  ObservedCode& code_;
  Collector& collector_;
  CallCosts& costs_;
  std::vector<runtime::Value> arguments_;
};

}  // namespace rldb::debug
