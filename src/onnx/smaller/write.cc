// Models and tensors as files.
#include <fmt/format.h>

#include "onnx/smaller/graph.h"
#include "onnx/tensor.h"
#include "rldb/source/diagnostic_onnx.h"

namespace rldb::onnx {

namespace {

struct NumberOfDType {
  std::int32_t number;
  DType dtype;
};
const NumberOfDType kNumbers[] = {
#define RLDB_ONNX_DTYPE(number, name, dtype, bits) {number, dtype},
#include "onnx/dtype.def"
};

// Two elements of 4 bits are a byte, the first one its low bits.
std::string packed(const runtime::Tensor& t) {
  std::string bytes(std::size_t(t.element_count() + 1) / 2, '\0');
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    const auto value = unsigned(runtime::load_as_int(t.data() + i, t.dtype())) & 15;
    bytes[std::size_t(i / 2)] =
        char(static_cast<unsigned char>(bytes[std::size_t(i / 2)]) | (value << (i % 2 ? 4 : 0)));
  }
  return bytes;
}

void set_data(pb::TensorProto& to, const runtime::Value& value) {
  const runtime::Tensor& t = value.as_tensor();
  if (t.dtype().bits == 4)
    to.set_raw_data(packed(t));
  else
    to.set_raw_data(t.data(), t.byte_size());
}

// Protobuf's own limit of a message.
constexpr std::size_t kMostBytes = std::size_t(1) << 31;

template <class Message>
ir::Result<std::string> bytes_of(const Message& message) {
  std::string bytes;
  if (message.ByteSizeLong() < kMostBytes && message.SerializeToString(&bytes)) return bytes;
  return support::Failure(source::message(diag::OnnxNotWritten, "a file of this format has at most 2 GB"));
}

}  // namespace

std::int32_t dtype_number(DType dtype) {
  for (const NumberOfDType& row : kNumbers)
    if (row.dtype == dtype) return row.number;
  return pb::TensorProto::UNDEFINED;
}

ir::Result<std::string> model_file(const Model& model) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : model.weights) bytes += value.as_tensor().byte_size();
  if (bytes >= kMostBytes)
    return support::Failure(source::message(diag::OnnxNotWritten, "a file of this format has at most 2 GB"));
  pb::ModelProto proto = model.proto;
  for (auto& t : *proto.mutable_graph()->mutable_initializer())
    if (const auto weight = model.weights.find(t.name()); weight != model.weights.end()) set_data(t, weight->second);
  return bytes_of(proto);
}

ir::Result<std::string> tensor_file(const std::string& name, const runtime::Value& tensor) {
  pb::TensorProto t;
  t.set_name(name);
  const std::int32_t number = dtype_number(tensor.as_tensor().dtype());
  if (number == pb::TensorProto::UNDEFINED)
    return support::Failure(source::message(
        diag::OnnxNotWritten, fmt::format("it has no elements of {}", runtime::to_string(tensor.as_tensor().dtype()))));
  t.set_data_type(number);
  for (const std::int64_t d : tensor.as_tensor().shape()) t.add_dims(d);
  set_data(t, tensor);
  return bytes_of(t);
}

}  // namespace rldb::onnx
