// The writes that one call of a kernel makes to an element of memory, the latest first, with what each of them read.
//
// Two sources with the same answers. `SlicedKernel` follows only the iterations that can write the element: loops are
// halved and a half whose index expressions cannot be the element's is left out, so that nothing is executed. It needs
// indices and conditions that do not depend on memory the kernel itself writes. `RecordedKernel` executes every
// statement in the evaluator and keeps all writes: for every kernel, and the oracle of the tests. Users: KernelOrigin.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rldb/eval/eval.h"
#include "rldb/ir/stmt.h"

namespace rldb::debug {

// An element of memory during the call: its first byte. `memory` identifies a storage, or what the kernel allocates.
struct MemoryPlace {
  const void* memory = nullptr;
  std::int64_t byte = 0;
  auto operator<=>(const MemoryPlace&) const = default;
};

// Order of moments in a call: lexicographic.
using Moment = std::vector<std::int64_t>;

enum class ReadRole : std::uint8_t { Value, Index, Condition, Bound };  // Bound: of a loop
struct KernelRead {
  MemoryPlace place;
  ReadRole role = ReadRole::Value;
  const ir::Expr* condition = nullptr;  // of roles Condition and Bound
  // Before the write, as the condition of a branch or the value of a let: the number of statements until then.
  std::optional<std::int64_t> at = {};
  bool was_marked = false;  // then; for EarlyReads
};
struct KernelWrite {
  Moment moment;
  const ir::BufferStore* store = nullptr;
  std::vector<std::pair<const ir::Var*, std::int64_t>> loops;  // loop variables, the outermost first
  std::vector<KernelRead> reads;
};

// A store that would have written an element if a condition had been another one.
struct PreventedStore {
  Moment moment;
  const ir::BufferStore* store = nullptr;
  std::vector<std::pair<const ir::Var*, std::int64_t>> loops;
  const ir::Expr* condition = nullptr;
  std::vector<KernelRead> reads;  // of the condition
};

class KernelWrites {
 public:
  virtual ~KernelWrites() = default;
  // Calls `f` with the writes of the element before a moment (null: in the whole call), the latest first, until it
  // returns false. Errors: Unsupported, the kernel has what this source cannot follow.
  using Visit = std::function<bool(const KernelWrite&)>;
  virtual runtime::Result<support::Unit> visit(const MemoryPlace& place, const Moment* before, const Visit& f) = 0;
  // The same for stores to it that a condition on what was read prevented, the first one on the way that did not hold.
  using VisitPrevented = std::function<bool(const PreventedStore&)>;
  virtual runtime::Result<support::Unit> visit_prevented(const MemoryPlace& place, const VisitPrevented& f);
};

// Whether a kernel has conditions on what it reads, which may prevent a store.
bool has_conditions(const ir::PrimFunc* f);

// `args`: as the call gets them, with the contents from before it. They must outlive the source and stay unchanged.
runtime::Result<std::unique_ptr<KernelWrites>> sliced_kernel(const ir::PrimFunc* f,
                                                             const std::vector<runtime::Value>& args);
// The same arguments; works on copies.
runtime::Result<std::unique_ptr<KernelWrites>> recorded_kernel(const ir::PrimFunc* f,
                                                               const std::vector<runtime::Value>& args);

// Sees reads that come before the writes that they are a part of, when they are made.
using EarlyReads = std::function<void(std::vector<KernelRead>&)>;
// Every write of the call in the order of execution, by the evaluator. Errors as of recorded_kernel.
runtime::Result<support::Unit> each_write(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                          const std::function<void(const MemoryPlace&, const KernelWrite&)>& see,
                                          const EarlyReads& early = {});

// Where an element of memory before the call was read by it, on the way to an element that it wrote.
struct KernelSource {
  MemoryPlace place;
  ReadRole role = ReadRole::Value;
  const ir::Expr* condition = nullptr;
  auto operator<=>(const KernelSource&) const = default;
};
struct KernelOrigin {
  bool written = false;
  KernelWrite last;                   // the write that stays
  std::uint64_t writes = 0;           // that contributed to it: the terms of a sum
  Moment first;                       // of the first of these
  std::vector<KernelSource> sources;  // in ascending order of place
};
// From which elements of the arguments the call computed one of them: through its own memory, and through outputs that
// it reads again.
runtime::Result<KernelOrigin> origin_in(KernelWrites& kernel, const MemoryPlace& place);
// By the first source that can follow the kernel.
runtime::Result<KernelOrigin> kernel_origin(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                            const MemoryPlace& place);

}  // namespace rldb::debug
