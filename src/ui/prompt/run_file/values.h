// Values as bytes: tensors with their memory, which they may share. Users: run files.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/runtime/value.h"
#include "rldb/support/bytes.h"

namespace rldb::ui {

// Writes each memory once, before the first value that lies in it.
class ValueWriter {
 public:
  explicit ValueWriter(support::ByteWriter& out) : out_(out) {}
  // False: `why` it cannot be written.
  bool write(const runtime::Value& v, std::string& why, int depth = 0);

 private:
  support::ByteWriter& out_;
  std::unordered_map<const runtime::Storage*, std::uint64_t> storages_;
};

class ValueReader {
 public:
  explicit ValueReader(support::ByteReader& in) : in_(in) {}
  // A reader that fails says why.
  runtime::Value read(int depth = 0);

 private:
  runtime::Value read_tensor();
  support::ByteReader& in_;
  std::vector<support::Ref<runtime::Storage>> storages_;
};

}  // namespace rldb::ui
