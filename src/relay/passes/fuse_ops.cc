// FuseOps(fuse_opt_level=1, max_depth=256): operators that are best computed together become one primitive function,
// with types for its parameters and result; a call of it replaces the last of them.
//
// Their patterns (op.def) and fusion/partition.h decide which, over the graph: a group ends at values that a `let`
// binds, and at operands and results of functions, branches and calls of functions. At level 0 each operator is a
// group. Scalar constants are part of the function. Operations of the machine itself need no kernel: reshapes of known
// dims are marked, references become copies of tensors.
#include <fmt/format.h>

#include "relay/passes/common.h"
#include "rldb/fusion/partition.h"
#include "rldb/relay/ir/attributes.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/passes/pass_options.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"
#include "rldb/support/planted.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::relay {

namespace {

bool is_tensors(const Type* t) {
  if (t && t->kind == TypeKind::Tensor) return true;
  const auto* tuple = as<TupleType>(t);
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(), is_tensors);
}

bool is_static(const Type* t) {
  const auto* tensor = as<TensorType>(t);
  return tensor &&
         std::all_of(tensor->shape.begin(), tensor->shape.end(), [](const Dim& d) { return d.kind == DimKind::Known; });
}

bool is_scalar_constant(const Expr* e) {
  const auto* constant = as<Constant>(e);
  return constant && constant->tensor->ndim() == 0;
}

// The operator that a kernel computes; null: `e` is not such a call.
const OpInfo* computed_operator(const Expr* e) {
  const OpInfo* op = operator_of(e);
  if (!op || op->role == OpRole::Instruction || op->role == OpRole::Effect || op->role == OpRole::Alias) return nullptr;
  return op;
}

// Left by PlanDevices, where nothing else tells on which device a value is.
bool says_where(const Call& c, const OpInfo& op) {
  return op.id == op::OnDevice && Attributes(c, op).flag(field::ConstrainResult);
}

// ---- the graph that is partitioned ----

class FusionGraph {
 public:
  FusionGraph(const std::vector<const Expr*>& nodes, const Typing& typing)
      : nodes_(nodes), typing_(typing), graph_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) index_[nodes[i]] = i;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      support::poll();
      graph_[i].pattern = pattern_of(nodes[i]);
      for_each_operand(nodes[i], [&](const Expr* x) { read(x, i); });
    }
  }
  const std::vector<fusion::FusionNode>& nodes() const { return graph_; }

 private:
  fusion::OpPattern pattern_of(const Expr* e) const {
    if (!is_tensors(typing_.of(e))) return fusion::kOpaque;
    if (e->kind == ExprKind::Tuple) return fusion::kTuple;
    if (e->kind == ExprKind::Projection) return fusion::kInjective;
    const OpInfo* op = computed_operator(e);
    // A shape function cannot read the dims computed by another one.
    if (!op || op->role == OpRole::Values) return fusion::kOpaque;
    switch (op->pattern) {
      case FusePattern::Elementwise:
        return fusion::kElemWise;
      case FusePattern::Broadcast:
        return fusion::kBroadcast;
      case FusePattern::Injective:
        return fusion::kInjective;
      case FusePattern::Reduce:
        return fusion::kReduce;
      case FusePattern::Complex:
        return fusion::kOutEWiseFusable;
      case FusePattern::Opaque:
        return fusion::kOpaque;
    }
    return fusion::kOpaque;
  }

  void read(const Expr* x, std::size_t reader) {
    const auto found = index_.find(x);
    if (found == index_.end()) return;
    const fusion::OpPattern pattern = edge_pattern(x, reader);
    if (pattern == fusion::kOpaque)
      graph_[found->second].is_result = true;
    else
      graph_[found->second].readers.push_back({reader, pattern});
  }

  fusion::OpPattern edge_pattern(const Expr* x, std::size_t reader) const {
    const fusion::OpPattern pattern = graph_[reader].pattern;
    if (pattern == fusion::kTuple) return fusion::kInjective;
    // A broadcast of an operand that already has the result's shape.
    const auto* from = as<TensorType>(typing_.of(x));
    const auto* to = as<TensorType>(typing_.of(nodes_[reader]));
    const bool same =
        from && to && std::equal(from->shape.begin(), from->shape.end(), to->shape.begin(), to->shape.end());
    return pattern == fusion::kBroadcast && same ? fusion::kElemWise : pattern;
  }

  const std::vector<const Expr*>& nodes_;
  const Typing& typing_;
  std::vector<fusion::FusionNode> graph_;
  NodeMap<std::size_t> index_;
};

