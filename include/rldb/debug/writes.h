// All writes to some memory up to the present time of a run: which call, which iterations of its kernel.
//
// The memory is that of elements (`x[2, 0:4]`), of a name (`x`), or bytes of a storage (`storage(s0)[0:16]`,
// `storage(x)`), whatever tensors lie there. User: `:writes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// The writes of one statement of one call.
struct RangeWrite {
  std::uint64_t time = 0;  // before the call
  std::string callee;
  std::string name;                 // of the tensor it wrote, with the elements: `b[0:4]`
  std::int64_t begin = 0, end = 0;  // the bytes of the storage, from the first to the last that it wrote
  std::uint64_t writes = 0;         // 0: not counted
  std::string statement;            // of a kernel
  std::string first, last;          // iterations: `i = 0, k = 3`
  std::vector<std::string> each;    // every one, where that was asked for
  std::string file;                 // of the binding; empty: not known
  std::uint32_t line = 0;
  std::string remark;  // what could not be told
};

struct RangeWrites {
  std::string what;                 // `x[0:4]`, `s0`
  std::int64_t begin = 0, end = 0;  // bytes of its storage
  std::vector<RangeWrite> rows;     // in the order of time
  std::string incomplete;           // why there may have been more; empty: these are all
};

// `each`: with every single iteration. Nullopt: diagnosed.
std::optional<RangeWrites> writes_to(Debugger& debugger, std::string_view target, bool each, int frame,
                                     source::Diagnostics& out);
std::vector<std::string> lines_of(const RangeWrites& writes);

}  // namespace rldb::debug
