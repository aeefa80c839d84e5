// The program: its graph, its signature, its symbols.
#include "onnx/pt2/program.h"

#include <fmt/format.h>

#include <set>

#include "onnx/pt2/alias.h"
#include "onnx/pt2/graph.h"
#include "onnx/pt2/symbol.h"
#include "onnx/tensor.h"
#include "rldb/ops/emitter.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

class ProgramReader {
 public:
  ProgramReader(const Field& document, Weights& weights, Model& model)
      : document_(document), weights_(weights), model_(model) {}

  ir::Result<support::Unit> run() {
    RLDB_TRY_VOID(version());
    RLDB_TRY(const Field module, document_.at("graph_module"));
    RLDB_TRY(const Field graph, module.at("graph"));
    RLDB_TRY(const Field signature, module.at("signature"));
    pb::GraphProto& to = *model_.proto.mutable_graph();
    to.set_name("main");
    RLDB_TRY_VOID(GraphReader(model_).body(graph, to));
    for (const auto& info : to.value_info()) types_[info.name()] = &info.type();
    RLDB_TRY_VOID(inputs(signature));
    RLDB_TRY_VOID(outputs(signature));
    RLDB_TRY_VOID(ranges());
    RLDB_TRY_VOID(check_memory_changes(model_.proto.graph()));
    return imports();
  }

 private:
  ir::Result<support::Unit> version() {
    RLDB_TRY(const Field version, document_.at("schema_version"));
    RLDB_TRY(const Field major_field, version.at("major"));
    RLDB_TRY(const std::int64_t major, major_field.integer());
    RLDB_TRY(const Field minor_field, version.at("minor"));
    RLDB_TRY(const std::int64_t minor, minor_field.integer());
    if (major < 7 || major > 8)
      return ops::refuse(
          fmt::format("its schema has version {}.{}, and 7 and 8 (torch 2.5 to 2.9) are read", major, minor));
    model_.proto.set_producer_name("torch");
    if (document_.has("torch_version")) {
      RLDB_TRY(const Field torch, document_.at("torch_version"));
      RLDB_TRY(const std::string text, torch.text());
      model_.proto.set_producer_version(text);
    }
    model_.schema = fmt::format("{}.{}", major, minor);
    return support::Unit();
  }

  // The versions of the operators' namespaces. One that is not named has version 1.
  ir::Result<support::Unit> imports() {
    std::map<std::string, std::int64_t> versions;
    const auto walk = [&](const auto& self, const pb::GraphProto& graph) -> void {
      for (const auto& n : graph.node()) {
        versions.emplace(n.domain(), 1);
        for (const auto& a : n.attribute())
          if (a.has_g()) self(self, a.g());
      }
    };
    walk(walk, model_.proto.graph());
    if (document_.has("opset_version"))
      for (const auto& [name, version] : document_.value().at("opset_version").items())
        if (versions.contains(name) && version.is_number_integer() && version.get<std::int64_t>() > 0)
          versions[name] = version.get<std::int64_t>();
    for (const auto& [name, version] : versions) {
      auto& import = *model_.proto.add_opset_import();
      import.set_domain(name);
      import.set_version(version);
    }
    return support::Unit();
  }

  // ---- signature ----

  ir::Result<support::Unit> inputs(const Field& signature) {
    RLDB_TRY(const Field specs, signature.at("input_specs"));
    RLDB_TRY(const auto all, specs.items());
    for (const Field& spec : all) {
      support::poll();
      RLDB_TRY(const auto only, spec.only());
      const auto& [kind, inside] = only;
      if (kind == "constant_input" || kind == "token") continue;
      if (kind == "custom_obj") return inside.bad("is an object that is not a tensor");
      RLDB_TRY(const Field arg, inside.at("arg"));
      RLDB_TRY_VOID(kind == "user_input" ? user_input(arg) : weight(kind, inside, arg));
    }
    return support::Unit();
  }

  ir::Result<support::Unit> user_input(const Field& arg) {
    RLDB_TRY(const auto only, arg.only());
    RLDB_TRY(const std::string name, GraphReader::value_name(arg));
    // A number, string or None was made part of the program when it was exported.
    if (name.empty()) return support::Unit();
    if (only.first != "as_tensor")
      return arg.bad(fmt::format("makes `{}` an input that is a number, not a tensor", name));
    RLDB_TRY(const pb::TypeProto* type, type_of(name, arg));
    auto& info = *model_.proto.mutable_graph()->add_input();
    info.set_name(name);
    *info.mutable_type() = *type;
    return support::Unit();
  }

