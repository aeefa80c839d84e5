// Which bytes of the memory of a run have been written. Memory that it was never told of counts as written.
// Room-private.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::repro {

class WrittenBytes {
 public:
  // Nothing has been written to it, whatever was written to the same memory before. A tensor, or a storage.
  void forget(const runtime::Value& memory);
  // The same for memory that ends at `drop_own`.
  void forget_own(const std::byte* at, std::size_t bytes);
  void drop_own();
  void write(const std::byte* at, std::size_t bytes);
  void write(const runtime::Tensor& t) { write(t.data(), t.byte_size()); }
  bool is_written(const std::byte* at, std::size_t bytes) const;
  // The first element that was not written, and whether any was.
  struct Gap {
    std::optional<std::vector<std::int64_t>> element;
    bool some = false;
  };
  Gap gap_in(const runtime::Tensor& t) const;

 private:
  struct Region {
    std::vector<bool> written;               // by byte
    runtime::Ref<runtime::Storage> storage;  // held: other memory gets no address in it
    const std::byte* end(const std::byte* begin) const { return begin + written.size(); }
  };
  using Regions = std::map<const std::byte*, Region>;
  Regions::const_iterator find(const std::byte* at) const;
  void set(const std::byte* at, std::size_t bytes, bool written);
  void purge();

  Regions regions_;
  std::vector<const std::byte*> own_;
  std::size_t new_bytes_ = 0;  // of storages, since the last purge
};

}  // namespace rldb::repro
