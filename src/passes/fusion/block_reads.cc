#include "passes/fusion/block_reads.h"

#include <unordered_map>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

void collect_variables_read(const Expr* value, std::vector<const Var*>& found) {
  walk(value, [&](const Node* n) {
    if (isa<GlobalVar>(n)) return false;  // the variables in its type are its own
    if (const auto* v = as<Var>(n)) found.push_back(v);
    if (const auto* e = as<Expr>(n)) collect_vars(e->type, found);
    if (const auto* call = as<Call>(n))
      for (const Type* t : call->ty_args) collect_vars(t, found);
    return true;
  });
}

std::vector<const Var*> variables_read(const Expr* value) {
  std::vector<const Var*> found;
  collect_variables_read(value, found);
  return found;
}

std::unordered_set<const Var*> symbols_of_parameters(const Function* f) {
  std::unordered_set<const Var*> known;
  std::vector<const Var*> found;
  for (const Var* p : f->params) {
    collect_vars(p->type, found);
    if (p->type->kind == TypeKind::Prim) found.push_back(p);
  }
  known.insert(found.begin(), found.end());
  return known;
}

void add_symbols_of_casts(const BindingBlock* block, std::unordered_set<const Var*>& known) {
  std::vector<const Var*> found;
  for (const Binding* b : block->bindings)
    if (b->cast_type) collect_vars(b->cast_type, found);
  known.insert(found.begin(), found.end());
}

BlockReads::BlockReads(const BindingBlock* block, std::unordered_set<const Var*>& known) {
  std::unordered_map<const Var*, std::size_t> producer;
  producer.reserve(block->bindings.size());
  begin_.reserve(block->bindings.size() + 1);
  begin_.push_back(0);
  std::vector<const Var*> read;
  for (std::size_t i = 0; i < block->bindings.size(); ++i) {
    support::poll();
    const Binding* b = block->bindings[i];
    read.clear();
    collect_variables_read(b->value, read);
    collect_vars(b->var->type, read);
    if (b->cast_type) collect_vars(b->cast_type, read);
    for (const Var* v : read)
      if (const auto found = producer.find(v); found != producer.end()) reads_.push_back({v, found->second});
    begin_.push_back(reads_.size());
    producer[b->var] = i;
    if (!b->cast_type) continue;
    std::vector<const Var*> defined;
    collect_vars(b->cast_type, defined);
    for (const Var* v : defined)
      if (known.insert(v).second) producer[v] = i;
  }
}

}  // namespace rldb::passes
