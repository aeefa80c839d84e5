#include "passes/distributed/mesh.h"

#include <charconv>

#include "rldb/ir/placement.h"
#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

std::optional<std::int64_t> sharded_axis(std::string_view placement) {
  const auto axes = placement_axes(placement);
  return axes && axes->size() == 1 && (*axes)[0] != kReplica ? std::optional<std::int64_t>((*axes)[0]) : std::nullopt;
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

std::string distributed_name(std::string_view function) {
  const std::size_t at = function.rfind('.') + 1;
  return std::string(function.substr(0, at)) + "distributed." + std::string(function.substr(at));
}

}  // namespace rldb::passes
