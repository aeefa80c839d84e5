// Which elements a call of a function of the runtime (the paged key-value cache, collectives) writes, and which it
// reads for one of them. For the provenance of elements; nothing is called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// An element of memory: its first byte in a storage.
struct ElementPlace {
  const Storage* memory = nullptr;
  std::size_t byte = 0;
};
struct CallReads {
  bool writes = false;  // false: the call leaves the element alone
  std::vector<ElementPlace> reads;
  std::string others = {};  // where elements of other workers come in; empty: there are none
};

// Elements that a call writes.
struct WrittenBytes {
  const Storage* memory = nullptr;
  std::size_t begin = 0, end = 0;
  std::size_t width = 0;  // of an element
};

using PackedFunctionPointer = Result<Value> (*)(PackedArgs);

// `function`: of contrib.h, or null. `args`: as before the call. Nullopt: what the function does is not known here, or
// not for these arguments (sliding windows, token trees and latent rows of a cache).
std::optional<CallReads> call_reads(PackedFunctionPointer function, PackedArgs args, const ElementPlace& written);

// All that it writes, if `call_reads` knows it.
std::optional<std::vector<WrittenBytes>> call_writes(PackedFunctionPointer function, PackedArgs args);

// The same for collectives. Nullopt: it is none, or one within groups of unknown size.
std::optional<CallReads> collective_reads(PackedFunctionPointer function, PackedArgs args, const ElementPlace& written);
std::optional<std::vector<WrittenBytes>> collective_writes(PackedFunctionPointer function, PackedArgs args);

}  // namespace rldb::runtime
