// LateParams: parameters fetched at their first use.
#include "passes/params/late_params.h"

#include <utility>

#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

const SeqExpr* LateParams::rewrite_body(const Function* f, std::size_t first, bool symbols) {
  std::unordered_set<const Var*> bound;
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    if (i >= first) index_[f->params[i]] = i - first;
    std::unordered_set<const Var*> here;
    bound_symbols(f->params[i]->type, here);
    for (const Var* v : here)
      if (bound.insert(v).second && i >= first && symbols) binds_[v] = f->params[i];
  }
  waiting_ = index_;
  return visit_seq(f->body);
}

const SeqExpr* LateParams::visit_seq(const SeqExpr* s) {
  ++depth_;
  const SeqExpr* made = default_seq(s);
  if (--depth_ == 0 && !waiting_.empty()) made = read_rest(s, made);
  return made;
}

const BindingBlock* LateParams::visit_block(const BindingBlock* b) {
  if (depth_ != 1) return default_block(b);
  dataflow_ = b->is_dataflow();
  const BindingBlock* made = default_block(b);
  for (const Var* v : of_block_) {
    vars_.erase(v);
    waiting_[v] = index_[v];
  }
  of_block_.clear();
  dataflow_ = false;
  return made;
}

std::vector<const Binding*> LateParams::visit_binding(const Binding* b) {
  std::vector<const Binding*> out;
  if (depth_ == 1) {
    support::poll();
    for (const Var* v : free_vars(b->value)) read(v, out);
    read_dims(b->is_match_cast() ? b->cast_type : b->var->type, out);
  }
  for (const Binding* made : default_binding(b)) out.push_back(made);
  return out;
}

void LateParams::read(const Var* v, std::vector<const Binding*>& out) {
  if (const auto binder = binds_.find(v); binder != binds_.end()) v = binder->second;
  const auto found = waiting_.find(v);
  if (found == waiting_.end()) return;
  const std::size_t index = found->second;
  waiting_.erase(found);
  read_dims(v->type, out);
  remap(v, fetch(v, index, dataflow_, out));
  if (dataflow_) of_block_.push_back(v);
}

void LateParams::read_dims(const Type* t, std::vector<const Binding*>& out) {
  std::vector<const Var*> used;
  collect_vars(t, used);
  for (const Var* v : used) read(v, out);
}

// Fetches parameters that only the result mentions.
const SeqExpr* LateParams::read_rest(const SeqExpr* from, const SeqExpr* made) {
  std::vector<const Binding*> extra;
  for (const Var* v : free_vars(from->body)) read(v, extra);
  if (extra.empty()) return made;
  std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
  blocks.push_back(ctx_.block(extra, false));
  return make_seq(ctx_, blocks, rewrite(from->body), from);
}

}  // namespace rldb::passes
