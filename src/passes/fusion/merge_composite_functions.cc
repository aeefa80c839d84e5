// MergeCompositeFunctions: calls of composite functions (made by FuseOpsByPattern) that are for one code generator and
// depend on each other become one function with the attribute Codegen, which contains them as local functions.
//
// A call joins the groups of its arguments unless another argument depends on such a group: the groups would then
// depend on each other. Aliases of a group's results belong to it, as do fields of a tuple when the whole tuple is not
// needed elsewhere. As in TVM, but in every function, not only `main`.
#include <algorithm>
#include <optional>

#include "passes/common.h"
#include "passes/fusion/block_reads.h"
#include "passes/fusion/codegen_name.h"
#include "passes/fusion/group_bindings.h"
#include "passes/pass_functions.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

// How many reads are followed to find out whether groups depend on each other; beyond that they are assumed to.
constexpr int kMaxSteps = 10'000;

// ---- groups of one dataflow block ----

class CompositeGroups {
 public:
  CompositeGroups(const Module* module, const BindingBlock* block, const BlockReads& reads)
      : module_(module), block_(block), reads_(reads), groups_(block->bindings.size()) {}

  Result<support::Unit> build() {
    find_escaping();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      support::poll();
      groups_[i].parent = i;
      groups_[i].first = i;
      groups_[i].members = {i};
      RLDB_TRY_VOID(place(i));
    }
    return support::Unit{};
  }
  // The group of a binding; kNone when no code generator is to handle it.
  static constexpr std::size_t kNone = std::size_t(-1);
  std::size_t group_of(std::size_t i) {
    const std::size_t r = root(i);
    return groups_[r].codegen.empty() ? kNone : r;
  }
  std::string_view codegen_of(std::size_t group) const { return groups_[group].codegen; }

 private:
  struct Group {
    std::size_t parent = 0;
    std::size_t first = 0;  // of its members
    std::string_view codegen;
    std::vector<std::size_t> members;
  };

  std::size_t root(std::size_t i) {
    while (groups_[i].parent != i) i = groups_[i].parent = groups_[groups_[i].parent].parent;
    return i;
  }

  void merge(std::size_t from, std::size_t into) {
    if (from == into) return;
    if (groups_[from].members.size() > groups_[into].members.size()) std::swap(from, into);
    Group& a = groups_[from];
    Group& b = groups_[into];
    a.parent = into;
    b.first = std::min(a.first, b.first);
    if (b.codegen.empty()) b.codegen = a.codegen;
    b.members.insert(b.members.end(), a.members.begin(), a.members.end());
    a.members.clear();
  }

  // Tuples used as a whole.
  void find_escaping() {
    std::unordered_map<const Var*, bool> whole;
    for (std::size_t i = groups_.size(); i-- > 0;) {
      const Binding* b = block_->bindings[i];
      if (!b->var->is_dataflow()) whole[b->var] = true;
      if (isa<TupleGetItem>(b->value)) continue;
      const bool alias = isa<Var>(b->value) && !b->is_match_cast();
      for (const BlockRead& r : reads_.of(i))
        if (!alias || whole[b->var]) whole[r.var] = true;
    }
    for (const auto& [v, yes] : whole)
      if (yes) escaping_.insert(v);
  }

  Result<support::Unit> place(std::size_t i) {
    const Binding* b = block_->bindings[i];
    if (b->is_match_cast()) return support::Unit{};
    const auto* call = as<Call>(b->value);
    if (!call) {
      join_source(i, b->value);
      return support::Unit{};
    }
    const auto* callee = as<GlobalVar>(call->callee);
    const auto* f = callee ? as<Function>(module_->find(callee->name)) : nullptr;
    const Attr* composite = f ? find_attr(f->attrs, attr_name::Composite) : nullptr;
    if (!composite) return support::Unit{};
    RLDB_TRY(groups_[i].codegen, codegen_name(composite->string));
    join_arguments(i);
    return support::Unit{};
  }

  // An alias, a field, a tuple: joins the group of its source.
  void join_source(std::size_t i, const Expr* value) {
    const bool alias = isa<Var>(value);
    const auto* get = as<TupleGetItem>(value);
    if (!alias && !get && !isa<Tuple>(value)) return;
    if (get && escaping_.count(as<Var>(get->tuple))) return;
    if (isa<Tuple>(value) && escaping_.count(block_->bindings[i]->var)) return;
    std::size_t source = kNone;
    for (const BlockRead& r : reads_.of(i)) {
      const std::size_t from = root(r.producer);
      if (source != kNone && source != from) return;
      source = from;
    }
    const auto* tuple = as<Tuple>(value);
    const bool all_known = !tuple || reads_.of(i).size() == tuple->items.size();
    if (source != kNone && all_known && !groups_[source].codegen.empty()) merge(i, source);
  }

  void join_arguments(std::size_t i) {
    std::vector<std::size_t> sources;
    for (const BlockRead& r : reads_.of(i)) {
      const std::size_t from = root(r.producer);
      if (std::find(sources.begin(), sources.end(), from) == sources.end()) sources.push_back(from);
    }
    std::vector<std::size_t> joined;
    for (const std::size_t group : sources) {
      if (groups_[group].codegen != groups_[i].codegen) continue;
      const bool circle = std::any_of(sources.begin(), sources.end(),
                                      [&](std::size_t other) { return other != group && depends(other, group); });
      if (!circle) joined.push_back(group);
    }
    for (const std::size_t group : joined) merge(root(i), root(group));
  }

  // Does a group read anything that depends on the other one? A group that ends before the other begins cannot.
  bool depends(std::size_t group, std::size_t on) {
    std::unordered_set<std::size_t> seen{group};
    std::vector<std::size_t> work{group};
    int steps = 0;
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      for (const std::size_t member : groups_[at].members)
        for (const BlockRead& r : reads_.of(member)) {
          const std::size_t from = root(r.producer);
          if (from == on || ++steps > kMaxSteps) return true;
          const bool before = groups_[from].members.size() == 1 && from < groups_[on].first;
          if (!before && seen.insert(from).second) work.push_back(from);
        }
    }
    return false;
  }

  const Module* module_;
  const BindingBlock* block_;
  const BlockReads& reads_;
  std::vector<Group> groups_;
  std::unordered_set<const Var*> escaping_;
};