// ---- groups as functions ----

class Fuser {
 public:
  Fuser(PassEnv& env, const Typing& typing, const FuseOpsOptions& options)
      : env_(env),
        ctx_(env.ctx),
        typing_(typing),
        level_(options.fuse_opt_level),
        max_depth_(std::size_t(std::max<std::int64_t>(options.max_depth, 0))) {}

  const Function* function(const Function* f) {
    nodes_ = reachable(f);
    if (level_ != 0) find_groups();
    for (const Expr* e : nodes_) {
      support::poll();
      if (const Expr* made = rewrite(e, f); made && made != e) map(e, made);
    }
    return static_cast<const Function*>(at(f));
  }

  // For a function that is already primitive: adds missing types.
  const Function* typed(const Function* f) {
    const bool known = f->result && std::all_of(f->params.begin(), f->params.end(),
                                                [](const Var* p) { return is_tensors(p->annotation); });
    if (known) return f;
    std::vector<const Var*> params;
    for (const Var* p : f->params) params.push_back(ctx_.var(p->name, tensors(p, p)));
    return ctx_.function({}, params, tensors(f->body, f), body_with(ctx_, f, params), f->attrs);
  }

 private:
  using Members = std::vector<const Expr*>;  // operands before users: the last gives the group's result

  const Expr* at(const Expr* e) const {
    const auto found = mapped_.find(e);
    return found == mapped_.end() ? e : found->second;
  }

  void map(const Expr* e, const Expr* made) {
    mapped_[e] = made;
    if (!env_.names || is_leaf(made)) return;
    if (const auto known = env_.names->find(e); known != env_.names->end()) {
      const std::string name = known->second;
      env_.names->try_emplace(made, name);
    }
  }

