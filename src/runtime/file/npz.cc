// .npz: a zip archive of .npy files (ZipArchive reads it), and the writer of such archives.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/runtime/tensor_archive.h"
#include "rldb/runtime/tensor_export.h"
#include "rldb/runtime/zip_archive.h"
#include "runtime/file/bytes.h"
#include "runtime/file/take.h"
#include "runtime/file/zip_format.h"

namespace rldb::runtime {

namespace {

using support::RandomAccess;

class NpzArchive : public TensorArchive {
 public:
  NpzArchive(ZipArchive archive, std::string_view name) : archive_(std::move(archive)), name_(name) {
    for (std::size_t i = 0; i < archive_.members().size(); ++i) {
      std::string key = archive_.members()[i].name;
      if (key.ends_with("/")) continue;  // a folder
      if (key.ends_with(".npy")) key.resize(key.size() - 4);
      names_.push_back(std::move(key));
      at_.push_back(i);
    }
  }

  Result<Value> read(std::size_t index) const override {
    std::string buffer;
    RLDB_TRY(const std::string_view data, archive_.read(at_[index], buffer));
    return read_npy(data, fmt::format("{}:{}", name_, archive_.members()[at_[index]].name));
  }

 private:
  ZipArchive archive_;
  std::string name_;
  std::vector<std::size_t> at_;  // of each name, its member
};

// --- writing --------------------------------------------------------------------------------------

std::uint64_t low(std::uint64_t number) { return std::min(number, kIn64); }

// Everything in a member's local entry except the data; the sizes are always in a zip64 field too when
// they need it.
std::string entry_fields(const ZipMember& m, bool central) {
  std::string extra;
  const bool big = m.size >= kIn64;
  if (big) append_little(extra, m.size, 8), append_little(extra, m.packed_size, 8);
  if (central && m.local_offset >= kIn64) append_little(extra, m.local_offset, 8);
  if (!extra.empty()) {
    std::string field;
    append_little(field, 1, 2);
    append_little(field, extra.size(), 2);
    extra = field + extra;
  }
  std::string out;
  append_little(out, central ? kCentralEntry : kLocalEntry, 4);
  if (central) append_little(out, 45, 2);
  append_little(out, extra.empty() ? 20 : 45, 2);
  append_little(out, 0x800, 2);   // names are UTF-8
  append_little(out, 0, 2);       // stored
  append_little(out, 0, 2);       // time: always the same, so that equal tensors give equal files
  append_little(out, 0x0021, 2);  // date: 1980-01-01
  append_little(out, m.crc, 4);
  append_little(out, big ? kIn64 : m.packed_size, 4);
  append_little(out, big ? kIn64 : m.size, 4);
  append_little(out, m.name.size(), 2);
  append_little(out, extra.size(), 2);
  if (central) {
    append_little(out, 0, 2);  // comment
    append_little(out, 0, 2);  // disk
    append_little(out, 0, 2);  // internal attributes
    append_little(out, 0, 4);  // external attributes
    append_little(out, low(m.local_offset), 4);
  }
  return out + m.name + extra;
}

std::string end_records(std::uint64_t entries, std::uint64_t offset, std::uint64_t size) {
  std::string out;
  const bool big = entries >= 0xFFFF || offset >= kIn64 || size >= kIn64;
  if (big) {
    append_little(out, kEnd64Record, 4);
    append_little(out, 44, 8);
    append_little(out, 45, 2);
    append_little(out, 45, 2);
    append_little(out, 0, 4);
    append_little(out, 0, 4);
    append_little(out, entries, 8);
    append_little(out, entries, 8);
    append_little(out, size, 8);
    append_little(out, offset, 8);
    append_little(out, kEnd64Locator, 4);
    append_little(out, 0, 4);
    append_little(out, offset + size, 8);
    append_little(out, 1, 4);
  }
  const std::uint64_t few = std::min<std::uint64_t>(entries, 0xFFFF);
  append_little(out, kEndRecord, 4);
  append_little(out, 0, 2);
  append_little(out, 0, 2);
  append_little(out, few, 2);
  append_little(out, few, 2);
  append_little(out, low(size), 4);
  append_little(out, low(offset), 4);
  append_little(out, 0, 2);
  return out;
}

}  // namespace

Result<std::unique_ptr<TensorArchive>> open_npz(RandomAccess bytes, std::string_view name) {
  RLDB_TRY(ZipArchive archive, ZipArchive::open(std::move(bytes), name, ".npz file"));
  return std::unique_ptr<TensorArchive>(std::make_unique<NpzArchive>(std::move(archive), name));
}

Result<NamedTensors> read_npz(std::string_view bytes, std::string_view name) {
  RLDB_TRY(const auto archive, open_npz(RandomAccess::of_memory(bytes), name));
  return read_all(*archive);
}

namespace {

std::string npz_text(const NamedTensors& tensors, std::string (*member)(const Tensor&)) {
  std::string out;
  std::string directory;
  for (const auto& [name, value] : tensors) {
    const std::string data = member(value.as_tensor());
    ZipMember m;
    m.name = name + ".npy";
    m.crc = zip_checksum(data);
    m.size = m.packed_size = data.size();
    m.local_offset = out.size();
    out += entry_fields(m, false);
    out += data;
    directory += entry_fields(m, true);
  }
  const std::size_t offset = out.size();
  out += directory;
  return out + end_records(tensors.size(), offset, directory.size());
}

}  // namespace

std::string write_npz(const NamedTensors& tensors) { return npz_text(tensors, write_npy); }
std::string export_npz(const NamedTensors& tensors) { return npz_text(tensors, export_npy); }

}  // namespace rldb::runtime
