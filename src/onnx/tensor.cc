// Tensor data: raw bytes, typed fields, or a part of a file beside the model.
#include "onnx/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "rldb/runtime/any_contents.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/support/random_access.h"

namespace rldb::onnx {

namespace {

struct DTypeRow {
  std::int32_t number;
  std::string_view name;
  DType dtype;
  int bits;
};
const DTypeRow kDTypes[] = {
#define RLDB_ONNX_DTYPE(number, name, dtype, bits) {number, name, dtype, bits},
#include "onnx/dtype.def"
};

const DTypeRow* dtype_row(std::int32_t number) {
  for (const DTypeRow& row : kDTypes)
    if (row.number == number) return &row;
  return nullptr;
}

support::Failure<source::Message> bad_tensor(const pb::TensorProto& t, std::string why) {
  return support::Failure(source::message(diag::OnnxBadTensor, t.name(), why));
}

// The number of elements, and of bytes in raw form; nullopt: more than memory has.
std::optional<std::int64_t> element_count(const pb::TensorProto& t) {
  constexpr std::int64_t kMost = std::int64_t(1) << 40;
  std::int64_t count = 1;
  for (const std::int64_t d : t.dims()) {
    if (d < 0 || (d != 0 && count > kMost / d)) return std::nullopt;
    count *= d;
  }
  return count;
}

// Elements of less than a byte are packed in raw data, the first one in the low bits.
void unpack(std::string_view bytes, const DTypeRow& row, std::int64_t count, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[std::size_t(i / 2)]);
    int value = i % 2 ? byte >> 4 : byte & 15;
    if (row.dtype.is_int() && value > 7) value -= 16;
    runtime::store_int(to + i, row.dtype, value);
  }
}

template <class Field, class Store>
bool copy_field(const Field& field, std::int64_t count, Store&& store) {
  if (field.size() != count) return false;
  for (std::int64_t i = 0; i < count; ++i) store(i, field.Get(int(i)));
  return true;
}

// Bits of formats without a field of their own are in int32_data.
bool copy_ints(const pb::TensorProto& t, const DTypeRow& row, std::int64_t count, std::byte* to) {
  const std::size_t size = row.dtype.bytes();
  if (row.bits == 4) {
    std::string packed;
    for (const std::int32_t v : t.int32_data()) packed += char(v);
    if (std::int64_t(packed.size()) != (count + 1) / 2) return false;
    unpack(packed, row, count, to);
    return true;
  }
  return copy_field(t.int32_data(), count, [&](std::int64_t i, std::int32_t v) {
    const bool as_bits = row.dtype.is_float();
    if (as_bits)
      std::memcpy(to + std::size_t(i) * size, &v, size);
    else
      runtime::store_int(to + std::size_t(i) * size, row.dtype, v);
  });
}

bool copy_typed(const pb::TensorProto& t, const DTypeRow& row, std::int64_t count, std::byte* to) {
  const std::size_t size = row.dtype.bytes();
  const auto as_float = [&](std::int64_t i, double v) {
    runtime::store_double(to + std::size_t(i) * size, row.dtype, v);
  };
  const auto as_int = [&](std::int64_t i, auto v) {
    runtime::store_int(to + std::size_t(i) * size, row.dtype, std::int64_t(v));
  };
  if (row.dtype == DType::Float(32)) return copy_field(t.float_data(), count, as_float);
  if (row.dtype == DType::Float(64)) return copy_field(t.double_data(), count, as_float);
  if (row.dtype == DType::Int(64)) return copy_field(t.int64_data(), count, as_int);
  if (row.dtype == DType::UInt(64) || row.dtype == DType::UInt(32)) return copy_field(t.uint64_data(), count, as_int);
  return copy_ints(t, row, count, to);
}

bool is_inside(const std::string& location) {
  const std::filesystem::path path(location);
  if (location.empty() || path.is_absolute()) return false;
  for (const auto& part : path)
    if (part == "..") return false;
  return true;
}

