#include "rldb/ir/threads.h"

#include <utility>

#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
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

bool spans_memory(const DeclBuffer* d) {
  const Buffer* b = d->buffer;
  return b->scope.starts_with("shared") && b->shape.size() == 1 && b->strides.empty() &&
         (!b->elem_offset || is_const(b->elem_offset, 0));
}

Meeting meeting_of(Intrinsic id) {
  static constexpr std::pair<Intrinsic, Meeting> kRows[] = {
      {intrin::TvmStorageSync, Meeting::Barrier},      {intrin::TvmWarpShuffle, Meeting::Shuffle},
      {intrin::TvmWarpShuffleUp, Meeting::Shuffle},    {intrin::TvmWarpShuffleDown, Meeting::Shuffle},
      {intrin::TvmWarpShuffleXor, Meeting::Shuffle},   {intrin::TvmWarpActivemask, Meeting::ActiveMask},
      {intrin::TvmThreadAllreduce, Meeting::AllReduce}};
  for (const auto& [row, meeting] : kRows)
    if (row == id) return meeting;
  return Meeting::None;
}

Meeting meeting_of(const Expr* e) {
  const IntrinsicInfo* row = called_intrinsic(e);
  return row ? meeting_of(row->id) : Meeting::None;
}

bool has_barrier(const Node* n) {
  bool found = false;
  walk(n, [&](const Node* part) {
    const auto* e = as<Expr>(part);
    found = found || (e && meeting_of(e) != Meeting::None);
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
