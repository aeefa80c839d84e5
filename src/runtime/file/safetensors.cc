// .safetensors: a JSON header (name -> dtype, shape, byte range), then the bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "rldb/runtime/tensor_archive.h"
#include "rldb/runtime/tensor_export.h"
#include "rldb/support/cancel.h"
#include "rldb/support/json_document.h"
#include "runtime/file/bytes.h"
#include "runtime/file/take.h"

namespace rldb::runtime {

namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypes = std::to_array<NamedType>({
    {"F64", DType::Float(64)},
    {"F32", DType::Float(32)},
    {"F16", DType::Float(16)},
    {"BF16", DType::BFloat16()},
    {"I64", DType::Int(64)},
    {"I32", DType::Int(32)},
    {"I16", DType::Int(16)},
    {"I8", DType::Int(8)},
    {"U64", DType::UInt(64)},
    {"U32", DType::UInt(32)},
    {"U16", DType::UInt(16)},
    {"U8", DType::UInt(8)},
    {"BOOL", DType::Bool()},
    {"F8_E4M3", {TypeCode::Float8E4M3FN, 8, 1}},
    {"F8_E5M2", {TypeCode::Float8E5M2, 8, 1}},
    {"F8_E8M0", {TypeCode::Float8E8M0FNU, 8, 1}},
});

// Integers of a JSON array, all non-negative.
bool read_sizes(const nlohmann::json& array, std::vector<std::int64_t>& out) {
  if (!array.is_array()) return false;
  for (const auto& item : array) {
    if (!item.is_number_unsigned()) return false;
    const auto number = item.get<std::uint64_t>();
    if (number > std::uint64_t(std::numeric_limits<std::int64_t>::max())) return false;
    out.push_back(static_cast<std::int64_t>(number));
  }
  return true;
}

struct Entry {
  std::vector<std::int64_t> shape;
  DType dtype;
  std::uint64_t begin = 0;  // in the data, which follows the header
  std::uint64_t size = 0;
};

Result<Entry> check_entry(const nlohmann::json& entry, std::uint64_t data_size, const std::string& where) {
  Entry e;
  std::vector<std::int64_t> range;
  const bool complete = entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string() &&
                        entry.contains("shape") && read_sizes(entry["shape"], e.shape) &&
                        entry.contains("data_offsets") && read_sizes(entry["data_offsets"], range) && range.size() == 2;
  if (!complete) return bad_file(where, "its entry lacks a good `dtype`, `shape` or `data_offsets`");
  const auto& type_name = entry["dtype"].get_ref<const std::string&>();
  const NamedType* type = nullptr;
  for (const NamedType& row : kTypes) {
    if (row.name == type_name) type = &row;
  }
  if (!type) {
    return fail(ErrorKind::Unsupported, fmt::format("`{}`: dtype `{}` is unsupported", where, type_name));
  }
  e.dtype = type->dtype;
  e.begin = static_cast<std::uint64_t>(range[0]);
  const auto end = static_cast<std::uint64_t>(range[1]);
  if (e.begin > end || end > data_size) {
    return bad_file(where, fmt::format("bytes {} to {} lie outside the {} bytes of data", e.begin, end, data_size));
  }
  e.size = end - e.begin;
  const auto wanted = byte_count(e.shape, e.dtype.bytes());
  if (!wanted || *wanted != e.size) {
    return bad_file(where, fmt::format("shape ({}) of {} does not take the {} bytes that it has",
                                       fmt::join(e.shape, ", "), type_name, e.size));
  }
  return e;
}

class SafetensorsArchive : public TensorArchive {
 public:
  SafetensorsArchive(support::RandomAccess bytes, std::string_view name, std::uint64_t data)
      : bytes_(std::move(bytes)), name_(name), data_(data) {}

  void add(std::string name, Entry entry) {
    names_.push_back(std::move(name));
    entries_.push_back(std::move(entry));
  }