std::optional<std::int64_t> number_of(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

// The part of a file that a tensor lies in.
struct ExternalPart {
  support::RandomAccess file;
  std::uint64_t offset = 0;
  std::size_t length = 0;
};

// Only this part is read: all weights of a large model are in one file.
ir::Result<ExternalPart> external_part(const pb::TensorProto& t, const std::string& folder) {
  std::string location;
  std::int64_t offset = 0, length = -1;
  for (const auto& entry : t.external_data()) {
    const auto number = number_of(entry.value());
    if (entry.key() == "location") location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    if (!number) return bad_tensor(t, fmt::format("its {} `{}` is not a number", entry.key(), entry.value()));
    (entry.key() == "offset" ? offset : length) = *number;
  }
  if (folder.empty() || !is_inside(location))
    return bad_tensor(t, fmt::format("its data is in `{}`, which is not a file of the model's folder", location));
  std::error_code failed;
  const auto root = std::filesystem::canonical(folder, failed);
  const auto path = std::filesystem::canonical(std::filesystem::path(folder) / location, failed);
  const auto relative = path.lexically_relative(root);
  if (failed) return bad_tensor(t, fmt::format("its data file `{}` is not there", location));
  if (relative.empty() || *relative.begin() == "..")
    return bad_tensor(t, fmt::format("its data file `{}` is a link to outside of the model's folder", location));
  // A pipe is not opened: it might never end.
  if (!std::filesystem::is_regular_file(path, failed))
    return bad_tensor(t, fmt::format("its data file `{}` is not a regular file", location));
  auto file = support::RandomAccess::open(path.string());
  if (!file.ok()) return bad_tensor(t, fmt::format("its data file `{}`: {}", location, file.error().reason));
  if (std::uint64_t(offset) > file->size()) return bad_tensor(t, "its data begins after the end of its file");
  const std::uint64_t rest = file->size() - std::uint64_t(offset);
  if (length > std::int64_t(rest)) return bad_tensor(t, "its data ends after the end of its file");
  return ExternalPart{std::move(file).value(), std::uint64_t(offset), std::size_t(length < 0 ? rest : length)};
}

}  // namespace

std::optional<DType> dtype_of(std::int32_t data_type) {
  const DTypeRow* row = dtype_row(data_type);
  return row ? std::optional(row->dtype) : std::nullopt;
}

std::string dtype_name(std::int32_t data_type) {
  if (const DTypeRow* row = dtype_row(data_type)) return std::string(row->name);
  if (data_type == pb::TensorProto::STRING) return "string";
  return fmt::format("type {}", data_type);
}

