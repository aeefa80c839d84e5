// Reading of models, and the checks that everything after relies on: a graph is there, nesting is bounded.
#include "onnx/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
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

// If a domain is imported twice, the highest version counts.
std::int64_t Model::opset(const std::string& domain) const {
  std::int64_t version = 0;
  for (const auto& import : proto.opset_import())
    if (domain_name(import.domain()) == domain_name(domain)) version = std::max(version, import.version());
  // Before version 3 of the format a model did not say.
  return is_default_domain(domain) && proto.opset_import_size() == 0 ? 1 : version;
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

// Which name a graph, or one inside of it, gives twice, as a clause; empty: none.
template <class Nodes>
std::string doubled_in_nodes(const Nodes& nodes);

std::string doubled_in(const pb::GraphProto& graph) {
  const std::string input = doubled_name(graph.input()), weight = doubled_name(graph.initializer());
  if (!input.empty()) return fmt::format("two inputs of a graph are called `{}`", input);
  if (!weight.empty()) return fmt::format("two initialisers of a graph are called `{}`", weight);
  return doubled_in_nodes(graph.node());
}

template <class Nodes>
std::string doubled_in_nodes(const Nodes& nodes) {
  for (const auto& node : nodes)
    for (const auto& attr : node.attribute()) {
      std::string found = attr.has_g() ? doubled_in(attr.g()) : std::string();
      for (const auto& g : attr.graphs())
        if (found.empty()) found = doubled_in(g);
      if (!found.empty()) return found;
    }
  return {};
}

std::string doubled_in(const pb::ModelProto& model) {
  if (std::string found = doubled_in(model.graph()); !found.empty()) return found;
  std::unordered_set<std::string> functions;
  for (const auto& f : model.functions()) {
    const std::string id = domain_name(f.domain()) + '\0' + f.name() + '\0' + f.overload();
    if (!functions.insert(id).second) return fmt::format("two of its functions are called `{}`", f.name());
    std::unordered_set<std::string_view> inputs;
    for (const std::string& name : f.input())
      if (!inputs.insert(name).second)
        return fmt::format("two inputs of the function `{}` are called `{}`", f.name(), name);
    if (std::string found = doubled_in_nodes(f.node()); !found.empty()) return found;
  }
  return {};
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
  if (const std::string doubled = doubled_in(model->proto); !doubled.empty()) {
    out.add({}, source::message(diag::OnnxUnreadable, path, doubled));
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

std::vector<std::string> bindable_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& input : model.proto.graph().input()) names.push_back(input.name());
  return names;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& output : model.proto.graph().output()) names.push_back(output.name());
  return names;
}

}  // namespace rldb::onnx
