// A model as it was read, and the places of its nodes in its listing. Inside the room only.
#pragma once

#include <onnx.pb.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/pt2/arguments.h"
#include "rldb/onnx/model.h"

namespace rldb::onnx {

namespace pb = ::onnx;

// Subgraphs and functions inside each other; a model that has more is refused.
inline constexpr int kMaxNesting = 50;
// The opset up to which the definitions of operators are known.
inline constexpr std::int64_t kNewestOpset = 22;

// The numbers that a symbol of a PyTorch program stands for.
struct SymbolRange {
  std::string name;
  std::optional<std::int64_t> least, most;
};

class Model {
 public:
  pb::ModelProto proto;
  std::string folder;  // of the file, for external data
  std::string path;
  std::unordered_map<std::string, runtime::Value> weights;  // of initialisers of the graph, which have no data then

  // Of an archive of PyTorch (pt2/), whose program has the form of an ONNX graph:
  std::string schema;                                             // its version; empty: an ONNX model
  std::unordered_map<const pb::NodeProto*, Arguments> arguments;  // of each node
  std::vector<SymbolRange> ranges;

  bool is_exported() const { return !schema.empty(); }

  std::int64_t opset(const std::string& domain) const;  // 0: not imported
  const pb::FunctionProto* function(const std::string& domain, const std::string& name) const;
};

// The first name that two of these have (inputs, attributes); empty: none. Empty names are none.
template <class All>
std::string doubled_name(const All& all) {
  std::unordered_set<std::string_view> seen;
  for (const auto& one : all)
    if (!one.name().empty() && !seen.insert(one.name()).second) return one.name();
  return {};
}

// The default domain, which is also written as an empty text.
inline constexpr std::string_view kOnnxDomain = "ai.onnx";
bool is_default_domain(const std::string& domain);
std::string domain_name(const std::string& domain);

// The text, and the range of the line of each node.
struct Listing {
  std::string text;
  std::unordered_map<const pb::NodeProto*, std::pair<std::uint32_t, std::uint32_t>> places;
};
Listing list_model(const Model& model);

// `/layer1/conv1/Conv`, or `#3`.
std::string node_label(const pb::NodeProto& node, int index);

}  // namespace rldb::onnx
