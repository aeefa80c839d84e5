#include "passes/distributed/mesh.h"

#include <algorithm>
#include <charconv>

#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

std::optional<std::int64_t> sharded_axis(std::string_view placement) {
  if (!placement.starts_with("S[") || !placement.ends_with("]")) return std::nullopt;
  std::int64_t axis = 0;
  const char* end = placement.data() + placement.size() - 1;
  const auto [stop, error] = std::from_chars(placement.data() + 2, end, axis);
  return error == std::errc() && stop == end ? std::optional(axis) : std::nullopt;
}

const Attr* mesh_of(const Module* module, const Attr* mesh) {
  if (!mesh || !mesh->is(AttrKind::String)) return mesh;
  const std::string_view text = mesh->string;
  const std::size_t open = text.find('[');
  std::size_t at = 0;
  if (open != std::string_view::npos) std::from_chars(text.data() + open + 1, text.data() + text.size(), at);
  for (const GlobalInfo& info : module->global_infos)
    if (info.key == text.substr(0, open) && at < info.items.size()) return info.items[at];
  return nullptr;
}

std::vector<std::int64_t> mesh_shape(const Attr* mesh) {
  std::vector<std::int64_t> out;
  if (!mesh || !mesh->is(AttrKind::Opaque) || mesh->items.empty()) return out;
  for (const Attr* n : mesh->items[0]->items) {
    const auto size = n->is(AttrKind::Expr)  ? const_int(as<Expr>(n->node))
                      : n->is(AttrKind::Int) ? std::optional(n->integer)
                                             : std::nullopt;
    if (!size) return {};
    out.push_back(*size);
  }
  return out;
}

std::optional<std::int64_t> mesh_workers(const Attr* mesh) {
  const std::vector<std::int64_t> shape = mesh_shape(mesh);
  return shape.size() == 1 ? std::optional(shape[0]) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> placement_axes(std::string_view placement) {
  std::vector<std::int64_t> out;
  while (!placement.empty()) {
    const std::size_t comma = std::min(placement.find(','), placement.size());
    std::string_view item = placement.substr(0, comma);
    placement.remove_prefix(std::min(comma + 1, placement.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const auto axis = item == "R" ? std::optional(kReplica) : sharded_axis(item);
    if (!axis) return std::nullopt;
    out.push_back(*axis);
  }
  return out;
}

std::string placement_text(const std::vector<std::int64_t>& axes) {
  std::string out;
  for (const std::int64_t a : axes)
    out += (out.empty() ? "" : ", ") + (a == kReplica ? std::string("R") : "S[" + std::to_string(a) + "]");
  return out;
}

std::string distributed_name(std::string_view function) {
  const std::size_t at = function.rfind('.') + 1;
  return std::string(function.substr(0, at)) + "distributed." + std::string(function.substr(at));
}

}  // namespace rldb::passes
