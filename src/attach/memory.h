// The memory of another process, or what a core has of it. Nothing in it is trusted: every read may fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace rldb::attach {

using Address = std::uint64_t;

class Memory {
 public:
  virtual ~Memory() = default;
  // All of it, or false.
  virtual bool read(Address at, void* to, std::size_t size) const = 0;
  template <class T>
  bool get(Address at, T& out) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return read(at, &out, sizeof out);
  }
};

// A part of the address space.
struct Mapping {
  Address begin = 0, end = 0;
  std::uint64_t offset = 0;  // in the file
  bool writable = false;
  std::string path;  // empty: of no file
};
using Mappings = std::vector<Mapping>;

// By address; null: none.
const Mapping* mapping_at(const Mappings& mappings, Address at);

}  // namespace rldb::attach
