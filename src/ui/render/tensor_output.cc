#include "rldb/ui/render/tensor_output.h"

#include <fmt/format.h>

#include "rldb/runtime/tensor_export.h"
#include "rldb/source/diagnostic_result.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

bool flatten_tensors(const Value& v, std::vector<Value>& out, std::string& why) {
  switch (v.kind()) {
    case ValueKind::Tensor:
      out.push_back(v);
      return true;
    case ValueKind::Tuple:
      for (const Value& field : v.as_tuple().fields)
        if (!flatten_tensors(field, out, why)) return false;
      return true;
    case ValueKind::Int:
    case ValueKind::Bool:
    case ValueKind::Float: {
      const runtime::DType dtype = v.is(ValueKind::Float)  ? runtime::DType::Float(64)
                                   : v.is(ValueKind::Bool) ? runtime::DType::Bool()
                                                           : runtime::DType::Int(64);
      auto tensor = runtime::Tensor::empty({}, dtype);
      if (!tensor.ok()) return why = tensor.error().message, false;
      if (v.is(ValueKind::Float))
        runtime::store_double((*tensor)->data(), dtype, v.as_float());
      else
        runtime::store_int((*tensor)->data(), dtype, v.as_int());
      out.push_back(Value(std::move(tensor).value()));
      return true;
    }
    case ValueKind::Shape: {
      auto tensor = runtime::Tensor::empty({std::int64_t(v.as_shape().size())}, runtime::DType::Int(64));
      if (!tensor.ok()) return why = tensor.error().message, false;
      for (std::size_t i = 0; i < v.as_shape().size(); ++i)
        runtime::store_int((*tensor)->data() + i * 8, runtime::DType::Int(64), v.as_shape()[i]);
      out.push_back(Value(std::move(tensor).value()));
      return true;
    }
    case ValueKind::Null:
      return true;
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      why = "it holds " + runtime::describe(v);
      return false;
  }
  return false;
}

std::optional<std::string> tensor_file(const std::string& path, const std::vector<Value>& tensors,
                                       source::Diagnostics& out) {
  runtime::NamedTensors named;
  for (std::size_t i = 0; i < tensors.size(); ++i) named.emplace_back(fmt::format("out{}", i), tensors[i]);
  if (path.ends_with(".npz")) return runtime::export_npz(named);
  if (path.ends_with(".safetensors")) {
    auto text = runtime::write_safetensors(named);
    if (text.ok()) return std::move(text).value();
    out.add({}, source::message(diag::OutputKind, path, text.error().message).with_hint("write an .npz"));
    return std::nullopt;
  }
  if (!path.ends_with(".npy")) {
    out.add({}, source::message(diag::OutputKind, path, "the name must end in .npy, .npz or .safetensors"));
    return std::nullopt;
  }
  if (tensors.size() == 1) return runtime::export_npy(tensors[0].as_tensor());
  out.add({},
          source::message(diag::OutputKind, path, fmt::format("it has {} tensors, an .npy holds one", tensors.size()))
              .with_hint("write an .npz"));
  return std::nullopt;
}

}  // namespace rldb::ui
