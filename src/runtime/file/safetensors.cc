// .safetensors: a JSON header (name -> dtype, shape, byte range), then the bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "rldb/runtime/tensor_file.h"
#include "rldb/support/cancel.h"
#include "runtime/file/bytes.h"

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

// The header's bytes, cut short when the work is cancelled: the JSON library does not survive exceptions.
struct Reading {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::forward_iterator_tag;

  const char* at = nullptr;
  reference operator*() const { return *at; }
  Reading& operator++() {
    ++at;
    return *this;
  }
  Reading operator++(int) { return {at++}; }
  bool operator==(const Reading& end) const {
    return at == end.at || support::cancel_flag().load(std::memory_order_relaxed);
  }
};

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

Result<Value> read_entry(const nlohmann::json& entry, std::string_view data, const std::string& where) {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> range;
  const bool complete = entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string() &&
                        entry.contains("shape") && read_sizes(entry["shape"], shape) &&
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
  const auto begin = static_cast<std::uint64_t>(range[0]);
  const auto end = static_cast<std::uint64_t>(range[1]);
  if (begin > end || end > data.size()) {
    return bad_file(where, fmt::format("bytes {} to {} lie outside the {} bytes of data", begin, end, data.size()));
  }
  const auto wanted = byte_count(shape, type->dtype.bytes());
  if (!wanted || *wanted != end - begin) {
    return bad_file(where, fmt::format("shape ({}) of {} does not take the {} bytes that it has",
                                       fmt::join(shape, ", "), type_name, end - begin));
  }
  RLDB_TRY(auto tensor, Tensor::empty(std::move(shape), type->dtype));
  if (*wanted > 0) std::memcpy(tensor->data(), data.data() + begin, *wanted);
  return Value(std::move(tensor));
}

}  // namespace

Result<NamedTensors> read_safetensors(std::string_view bytes, std::string_view name) {
  if (bytes.size() < 8) return bad_file(name, "not a .safetensors file (shorter than its header)");
  const std::uint64_t length = read_little(bytes, 0, 8);
  if (length > bytes.size() - 8 || length > kMaxHeader) {
    return bad_file(name, fmt::format("a header of {} bytes in a file of {}", length, bytes.size()));
  }
  const std::string_view text = bytes.substr(8, length);
  const auto header = nlohmann::json::parse(Reading{text.data()}, Reading{text.data() + text.size()}, nullptr, false);
  support::poll();
  if (!header.is_object()) return bad_file(name, "the header is not a JSON object");
  std::vector<std::pair<std::uint64_t, NamedTensors::value_type>> found;  // with the place of the data
  for (const auto& [key, entry] : header.items()) {
    support::poll();
    if (key == "__metadata__") continue;
    RLDB_TRY(Value value, read_entry(entry, bytes.substr(8 + length), fmt::format("{}:{}", name, key)));
    found.emplace_back(entry["data_offsets"][0].get<std::uint64_t>(), NamedTensors::value_type(key, std::move(value)));
  }
  // The order of the file; JSON's own is by name (an ordered object takes quadratic time).
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  NamedTensors tensors;
  for (auto& [place, tensor] : found) tensors.push_back(std::move(tensor));
  return tensors;
}

}  // namespace rldb::runtime
