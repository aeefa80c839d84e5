// The table of PyTorch's element types.
#include "onnx/pt2/scalar_type.h"

#include <fmt/format.h>

namespace rldb::onnx {

namespace {

struct ScalarRow {
  std::int64_t number;
  std::string_view name;
  std::int32_t onnx;
  std::string_view storage;
};
const ScalarRow kScalarRows[] = {
#define RLDB_TORCH_DTYPE(number, name, onnx, storage) {number, name, onnx, storage},
#include "onnx/pt2/scalar_type.def"
};

}  // namespace

std::optional<std::int32_t> onnx_type_of_scalar(std::int64_t scalar_type) {
  for (const ScalarRow& row : kScalarRows)
    if (row.number == scalar_type) return row.onnx;
  return std::nullopt;
}

std::optional<std::int32_t> onnx_type_of_storage(std::string_view storage_class) {
  for (const ScalarRow& row : kScalarRows)
    if (!row.storage.empty() && row.storage == storage_class) return row.onnx;
  return std::nullopt;
}

std::string scalar_type_name(std::int64_t scalar_type) {
  for (const ScalarRow& row : kScalarRows)
    if (row.number == scalar_type) return std::string(row.name);
  if (scalar_type >= 9 && scalar_type <= 11) return "complex numbers";
  return fmt::format("scalar type {}", scalar_type);
}

}  // namespace rldb::onnx
