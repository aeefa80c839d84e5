// Which statements of threads are one thread, by what differs between the threads of the outer one.
#include "rldb/ir/nested_threads.h"

#include <unordered_set>

#include "rldb/ir/walk.h"

namespace rldb::ir {

const Var* thread_var(const Stmt* s) {
  const auto* loop = as<ForStmt>(s);
  return loop ? loop->var : as<AttrStmt>(s)->thread_var;
}

namespace {

// Variables that differ between the threads of one statement, and memory that each of them has.
class OfThread {
 public:
  explicit OfThread(const Stmt* threads) {
    found_.insert(thread_var(threads));
    walk(threads, [&](const Node* n) {
      define(n);
      return true;
    });
  }

  bool is_used_in(const Node* n, const Var* except) const {
    bool used = false;
    walk(n, [&](const Node* part) {
      const auto* v = as<Var>(part);
      const auto* load = as<BufferLoad>(part);
      const auto* store = as<BufferStore>(part);
      used = used || (v && v != except && found_.contains(v)) || (load && found_.contains(load->buffer->data)) ||
             (store && found_.contains(store->buffer->data));
      return !used;
    });
    return used;
  }

 private:
  void define(const Node* n) {
    if (const auto* b = as<BindStmt>(n); b && is_used_in(b->value, nullptr)) found_.insert(b->var);
    if (const auto* loop = as<ForStmt>(n))
      if (is_used_in(loop->min, nullptr) || is_used_in(loop->extent, nullptr)) found_.insert(loop->var);
    if (const auto* realize = as<SBlockRealize>(n))
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i)
        if (is_used_in(realize->iter_values[i], nullptr)) found_.insert(realize->block->iter_vars[i].var);
    const auto own = [&](const Buffer* b) {
      if (b->scope == "local") found_.insert(b->data);
    };
    if (const auto* block = as<SBlock>(n))
      for (const Buffer* b : block->alloc_buffers) own(b);
    if (const auto* a = as<AllocBuffer>(n)) own(a->buffer);
    if (const auto* d = as<DeclBuffer>(n); d && !d->data) own(d->buffer);
    if (const auto* a = as<AllocateStmt>(n); a && a->scope == "local") found_.insert(a->var);
  }

  std::unordered_set<const Var*> found_;
};

}  // namespace

bool needs_outer_thread(const Stmt* outer, const Stmt* inner) {
  return OfThread(outer).is_used_in(inner, thread_var(inner));
}

}  // namespace rldb::ir
