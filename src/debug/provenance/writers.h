// The call that wrote some bytes last, with what it read for them. User: WhyMemory.
#pragma once

#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/moments.h"
#include "debug/provenance/write_history.h"

namespace rldb::debug {

// An element that a call read, with the argument that it was read from.
struct CallSource {
  int arg = 0, part = 0;  // of the call, as in Touch
  std::int64_t position = 0;
  ReadRole role = ReadRole::Value;
  const ir::Expr* condition = nullptr;
  bool prevented = false;  // a store: the condition was looked at, and did not hold
};

struct Writer {
  CallMoment call;
  std::string callee;
  bool is_kernel = false;
  Moments::Machine before;
  KernelWrite last;                 // of a kernel: the write that stays
  std::uint64_t writes = 0;         // of a kernel: that contributed to it
  bool followed = false;            // `sources` are all that it read; else they are not known
  std::vector<CallSource> sources;  // in ascending order of argument
  std::string prevented;            // of a kernel: a store to the bytes, or a later one, that a condition prevented
  std::string problem;              // why a kernel could not be followed
  std::string others;               // of a collective: where elements of other workers come in
};

class Writers {
 public:
  // `time`: at which the first question is asked.
  Writers(const Run& run, std::uint64_t time) : run_(run), moments_(run), history_(run, time), time_(time) {}

  WriteHistory& history() { return history_; }

  struct Found {
    WriteHistory::End end = WriteHistory::End::Lost;
    Writer writer;          // if Chosen
    CommandMoment command;  // if Command
    // A packed function that was given the bytes after that and left them as they were: it may have written the same.
    std::string unchanged_by;
    std::uint64_t unchanged_at = 0;
    // Kernels after that which did not store it because of a condition, the latest first.
    struct Passed {
      Writer writer;
      MemoryRange range;
    };
    std::vector<Passed> passed;
  };
  // Before a time; `range` follows the memory into earlier intervals.
  Found last(MemoryRange& range, std::uint64_t time);
  // Whether a call can write memory that it was given in these places, by any means.
  bool may_write(const CallMoment& call, const MemoryRange& range) const;
  // Whether it is an allocation in that memory which clears it.
  bool clears(const CallMoment& call, const MemoryRange& range) const;

  // An argument of a call with the contents that it had before it: a tensor. Null: they are not at hand.
  runtime::Value contents(const Writer& w, const Touch& touch, std::size_t interval);
  // The same, whatever its contents are.
  static runtime::Value argument(const Run& run, const vm::Machine& m, const CallMoment& call, const Touch& touch);

 private:
  bool wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged);
  bool kernel_wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged);
  bool kernel_wrote(const MemoryRange& range, Writer& w, bool whole, bool& settled);
  bool wrote_elsewhere(const CallMoment& call, const CallMoment::Elsewhere& kept, const MemoryRange& range, Writer& w);
  bool other_wrote(const CallMoment& call, const MemoryRange& range, Writer& w, bool& unchanged);
  bool not_known(Writer& w) const;
  void follow_copy(const MemoryRange& range, Writer& w) const;
  std::optional<bool> known_wrote(const Touch& given, const MemoryRange& range, Writer& w);
  void keep_prevented(const ir::PrimFunc* f, const MemoryPlace& place, const std::vector<runtime::Value>& args,
                      Writer& w) const;
  void keep_sources(const KernelOrigin& origin, const std::vector<runtime::Value>& args, Writer& w) const;

  const Run& run_;
  Moments moments_;
  WriteHistory history_;
  std::uint64_t time_;
};

}  // namespace rldb::debug
