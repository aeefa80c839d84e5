// Which elements a call of a function of the runtime (the paged key-value cache, collectives) reads for one element
// that it writes. For the provenance of elements; nothing is called.
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

using PackedFunctionPointer = Result<Value> (*)(PackedArgs);

// `function`: of contrib.h, or null. `args`: as before the call. Nullopt: what the function does is not known here, or
// not for these arguments (sliding windows, token trees and latent rows of a cache).
std::optional<CallReads> call_reads(PackedFunctionPointer function, PackedArgs args, const ElementPlace& written);

// The same for collectives. Nullopt: it is none, or one within groups of unknown size.
std::optional<CallReads> collective_reads(PackedFunctionPointer function, PackedArgs args, const ElementPlace& written);

}  // namespace rldb::runtime
