// What a user says about a comparison: how near is equal, which fault is looked for, what is watched for. Plain data,
// for command lines and sessions, which need not know what works by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rldb/runtime/dtype.h"

namespace rldb::runtime {
struct Tolerance;
}

namespace rldb::repro {

struct Tolerances {
  std::optional<double> atol;  // what was given holds for each dtype
  std::optional<double> rtol;
  std::optional<std::uint64_t> ulp;  // so many units in the last place are equal too
  bool exact = false;                // bit by bit, but for the bits of a NaN
  // Of one dtype: what was given, else the dtype's own.
  runtime::Tolerance of(runtime::DType dtype) const;
};

enum class OracleKind : std::uint8_t {
  Any,         // values, or a pass that fails
  Values,      // the result is another one than before the first pass, or than the expected one
  Nan,         // the result holds a NaN or an infinity that it did not hold before the first pass
  Diagnostic,  // a pass refuses the program, or what it leaves does not verify
  Memory,      // a run holds more memory than a limit
  Command,     // a command that is given the module's file says so by exit code 0
};

// Of Memory: so many bytes; or, of 0, so many times what the program holds before its first pass.
struct MemoryLimit {
  std::size_t bytes = 0;
  double times = 1;
};

struct Sanitizers {
  bool storage = false;
  bool unwritten = false;
  bool nan = false;
  bool bounds = false;
  bool overflow = false;
  bool any() const { return storage || unwritten || nan || bounds || overflow; }
};

}  // namespace rldb::repro
