// Reading of graphs.
#include "onnx/pt2/graph.h"

#include <fmt/format.h>

#include "onnx/pt2/alias.h"
#include "onnx/pt2/scalar_type.h"
#include "onnx/pt2/symbol.h"
#include "rldb/ops/emitter.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

struct OperatorName {
  std::string domain, name;
};

// `torch.ops.aten.add.Tensor`, `_operator.mul`, `torch.sym_max`
OperatorName operator_name(const std::string& target) {
  constexpr std::string_view kOps = "torch.ops.";
  std::string rest = target, domain;
  if (target.starts_with(kOps))
    rest = target.substr(kOps.size());
  else if (target.starts_with("_operator."))
    rest = target.substr(1);
  const std::size_t dot = rest.find('.');
  if (dot == std::string::npos) return {"python", rest};
  return {rest.substr(0, dot), rest.substr(dot + 1)};
}

// `layer1.conv1`, from entries `key,path,class` of the modules around a call, outermost first.
std::string module_path(const std::string& stack) {
  const std::size_t begin = stack.rfind(';') + 1;  // npos + 1 is 0
  const std::size_t first = stack.find(',', begin);
  if (first == std::string::npos) return {};
  const std::size_t second = stack.find(',', first + 1);
  return stack.substr(first + 1, second == std::string::npos ? second : second - first - 1);
}

// `model.py:12`, from the last line `File "/x/model.py", line 12, in forward` of a trace.
std::string source_line(const std::string& trace) {
  const std::size_t at = trace.rfind("File \"");
  if (at == std::string::npos) return {};
  const std::size_t end = trace.find('"', at + 6), line = trace.find("line ", at);
  if (end == std::string::npos || line == std::string::npos) return {};
  const std::string path = trace.substr(at + 6, end - at - 6);
  const std::size_t digits = trace.find_first_not_of("0123456789", line + 5);
  return path.substr(path.rfind('/') + 1) + ":" + trace.substr(line + 5, digits - line - 5);
}

std::string text_field(const Field& f, std::string_view name) {
  if (!f.has(name)) return {};
  const auto& value = f.value().at(std::string(name));
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string note_of(const Field& node) {
  if (!node.has("metadata")) return {};
  const Field metadata(node.value().at("metadata"), "metadata");
  const std::string module = module_path(text_field(metadata, "nn_module_stack")),
                    line = source_line(text_field(metadata, "stack_trace"));
  return module + (module.empty() || line.empty() ? "" : ", ") + line;
}

ir::Result<support::Unit> add_dim(const Field& size, pb::TensorShapeProto& to) {
  RLDB_TRY(const auto only, size.only());
  auto& dim = *to.add_dim();
  if (only.first == "as_int") {
    RLDB_TRY(const std::int64_t n, only.second.integer());
    dim.set_dim_value(n);
    return support::Unit();
  }
  if (only.first != "as_expr") return size.bad("is neither a number nor an expression");
  RLDB_TRY(const Field text, only.second.at("expr_str"));
  RLDB_TRY(const std::string expression, text.text());
  dim.set_dim_param(short_size(expression));
  return support::Unit();
}

}  // namespace

ir::Result<support::Unit> type_of_meta(const Field& meta, pb::TypeProto& to) {
  RLDB_TRY(const Field dtype, meta.at("dtype"));
  RLDB_TRY(const std::int64_t number, dtype.integer());
  auto& tensor = *to.mutable_tensor_type();
  // A type that ONNX has not is an error where it is used: `dtype_of` of 0 is none.
  tensor.set_elem_type(onnx_type_of_scalar(number).value_or(0));
  RLDB_TRY(const Field sizes, meta.at("sizes"));
  RLDB_TRY(const auto all, sizes.items());
  auto& shape = *tensor.mutable_shape();
  for (const Field& size : all) RLDB_TRY_VOID(add_dim(size, shape));
  return support::Unit();
}

ir::Result<std::string> GraphReader::value_name(const Field& argument) {
  RLDB_TRY(const auto only, argument.only());
  const bool is_number = only.first == "as_sym_int" || only.first == "as_sym_float" || only.first == "as_sym_bool";
  if (only.first != "as_tensor" && !is_number) return std::string();
  const std::string_view key = is_number ? "as_name" : "name";
  if (!only.second.has(key)) return std::string();
  RLDB_TRY(const Field name, only.second.at(key));
  return name.text();
}

ir::Result<support::Unit> GraphReader::types(const Field& graph, pb::GraphProto& to) {
  RLDB_TRY(const Field tensors, graph.at("tensor_values"));
  if (!tensors.value().is_object()) return tensors.bad("is not an object");
  for (const auto& [name, meta] : tensors.value().items()) {
    support::poll();
    auto& info = *to.add_value_info();
    info.set_name(name);
    RLDB_TRY_VOID(type_of_meta(Field(meta, tensors.path() + "." + name), *info.mutable_type()));
  }
  return support::Unit();
}

ir::Result<support::Unit> GraphReader::body(const Field& graph, pb::GraphProto& to) {
  RLDB_TRY_VOID(types(graph, to));
  RLDB_TRY(const Field nodes, graph.at("nodes"));
  RLDB_TRY(const auto all, nodes.items());
  for (const Field& n : all) {
    support::poll();
    RLDB_TRY_VOID(node(n, *to.add_node()));
  }
  return support::Unit();
}

// ---- nodes ----

