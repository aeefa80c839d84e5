// Numbers of the `.rlvm` format, shared by writer and reader. docs/formats.md is the prose.
#pragma once

#include <cstdint>
#include <string_view>

namespace rldb::bytecode::format {

// TVM's part.
inline constexpr std::uint64_t kMagicV1 = 0xD225DE2F4214151DULL;  // no memory scopes
inline constexpr std::uint64_t kMagicV2 = 0xD225DE2F4214151EULL;
inline constexpr std::string_view kVersion = "0.14";

// Tags of constants: tvm-ffi type indices since 2025, an enumeration of the VM's own before.
enum class Tag : std::int32_t { Int = 1, Float = 3, DType = 5, String = 65, Shape = 69, Tensor = 70 };
enum class OldTag : std::int32_t { Tensor = 0, DType = 1, Shape = 2, String = 3, Int = 4, Float = 5 };

// Our part: magic, version (u32), then sections of id (u32), length (u64), bytes; End has length 0.
inline constexpr std::uint64_t kSectionsMagic = 0x3153544345534C52ULL;  // "RLSECTS1"
enum class Section : std::uint32_t { End = 0, Debug = 1, Kernels = 2, Metadata = 3, TensorIR = 4 };

}  // namespace rldb::bytecode::format
