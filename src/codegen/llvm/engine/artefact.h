// Artefact: a compiled kernel as data: what the linker needs (object code), what the caller needs (signature), and
// the reports of a stopped kernel (faults). The disk cache and executables contain it. Independent of LLVM.
//
// The header of a blob is read with a bounds-checked reader and every index in it is checked; the machine code itself
// has to be trusted and is refused if it was made for another CPU or another LLVM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// A way for a kernel to stop. `text` and `note` have `{}` places, filled from KernelFault::values in that order.
struct FaultRow {
  runtime::ErrorKind kind = runtime::ErrorKind::Raised;
  std::string text;
  std::string note;
};
inline constexpr std::size_t kFaultValues = 8;

struct Artefact {
  runtime::KernelSignature signature;
  std::vector<FaultRow> faults;
  std::string symbol;  // the entry in the object code
  std::string object;
};

// The values filled into the places of a text; places past the end are kept.
std::string fill_places(std::string_view text, const std::int64_t* values, std::size_t count, std::size_t& next);

// `key` is everything the artefact depends on: host CPU, features, LLVM version, format version.
std::string to_blob(const Artefact& artefact, std::string_view key);
struct BlobProblem {
  std::string text;
};
support::Result<Artefact, BlobProblem> from_blob(std::string_view blob, std::string_view key);

}  // namespace rldb::codegen
