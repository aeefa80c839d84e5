// The parts of a zip archive that its reader and its writers share. Used by zip.cc, npz.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace rldb::runtime {

constexpr std::uint64_t kEndRecord = 0x06054b50;
constexpr std::uint64_t kEnd64Record = 0x06064b50;
constexpr std::uint64_t kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kCentralEntry = 0x02014b50;
constexpr std::uint64_t kLocalEntry = 0x04034b50;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;  // "the number is in the zip64 field"

std::uint64_t zip_checksum(std::string_view bytes);

}  // namespace rldb::runtime