namespace {

ir::Result<const DTypeRow*> row_of(const pb::TensorProto& t) {
  if (const DTypeRow* row = dtype_row(t.data_type())) return row;
  return bad_tensor(t, fmt::format("its elements are of {}, which Relax does not have", dtype_name(t.data_type())));
}

std::int64_t raw_size(const DTypeRow& row, std::int64_t count) { return (count * row.bits + 7) / 8; }

ir::Result<runtime::Value> tensor_of_raw(const pb::TensorProto& t, const DTypeRow& row, std::int64_t count,
                                         std::string_view raw) {
  if (std::int64_t(raw.size()) != raw_size(row, count))
    return bad_tensor(t, fmt::format("its dims need {} bytes, and it has {}", raw_size(row, count), raw.size()));
  const runtime::AnyContents all_is_written;
  auto made = runtime::Tensor::empty({t.dims().begin(), t.dims().end()}, row.dtype);
  if (!made.ok()) return bad_tensor(t, made.error().message);
  if (row.bits == 4)
    unpack(raw, row, count, (*made)->data());
  else
    std::memcpy((*made)->data(), raw.data(), raw.size());
  return runtime::Value(*made);
}

ir::Result<runtime::Value> tensor_of_part(const pb::TensorProto& t, const DTypeRow& row, std::int64_t count,
                                          const ExternalPart& part) {
  if (std::int64_t(part.length) != raw_size(row, count))
    return bad_tensor(t, fmt::format("its dims need {} bytes, and it has {}", raw_size(row, count), part.length));
  std::string packed(row.bits == 4 ? part.length : 0, '\0');
  const runtime::AnyContents all_is_written;
  auto made = runtime::Tensor::empty({t.dims().begin(), t.dims().end()}, row.dtype);
  if (!made.ok()) return bad_tensor(t, made.error().message);
  const std::span<std::byte> to =
      row.bits == 4 ? std::as_writable_bytes(std::span(packed)) : std::span((*made)->data(), (*made)->byte_size());
  if (const auto read = part.file.read(part.offset, to); !read.ok()) return bad_tensor(t, read.error().reason);
  if (row.bits == 4) unpack(packed, row, count, (*made)->data());
  return runtime::Value(*made);
}

// Of data that is as it lies in memory: a tensor of these bytes, if they are worth it.
std::optional<runtime::Value> without_copy(const pb::TensorProto& t, const DTypeRow& row,
                                           const support::Ref<runtime::Object>& owner) {
  constexpr std::size_t kWorthIt = 1 << 16;
  const std::string& raw = t.raw_data();
  auto* data = reinterpret_cast<std::byte*>(const_cast<char*>(raw.data()));  // constants are not written to
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % std::max<std::size_t>(1, row.dtype.bytes()) == 0;
  if (!owner || row.bits < 8 || raw.size() < kWorthIt || !aligned) return std::nullopt;
  auto made = runtime::Tensor::view(runtime::Storage::borrow(data, raw.size(), {}, owner), 0,
                                    {t.dims().begin(), t.dims().end()}, row.dtype);
  return made.ok() ? std::optional(runtime::Value(*made)) : std::nullopt;
}

}  // namespace

ir::Result<runtime::Value> tensor_value(const pb::TensorProto& t, const std::string& folder,
                                        const support::Ref<runtime::Object>& owner) {
  RLDB_TRY(const DTypeRow* row, row_of(t));
  const auto count = element_count(t);
  if (!count) return bad_tensor(t, "its dims are negative or too large");
  if (t.data_location() == pb::TensorProto::EXTERNAL) {
    RLDB_TRY(const ExternalPart part, external_part(t, folder));
    return tensor_of_part(t, *row, *count, part);
  }
  if (t.has_raw_data()) {
    if (std::int64_t(t.raw_data().size()) == raw_size(*row, *count))
      if (auto made = without_copy(t, *row, owner)) return *std::move(made);
    return tensor_of_raw(t, *row, *count, t.raw_data());
  }
  // Each element of a field has at least a byte, so that the file limits what is allocated.
  const std::int64_t given = t.float_data_size() + t.int32_data_size() * std::int64_t(row->bits == 4 ? 2 : 1) +
                             t.int64_data_size() + t.double_data_size() + t.uint64_data_size();
  if (given < *count) return bad_tensor(t, fmt::format("its dims need {} elements, and it has {}", *count, given));
  auto made = runtime::Tensor::empty({t.dims().begin(), t.dims().end()}, row->dtype);
  if (!made.ok()) return bad_tensor(t, made.error().message);
  if (!copy_typed(t, *row, *count, (*made)->data()))
    return bad_tensor(t, "the number of its elements is not that of its dims");
  return runtime::Value(*made);
}

ir::Result<runtime::Value> tensor_of_bytes(const pb::TensorProto& type, std::string_view raw) {
  RLDB_TRY(const DTypeRow* row, row_of(type));
  const auto count = element_count(type);
  if (!count) return bad_tensor(type, "its dims are negative or too large");
  return tensor_of_raw(type, *row, *count, raw);
}

}  // namespace rldb::onnx