  Result<Value> read(std::size_t index) const override {
    const Entry& e = entries_[index];
    const std::string where = fmt::format("{}:{}", name_, names_[index]);
    RLDB_TRY(auto tensor, Tensor::empty(e.shape, e.dtype));
    std::string buffer;
    RLDB_TRY(const std::string_view bytes, take(bytes_, data_ + e.begin, e.size, where, buffer));
    if (!bytes.empty()) std::memcpy(tensor->data(), bytes.data(), bytes.size());
    return Value(std::move(tensor));
  }

 private:
  support::RandomAccess bytes_;
  std::string name_;
  std::uint64_t data_;
  std::vector<Entry> entries_;
};

}  // namespace

Result<std::unique_ptr<TensorArchive>> open_safetensors(support::RandomAccess bytes, std::string_view name) {
  constexpr std::size_t kLengthSize = 8;
  if (bytes.size() < kLengthSize) return bad_file(name, "not a .safetensors file (shorter than its header)");
  std::string buffer;
  RLDB_TRY(const std::string_view length_bytes, take(bytes, 0, kLengthSize, name, buffer));
  const std::uint64_t length = read_little(length_bytes, 0, kLengthSize);
  if (length > bytes.size() - kLengthSize || length > kMaxHeader) {
    return bad_file(name, fmt::format("a header of {} bytes in a file of {}", length, bytes.size()));
  }
  RLDB_TRY(const std::string_view text, take(bytes, kLengthSize, length, name, buffer));
  constexpr int kDeepest = 64;  // headers have lists in objects in an object
  const auto header = support::read_json(text, kDeepest);
  if (!header.ok() && header.error() == support::JsonProblem::TooLarge)
    return fail(ErrorKind::OutOfMemory, fmt::format("`{}`: its header is over the memory limit", name));
  if (!header.ok() || !(*header)->is_object()) return bad_file(name, "the header is not a JSON object");
  const std::uint64_t data = kLengthSize + length;
  std::vector<std::pair<std::string, Entry>> found;
  for (const auto& [key, entry] : (*header)->items()) {
    support::poll();
    if (key == "__metadata__") continue;
    RLDB_TRY(Entry checked, check_entry(entry, bytes.size() - data, fmt::format("{}:{}", name, key)));
    found.emplace_back(key, std::move(checked));
  }
  // The order of the file; JSON's own is by name (an ordered object takes quadratic time).
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second.begin < b.second.begin; });
  auto archive = std::make_unique<SafetensorsArchive>(std::move(bytes), name, data);
  for (auto& [key, entry] : found) archive->add(key, std::move(entry));
  return std::unique_ptr<TensorArchive>(std::move(archive));
}

Result<std::string> write_safetensors(const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t at = 0;
  for (const auto& [name, value] : tensors) {
    const Tensor& t = value.as_tensor();
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const NamedType& row) { return row.dtype == t.dtype().element(); });
    if (type == kTypes.end())
      return fail(ErrorKind::Unsupported, fmt::format("safetensors has no dtype `{}`", to_string(t.dtype())));
    std::vector<std::int64_t> shape = t.shape();
    if (!t.dtype().is_scalar()) shape.push_back(t.dtype().lanes);
    header[name] = {{"dtype", type->name}, {"shape", shape}, {"data_offsets", {at, at + t.byte_size()}}};
    at += t.byte_size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  constexpr std::size_t kAlignment = 8;  // of the data, by blanks behind the header
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string out;
  append_little(out, text.size(), kAlignment);
  out += text;
  for (const auto& [name, value] : tensors) {
    support::poll();
    out.append(reinterpret_cast<const char*>(value.as_tensor().peek()), value.as_tensor().byte_size());
  }
  return out;
}

Result<NamedTensors> read_safetensors(std::string_view bytes, std::string_view name) {
  RLDB_TRY(const auto archive, open_safetensors(support::RandomAccess::of_memory(bytes), name));
  return read_all(*archive);
}

}  // namespace rldb::runtime
