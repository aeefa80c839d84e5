// The rows of scalar_type.def. Inside the room only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::onnx {

// The number of the same type in ONNX; nullopt: there is none.
std::optional<std::int32_t> onnx_type_of_scalar(std::int64_t scalar_type);
std::optional<std::int32_t> onnx_type_of_storage(std::string_view storage_class);
std::string scalar_type_name(std::int64_t scalar_type);

}  // namespace rldb::onnx
