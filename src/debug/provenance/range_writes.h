// The writes of one call to bytes of memory. User: writes_to.
#pragma once

#include "debug/provenance/moments.h"
#include "debug/provenance/writers.h"
#include "rldb/debug/writes.h"

namespace rldb::debug {

// Bytes of a storage, in ascending order: not necessarily side by side.
struct ByteRanges {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;  // disjoint
  std::int64_t begin() const { return parts.front().first; }
  std::int64_t end() const { return parts.back().second; }
  bool contains(std::int64_t byte) const;
  std::int64_t size() const;
};

class CallWrites {
 public:
  CallWrites(const Run& run, Writers& writers, Moments& moments, const ByteRanges& ranges, bool each,
             FunctionIndex asker)
      : run_(run), writers_(writers), moments_(moments), ranges_(ranges), each_(each), function_(asker) {}

  // `memory`: of the bytes, in the interval of the call.
  std::vector<RangeWrite> of(const CallMoment& call, const runtime::Storage* memory);
  // Nullopt: it set none of these bytes.
  std::optional<RangeWrite> of(const CommandMoment& command) const;

 private:
  struct Group;
  RangeWrite row_of(const CallMoment& call) const;
  std::optional<std::vector<RangeWrite>> kernel(const CallMoment& call, const runtime::Storage* memory);
  std::vector<RangeWrite> cleared(const CallMoment& call, const runtime::Storage* memory) const;
  std::vector<RangeWrite> changed_elsewhere(const CallMoment& call, const runtime::Storage* memory);
  void note_changed(const std::byte* from, const std::byte* to, const Touch& t, RangeWrite& row) const;
  std::vector<RangeWrite> other(const CallMoment& call, const runtime::Storage* memory);
  runtime::Result<support::Unit> collect(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                         const runtime::Tensor& t, std::vector<Group>& groups) const;
  bool touches(const Touch& t, const runtime::Storage* memory) const;
  std::string shown(const CallMoment& call, const Touch& touch, const runtime::Tensor& t, std::int64_t begin,
                    std::int64_t end, std::string_view fields = {}) const;
  std::string fields_of(const vm::Machine& m, const CallMoment& call, const Touch& touch) const;

  const Run& run_;
  Writers& writers_;
  Moments& moments_;
  const ByteRanges& ranges_;
  bool each_;
  FunctionIndex function_;  // names of other functions are told with theirs
};

}  // namespace rldb::debug
