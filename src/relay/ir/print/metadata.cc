// The metadata section: a graph of JSON nodes that refer to each other by index, as written by TVM's SaveJSON.
#include <nlohmann/json.hpp>

#include "relay/ir/print/printer_impl.h"
#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/base64.h"

namespace rldb::relay::print_detail {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kConstantKey = "relay.Constant";

std::string tensor_text(const runtime::Tensor& t) {
  support::ByteWriter out;
  runtime::write_tensor(out, t, runtime::BoolCode::OneBit);
  return support::encode_base64(out.bytes());
}

class Writer {
 public:
  std::string write(const MetaTable& table) {
    nodes_.push_back({{"type_key", ""}});
    ordered_json keys = ordered_json::array(), sections = ordered_json::array();
    for (const MetaTable::Section& s : table.sections) {
      ordered_json items = ordered_json::array();
      for (const MetaEntry& e : s.entries) items.push_back(e.expr ? constant(e.expr) : object(e.object));
      keys.push_back(s.key);
      sections.push_back(add({{"type_key", "Array"}, {"data", items}}));
    }
    const std::size_t root = add({{"type_key", "Map"}, {"keys", keys}, {"data", sections}});
    const ordered_json text = {
        {"root", root}, {"nodes", nodes_}, {"b64ndarrays", tensors_}, {"attrs", {{"tvm_version", "0.10.0"}}}};
    return text.dump(2);
  }

 private:
  std::size_t add(ordered_json node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  std::size_t constant(const Expr* e) {
    tensors_.push_back(tensor_text(*cast<Constant>(e).tensor));
    const std::string data = std::to_string(tensors_.size() - 1);
    return add({{"type_key", kConstantKey},
                {"attrs", {{"_checked_type_", "0"}, {"data", data}, {"span", "0"}, {"virtual_device_", "0"}}}});
  }

  // Objects are not nested more deeply than the JSON from which they were read.
  std::size_t object(const MetaObject* o) {
    if (!o) return 0;
    if (const auto found = objects_.find(o); found != objects_.end()) return found->second;
    ordered_json node = {{"type_key", o->type_key}};
    if (o->is_sequence) {
      ordered_json items = ordered_json::array();
      for (const MetaField& f : o->fields) items.push_back(object(f.object));
      node["data"] = items;
    } else if (!o->fields.empty()) {
      for (const MetaField& f : o->fields)
        node["attrs"][std::string(f.name)] = f.object ? std::to_string(object(f.object)) : std::string(f.text);
    } else {
      node["repr_str"] = o->text;
    }
    return objects_[o] = add(std::move(node));
  }

  ordered_json nodes_ = ordered_json::array();
  ordered_json tensors_ = ordered_json::array();
  std::unordered_map<const MetaObject*, std::size_t> objects_;
};

}  // namespace

std::string MetaReferences::reference(std::string_view key, MetaEntry entry, const void* identity) {
  std::string& name = names_[identity];
  if (!name.empty()) return name;
  MetaTable::Section* section = nullptr;
  for (MetaTable::Section& s : table_.sections)
    if (s.key == key) section = &s;
  if (!section) section = &table_.sections.emplace_back(MetaTable::Section{key, {}});
  name = "meta[" + std::string(key) + "][" + std::to_string(section->entries.size()) + "]";
  section->entries.push_back(entry);
  return name;
}

std::string MetaReferences::constant(const Constant* c) { return reference(kConstantKey, {c, nullptr}, c); }
std::string MetaReferences::object(const MetaObject* o) { return reference(o->type_key, {nullptr, o}, o); }

std::string metadata_json(const MetaTable& table) { return Writer().write(table); }

}  // namespace rldb::relay::print_detail
