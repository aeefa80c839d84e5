// A process that lives, traced.
#pragma once

#include "attach/foreign.h"
#include "attach/process_memory.h"
#include "attach/tracer.h"
#include "attach/tracing_thread.h"

namespace rldb::attach {

class Process final : public Foreign {
 public:
  Process(pid_t process, std::unique_ptr<TracingThread> thread, std::unique_ptr<Tracer> tracer, Image image,
          std::vector<std::string> others, const std::vector<LiveThread>& threads);
  ~Process() override { detach(); }
  std::string name() const override;
  void detach() override;
  bool attached() const override { return tracer_ != nullptr; }
  vm::Outcome run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) override;
  void stop_every_thread_at(const vm::StopSet& stops) override { everywhere_ = stops; }

 private:
  struct Going;  // what one call of `run` is after
  vm::Outcome go(Going& going);
  // A thread has come to the gate. Nullopt: it goes on.
  std::optional<vm::Outcome> arrived(Going& going, pid_t thread);
  std::optional<vm::Outcome> left(Going& going, const Stack& stack);
  vm::Outcome stop(Going& going, vm::StopReason reason);
  vm::Outcome ended(vm::MachineState& state);
  bool set_gate(bool open);
  Stack stack_of(pid_t thread);
  bool is_stop_everywhere(std::int64_t pc) const;

  const pid_t process_;
  const std::int64_t own_id_;
  const std::string command_;
  std::unique_ptr<TracingThread> thread_;
  std::unique_ptr<Tracer> tracer_;  // used on that thread only
  std::map<pid_t, std::int64_t> own_ids_;
  vm::StopSet everywhere_;
  std::vector<pid_t> waiting_;  // at the gate, which they have not passed
  bool gate_is_open_ = false;
};

}  // namespace rldb::attach
