// OpenCL's C API, from the loader library of this machine (the ICD loader, libOpenCL.so.1), opened once when it is
// first needed. Types and numbers are those of the Khronos specification; no header of OpenCL is included.
// Room-private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rldb::codegen::cl {

using Int = std::int32_t;
using Uint = std::uint32_t;
using Bits = std::uint64_t;
// Objects of the driver, as opaque pointers of their own types.
using PlatformId = struct PlatformObject*;
using DeviceId = struct DeviceObject*;
using ContextId = struct ContextObject*;
using QueueId = struct QueueObject*;
using MemoryId = struct MemoryObject*;
using ProgramId = struct ProgramObject*;
using KernelId = struct KernelObject*;
using EventId = struct EventObject*;

inline constexpr Int kSuccess = 0;
inline constexpr Int kComplete = 0;                                 // of a command
inline constexpr Bits kAllDevices = 0xFFFFFFFF, kCpu = 1 << 1;      // of kDeviceType
inline constexpr Bits kReadWrite = 1, kSharedAtAllTimes = 1 << 10;  // of memory
inline constexpr Bits kSharedBuffers = 1 << 1;                      // of kSharedMemory
inline constexpr Uint kRegion = 0x1220;
inline constexpr Uint kBlocking = 1;
inline constexpr Uint kPlatformName = 0x0902;
inline constexpr Uint kDeviceType = 0x1000, kMaxGroupSize = 0x1004, kAlignmentBits = 0x1019, kSingleFloats = 0x101B,
                      kGlobalMemory = 0x101F, kLocalMemory = 0x1023, kDeviceName = 0x102B, kDeviceVersion = 0x102F,
                      kDeviceExtensions = 0x1030, kSharedMemory = 0x1053;
inline constexpr Uint kBuildLog = 0x1183, kCommandStatus = 0x11D3;
inline constexpr Bits kCorrectlyRoundedDivision = 1 << 7;  // of kSingleFloats

// A range of memory, for kRegion.
struct Region {
  std::size_t at, bytes;
};

// Functions of later versions are null where the library does not have them.
struct Api {
#define RLDB_CL_FUNCTION(name, result, parameters) result(*name) parameters = nullptr;
#include "codegen/opencl/api/cl_function.def"
};

// Null: there is no such library, or it lacks a function; `why` says which.
const Api* api(std::string& why);

// "CL_OUT_OF_RESOURCES (-5)"
std::string error_name(Int code);

}  // namespace rldb::codegen::cl