// ---- functions for a code generator ----

// Calls of composite functions become calls of local copies of them.
class CompositeInliner : public Rewriter {
 public:
  CompositeInliner(Context& ctx, const Module* module) : Rewriter(ctx), module_(module) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const auto* call = as<Call>(b->value);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto* f = callee ? as<Function>(module_->find(callee->name)) : nullptr;
    if (!f || !find_attr(f->attrs, attr_name::Composite)) return default_binding(b);
    std::vector<const Binding*> out;
    const Var*& local = local_[f];
    if (!local) {
      const Function* copy =
          BodyCopier(ctx_, false).copy_function(f, ctx_.with_attr(f->attrs, attr_name::Primitive, nullptr));
      out.push_back(bind_new(ctx_, "local_func", copy, b));
      local = out.back()->var;
    }
    std::vector<const Expr*> args;
    for (const Expr* a : call->args) args.push_back(rewrite(a));
    const Call* made = ctx_.call_typed(local, args, call->type);
    ctx_.set_origin(made, call);
    out.push_back(remake_binding(ctx_, b, b->var, made));
    return out;
  }

 private:
  const Module* module_;
  std::unordered_map<const Function*, const Var*> local_;
};

Result<BindingGroups> find_groups(Context& ctx, const Module* module, const Function* f) {
  BindingGroups groups;
  std::unordered_set<const Var*> known = symbols_of_parameters(f);
  for (const BindingBlock* block : f->body->blocks) {
    if (!block->is_dataflow()) {
      add_symbols_of_casts(block, known);
      continue;
    }
    const BlockReads reads(block, known);
    CompositeGroups found(module, block, reads);
    RLDB_TRY_VOID(found.build());
    std::unordered_map<std::size_t, std::size_t> number;
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      const std::size_t group = found.group_of(i);
      if (group == CompositeGroups::kNone) continue;
      const auto [at, fresh] = number.try_emplace(group, groups.attrs.size());
      if (fresh) groups.attrs.push_back(ctx.with_attr({}, attr_name::Codegen, ctx.attr(found.codegen_of(group))));
      groups.of[block->bindings[i]->var] = at->second;
    }
  }
  return groups;
}

}  // namespace

Result<const Module*> merge_composite_functions(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  ModuleBuilder builder(ctx, *module);
  FunctionTable table(ctx, module, builder);
  table.set_finish([&](const Function* f, std::string_view name) {
    const std::string codegen(find_attr(f->attrs, attr_name::Codegen)->string);
    const std::string_view symbol = builder.unique_name(std::string(name) + "_" + codegen);
    const Function* plain = CompositeInliner(ctx, module).rewrite_function(without_dataflow(ctx, f));
    return ModuleEntry{symbol, with_attr(ctx, plain, attr_name::GlobalSymbol, ctx.attr(symbol))};
  });
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_for_codegen(f)) continue;
    RLDB_TRY(const BindingGroups groups, find_groups(ctx, module, f));
    RLDB_TRY(const Function* made, group_bindings(ctx, f, groups, table, true));
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? dead_code_elimination(env, builder.build(), {}) : module;
}

}  // namespace rldb::passes
