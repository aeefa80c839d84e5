// A question about a program, evaluated in a child process: runaway programs are killed there. Room-private.
#pragma once

#include <functional>
#include <optional>

#include "repro/reduce/child_process.h"
#include "rldb/repro/oracle.h"

namespace rldb::repro {

// Evaluates all of them, `jobs` at a time; the index of the first whose answer is wanted, nullopt when there is none.
// Children after it are not waited for. `answered` is called for each that finished, in order.
using Ask = std::function<std::optional<Symptom>(std::size_t index)>;
using IsWanted = std::function<bool(const Symptom& answer)>;
// Other ranks of the job, and the programs as bytes that they can be sent; nullopt: this one cannot be.
class OtherRanks;
struct Elsewhere {
  OtherRanks* ranks = nullptr;
  std::function<std::optional<std::string>(std::size_t index)> program;
};
std::optional<std::size_t> first_with(const IsWanted& wanted, std::size_t count, unsigned jobs,
                                      const ChildLimits& limits, const Ask& ask,
                                      const std::function<void(const std::optional<Symptom>& answer)>& answered = {},
                                      const Elsewhere& elsewhere = {});
// A symptom as bytes, for a pipe or a message.
std::string to_wire(const std::optional<Symptom>& s);
std::optional<Symptom> from_wire(std::string_view bytes);
// Evaluates one of them, whatever the answer.
std::optional<Symptom> ask_in_child(const ChildLimits& limits, const std::function<std::optional<Symptom>()>& ask);

}  // namespace rldb::repro
