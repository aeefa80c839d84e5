// The history of a run's values: when a name got one, what a value was computed from, how far back one can go.
//
// Data, and the lines that show it. Users: the debugger's questions, the prompt's `:when`, `:why` and `:checkpoint`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rldb/bytecode/executable.h"

namespace rldb::debug {

using bytecode::Pc;

// A moment at which a name got a value.
struct NameMoment {
  std::uint64_t time = 0;
  bool passed = false;  // it is a parameter of the frame's function
  Pc by = -1;           // the instruction that bound it; -1: passed
  std::string instruction;
  bytecode::RegName reg = -1;              // still holding it; -1: the register was freed
  std::string memory_of;                   // it has no register: the variable whose memory a call in place wrote
  std::optional<std::uint64_t> last_used;  // before that time; none: still held, or not known
};
struct NameHistory {
  std::string name;
  std::vector<NameMoment> moments;
  // For a name that is no binding of the frame: how its value is found. For others: commands that have changed it.
  std::vector<std::string> notes;
};
std::vector<std::string> lines_of(const NameHistory& history);

// A value, or an element, that another one was computed from. Steps are a tree in preorder: those of depth d + 1
// after a step of depth d are what it was computed from.
struct CauseStep {
  enum class Rest : std::uint8_t {
    None,
    Above,  // its inputs are listed further up
    Deeper  // its inputs are not listed: the requested depth is reached
  };
  std::size_t depth = 0;
  std::string name;     // for an element, with its index
  std::string binding;  // empty: a parameter, a symbol, an element
  std::string value;    // abbreviated, or in parentheses why there is none
  std::string file;     // of the binding; empty: not known
  std::uint32_t line = 0;
  std::vector<std::string> kernels;   // of an element: those that computed it
  std::string command;                // of an element: what set it, instead of a kernel: "the command `set a[0] = 1`"
  std::optional<std::uint64_t> time;  // of an element: before the call that wrote it
  std::string iteration;              // of an element: the loop variables at its last write, `i = 3, k = 7`
  std::uint64_t writes = 0;           // of an element: how many writes of that call made it, the terms of a sum
  std::string role;                   // of an element read: `an index`, `in the condition ...`; empty: for the value
  std::string problem;                // of an element: why it is not followed further
  std::string remark;                 // of an element: what else may have written it
  Rest rest = Rest::None;
};
std::vector<std::string> lines_of(const std::vector<CauseStep>& steps);

struct RunHistory {
  std::uint64_t time = 0;
  std::optional<std::uint64_t> first_time;  // none: the values exceed the limit on checkpoints
  std::size_t checkpoints = 0;
  std::size_t bytes = 0, limit = 0;              // of the checkpoints
  std::uint64_t recorded = 0, not_recorded = 0;  // calls of packed functions
};
// One or two lines.
std::string to_string(const std::optional<RunHistory>& history);

}  // namespace rldb::debug
