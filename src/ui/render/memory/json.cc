// Memory plans as JSON. A size is a number, or null along with the text of its expression.
#include <nlohmann/json.hpp>

#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/render/memory_view.h"

namespace rldb::ui {

namespace {

using nlohmann::json;

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json size_json(const passes::MemorySize& size) {
  return {{"bytes", optional_json(size.value)},
          {"expression", size.bytes ? json(ir::print_expr(size.bytes)) : json(nullptr)}};
}

json sum_json(const passes::MemorySum& sum) { return {{"bytes", optional_json(sum.value)}, {"expression", sum.text}}; }

json with_kind(json object, const passes::MemoryKind& kind) {
  object["dtype"] = runtime::to_string(kind.dtype);
  object["scope"] = kind.scope;
  object["device"] = kind.device;
  return object;
}

json tensor_json(const passes::FunctionMemory& m, const passes::MemoryTensor& t, const MemoryView& view) {
  return with_kind({{"name", t.name},
                    {"line", view.line_of ? view.line_of(t) : 0},
                    {"storage", t.storage},
                    {"begin", t.begin},
                    {"end", t.end},
                    {"size", size_json(t.size)},
                    {"alone", passes::why_alone(m, t)}},
                   t.kind);
}

json function_json(const passes::FunctionMemory& m, const MemoryView& view) {
  json tensors = json::array();
  for (const passes::MemoryTensor& t : m.tensors) tensors.push_back(tensor_json(m, t, view));
  json storages = json::array();
  for (const passes::MemoryStorage& s : m.storages)
    storages.push_back(with_kind({{"name", s.name},
                                  {"begin", s.begin},
                                  {"end", s.end},
                                  {"size", size_json(s.size)},
                                  {"shared", s.shared},
                                  {"tensors", s.tensors}},
                                 s.kind));
  return {{"function", m.function},
          {"planned", !m.preview},
          {"bindings", m.bindings},
          {"total", sum_json(m.total)},
          {"unshared", sum_json(m.unshared)},
          {"peak", {{"bytes", optional_json(m.peak)}, {"at", m.peak_at}}},
          {"in_use", {{"bytes", optional_json(m.needed)}, {"at", m.needed_at}}},
          {"open_dims", m.open_dims},
          {"storages", std::move(storages)},
          {"tensors", std::move(tensors)}};
}

}  // namespace

std::string sharing_json(const passes::FunctionMemory& m, std::size_t tensor, const MemoryView& view) {
  const passes::MemoryTensor& t = m.tensors[tensor];
  json others = json::array();
  const bool alone = !passes::why_alone(m, t).empty();
  for (std::size_t i = 0; !alone && i < m.tensors.size(); ++i) {
    support::poll();
    if (i != tensor) others.push_back({{"name", m.tensors[i].name}, {"why", passes::why_apart(m, tensor, i)}});
  }
  return json{{"function", m.function},
              {"tensor", tensor_json(m, t, view)},
              {"storage", m.storages[t.storage].name},
              {"others", std::move(others)}}
      .dump(2);
}

std::string memory_json(const std::vector<passes::FunctionMemory>& functions, const MemoryView& view) {
  json rows = json::array();
  for (const passes::FunctionMemory& m : functions) rows.push_back(function_json(m, view));
  return json{{"functions", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace rldb::ui
