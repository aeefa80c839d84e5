// The metadata block of a printed module: TVM's JSON graph of constants and other values without a text.
#include "ir/print/meta.h"

#include <map>

#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/base64.h"

namespace rldb::ir::print_detail {
namespace {

std::string tensor_text(const runtime::Tensor& x) {
  support::ByteWriter out;
  runtime::write_tensor(out, x);
  return support::encode_base64(out.bytes());
}

// JSON inside a Python string: TVM escapes the quotes and the slashes.
std::string quoted(std::string_view text) {
  std::string out = "\\\"";
  for (char c : text) {
    if (c == '/') out += "\\\\";
    out += c;
  }
  return out + "\\\"";
}

class MetaWriter {
 public:
  std::string write(const MetaList& constants, const MetaList& tensors) {
    std::vector<std::size_t> entries;
    if (!tensors.empty()) {
      entries.push_back(node("ffi.String", quoted("ffi.Tensor")));
      std::vector<std::size_t> items;
      for (const Constant* c : tensors.items()) items.push_back(tensor(c));
      entries.push_back(array(items));
    }
    if (!constants.empty()) {
      entries.push_back(node("ffi.String", quoted("relax.expr.Constant")));
      none_ = node("None", {});
      std::vector<std::size_t> items;
      for (const Constant* c : constants.items()) items.push_back(constant(c));
      entries.push_back(array(items));
    }
    std::size_t root = node("ffi.Map", numbers(entries));
    std::string out = "metadata = tvm.ir.load_json(\"\"\"{\n";
    out += "  " + quoted("root_index") + ": " + std::to_string(root) + ",\n";
    out += "  " + quoted("nodes") + ": [\n";
    for (std::size_t k = 0; k < nodes_.size(); ++k) out += nodes_[k] + (k + 1 < nodes_.size() ? ",\n" : "\n");
    out += "  ],\n  " + quoted("metadata") + ": {\n    " + quoted("tvm_version") + ": " + quoted("0.26.dev0") +
           "\n  }\n}\"\"\")";
    return out;
  }

 private:
  using Field = std::pair<std::string_view, std::string>;

  std::size_t node(std::string_view type, const std::string& data) {
    std::string text = "    {\n      " + quoted("type") + ": " + quoted(type);
    if (!data.empty()) text += ",\n      " + quoted("data") + ": " + data;
    nodes_.push_back(text + "\n    }");
    return nodes_.size() - 1;
  }
  static std::string numbers(const std::vector<std::size_t>& items) {
    if (items.empty()) return "[]";
    std::string out = "[\n";
    for (std::size_t k = 0; k < items.size(); ++k)
      out += "        " + std::to_string(items[k]) + (k + 1 < items.size() ? ",\n" : "\n");
    return out + "      ]";
  }
  std::size_t array(const std::vector<std::size_t>& items) { return node("ffi.Array", numbers(items)); }
  std::size_t object(std::string_view type, const std::vector<Field>& fields) {
    std::string out = "{\n";
    for (std::size_t k = 0; k < fields.size(); ++k)
      out += "        " + quoted(fields[k].first) + ": " + fields[k].second + (k + 1 < fields.size() ? ",\n" : "\n");
    return node(type, out + "      }");
  }
  std::string none() const { return std::to_string(none_); }

  std::size_t prim_type(DType d) {
    std::string name = runtime::to_string(d);
    if (auto it = prims_.find(name); it != prims_.end()) return it->second;
    std::size_t index = object("ir.PrimType", {{"span", none()}, {"dtype", quoted(name)}});
    prims_.emplace(name, index);
    return index;
  }
  std::size_t tensor(const Constant* c) { return node("ffi.Tensor", quoted(tensor_text(c->value->as_tensor()))); }
  std::size_t constant(const Constant* c) {
    const runtime::Tensor& x = c->value->as_tensor();
    std::vector<std::size_t> dims;
    dims.reserve(x.shape().size());
    for (std::int64_t n : x.shape()) {
      std::size_t type = prim_type(DType::Int(64));
      dims.push_back(
          object("ir.IntImm", {{"span", none()}, {"ty", std::to_string(type)}, {"value", std::to_string(n)}}));
    }
    std::string ndim = std::to_string(x.ndim());
    std::string values = std::to_string(array(dims));
    std::size_t shape_type = object("relax.ShapeType", {{"span", none()}, {"values", values}, {"ndim", ndim}});
    std::size_t shape =
        object("relax.expr.ShapeExpr", {{"span", none()}, {"ty", std::to_string(shape_type)}, {"values", values}});
    std::size_t dtype = prim_type(x.dtype());
    std::size_t type = object("relax.TensorType", {{"span", none()},
                                                   {"shape", std::to_string(shape)},
                                                   {"dtype", std::to_string(dtype)},
                                                   {"vdevice", none()},
                                                   {"ndim", ndim}});
    std::size_t data = tensor(c);
    return object("relax.expr.Constant",
                  {{"span", none()}, {"ty", std::to_string(type)}, {"data", std::to_string(data)}});
  }

  std::vector<std::string> nodes_;
  std::map<std::string, std::size_t> prims_;
  std::size_t none_ = 0;
};

}  // namespace

std::string metadata_text(const MetaList& constants, const MetaList& tensors) {
  return MetaWriter().write(constants, tensors);
}

}  // namespace rldb::ir::print_detail
