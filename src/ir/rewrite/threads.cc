#include "rldb/ir/threads.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {

std::string_view thread_tag(const Stmt* s) {
  if (const auto* loop = as<ForStmt>(s)) return loop->for_kind == ForKind::ThreadBinding ? loop->thread_tag : "";
  const auto* attr = as<AttrStmt>(s);
  if (!attr || !attr->thread_var || !attr->node) return {};
  std::string_view tag;
  for (const Attr* item : attr->node->items)
    if (item->is(AttrKind::String)) tag = item->string;
  for (const NamedAttr& f : attr->node->fields)
    if (f.value->is(AttrKind::String)) tag = f.value->string;
  return tag;
}

bool has_barrier(const Node* n) {
  bool found = false;
  walk(n, [&](const Node* part) {
    const auto* e = as<Expr>(part);
    found = found || (e && is_call_of(e, Intrinsic::TvmStorageSync));
    return !found;
  });
  return found;
}

bool threads_wait(const Stmt* body) {
  bool found = false;
  walk(body, [&](const Node* part) {
    const auto* s = as<Stmt>(part);
    if (found || !s || thread_tag(s).empty()) return !found;
    found = has_barrier(s);
    return false;
  });
  return found;
}

}  // namespace rldb::ir
