// Finds the branch in which a computation is, and compares by the name of the `if`.
#include "repro/compare/branches.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

struct Side {
  const ir::Binding* binding = nullptr;  // whose value is the `if`
  bool then = false;
};

// By the variable that is bound: the evaluator replaces operators in bindings, and keeps their variables. Outermost
// first.
using Sides = std::unordered_map<const ir::Var*, std::vector<Side>>;

void collect(const ir::SeqExpr* seq, std::vector<Side>& around, Sides& out) {
  for (const ir::BindingBlock* block : seq->blocks)
    for (const ir::Binding* b : block->bindings) {
      if (!around.empty()) out[b->var] = around;
      const auto* branch = ir::as<ir::If>(b->value);
      if (!branch) continue;
      for (const bool then : {true, false}) {
        around.push_back({b, then});
        collect(then ? branch->then_branch : branch->else_branch, around, out);
        around.pop_back();
      }
    }
}

Sides sides_of(const ir::Module* module) {
  Sides out;
  std::vector<Side> around;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = ir::as<ir::Function>(e.function); f && f->body) collect(f->body, around, out);
  return out;
}

// By function, activation and the name that the `if` is bound to: which branch computed something, and when first.
struct Taken {
  Side side;
  std::size_t event = 0;
};
using Key = std::tuple<std::string, std::size_t, std::string>;
std::map<Key, Taken> taken_in(const Trace& t, const Sides& sides) {
  std::map<Key, Taken> out;
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    const Event& e = t.events[i];
    const auto it = e.binding ? sides.find(e.binding->var) : sides.end();
    if (it == sides.end()) continue;
    for (const Side& s : it->second)
      out.try_emplace({e.function, e.activation, std::string(s.binding->var->name)}, Taken{s, i});
  }
  return out;
}

std::string condition_of(const Side& s) {
  return support::one_line(ir::print_expr(ir::as<ir::If>(s.binding->value)->cond));
}

}  // namespace

std::optional<FirstDifference> other_branch(const ir::Module* first, const ir::Module* second, const Trace& a,
                                            const Trace& b, std::size_t before) {
  const Sides of_b = sides_of(second);
  if (of_b.empty()) return std::nullopt;
  const auto theirs = taken_in(a, sides_of(first)), ours = taken_in(b, of_b);
  std::optional<FirstDifference> found;
  std::size_t at = before;
  for (const auto& [key, now] : ours) {
    const auto was = theirs.find(key);
    if (was == theirs.end() || was->second.side.then == now.side.then || now.event > at) continue;
    const std::string x = condition_of(was->second.side), y = condition_of(now.side);
    if (x == y) continue;
    at = now.event;
    found.emplace();
    found->function = std::get<0>(key);
    found->name = found->other_name = std::get<2>(key);
    found->binding = now.side.binding;
    found->text = "if " + y;
    found->other_text = "if " + x;
    found->handed_on =
        fmt::format("the condition of `{}` was `{}`, is now `{}`, and another branch is taken", found->name, x, y);
  }
  return found;
}

}  // namespace rldb::repro
