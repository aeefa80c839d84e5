#include "debug/kernel/written.h"

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

std::vector<bool> written_parameters(const ir::PrimFunc* f) {
  std::vector<const ir::Var*> stored;
  std::unordered_map<const ir::Var*, const ir::Var*> matched;  // data of a part -> data of the whole
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* store = ir::as<ir::BufferStore>(n)) stored.push_back(store->buffer->data);
    if (const auto* block = ir::as<ir::SBlock>(n))
      for (const ir::MatchBufferRegion& part : block->match_buffers)
        matched[part.buffer->data] = part.source.buffer->data;
    return true;
  });
  for (const ir::Var*& data : stored)
    for (auto it = matched.find(data); it != matched.end(); it = matched.find(data)) data = it->second;
  std::vector<bool> list(f->params.size(), false);
  for (std::size_t i = 0; i < f->params.size(); ++i)
    if (f->params[i].buffer)
      list[i] = std::find(stored.begin(), stored.end(), f->params[i].buffer->data) != stored.end();
  return list;
}

}  // namespace rldb::debug
