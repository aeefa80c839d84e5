// One execution of a Program by a machine. Room-private.
#pragma once

#include <optional>

#include "eval/compiled/program.h"
#include "eval/tir/tir_machine_impl.h"

namespace rldb::eval {

class TirMachine::Impl::Execution {
 public:
  // Refused: something from outside is missing, nothing was done. Done: the statement is. HandedOver: the machine goes
  // on; Interrupted: the same, and nothing more should be done.
  enum class Outcome : std::uint8_t { Refused, Done, HandedOver, Interrupted };

  Execution(Impl& machine, const Program& program, const RunLimits& limits)
      : m_(machine), p_(program), limits_(limits), regs_(program.registers), steps_(machine.steps) {}

  // The statement is on top of the machine's stack, and stays there only if it was refused.
  Result<Outcome> run();

 private:
  // A position that stays negative when other dimensions are added.
  static constexpr std::int64_t kOutside = INT64_MIN / 2;

  // Of a buffer (number times 16 plus dimension; the one after the last is for buffers without dimensions), with its
  // memory. Every access is outside if there is none.
  struct Dimension {
    std::uint64_t extent = 0;
    std::int64_t stride = 0;
    std::byte* data = nullptr;
    std::uint64_t count = 0;  // elements
    std::int64_t offset = kOutside;
  };
  bool prepare();
  void find(std::uint32_t buffer);
  Result<Outcome> execute();
  bool enter(const Loop& loop);
  Scalar operand(std::uint32_t reg, Kind kind) const;
  void set(std::uint32_t reg, Scalar value, Kind kind);
  bool binary(const Instruction& i);
  void call(const Instruction& i);
  // After steps were counted; nullopt: it may go on.
  std::optional<Outcome> poll(std::uint32_t place);
  Outcome hand_over(std::uint32_t place);
  Result<bool> walk(std::uint32_t place);
  bool open_buffers(const ir::SBlock* b, std::uint32_t frame);
  void set_variables(std::uint32_t frame);
  void rebuild_stack(const Place& place);
  void push_loop(const Frame& f, bool between);
  std::vector<const Frame*> frames_to(std::uint32_t frame) const;

  Impl& m_;
  const Program& p_;
  const RunLimits& limits_;
  std::vector<Register> regs_;
  std::vector<Dimension> dimensions_;
  std::size_t base_ = 0;      // of the stack
  bool inside_loop_ = false;  // the activity below the program is a loop
  std::uint64_t steps_;       // with those that are counted ahead
  std::uint64_t stop_ = 0;    // where to look around
};

}  // namespace rldb::eval
