// A call of a function of the runtime, asked what it writes and reads (runtime/call_reads). Users: Writers, Influence.
#pragma once

#include <string_view>

#include "debug/provenance/write_history.h"
#include "rldb/runtime/call_reads.h"

namespace rldb::debug {

// Of a copy, to another device or to the beginning of other memory: what it read and what it made, byte by byte.
// Nullopt: another call.
struct CopiedBytes {
  Touch from, to;
};
std::optional<CopiedBytes> copied_by(const CallMoment& call, std::string_view callee);

class RuntimeCall {
 public:
  // `before`: the machine before the call, which must outlive this.
  RuntimeCall(const Run& run, const vm::Machine& before, const CallMoment& call, std::string_view callee);

  // Nullopt: what the function does is not known.
  std::optional<runtime::CallReads> reads(const runtime::ElementPlace& written) const;
  std::optional<std::vector<runtime::WrittenBytes>> writes() const;

 private:
  runtime::PackedFunctionPointer function_;
  std::vector<runtime::Value> args_;
};

}  // namespace rldb::debug
