#include "debug/provenance/may_write.h"

#include <set>

#include "debug/kernel/written.h"
#include "debug/provenance/sorting_kernel.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;

namespace {

bool writes_by_other_means(const ir::Node* n) {
  if (const auto* d = as<ir::DeclBuffer>(n)) return d->data && d->data != d->buffer->data;
  const auto* call = as<ir::Call>(n);
  const ir::IntrinsicInfo* row = call ? ir::called_intrinsic(call) : nullptr;
  return call && (!row || row->purity == ir::IntrinsicPurity::Effect);
}

// The pointers of the buffers that are loaded where something is decided.
class Deciding {
 public:
  explicit Deciding(const ir::Stmt* body) : parts_(body) {
    ir::walk(body, [this](const ir::Node* n) { return look_at(n); });
  }
  bool contains(const ir::Var* data) const { return found_.contains(data); }

 private:
  void all_in(const ir::Expr* e) {
    if (!e) return;
    ir::walk(e, [this](const ir::Node* n) {
      if (const auto* load = as<ir::BufferLoad>(n)) found_.insert(parts_.whole(load->buffer->data));
      return true;
    });
  }
  void all_in(ir::Span<const ir::Expr*> list) {
    for (const ir::Expr* e : list) all_in(e);
  }
  bool look_at(const ir::Node* n) {
    if (const auto* store = as<ir::BufferStore>(n)) all_in(store->indices), all_in(store->predicate);
    if (const auto* load = as<ir::BufferLoad>(n)) all_in(load->indices), all_in(load->predicate);
    if (const auto* branch = as<ir::IfThenElse>(n)) all_in(branch->cond);
    if (const auto* loop = as<ir::WhileStmt>(n)) all_in(loop->cond);
    if (const auto* loop = as<ir::ForStmt>(n)) all_in(loop->min), all_in(loop->extent);
    if (const auto* let = as<ir::BindStmt>(n)) all_in(let->value);
    if (const auto* let = as<ir::LetExpr>(n)) all_in(let->value);
    if (const auto* block = as<ir::SBlockRealize>(n)) all_in(block->predicate), all_in(block->iter_values);
    if (const auto* choice = as<ir::SelectExpr>(n)) all_in(choice->cond);
    const auto* call = as<ir::Call>(n);
    if (call && ir::is_call_of(call, ir::intrin::IfThenElse)) all_in(call->args[0]);
    return true;
  }
  MatchedParts parts_;
  std::set<const ir::Var*> found_;
};

}  // namespace

std::vector<bool> may_write(const ir::PrimFunc* f) {
  if (const auto sorting = sorting_call(f)) {
    std::vector<bool> list(f->params.size(), false);
    for (std::size_t i = sorting->first_output; i < sorting->arrays.size(); ++i) list[sorting->arrays[i]] = true;
    return list;
  }
  bool other = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    other = other || writes_by_other_means(n);
    return !other;
  });
  return other ? std::vector<bool>(f->params.size(), true) : written_parameters(f);
}

std::vector<bool> decides(const ir::PrimFunc* f) {
  const Deciding deciding(f->body);
  std::vector<bool> list(f->params.size(), false);
  for (std::size_t i = 0; i < f->params.size(); ++i)
    list[i] = f->params[i].buffer && deciding.contains(f->params[i].buffer->data);
  return list;
}

}  // namespace rldb::debug
