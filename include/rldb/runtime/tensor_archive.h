// TensorArchive: the named tensors of an .npz or .safetensors file, each read when it is asked for. Opening reads the
// directory only; a file of gigabytes from which one tensor is taken costs that tensor.
//
// Trusts nothing: sizes are checked against the file and the memory limit before memory is allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"
#include "rldb/support/random_access.h"

namespace rldb::runtime {

class TensorArchive {
 public:
  virtual ~TensorArchive() = default;
  // In the order of the file. A damaged file may give a name twice; `find` takes the first.
  const std::vector<std::string>& names() const { return names_; }
  std::optional<std::size_t> find(std::string_view name) const;
  virtual Result<Value> read(std::size_t index) const = 0;

 protected:
  std::vector<std::string> names_;
};

// Stored and deflated members of a zip archive; the ending .npy is not part of a name.
Result<std::unique_ptr<TensorArchive>> open_npz(support::RandomAccess bytes, std::string_view name);
Result<std::unique_ptr<TensorArchive>> open_safetensors(support::RandomAccess bytes, std::string_view name);

// The file at `path`, if it begins as one of the two does; null for other files, and for pipes, which are read once.
Result<std::unique_ptr<TensorArchive>> open_archive(const std::string& path);

}  // namespace rldb::runtime
