// The listing: `[3] /conv1/Conv: y = Conv(x, w) {kernel_shape = [3, 3]}`, one line for each node.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/model.h"
#include "onnx/tensor.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

constexpr int kMostItems = 8;

// Names may contain anything; a line of the listing must stay one.
std::string one_line(const std::string& text) {
  std::string made;
  for (const char c : text.substr(0, 200)) made += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return made;
}

template <class Items, class Text>
std::string joined(const Items& items, Text&& text) {
  std::string made;
  int count = 0;
  for (const auto& item : items) {
    if (count++) made += ", ";
    if (count > kMostItems) return made + "...";
    made += text(item);
  }
  return made;
}

std::string shape_text(const pb::TensorShapeProto& shape) {
  return joined(shape.dim(), [](const auto& d) {
    return d.has_dim_value() ? fmt::to_string(d.dim_value()) : d.has_dim_param() ? one_line(d.dim_param()) : "?";
  });
}

std::string type_text(const pb::TypeProto& type) {
  if (type.value_case() == pb::TypeProto::VALUE_NOT_SET) return "?";
  if (!type.has_tensor_type()) return "not a tensor";
  const auto& t = type.tensor_type();
  return dtype_name(t.elem_type()) + (t.has_shape() ? fmt::format("[{}]", shape_text(t.shape())) : "");
}

std::string tensor_text(const pb::TensorProto& t) {
  return fmt::format("{}[{}]", dtype_name(t.data_type()),
                     joined(t.dims(), [](std::int64_t d) { return fmt::to_string(d); }));
}

std::string attribute_text(const pb::AttributeProto& a) {
  if (a.has_ref_attr_name()) return "@" + one_line(a.ref_attr_name());
  if (a.has_t()) return tensor_text(a.t());
  if (a.has_g()) return "graph " + one_line(a.g().name());
  if (a.ints_size()) return fmt::format("[{}]", joined(a.ints(), [](auto v) { return fmt::to_string(v); }));
  if (a.floats_size()) return fmt::format("[{}]", joined(a.floats(), [](float v) { return fmt::format("{}", v); }));
  if (a.strings_size())
    return fmt::format("[{}]", joined(a.strings(), [](const auto& v) { return '"' + one_line(v) + '"'; }));
  if (a.has_s()) return '"' + one_line(a.s()) + '"';
  if (a.has_f()) return fmt::format("{}", a.f());
  if (a.has_i()) return fmt::to_string(a.i());
  return "[]";
}

class Lister {
 public:
  Listing result;

  void model(const Model& m) {
    model_ = &m;
    const std::string kind = m.is_exported() ? "pytorch program, schema " + one_line(m.schema)
                                             : fmt::format("onnx model, ir_version {}", m.proto.ir_version());
    line(0, fmt::format("{}{}{}{}", kind, m.proto.producer_name().empty() ? "" : ", by ",
                        one_line(m.proto.producer_name()),
                        m.proto.producer_version().empty() ? "" : " " + one_line(m.proto.producer_version())));
    for (const auto& import : m.proto.opset_import())
      line(0, fmt::format("opset {} {}", one_line(domain_name(import.domain())), import.version()));
    graph(m.proto.graph(), 0);
    for (const auto& f : m.proto.functions()) function(f);
  }

 private:
  const Model* model_ = nullptr;

  void line(int depth, const std::string& text) {
    result.text.append(std::size_t(2 * depth), ' ');
    result.text += text;
    result.text += '\n';
  }

  void graph(const pb::GraphProto& g, int depth) {
    line(depth, "graph " + one_line(g.name()));
    for (const auto& v : g.input())
      line(depth + 1, fmt::format("input {}: {}", one_line(v.name()), type_text(v.type())));
    for (const auto& t : g.initializer())
      line(depth + 1, fmt::format("initializer {}: {}", one_line(t.name()), tensor_text(t)));
    nodes(g.node(), depth + 1);
    for (const auto& v : g.output())
      line(depth + 1, fmt::format("output {}: {}", one_line(v.name()), type_text(v.type())));
  }

  void function(const pb::FunctionProto& f) {
    const auto name = [](const std::string& v) { return one_line(v); };
    line(0, fmt::format("function {}.{}({}) -> {}", one_line(domain_name(f.domain())), one_line(f.name()),
                        joined(f.input(), name), joined(f.output(), name)));
    nodes(f.node(), 1);
  }

  template <class Nodes>
  void nodes(const Nodes& all, int depth) {
    int index = 0;
    for (const auto& node : all) {
      support::poll();
      const auto begin = std::uint32_t(result.text.size() + std::size_t(2 * depth));
      line(depth, node_text(node, index++));
      result.places[&node] = {begin, std::uint32_t(result.text.size() - 1)};
      for (const auto& a : node.attribute()) {
        if (a.has_g()) graph(a.g(), depth + 1);
        for (const auto& g : a.graphs()) graph(g, depth + 1);
      }
    }
  }

  // The literal arguments, the module and the line of the program.
  std::string arguments_text(const pb::NodeProto& node) {
    std::string text;
    const auto given = model_->arguments.find(&node);
    for (const Argument& a : given == model_->arguments.end() ? std::vector<Argument>() : given->second.all) {
      if (a.graph) text += (text.empty() ? "" : ", ") + one_line(a.name) + " = graph " + one_line(a.graph->name());
      const bool operands = std::all_of(a.items.begin(), a.items.end(), [](const Item& i) {
        return i.kind == Item::Kind::Tensor || i.kind == Item::Kind::None;
      });
      if (a.graph || operands) continue;
      const std::string items = joined(a.items, [&](const Item& i) { return item_text(node, i); });
      text += (text.empty() ? "" : ", ") + one_line(a.name) + " = " + (a.is_list ? "[" + items + "]" : items);
    }
    if (!text.empty()) text = " {" + text + "}";
    return text + (node.doc_string().empty() ? "" : "  # " + one_line(node.doc_string()));
  }

  static std::string item_text(const pb::NodeProto& node, const Item& i) {
    switch (i.kind) {
      case Item::Kind::None:
        return "None";
      case Item::Kind::Tensor:
      case Item::Kind::Symbol:
        return one_line(node.input(int(i.number)));
      case Item::Kind::Int:
        return fmt::to_string(i.number);
      case Item::Kind::Real:
        return fmt::format("{}", i.real);
      case Item::Kind::Truth:
        return i.number ? "True" : "False";
      case Item::Kind::Text:
        return '"' + one_line(i.text) + '"';
    }
    return {};
  }

  std::string node_text(const pb::NodeProto& node, int index) {
    const auto name = [](const std::string& v) { return v.empty() ? std::string("-") : one_line(v); };
    std::string text = fmt::format("[{}] ", index);
    if (!node.name().empty()) text += one_line(node.name()) + ": ";
    text += joined(node.output(), name) + " = ";
    if (!is_default_domain(node.domain())) text += one_line(node.domain()) + ".";
    text += fmt::format("{}({})", one_line(node.op_type()), joined(node.input(), name));
    if (model_->is_exported()) return text + arguments_text(node);
    if (node.attribute_size() == 0) return text;
    return text + fmt::format(" {{{}}}", joined(node.attribute(), [](const auto& a) {
                                return one_line(a.name()) + " = " + attribute_text(a);
                              }));
  }
};

}  // namespace

std::string node_label(const pb::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("#{}", index) : one_line(node.name());
}

Listing list_model(const Model& model) {
  Lister lister;
  lister.model(model);
  return std::move(lister.result);
}

std::string listing(const Model& model) { return list_model(model).text; }

}  // namespace rldb::onnx
