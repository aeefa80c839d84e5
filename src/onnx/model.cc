// Reading of models, and the checks that everything after relies on: a graph is there, nesting is bounded.
#include "onnx/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <filesystem>
#include <unordered_set>

#include "onnx/pt2/archive.h"
#include "onnx/tensor.h"
#include "onnx/weights.h"
#include "rldb/source/diagnostic_onnx.h"

namespace rldb::onnx {

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == kOnnxDomain; }
std::string domain_name(const std::string& domain) {
  return is_default_domain(domain) ? std::string(kOnnxDomain) : domain;
}

std::int64_t Model::opset(const std::string& domain) const {
  for (const auto& import : proto.opset_import())
    if (domain_name(import.domain()) == domain_name(domain)) return import.version();
  // Before version 3 of the format a model did not say.
  return is_default_domain(domain) && proto.opset_import_size() == 0 ? 1 : 0;
}

const pb::FunctionProto* Model::function(const std::string& domain, const std::string& name) const {
  for (const auto& f : proto.functions())
    if (f.name() == name && domain_name(f.domain()) == domain_name(domain)) return &f;
  return nullptr;
}

bool is_model(std::string_view path, std::string_view bytes) {
  if (path.ends_with(".onnx") || is_archive(path, bytes)) return true;
  // The field ir_version comes first: no text begins like that.
  return bytes.size() > 2 && bytes[0] == 8 && bytes[1] > 0 && bytes[1] < 32 && bytes[1] != 9 && bytes[1] != 10;
}

namespace {

// False: a graph is nested too deep.
bool is_shallow(const pb::GraphProto& graph, int depth) {
  if (depth > kMaxNesting) return false;
  for (const auto& node : graph.node())
    for (const auto& attr : node.attribute()) {
      if (attr.has_g() && !is_shallow(attr.g(), depth + 1)) return false;
      for (const auto& g : attr.graphs())
        if (!is_shallow(g, depth + 1)) return false;
    }
  return true;
}

}  // namespace

ModelRef read_model(std::string_view path, std::string_view bytes, source::Diagnostics& out) {
  if (is_archive(path, bytes)) return read_archive(path, bytes, out);
  auto model = std::make_shared<Model>();
  model->path = path;
  const auto parent = std::filesystem::path(path).parent_path();
  model->folder = parent.empty() ? "." : parent.string();
  const std::optional<ApartModel> apart = weights_apart(bytes);
  const std::string_view rest = apart ? std::string_view(apart->rest) : bytes;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(rest.data()), int(rest.size()));
  in.SetTotalBytesLimit(int(rest.size()));
  in.SetRecursionLimit(4 * kMaxNesting);
  if (!model->proto.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    out.add({}, source::message(diag::OnnxUnreadable, path, "its fields are damaged or cut off"));
    return nullptr;
  }
  if (!model->proto.has_graph()) {
    out.add({}, source::message(diag::OnnxUnreadable, path, "it has no graph"));
    return nullptr;
  }
  if (!is_shallow(model->proto.graph(), 0)) {
    out.add({}, source::message(diag::OnnxTooDeep, kMaxNesting));
    return nullptr;
  }
  if (apart) take_weights(*model, *apart);
  return model;
}

ir::Result<runtime::Value> read_tensor(std::string_view bytes) {
  pb::TensorProto tensor;
  if (bytes.size() > std::size_t(INT32_MAX) || !tensor.ParseFromArray(bytes.data(), int(bytes.size())))
    return support::Failure(source::message(diag::OnnxBadTensor, "", "its fields are damaged or cut off"));
  return tensor_value(tensor, {});
}

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  const pb::GraphProto& graph = model.proto.graph();
  std::unordered_set<std::string_view> weights;
  for (const auto& t : graph.initializer()) weights.insert(t.name());
  for (const auto& input : graph.input())
    if (!weights.contains(input.name())) names.push_back(input.name());
  return names;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& output : model.proto.graph().output()) names.push_back(output.name());
  return names;
}

}  // namespace rldb::onnx
