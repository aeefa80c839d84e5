#include "passes/distributed/mesh.h"

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

std::optional<std::int64_t> mesh_workers(const Attr* mesh) {
  const Attr* shape = mesh && mesh->is(AttrKind::Opaque) && !mesh->items.empty() ? mesh->items[0] : nullptr;
  if (!shape || shape->items.size() != 1) return std::nullopt;
  const Attr* n = shape->items[0];
  if (n->is(AttrKind::Expr)) return const_int(as<Expr>(n->node));
  return n->is(AttrKind::Int) ? std::optional(n->integer) : std::nullopt;
}

}  // namespace rldb::passes
