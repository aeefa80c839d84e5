// Moves groups of bindings into functions and replaces them by calls, in an order that keeps uses after definitions.
#include "passes/fusion/group_bindings.h"

#include <algorithm>
#include <map>
#include <optional>

#include "passes/common.h"
#include "passes/fusion/block_reads.h"
#include "passes/fusion/group_function.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::size_t kAlone = std::size_t(-1);

// A unit of emission: a group, or a binding that is in none.
struct Unit {
  std::size_t group = kAlone;
  std::vector<std::size_t> bindings;  // in order
  std::vector<std::size_t> reads;     // units, in the order of reading
};

// The units of a block, in an order in which each comes after those it reads. Otherwise the block's order is kept: a
// unit takes the place of its first binding, after its dependences.
class UnitOrder {
 public:
  UnitOrder(const BindingBlock* block, const BindingGroups& groups, const BlockReads& reads) : block_(block) {
    std::unordered_map<std::size_t, std::size_t> unit_of_group;
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      const auto group = groups.of.find(block->bindings[i]->var);
      std::size_t unit = units_.size();
      if (group != groups.of.end()) unit = unit_of_group.try_emplace(group->second, unit).first->second;
      if (unit == units_.size()) units_.push_back({group == groups.of.end() ? kAlone : group->second});
      units_[unit].bindings.push_back(i);
      unit_of_.push_back(unit);
      for (const BlockRead& r : reads.of(i))
        if (unit_of_[r.producer] != unit) units_[unit].reads.push_back(unit_of_[r.producer]);
    }
  }
  const Unit& operator[](std::size_t i) const { return units_[i]; }
  std::size_t unit_of(std::size_t binding) const { return unit_of_[binding]; }

  Result<std::vector<std::size_t>> sort() const {
    enum class State : char { New, Open, Done };
    std::vector<State> state(units_.size(), State::New);
    std::vector<std::size_t> order;
    struct Frame {
      std::size_t unit;
      std::size_t next = 0;  // of its reads
    };
    std::vector<Frame> stack;
    for (std::size_t first = 0; first < units_.size(); ++first) {
      if (state[first] == State::New) stack.push_back({first});
      while (!stack.empty()) {
        support::poll();
        Frame& at = stack.back();
        state[at.unit] = State::Open;
        if (at.next == units_[at.unit].reads.size()) {
          state[at.unit] = State::Done;
          order.push_back(at.unit);
          stack.pop_back();
          continue;
        }
        const std::size_t wanted = units_[at.unit].reads[at.next++];
        if (state[wanted] == State::Open) return circle(wanted, at.unit);
        if (state[wanted] == State::New) stack.push_back({wanted});
      }
    }
    return order;
  }

 private:
  Failure<source::Message> circle(std::size_t a, std::size_t b) const {
    const auto name = [&](std::size_t unit) { return block_->bindings[units_[unit].bindings.back()]->var->name; };
    return Failure(message(diag::PassGroupCircle, name(a), name(b)));
  }

  const BindingBlock* block_;
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_;
};

class Grouper : public Rewriter {
 public:
  Grouper(Context& ctx, const BindingGroups& groups, FunctionTable& table, bool lift_constants)
      : Rewriter(ctx), groups_(groups), table_(table), lift_constants_(lift_constants) {}