  ir::Result<support::Unit> weight(const std::string& kind, const Field& spec, const Field& arg) {
    const std::string_view key = kind == "parameter"         ? "parameter_name"
                                 : kind == "buffer"          ? "buffer_name"
                                 : kind == "tensor_constant" ? "tensor_constant_name"
                                                             : "";
    if (key.empty()) return spec.bad("is an input of a kind that is not known");
    RLDB_TRY(const Field name_field, arg.at("name"));
    RLDB_TRY(const std::string name, name_field.text());
    RLDB_TRY(const Field weight_field, spec.at(key));
    RLDB_TRY(const std::string saved_as, weight_field.text());
    bool is_state = kind == "parameter";
    if (kind == "buffer") {
      RLDB_TRY(const Field persistent, spec.at("persistent"));
      RLDB_TRY(is_state, persistent.truth());
    }
    RLDB_TRY(runtime::Value value, is_state ? weights_.state(saved_as) : weights_.constant(saved_as));
    auto& t = *model_.proto.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_doc_string(saved_as);
    for (const std::int64_t d : value.as_tensor().shape()) t.add_dims(d);
    RLDB_TRY(const pb::TypeProto* type, type_of(name, arg));
    t.set_data_type(type->tensor_type().elem_type());
    if (dtype_of(t.data_type()) != value.as_tensor().dtype())
      return arg.bad(fmt::format("and the archive's `{}` differ in type", saved_as));
    model_.weights.emplace(name, std::move(value));
    return support::Unit();
  }

  ir::Result<const pb::TypeProto*> type_of(const std::string& name, const Field& where) {
    const auto found = types_.find(name);
    if (found == types_.end())
      return where.bad(fmt::format("names `{}`, whose type the program does not record", name));
    return found->second;
  }

  ir::Result<support::Unit> outputs(const Field& signature) {
    RLDB_TRY(const Field specs, signature.at("output_specs"));
    RLDB_TRY(const auto all, specs.items());
    pb::GraphProto& graph = *model_.proto.mutable_graph();
    for (const Field& spec : all) {
      RLDB_TRY(const auto only, spec.only());
      if (only.first == "token") continue;
      RLDB_TRY(const Field arg, only.second.at("arg"));
      std::string name;
      // Only the argument of a user's output is a union.
      if (only.first == "user_output") {
        RLDB_TRY(name, GraphReader::value_name(arg));
      } else {
        RLDB_TRY(const Field field, arg.at("name"));
        RLDB_TRY(name, field.text());
      }
      if (name.empty()) continue;
      auto& info = *graph.add_output();
      info.set_name(name);
      if (const auto found = types_.find(name); found != types_.end()) *info.mutable_type() = *found->second;
    }
    if (graph.output_size() == 0) return ops::refuse("the program has no result that is a tensor");
    return support::Unit();
  }

  // ---- symbols ----

  ir::Result<support::Unit> ranges() {
    if (!document_.has("range_constraints")) return support::Unit();
    RLDB_TRY(const Field all, document_.at("range_constraints"));
    if (!all.value().is_object()) return all.bad("is not an object");
    for (const auto& [text, range] : all.value().items()) {
      const std::string symbol = symbol_of_text(text);
      if (symbol.empty() || !range.is_object()) continue;
      const auto bound = [&](const char* name) -> std::optional<std::int64_t> {
        const auto found = range.find(name);
        if (found == range.end() || !found->is_number_integer()) return std::nullopt;
        if (found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t(INT64_MAX)) return std::nullopt;
        return found->get<std::int64_t>();
      };
      model_.ranges.push_back({symbol, bound("min_val"), bound("max_val")});
    }
    return support::Unit();
  }

  const Field& document_;
  Weights& weights_;
  Model& model_;
  std::map<std::string, const pb::TypeProto*, std::less<>> types_;
};

}  // namespace

ir::Result<support::Unit> read_program(const Field& document, Weights& weights, Model& model) {
  return ProgramReader(document, weights, model).run();
}

}  // namespace rldb::onnx