ir::Result<support::Unit> GraphReader::node(const Field& from, pb::NodeProto& to) {
  RLDB_TRY(const Field target, from.at("target"));
  RLDB_TRY(const std::string name, target.text());
  const OperatorName called = operator_name(name);
  to.set_domain(called.domain);
  to.set_op_type(called.name);
  to.set_doc_string(note_of(from));
  RLDB_TRY(const Field inputs, from.at("inputs"));
  RLDB_TRY(const auto arguments, inputs.items());
  Arguments made;
  for (const Field& named : arguments) {
    RLDB_TRY(Argument a, argument(named, to));
    made.all.push_back(std::move(a));
  }
  model_.arguments[&to] = std::move(made);
  // Names of the graph around it could share the memory.
  if (depth_ > 0 && changes_in_place(to)) return target.bad("changes a tensor in place inside of a branch");
  RLDB_TRY(const Field results, from.at("outputs"));
  RLDB_TRY(const auto all, results.items());
  for (const Field& result : all) RLDB_TRY_VOID(outputs(result, to));
  for (const std::string& output : to.output()) {
    if (output.empty()) continue;
    to.set_name(output);
    break;
  }
  return support::Unit();
}

ir::Result<support::Unit> GraphReader::outputs(const Field& argument, pb::NodeProto& to) {
  RLDB_TRY(const auto only, argument.only());
  if (only.first == "as_tensors" || only.first == "as_optional_tensors") {
    RLDB_TRY(const auto all, only.second.items());
    for (const Field& one : all) {
      const bool optional = only.first == "as_optional_tensors";
      RLDB_TRY(
          const std::string name, optional ? value_name(one) : [&]() -> ir::Result<std::string> {
            RLDB_TRY(const Field field, one.at("name"));
            return field.text();
          }());
      to.add_output(name);
    }
    return support::Unit();
  }
  RLDB_TRY(const std::string name, value_name(argument));
  to.add_output(name);
  return support::Unit();
}

ir::Result<Argument> GraphReader::argument(const Field& named, pb::NodeProto& to) {
  Argument made;
  RLDB_TRY(const Field name, named.at("name"));
  RLDB_TRY(made.name, name.text());
  RLDB_TRY(const Field value, named.at("arg"));
  RLDB_TRY(const auto only, value.only());
  const auto& [kind, inside] = only;
  if (kind == "as_graph") {
    RLDB_TRY_VOID(branch(inside, to, made));
    return made;
  }
  RLDB_TRY_VOID(items(kind, inside, to, made));
  return made;
}

ir::Result<support::Unit> GraphReader::items(const std::string& kind, const Field& value, pb::NodeProto& to,
                                             Argument& made) {
  // A list is the plural of its items' kind.
  made.is_list = kind.ends_with("s") && kind != "as_class";
  if (!made.is_list) {
    RLDB_TRY(Item one, item(kind, value, to));
    made.items.push_back(std::move(one));
    return support::Unit();
  }
  RLDB_TRY(const auto all, value.items());
  for (const Field& v : all) {
    RLDB_TRY(Item one, item(std::string_view(kind).substr(0, kind.size() - 1), v, to));
    made.items.push_back(std::move(one));
  }
  return support::Unit();
}

ir::Result<Item> GraphReader::item(std::string_view kind, const Field& value, pb::NodeProto& to) {
  const auto operand = [&](Item::Kind as, std::string_view key) -> ir::Result<Item> {
    RLDB_TRY(const Field field, value.at(key));
    RLDB_TRY(const std::string name, field.text());
    to.add_input(name);
    return Item{as, to.input_size() - 1, 0, {}};
  };
  Item made;
  if (kind == "as_none") return made;
  if (kind == "as_tensor") return operand(Item::Kind::Tensor, "name");
  if (kind == "as_optional_tensor") {
    RLDB_TRY(const auto only, value.only());
    return item(only.first, only.second, to);
  }
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    if (value.has("as_name")) return operand(Item::Kind::Symbol, "as_name");
    RLDB_TRY(const auto only, value.only());
    return item(only.first, only.second, to);
  }
  if (kind == "as_int" || kind == "as_scalar_type" || kind == "as_memory_format" || kind == "as_layout") {
    made.kind = Item::Kind::Int;
    RLDB_TRY(made.number, value.integer());
    return made;
  }
  if (kind == "as_float") {
    made.kind = Item::Kind::Real;
    RLDB_TRY(made.real, value.real());
    return made;
  }
  if (kind == "as_bool") {
    made.kind = Item::Kind::Truth;
    RLDB_TRY(made.number, value.truth());
    return made;
  }
  if (kind == "as_string" || kind == "as_operator") {
    made.kind = Item::Kind::Text;
    RLDB_TRY(made.text, value.text());
    return made;
  }
  if (kind == "as_device") {
    made.kind = Item::Kind::Text;
    made.text = text_field(value, "type");
    return made;
  }
  return value.bad(fmt::format("is an argument of `{}.{}`, of a kind that is not read", to.domain(), to.op_type()));
}

ir::Result<support::Unit> GraphReader::branch(const Field& value, pb::NodeProto& to, Argument& made) {
  if (++depth_ > kMaxNesting) return value.bad("is nested too deep");
  auto& attribute = *to.add_attribute();
  RLDB_TRY(const Field name, value.at("name"));
  RLDB_TRY(const std::string called, name.text());
  attribute.set_name(made.name);
  pb::GraphProto& graph = *attribute.mutable_g();
  graph.set_name(called);
  RLDB_TRY(const Field from, value.at("graph"));
  RLDB_TRY_VOID(body(from, graph));
  for (const bool is_input : {true, false}) {
    RLDB_TRY(const Field values, from.at(is_input ? "inputs" : "outputs"));
    RLDB_TRY(const auto all, values.items());
    for (const Field& v : all) {
      RLDB_TRY(const std::string of, value_name(v));
      if (of.empty()) return v.bad("is not a value of the graph");
      (is_input ? graph.add_input() : graph.add_output())->set_name(of);
    }
  }
  made.graph = &graph;
  --depth_;
  return support::Unit();
}

}  // namespace rldb::onnx
