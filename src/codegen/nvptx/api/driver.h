// CUDA's driver API, from the library of this machine's driver (libcuda.so.1), opened once when it is first needed.
// Types and numbers are those of NVIDIA's reference; no header of CUDA is included. Room-private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rldb::codegen::cu {

using Result = int;
using DeviceId = int;
using Address = std::uint64_t;
// Objects of the driver, as opaque pointers of their own types.
using ContextId = struct ContextObject*;
using StreamId = struct StreamObject*;
using ModuleId = struct ModuleObject*;
using FunctionId = struct FunctionObject*;

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
inline constexpr int kMaxThreads = 1, kMaxShared = 8, kMajor = 75, kMinor = 76;  // attributes of a device
inline constexpr unsigned kMapped = 2;                                           // of the host's memory
inline constexpr unsigned kNonBlocking = 1;                                      // of a stream

struct Api {
#define RLDB_CU_FUNCTION(name, symbol, parameters) Result(*name) parameters = nullptr;
#include "codegen/nvptx/api/cu_function.def"
};

// Null: there is no such library, or it lacks a function; `why` says which.
const Api* api(std::string& why);

// "CUDA_ERROR_OUT_OF_MEMORY (2)"
std::string error_name(const Api& api, Result code);

}  // namespace rldb::codegen::cu
