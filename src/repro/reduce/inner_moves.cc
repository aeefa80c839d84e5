// Moves of the reducer on nested bodies in a function: branches and local functions. A binding there cannot become a
// parameter; it is replaced by a value visible there with its type.
#include <algorithm>

#include "repro/reduce/moves.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

using Bindings = std::vector<const ir::Binding*>;

std::vector<Bindings> inner_bodies(const ir::Function* f) {
  std::vector<Bindings> out;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* body = as<ir::SeqExpr>(n);
    if (!body || body == f->body) return true;
    Bindings& all = out.emplace_back();
    for (const ir::BindingBlock* block : body->blocks)
      all.insert(all.end(), block->bindings.begin(), block->bindings.end());
    return true;
  });
  return out;
}

// Variables with the binding's type; those that its own branches or local functions bind are not visible outside.
std::vector<const ir::Var*> seen_in_place_of(const ir::Function* f, const ir::Binding* b) {
  std::vector<const ir::Var*> out;
  const auto add = [&](const ir::Var* v) {
    if (v->type == b->var->type && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
  };
  ir::walk(b->value, [&](const ir::Node* n) {
    if (const auto* v = as<ir::Var>(n)) add(v);
    return !as<ir::SeqExpr>(n) && !as<ir::Function>(n);
  });
  for (const ir::Var* p : f->params) add(p);
  return out;
}

// The first possible replacement for each of the bindings.
ir::VarMap by_what_they_read(const ir::Function* f, const Bindings& all, std::size_t begin, std::size_t end) {
  ir::VarMap by;
  for (std::size_t i = begin; i < end; ++i) {
    const auto choice = seen_in_place_of(f, all[i]);
    if (choice.empty()) continue;
    const auto earlier = by.find(choice[0]);
    const ir::Expr* value = earlier == by.end() ? choice[0] : earlier->second;
    by[all[i]->var] = value;
  }
  return by;
}

}  // namespace

std::size_t count_inner_bindings(const ir::Module* module, const std::string& name) {
  const auto* f = as<ir::Function>(module->find(name));
  std::size_t most = 0;
  for (const Bindings& all : f ? inner_bodies(f) : std::vector<Bindings>()) most = std::max(most, all.size());
  return most;
}

std::vector<Candidate> inner_bindings(ir::Context& ctx, const ir::Module* module, const std::string& name,
                                      std::size_t size) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  const auto add = [&](ir::VarMap by) {
    if (by.empty()) return;
    out.push_back(
        {"inner bindings", [&ctx, module, name, by = std::move(by)] { return replace(ctx, module, name, by, {}); }});
  };
  for (const Bindings& all : inner_bodies(f))
    for (std::size_t begin = 0; begin < all.size(); begin += size) {
      const std::size_t end = std::min(begin + size, all.size());
      if (size > 1) {
        add(by_what_they_read(f, all, begin, end));
        continue;
      }
      for (const ir::Var* v : seen_in_place_of(f, all[begin])) add({{all[begin]->var, v}});
    }
  return out;
}

}  // namespace rldb::repro
