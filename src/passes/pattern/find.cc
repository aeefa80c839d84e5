// Finds patterns in a module.
#include <algorithm>

#include "rldb/ir/walk.h"
#include "rldb/passes/pattern.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Finder {
 public:
  Finder(const PatternQuery& query, std::string_view name, std::vector<FoundPattern>& out)
      : query_(query), name_(name), out_(out) {}

  // Blocks in text order, those of branches and local functions at the binding that holds them.
  void seq(const SeqExpr* s) {
    for (const BindingBlock* block : s->blocks) {
      if (!query_.tree) graph(block);
      for (const Binding* b : block->bindings) binding(b);
    }
    if (query_.tree && !isa<Var>(s->body)) tree(nullptr, s->body);
  }

 private:
  void binding(const Binding* b) {
    support::poll();
    inside(b->value);
    if (query_.tree && !b->is_match_cast()) tree(b, b->value);
    if (!b->is_match_cast()) bound_[b->var] = b->value;
    bindings_[b->var] = b;
  }

  void inside(const Expr* value) {
    if (const auto* branch = as<If>(value)) {
      seq(branch->then_branch);
      seq(branch->else_branch);
    } else if (const auto* f = as<Function>(value)) {
      seq(f->body);
    } else if (const auto* s = as<SeqExpr>(value)) {
      seq(s);
    }
  }

  void tree(const Binding* b, const Expr* value) {
    PatternMatch parts;
    if (!match(*query_.tree, value, bound_, parts)) return;
    FoundPattern found{name_, b, value, {}};
    for (const PatternMatch::Part& part : parts.parts())
      if (part.var && part.value != value) add(found, part.var);
    out_.push_back(std::move(found));
  }

  void graph(const BindingBlock* block) {
    std::unordered_map<const Var*, const Binding*> own;
    for (const Binding* b : block->bindings) own[b->var] = b;
    for (const PatternGraph::Match& m : query_.graph.all_matches(block)) {
      // The last of the patterns is the match, as in `a >> b`.
      const Var* last = m.at(query_.graph.nodes().back().get());
      const auto at = own.find(last);
      FoundPattern found{name_, at == own.end() ? nullptr : at->second, at == own.end() ? last : at->second->value, {}};
      for (const Pattern& p : query_.graph.nodes())
        if (const auto b = own.find(m.at(p.get())); b != own.end() && b->second != found.binding)
          found.made_of.push_back(b->second);
      out_.push_back(std::move(found));
    }
  }

  void add(FoundPattern& found, const Var* v) {
    const auto b = bindings_.find(v);
    if (b == bindings_.end() || b->second == found.binding) return;
    if (std::find(found.made_of.begin(), found.made_of.end(), b->second) == found.made_of.end())
      found.made_of.push_back(b->second);
  }

  const PatternQuery& query_;
  std::string_view name_;
  std::vector<FoundPattern>& out_;
  BoundValues bound_;
  std::unordered_map<const Var*, const Binding*> bindings_;
};

}  // namespace

std::vector<FoundPattern> find_pattern(const Module* module, const PatternQuery& query, std::string_view function) {
  std::vector<FoundPattern> out;
  for (const ModuleEntry& entry : module->entries) {
    const auto* f = as<Function>(entry.function);
    if (f && (function.empty() || entry.name == function)) Finder(query, entry.name, out).seq(f->body);
  }
  return out;
}

}  // namespace rldb::passes
