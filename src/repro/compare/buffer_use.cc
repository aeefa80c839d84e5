#include "repro/compare/buffer_use.h"

#include <unordered_map>

#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

class Use {
 public:
  explicit Use(const ir::PrimFunc* f) : uses_(f->params.size()) {
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      if (f->params[i].buffer) owner_[f->params[i].buffer->data] = i;
      if (f->params[i].var) owner_.emplace(f->params[i].var, i);
    }
  }

  std::vector<BufferUse> run(const ir::Stmt* body) {
    find_views(body);
    ir::walk(body, [&](const ir::Node* n) {
      visit(n);
      return !declared_over(n);  // a declaration does not pass the pointer on
    });
    return uses_;
  }

 private:
  // Views of a buffer created by blocks and declarations count as the buffer.
  void find_views(const ir::Stmt* body) {
    ir::walk(body, [&](const ir::Node* n) {
      if (const auto* block = as<ir::SBlock>(n))
        for (const ir::MatchBufferRegion& m : block->match_buffers) alias(m.buffer, m.source.buffer->data);
      if (const ir::Var* data = declared_over(n)) alias(as<ir::DeclBuffer>(n)->buffer, data);
      return true;
    });
  }

  // The pointer of a buffer declared over another one's memory; null: it is not such a declaration.
  static const ir::Var* declared_over(const ir::Node* n) {
    const auto* declared = as<ir::DeclBuffer>(n);
    return declared && declared->data ? as<ir::Var>(declared->data) : nullptr;
  }

  void alias(const ir::Buffer* view, const ir::Var* of) {
    if (const auto it = owner_.find(of); it != owner_.end()) owner_.emplace(view->data, it->second);
  }

  BufferUse* of(const ir::Var* data) {
    const auto it = owner_.find(data);
    return it == owner_.end() ? nullptr : &uses_[it->second];
  }

  void visit(const ir::Node* n) {
    if (const auto* load = as<ir::BufferLoad>(n)) {
      if (BufferUse* use = of(load->buffer->data)) use->read = true;
    } else if (const auto* store = as<ir::BufferStore>(n)) {
      if (BufferUse* use = of(store->buffer->data)) use->written = true;
    } else if (const auto* v = as<ir::Var>(n)) {
      if (BufferUse* use = of(v)) *use = {true, true};  // its pointer escapes
    }
  }

  std::vector<BufferUse> uses_;
  std::unordered_map<const ir::Var*, std::size_t> owner_;
};

}  // namespace

std::vector<BufferUse> buffer_use(const ir::PrimFunc* f) { return Use(f).run(f->body); }

}  // namespace rldb::repro