  Result<const Function*> run(const Function* f) {
    known_ = symbols_of_parameters(f);
    walk(f->body, [&](const Node* n) {
      const auto* b = as<Binding>(n);
      const auto* shape = b && !b->is_match_cast() ? as<ShapeExpr>(b->value) : nullptr;
      if (shape && all_int_literals(shape->values)) shapes_[b->var] = shape;
      return true;
    });
    const Function* made = rewrite_function(f);
    if (error_) return Failure(std::move(*error_));
    return made;
  }

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    const bool grouped = std::any_of(b->bindings.begin(), b->bindings.end(),
                                     [&](const Binding* x) { return groups_.of.count(x->var) > 0; });
    if (grouped && !error_) return regroup(b);
    add_symbols_of_casts(b, known_);
    return default_block(b);
  }

 private:
  const BindingBlock* regroup(const BindingBlock* block) {
    const auto known_reads = groups_.reads.find(block);
    if (known_reads != groups_.reads.end()) {
      add_symbols_of_casts(block, known_);
      return regroup(block, known_reads->second);
    }
    return regroup(block, BlockReads(block, known_));
  }

  const BindingBlock* regroup(const BindingBlock* block, const BlockReads& reads) {
    const UnitOrder units(block, groups_, reads);
    auto order = units.sort();
    if (!order.ok()) {
      error_ = std::move(order).error();
      return block;
    }
    std::unordered_map<std::size_t, GroupFunction> functions = collect(block, units, reads);
    std::vector<const Binding*> out;
    for (const std::size_t unit : *order) {
      if (units[unit].group == kAlone) {
        for (const Binding* made : visit_binding(block->bindings[units[unit].bindings[0]])) out.push_back(made);
      } else if (GroupFunction& f = functions.at(unit); !f.outputs().empty()) {
        emit_call(f, groups_.attrs[units[unit].group], out);
      }
    }
    const BindingBlock* made = ctx_.block(out, block->is_dataflow());
    ctx_.set_origin(made, block);
    return made;
  }

  std::unordered_map<std::size_t, GroupFunction> collect(const BindingBlock* block, const UnitOrder& units,
                                                         const BlockReads& reads) {
    std::unordered_map<std::size_t, GroupFunction> functions;
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      const std::size_t unit = units.unit_of(i);
      if (units[unit].group == kAlone) continue;
      functions.try_emplace(unit, ctx_, shapes_, lift_constants_).first->second.append(block->bindings[i]);
    }
    for (std::size_t i = 0; i < block->bindings.size(); ++i)
      for (const BlockRead& r : reads.of(i)) {
        const auto from = functions.find(units.unit_of(r.producer));
        if (from == functions.end() || units.unit_of(i) == from->first) continue;
        if (from->second.defines(r.var)) from->second.add_output(r.var);
      }
    return functions;
  }

  // An argument that is a field of a tuple is bound first: arguments are leaves.
  const Expr* argument(const Expr* e, std::vector<const Binding*>& out) {
    const Expr* made = rewrite(e);
    if (!isa<TupleGetItem>(made)) return made;
    const Var* v = ctx_.dataflow_var("lv", made->type);
    ctx_.set_origin(v, e);
    out.push_back(ctx_.binding(v, made));
    ctx_.set_origin(out.back(), e);
    return v;
  }

  void emit_call(GroupFunction& group, Span<NamedAttr> attrs, std::vector<const Binding*>& out) {
    group.close();
    const GlobalVar* callee = callee_of(group, attrs);
    std::vector<const Expr*> args;
    for (const Expr* a : group.arguments()) args.push_back(argument(a, out));
    auto call = ctx_.call(CallSpec{callee, args, {}, {}});
    if (!call.ok()) {
      if (!error_) error_ = std::move(call).error();
      return;
    }
    came_from(*call, group);
    const std::vector<const Var*>& outputs = group.outputs();
    if (outputs.size() == 1) return bind(outputs[0], *call, out);
    const Var* all = ctx_.dataflow_var("lv", (*call)->type);
    ctx_.set_origin(all, outputs[0]);
    out.push_back(ctx_.binding(all, *call));
    came_from(out.back(), group);
    for (std::size_t i = 0; i < outputs.size(); ++i) bind(outputs[i], *ctx_.tuple_get(all, std::int64_t(i)), out);
  }

  // A model of many layers has few groups: a function is made once per key.
  const GlobalVar* callee_of(const GroupFunction& group, Span<NamedAttr> attrs) {
    std::vector<std::uintptr_t> key = group.key(attrs);
    if (key.empty()) return table_.add(group.make(attrs), group.name());
    const auto [found, fresh] = made_.try_emplace(std::move(key), nullptr);
    if (fresh) found->second = table_.add(group.make(attrs), group.name());
    return found->second;
  }

  void bind(const Var* output, const Expr* value, std::vector<const Binding*>& out) {
    const Var* v =
        output->is_dataflow() ? ctx_.dataflow_var(output->name, value->type) : ctx_.var(output->name, value->type);
    ctx_.set_origin(v, output);
    remap(output, v);
    out.push_back(ctx_.binding(v, value));
    ctx_.set_origin(out.back(), output);
  }

  // A call replaces every binding of its group: the one that gives its value comes first, as the location of the call.
  void came_from(const Node* made, const GroupFunction& group) {
    std::vector<std::uint32_t> ids;
    for (const Binding* b : group.bindings())
      if (b->var == group.outputs()[0]) ids.push_back(b->id);
    for (const Binding* b : group.bindings())
      if (b->var != group.outputs()[0]) ids.push_back(b->id);
    ctx_.origins().set(made, ctx_.list(ids));
  }

  const BindingGroups& groups_;
  FunctionTable& table_;
  bool lift_constants_;
  std::unordered_set<const Var*> known_;
  StaticShapes shapes_;
  std::map<std::vector<std::uintptr_t>, const GlobalVar*> made_;
  std::optional<source::Message> error_;
};

}  // namespace

Result<const Function*> group_bindings(Context& ctx, const Function* f, const BindingGroups& groups,
                                       FunctionTable& table, bool lift_constants) {
  if (groups.of.empty()) return f;
  return Grouper(ctx, groups, table, lift_constants).run(f);
}

}  // namespace rldb::passes
