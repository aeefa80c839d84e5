// A process or a core, seen as a program that runs elsewhere: a build of the session, whose machine shows one thread.
#pragma once

#include <mutex>

#include "attach/stacks.h"
#include "rldb/attach/attach.h"

namespace rldb::attach {

class Foreign;

// The machine's side. It may outlive the attachment: then the run is over.
class ForeignProgram : public vm::InstructionSet {
 public:
  explicit ForeignProgram(std::weak_ptr<Foreign> foreign) : foreign_(std::move(foreign)) {}
  vm::Outcome run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) const override;
  runtime::Result<support::Unit> place_arguments(bytecode::FunctionIndex, std::span<runtime::Value>) const override;
  runtime::Result<support::Unit> copy(std::vector<runtime::Value>&) const override;
  std::size_t copied_bytes(std::span<const runtime::Value>) const override { return 0; }
  bool is_foreign() const override { return true; }
  void stop_every_thread_at(const vm::StopSet& stops) const override;
  void leave() const override;
  std::shared_ptr<Attached> attached() const;

 private:
  std::weak_ptr<Foreign> foreign_;
};

class Foreign : public Attached, public std::enable_shared_from_this<Foreign> {
 public:
  Foreign(std::unique_ptr<Memory> memory, Image image, std::vector<std::string> others)
      : memory_(std::move(memory)), image_(std::move(image)), others_(std::move(others)), stacks_(*memory_, image_) {}
  // False: diagnosed.
  bool link(session::Session& session, source::Diagnostics& out);

  std::string library() const override { return image_.path; }
  std::vector<std::string> other_libraries() const override { return others_; }
  const std::shared_ptr<const session::Build>& build() const override { return build_; }
  std::vector<ThreadInfo> threads() override;
  bool select(std::int64_t thread) override;

  virtual vm::Outcome run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) = 0;
  virtual void stop_every_thread_at(const vm::StopSet&) {}

 protected:
  bool shown_ = false;  // the next step only shows where the process is
  void recognise(const std::vector<LiveThread>& threads) { stacks_.recognise(threads); }
  // The stack of the current thread; of another one if that runs nothing.
  Stack present();
  // An outcome with the machine as the process is now.
  vm::Outcome show(vm::MachineState& state, const Stack& stack, vm::StopReason reason);
  vm::Outcome fail(vm::MachineState& state, std::string why) const;
  const Memory& memory() const { return *memory_; }

  std::unique_ptr<Memory> memory_;
  Image image_;
  std::vector<std::string> others_;
  Stacks stacks_;
  std::int64_t current_ = 0;  // thread; 0: none
  Address trail_ = 0;         // of it

 private:
  std::shared_ptr<const session::Build> build_;
};

}  // namespace rldb::attach
