// A user's settings for a comparison: the tolerance, the fault to look for, the checks to make. Plain data,
// for command lines and sessions, which need not know the code that uses it.
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
  std::optional<double> atol;  // if given, applies to every dtype
  std::optional<double> rtol;
  std::optional<std::uint64_t> ulp;  // this many units in the last place also count as equal
  bool exact = false;                // bit by bit, except for the bits of a NaN
  // For one dtype: the given value, else the dtype's own.
  runtime::Tolerance of(runtime::DType dtype) const;
};

enum class OracleKind : std::uint8_t {
#define RLDB_ORACLE_KIND(Kind, word, doc) Kind,
#include "rldb/repro/oracle_kind.def"
};

// Of Memory: this many bytes; or, if 0, this multiple of the program's memory before its first pass.
struct MemoryLimit {
  std::size_t bytes = 0;
  double times = 1;
};

// Of Time, in processor time of all threads: so many seconds for each pass and for a run; or, if 0, this multiple of
// the program's run before its first pass (passes are not limited then).
struct TimeLimit {
  double seconds = 0;
  double times = 3;
};

struct Sanitizers {
  bool storage = false;
  bool unwritten = false;
  bool nan = false;
  bool bounds = false;
  bool overflow = false;
  bool race = false;  // of GPU threads
  bool any() const { return storage || unwritten || nan || bounds || overflow || race; }
};

}  // namespace rldb::repro
