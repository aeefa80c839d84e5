// Tensors of a model as values. Inside the room only.
#pragma once

#include <onnx.pb.h>

#include <optional>
#include <string>

#include "rldb/ir/context.h"

namespace rldb::onnx {

namespace pb = ::onnx;
using runtime::DType;

std::optional<DType> dtype_of(std::int32_t data_type);
// `float`, `string`, or the number of a type that this version of the format does not have.
std::string dtype_name(std::int32_t data_type);

// `folder`: that of the model, the only one in which external data may be. Empty: external data is refused.
// `owner`: keeps `tensor` alive, so that large data is not copied. Null: it is.
ir::Result<runtime::Value> tensor_value(const pb::TensorProto& tensor, const std::string& folder,
                                        const support::Ref<runtime::Object>& owner = {});

// The same of a tensor whose raw data is beside it.
ir::Result<runtime::Value> tensor_of_bytes(const pb::TensorProto& type, std::string_view raw);

}  // namespace rldb::onnx