  // Groups of several nodes that include an operator.
  void find_groups() {
    const std::vector<std::size_t> group = fusion::partition(FusionGraph(nodes_, typing_).nodes(), max_depth_);
    std::unordered_map<std::size_t, Members> members;
    for (std::size_t i = 0; i < nodes_.size(); ++i) members[group[i]].push_back(nodes_[i]);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto found = members.find(group[i]);
      if (found == members.end()) continue;
      Members list = std::move(found->second);
      members.erase(found);
      const bool computes = std::any_of(list.begin(), list.end(), [](const Expr* e) { return computed_operator(e); });
      const auto text = [&] { return fmt::format("fuses {}", operators_text(list)); };
      if (list.size() < 2 || !computes || !support::may_rewrite(text)) continue;
      const Expr* last = list.back();
      for (const Expr* e : list) last_of_[e] = last;
      groups_[last] = std::move(list);
    }
  }

  static std::string operators_text(const Members& list) {
    std::string text;
    for (const Expr* e : list)
      if (const OpInfo* op = computed_operator(e)) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", op->name);
    return text;
  }

  // Null: it is inside a group.
  const Expr* rewrite(const Expr* e, const Expr* root) {
    if (const auto last = last_of_.find(e); last != last_of_.end())
      return last->second == e ? primitive(groups_.at(e)) : nullptr;
    if (const auto* f = as<Function>(e); f && e != root && is_primitive(f)) return typed(f);
    if (const OpInfo* op = operator_of(e)) {
      if (op->role == OpRole::Alias && cast<Call>(e).args.size() == 1 && !says_where(cast<Call>(e), *op))
        return at(cast<Call>(e).args[0]);
      if (computed_operator(e)) return primitive({e});
      if (op->id == op::CallLowered) return plain_call(cast<Call>(e));
    }
    if (const auto* r = as<RefCreate>(e)) return spanned(ctx_.ref_create(copy_of(r->value)), e);
    if (e->kind == ExprKind::RefRead) return spanned(copy_call(over_mapped(ctx_, e, mapped_), tensors(e, e)), e);
    return over_mapped(ctx_, e, mapped_);
  }

  // `call_lowered` is a call whose operands are the fields of a tuple.
  const Expr* plain_call(const Call& c) {
    const auto* type = c.args.size() == 2 ? as<TupleType>(typing_.of(c.args[1])) : nullptr;
    if (!type) return over_mapped(ctx_, &c, mapped_);
    const Expr* packed = at(c.args[1]);
    const auto* tuple = as<Tuple>(packed);
    std::vector<const Expr*> args;
    for (std::size_t i = 0; i < type->fields.size(); ++i)
      args.push_back(tuple ? tuple->fields[i] : spanned(ctx_.projection(packed, std::int64_t(i)), &c));
    return spanned(ctx_.call(at(c.args[0]), args), &c);
  }

  // The type of a node, which has to consist of tensors.
  const Type* tensors(const Expr* e, const Expr* place) {
    const Type* t = type_of(e);
    if (is_tensors(t)) return t;
    env_.out.add(ctx_.span(place), source::message(diag::RelayPrimitiveType, what_, t ? print_type(t) : "unknown"));
    return ctx_.tuple_type({});
  }

  const Type* type_of(const Expr* e) {
    const auto* c = as<Constant>(e);
    if (!c) return typing_.of(e);
    std::vector<Dim> dims;
    for (const std::int64_t d : c->tensor->shape()) dims.push_back({DimKind::Known, false, d, nullptr});
    return ctx_.tensor(dims, c->tensor->dtype());
  }

  const Expr* spanned(const Expr* made, const Expr* from) {
    ctx_.set_span(made, ctx_.span(from));
    return made;
  }

  // A call of a function that computes the members.
  const Expr* primitive(const Members& members) {
    const Expr* last = members.back();
    if (const OpInfo* op = operator_of(last)) what_ = op->name;
    std::unordered_set<const Expr*> inside(members.begin(), members.end());
    std::vector<const Var*> params;
    std::vector<const Expr*> outer;
    ExprMap inner;
    bool reshapes = true;
    for (const Expr* e : members) {
      for_each_operand(e, [&](const Expr* x) {
        if (x->kind == ExprKind::Op || is_scalar_constant(x) || inside.contains(x) || inner.contains(x)) return;
        const Var* param = ctx_.var(ctx_.str(fmt::format("p{}", params.size())), tensors(x, e));
        inner[x] = param;
        params.push_back(param);
        outer.push_back(at(x));
      });
      if (const Expr* made = over_mapped(ctx_, e, inner); made != e) inner[e] = made;
      // In a larger group, the data of an operator with a second operand may come after that.
      const OpInfo* op = operator_of(e);
      reshapes = reshapes && op && op->role == OpRole::Reshape && (members.size() == 1 || op->operands == 1);
    }
    if (support::planted(support::Bug::SwappedGroup) && members.size() > 1 && outer.size() > 1)
      std::swap(outer[0], outer[1]);
    const Type* result = tensors(last, last);
    std::vector<NamedAttr> attrs{flag(ctx_, attr_name::Primitive)};
    if (reshapes && is_static(result)) attrs.push_back(flag(ctx_, attr_name::ReshapeOnly));
    const Expr* body = inner.contains(last) ? inner.at(last) : last;
    const Expr* f = spanned(ctx_.function({}, params, result, body, attrs), last);
    return spanned(ctx_.call(f, outer), last);
  }

  // A reference is a separate tensor, which is written in place.
  const Expr* copy_of(const Expr* x) {
    const Type* t = type_of(x);
    if (is_static(t)) return spanned(copy_call(at(x), t), x);
    env_.out.add(ctx_.span(x), source::message(diag::RelayReference, t ? print_type(t) : "unknown"));
    return at(x);
  }
  const Expr* copy_call(const Expr* x, const Type* t) {
    const Var* p = ctx_.var("p0", t);
    const Expr* body = ctx_.call(ctx_.op(&info(op::Copy)), std::vector<const Expr*>{p});
    const Function* f = ctx_.function({}, std::vector<const Var*>{p}, t, body,
                                      std::vector<NamedAttr>{flag(ctx_, attr_name::Primitive)});
    return ctx_.call(f, std::vector<const Expr*>{x});
  }

  PassEnv& env_;
  Context& ctx_;
  const Typing& typing_;
  std::int64_t level_;
  std::size_t max_depth_;
  std::string_view what_ = "a primitive function";
  std::vector<const Expr*> nodes_;
  ExprMap mapped_;
  ExprMap last_of_;
  NodeMap<Members> groups_;
};

}  // namespace

const Module* run_FuseOps(PassEnv& env, const Module* m, const FuseOpsOptions& options) {
  Typing typing;
  if (!infer_types(env.ctx, m, typing, env.out)) return nullptr;
  const std::size_t before = env.out.error_count();
  const Module* made = map_functions(env, m, [&](const Definition& d) {
    Fuser fuser(env, typing, options);
    return is_primitive(d.function) ? fuser.typed(d.function) : fuser.function(d.function);
  });
  return env.out.error_count() == before ? made : nullptr;
}

}  // namespace rldb::relay
