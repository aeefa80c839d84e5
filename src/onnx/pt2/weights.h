// The tensors of an archive by their names in the program: raw storages with a table of views (torch 2.9 and later), or
// what torch.save wrote (before). Storages are read when a tensor of theirs is asked for; equal views of one storage
// are one value. Inside the room only.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "onnx/pt2/pickle.h"
#include "rldb/ir/context.h"
#include "rldb/runtime/zip_archive.h"

namespace rldb::onnx {

// A tensor in a storage. Sizes, strides and the offset are numbers of elements.
struct StoredTensor {
  std::size_t storage = 0;
  std::int32_t type = 0;  // in TensorProto.DataType
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes, strides;
};

class Weights {
 public:
  // `prefix`: the folder that the archive's members are in, with its slash, or nothing. `archive` outlives this.
  Weights(const runtime::ZipArchive& archive, std::string prefix, std::string model)
      : archive_(archive), prefix_(std::move(prefix)), model_(std::move(model)) {}

  // Reads the tables. A program may have none of a kind.
  ir::Result<support::Unit> open();

  // Parameters and buffers that are saved, and constants with the other buffers.
  ir::Result<runtime::Value> state(const std::string& name) { return tensor(state_, name); }
  ir::Result<runtime::Value> constant(const std::string& name) { return tensor(constants_, name); }

 private:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;
  struct Bytes {
    std::string name;
    const runtime::ZipArchive* archive = nullptr;
    std::size_t member = 0;
    bool is_read = false;
    std::string buffer;
    std::string_view view;
  };

  // A member that is an archive itself.
  struct Saved {
    std::string buffer;
    std::optional<runtime::ZipArchive> archive;  // nullopt: the member is empty
    std::string folder;                          // of its members
    PickledTensors tensors;
  };

  struct Place {
    std::string_view folder, member, config_endings[2], legacy[2];
  };
  ir::Result<support::Unit> open_kind(const Place& place, Tensors& to);
  ir::Result<support::Unit> open_table(std::string_view name, std::string_view text, const std::string& folder,
                                       Tensors& to);
  // A member that torch.save wrote. `only`: the name of the tensor that it is.
  ir::Result<support::Unit> open_saved(std::size_t member, const std::string* only, Tensors& to);
  ir::Result<const Saved*> saved_of(std::size_t member);
  std::size_t storage(std::string name, const runtime::ZipArchive* archive, std::size_t member);
  ir::Result<std::string_view> bytes_of(std::size_t storage);
  ir::Result<runtime::Value> tensor(const Tensors& all, const std::string& name);
  ir::Result<runtime::Value> made(const StoredTensor& t, const std::string& name);

  const runtime::ZipArchive& archive_;
  std::string prefix_, model_;
  std::deque<Bytes> storages_;
  std::map<std::pair<const runtime::ZipArchive*, std::size_t>, std::size_t> storage_of_;  // by archive and member
  std::map<std::size_t, Saved> saved_;  // by member: several names may be of one
  Tensors state_, constants_;
  using Key = std::tuple<std::size_t, std::int32_t, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  std::map<Key, runtime::Value> values_;
  std::uint64_t stored_ = 0, given_ = 0;  // bytes of storages, and of tensors made from them
};

}  // namespace rldb::onnx
