#include "debug/kernel/written.h"

#include <algorithm>

#include "rldb/debug/kernel_result.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"
#include "rldb/session/session.h"

namespace rldb::debug {

using runtime::Value;

MatchedParts::MatchedParts(const ir::Stmt* body) {
  ir::walk(body, [&](const ir::Node* n) {
    if (const auto* block = ir::as<ir::SBlock>(n))
      for (const ir::MatchBufferRegion& part : block->match_buffers)
        wholes_[part.buffer->data] = part.source.buffer->data;
    return true;
  });
}

const ir::Var* MatchedParts::whole(const ir::Var* data) const {
  for (auto it = wholes_.find(data); it != wholes_.end(); it = wholes_.find(data)) data = it->second;
  return data;
}

std::vector<bool> written_parameters(const ir::PrimFunc* f) {
  std::vector<const ir::Var*> stored;
  const MatchedParts parts(f->body);
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* store = ir::as<ir::BufferStore>(n)) stored.push_back(parts.whole(store->buffer->data));
    return true;
  });
  std::vector<bool> list(f->params.size(), false);
  for (std::size_t i = 0; i < f->params.size(); ++i)
    if (f->params[i].buffer)
      list[i] = std::find(stored.begin(), stored.end(), f->params[i].buffer->data) != stored.end();
  return list;
}

Value kernel_result(const session::Session& session, std::string_view function, std::span<const Value> arguments) {
  const ir::Expr* found = session.module() ? session.module()->find(function) : nullptr;
  const auto* f = ir::as<ir::PrimFunc>(found);
  if (!f) return Value();
  const std::vector<bool> written = written_parameters(f);
  std::vector<Value> results;
  for (std::size_t i = 0; i < std::min(written.size(), arguments.size()); ++i)
    if (written[i]) results.push_back(arguments[i]);
  if (results.empty()) return Value();
  return results.size() == 1 ? results[0] : Value::of_tuple(std::move(results));
}

}  // namespace rldb::debug
