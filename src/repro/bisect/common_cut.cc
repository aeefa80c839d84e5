// Walks back from one variable in two versions of a function, to variables that both have.
#include "repro/bisect/common_cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// Longer parts say little about one computation.
constexpr std::size_t kLongest = 64;

using Names = std::set<std::string_view>;

bool is_symbol(const ir::Var* v) {
  const auto* t = ir::as<ir::PrimType>(v->type);
  return t && t->dtype == runtime::DType::Int(64);
}

void add_once(std::vector<const ir::Var*>& to, const ir::Var* v) {
  if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
}

// The variables of one version: parameters, and what its body binds outside of branches and local functions.
class Version {
 public:
  explicit Version(const CutAt& at) : at_(at) {
    for (const ir::Var* p : at.function->params) add(p), parameters_.insert(p->name);
    for (const ir::BindingBlock* block : at.function->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        add(b->var);
        place_[b->var] = order_.size();
        order_.push_back(b);
      }
  }

  bool has_binding() const { return place_.contains(at_.binding->var); }
  const Names& parameters() const { return parameters_; }
  // Null: no variable, or more than one, has this name.
  const ir::Var* named(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }
  const std::map<std::string_view, const ir::Var*>& all() const { return by_name_; }

  // nullopt: something on the way cannot be repeated, or it is long.
  std::optional<CutPart> part(const Names& ends) const {
    CutPart out;
    std::set<std::size_t> places;
    std::vector<const ir::Binding*> open{at_.binding};
    places.insert(place_.at(at_.binding->var));
    while (!open.empty()) {
      const ir::Binding* b = open.back();
      open.pop_back();
      if (!is_repeatable(b) || places.size() > kLongest) return std::nullopt;
      for (const ir::Var* v : ir::free_vars(b->value)) {
        if (is_symbol(v)) continue;
        if (ends.contains(v->name) && named(v->name) == v) {
          add_once(out.values, v);
          continue;
        }
        const auto it = place_.find(v);
        if (it == place_.end()) return std::nullopt;
        if (places.insert(it->second).second) open.push_back(order_[it->second]);
      }
    }
    for (const std::size_t p : places) out.bindings.push_back(order_[p]);
    return out;
  }

 private:
  void add(const ir::Var* v) {
    const auto [it, is_new] = by_name_.emplace(v->name, v);
    if (!is_new) it->second = nullptr;
  }

  bool is_repeatable(const ir::Binding* b) const {
    if (b->is_match_cast()) return false;
    if (ir::as<ir::Call>(b->value)) return is_pure_call(at_.module, b->value);
    return ir::as<ir::Tuple>(b->value) || ir::as<ir::TupleGetItem>(b->value) || ir::as<ir::Var>(b->value) ||
           ir::as<ir::Constant>(b->value) || ir::as<ir::ShapeExpr>(b->value);
  }

  const CutAt& at_;
  Names parameters_;
  std::map<std::string_view, const ir::Var*> by_name_;
  std::unordered_map<const ir::Var*, std::size_t> place_;
  std::vector<const ir::Binding*> order_;
};

Names names_of(const std::vector<const ir::Var*>& vars) {
  Names out;
  for (const ir::Var* v : vars) out.insert(v->name);
  return out;
}

void add_symbols(CutPart& part) {
  std::vector<const ir::Var*> in_types;
  for (const ir::Binding* b : part.bindings)
    for (const ir::Var* v : ir::free_vars(b->value))
      if (is_symbol(v)) add_once(part.symbols, v);
  for (const ir::Var* v : part.values) ir::collect_vars(v->type, in_types);
  for (const ir::Binding* b : part.bindings) {
    ir::collect_vars(b->value->type, in_types);
    ir::collect_vars(b->var->type, in_types);
  }
  for (const ir::Var* v : in_types) add_once(part.symbols, v);
}

// The variables of `from` in the order of their namesakes in `like`. False: there is another one.
bool order_like(std::vector<const ir::Var*>& from, const std::vector<const ir::Var*>& like) {
  std::vector<const ir::Var*> out;
  for (const ir::Var* wanted : like) {
    const auto it = std::find_if(from.begin(), from.end(), [&](const ir::Var* v) { return v->name == wanted->name; });
    if (it == from.end() || std::find(out.begin(), out.end(), *it) != out.end()) return false;
    out.push_back(*it);
  }
  if (out.size() != from.size()) return false;
  from = std::move(out);
  return true;
}

// Parameters that one part does not read: any value of theirs will do.
void read_all(CutPart& part, const Names& names, const Version& version) {
  for (const std::string_view name : names) add_once(part.values, version.named(name));
}

std::optional<std::pair<CutPart, CutPart>> in_one_order(CutPart good, CutPart bad) {
  if (good.values.empty() || !order_like(bad.values, good.values)) return std::nullopt;
  add_symbols(good);
  add_symbols(bad);
  // A symbol of one part only is a dim of the other's callees, or of nothing.
  if (!order_like(bad.symbols, good.symbols)) return std::nullopt;
  return std::pair(std::move(good), std::move(bad));
}

}  // namespace

std::optional<std::pair<CutPart, CutPart>> common_cut(const CutAt& good, const CutAt& bad, CutReach reach) {
  const Version before(good), now(bad);
  if (!before.has_binding() || !now.has_binding()) return std::nullopt;
  Names ends;
  for (const auto& [name, v] : before.all()) {
    const ir::Var* other = v ? now.named(name) : nullptr;
    const bool is_parameter = before.parameters().contains(name) && now.parameters().contains(name);
    if (!other || name == good.binding->var->name || (reach == CutReach::Parameters && !is_parameter)) continue;
    if (ir::print_type(v->type) == ir::print_type(other->type)) ends.insert(name);
  }
  for (;;) {
    support::poll();
    auto a = before.part(ends), b = now.part(ends);
    if (!a || !b) return std::nullopt;
    const Names of_a = names_of(a->values), of_b = names_of(b->values);
    if (of_a == of_b) return in_one_order(std::move(*a), std::move(*b));
    Names of_one, open;
    std::set_symmetric_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                                  std::inserter(of_one, of_one.end()));
    for (const std::string_view name : of_one)
      if (!before.parameters().contains(name) || !now.parameters().contains(name)) open.insert(name);
    if (open.empty()) {
      // The callers of a private function may give it arguments that depend on each other.
      if (good.function->is_private() || bad.function->is_private()) return std::nullopt;
      read_all(*a, of_one, before);
      read_all(*b, of_one, now);
      return in_one_order(std::move(*a), std::move(*b));
    }
    for (const std::string_view name : open) ends.erase(name);
  }
}

std::vector<const ir::Expr*> called_functions(const ir::Module* module, const ir::Expr* value) {
  std::vector<const ir::Expr*> out;
  ir::walk(value, [&](const ir::Node* n) {
    if (const auto* g = ir::as<ir::GlobalVar>(n)) out.push_back(module->find(g->name));
    return true;
  });
  return out;
}

bool is_pure_call(const ir::Module* module, const ir::Expr* value) {
  const auto* call = ir::as<ir::Call>(value);
  if (!call) return false;
  if (op::is_call_with(call, op::Trait::Allocates)) return false;
  bool pure = ops::is_pure_call(call);
  ir::walk(value, [&](const ir::Node* n) {
    if (ir::as<ir::ExternFunc>(n) || ir::as<ir::MetaConstant>(n)) pure = false;
    return pure;
  });
  for (const ir::Expr* f : called_functions(module, value))
    pure = pure && (ir::as<ir::PrimFunc>(f) || ir::as<ir::Function>(f));
  return pure;
}

}  // namespace rldb::repro
