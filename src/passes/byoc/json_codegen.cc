// The code generator `json`: turns a function for external code into a graph of operator calls, which the runtime
// executes node by node.
//
// Composite functions are inlined at their calls; each node records which one it came from. A node's computation is its
// call as text with numbered operands, because that is how a session compiles an operator when it runs
// (ir/operator_text.h). Symbolic variables become numbers there, so each has to be a dimension of a parameter.
#include <fmt/format.h>

#include <unordered_map>

#include "passes/byoc/codegens.h"
#include "passes/common.h"
#include "passes/signature/body_copier.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/operator_text.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/external_module.h"
#include "rldb/source/diagnostic_byoc.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

// Local functions within local functions: in practice they are one level deep.
constexpr int kMaxNesting = 16;

// A variable's value in the graph: the output of a node, or a tuple of such.
struct Item {
  bool is_tuple = false;
  GraphEntry entry;
  std::vector<Item> fields;
};

// Symbolic variables by the names they have in calls.
class DimNames : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool knows(const Var* v) const { return lookup(v) != v; }
  void name(const Var* v, std::string_view text) { remap(v, ctx_.var(text, v->type)); }
  const Var* unknown = nullptr;

 protected:
  const Expr* visit_var(const Var* v) override {
    if (!knows(v)) unknown = v;
    return Rewriter::visit_var(v);
  }
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const CodegenInput& input) : input_(input), ctx_(input.env.ctx), dims_(ctx_) {}

  Result<const Attr*> run() {
    const Function* f = input_.function;
    graph_.symbol = input_.symbol;
    for (const Var* p : f->params) {
      RLDB_TRY_VOID(add_parameter(p));
    }
    for (const BindingBlock* block : f->body->blocks) {
      RLDB_TRY_VOID(add_bindings(block->bindings, {}, 0));
    }
    RLDB_TRY(const Item result, item_of(f->body->body));
    add_heads(result);
    RLDB_TRY_VOID(add_outputs(f->body->body->type));
    return write_graph(ctx_, graph_);
  }

 private:
  Failure<source::Message> refuse(std::string why) const {
    return Failure(message(diag::CodegenRefused, input_.codegen, input_.symbol, std::move(why)));
  }

  // ---- parameters and results ----

  Result<support::Unit> add_parameter(const Var* p) {
    GraphTensor t;
    if (const auto* s = as<ShapeType>(p->type); s && s->has_values) {
      t.is_shape = true;
      t.shape = dims(s->values);
    } else {
      RLDB_TRY(t, tensor(p->type, fmt::format("parameter `{}`", p->name)));
    }
    t.name = p->name;
    Item item;
    item.entry.node = graph_.inputs.size();
    items_[p] = std::move(item);
    graph_.inputs.push_back(std::move(t));
    return support::Unit{};
  }

  Result<GraphTensor> tensor(const Type* type, const std::string& what) {
    const auto* t = as<TensorType>(type);
    if (!t || !t->has_shape || t->dtype.is_void())
      return refuse(fmt::format("{0} is {1}, not a tensor of known shape", what, print_type(type)));
    GraphTensor out;
    out.dtype = t->dtype;
    out.shape = dims(t->shape);
    return out;
  }

  std::vector<GraphDim> dims(Span<const Expr*> values) {
    std::vector<GraphDim> out;
    for (const Expr* d : values) {
      const auto* known = as<IntImm>(d);
      if (const auto* v = as<Var>(d)) learn(v);
      if (known) {
        out.emplace_back(known->value);
      } else {
        out.emplace_back(as<Var>(d) ? symbol_names_[as<Var>(d)] : print_expr(d));
      }
    }
    return out;
  }

  // Two variables may have the same name.
  void learn(const Var* v) {
    if (symbol_names_.count(v)) return;
    std::string name(v->name);
    const auto taken = [&] { return std::find(graph_.dims.begin(), graph_.dims.end(), name) != graph_.dims.end(); };
    for (int suffix = 1; taken(); ++suffix) name = fmt::format("{}_{}", v->name, suffix);
    dims_.name(v, dim_name(graph_.dims.size()));
    symbol_names_[v] = name;
    graph_.dims.push_back(std::move(name));
  }

  void add_heads(const Item& item) {
    if (!item.is_tuple) return graph_.heads.push_back(item.entry);
    for (const Item& field : item.fields) add_heads(field);
  }

  Result<support::Unit> add_outputs(const Type* type) {
    if (const auto* tuple = as<TupleType>(type)) {
      for (const Type* field : tuple->fields) {
        RLDB_TRY_VOID(add_outputs(field));
      }
      return support::Unit{};
    }
    const std::size_t symbols = graph_.dims.size();
    RLDB_TRY(graph_.outputs.emplace_back(), tensor(type, "its result"));
    if (graph_.dims.size() != symbols) return refuse("its result has a dimension that no parameter has");
    return support::Unit{};
  }

  // ---- bindings ----

  Result<support::Unit> add_bindings(Span<const Binding*> bindings, std::string_view composite, int depth) {
    for (const Binding* b : bindings) {
      support::poll();
      RLDB_TRY_VOID(add_binding(b, composite, depth));
    }
    return support::Unit{};
  }

  Result<support::Unit> add_binding(const Binding* b, std::string_view composite, int depth) {
    if (b->is_match_cast()) return refuse(fmt::format("`{}` is checked by a match_cast", b->var->name));
    if (const auto* local = as<Function>(b->value)) {
      locals_[b->var] = local;
      return support::Unit{};
    }
    const auto* call = as<Call>(b->value);
    const auto* callee = call ? as<Var>(call->callee) : nullptr;
    if (callee) {
      RLDB_TRY(items_[b->var], inlined(call, callee, depth));
    } else if (call) {
      RLDB_TRY(items_[b->var], kernel(call, composite));
    } else {
      RLDB_TRY(items_[b->var], item_of(b->value));
    }
    return support::Unit{};
  }

  // A local function inlined at its call.
  Result<Item> inlined(const Call* call, const Var* callee, int depth) {
    const auto local = locals_.find(callee);
    if (local == locals_.end())
      return refuse(fmt::format("`{}` is called, which is not a local function", callee->name));
    if (depth == kMaxNesting) return refuse(fmt::format("local functions are nested more than {} deep", kMaxNesting));
    const Function* f = local->second;
    if (f->params.size() != call->args.size())
      return refuse(fmt::format("`{}` takes {}", callee->name, support::counted(f->params.size(), "argument")));
    const Attr* name = find_attr(f->attrs, attr_name::Composite);
    BodyCopier copier(ctx_, false);
    std::vector<const Binding*> own;
    copier.put_arguments(f, call->args, own);
    for (const BindingBlock* block : f->body->blocks) copier.copy_bindings(block, own);
    RLDB_TRY_VOID(add_bindings(own, name ? name->string : std::string_view(), depth + 1));
    return item_of(copier.rewrite(f->body->body));
  }

  // ---- values ----

  Result<Item> item_of(const Expr* e) {
    if (const auto* v = as<Var>(e)) {
      const auto found = items_.find(v);
      if (found != items_.end()) return found->second;
    }
    if (const auto* t = as<Tuple>(e)) {
      Item made;
      made.is_tuple = true;
      for (const Expr* item : t->items) {
        RLDB_TRY(made.fields.emplace_back(), item_of(item));
      }
      return made;
    }
    if (const auto* get = as<TupleGetItem>(e)) {
      RLDB_TRY(const Item tuple, item_of(get->tuple));
      if (tuple.is_tuple && get->index >= 0 && std::size_t(get->index) < tuple.fields.size())
        return tuple.fields[std::size_t(get->index)];
    }
    return refuse(fmt::format("`{}` is not the result of an operator", print_expr(e)));
  }

  static bool has_text(const Op* op) {
    const op::Row* row = op ? op->row : nullptr;
    using op::Trait;
    return row && row->pure &&
           !row->has(Trait::CallTir | Trait::CallsClosure | Trait::CallsPacked | Trait::PureOverride |
                     Trait::TakesTuple | Trait::Allocates | Trait::Storage | Trait::Kills);
  }

  Result<Item> kernel(const Call* call, std::string_view composite) {
    const auto* op = as<Op>(call->callee);
    if (!has_text(op)) return refuse(fmt::format("`{}` is not a call of an operator", print_expr(call)));
    GraphKernel k;
    k.name = op::short_name(op->name);
    k.composite = composite;
    std::vector<const Expr*> operands;
    dims_.unknown = nullptr;
    for (const Expr* a : call->args) {
      RLDB_TRY(operands.emplace_back(), operand(a, k));
    }
    std::vector<const Type*> ty_args;
    for (const Type* t : call->ty_args) ty_args.push_back(dims_.rewrite_type(t));
    const Span<NamedAttr> attrs = dims_.rewrite_attrs(call->attrs);
    if (dims_.unknown)
      return refuse(
          fmt::format("`{}` in `{}` is not a dimension of a parameter", dims_.unknown->name, print_expr(call)));
    k.call = print_expr(ctx_.call_typed(op, operands, call->type, attrs, ty_args));
    return result(call->type, std::move(k));
  }

  // Tensors and parameters become numbered operands; everything else is part of the text.
  Result<const Expr*> operand(const Expr* e, GraphKernel& k) {
    const TypeKind kind = e->type->kind;
    const auto* v = as<Var>(e);
    if (kind != TypeKind::Tensor && kind != TypeKind::Tuple && !(v && items_.count(v))) return dims_.rewrite(e);
    RLDB_TRY(const Item item, item_of(e));
    return operand_of(item, e->type, k);
  }

  const Expr* operand_of(const Item& item, const Type* type, GraphKernel& k) {
    if (!item.is_tuple) {
      k.inputs.push_back(item.entry);
      return ctx_.var(operand_name(k.inputs.size() - 1), type);
    }
    const auto* types = as<TupleType>(type);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < item.fields.size(); ++i)
      fields.push_back(operand_of(item.fields[i], types ? types->fields[i] : ctx_.any(), k));
    return ctx_.tuple(fields);
  }

  Result<Item> result(const Type* type, GraphKernel k) {
    Item made;
    const std::size_t node = graph_.inputs.size() + graph_.kernels.size();
    made.entry.node = node;
    if (const auto* tuple = as<TupleType>(type)) {
      made.is_tuple = true;
      k.outputs = tuple->fields.size();
      for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
        if (tuple->fields[i]->kind != TypeKind::Tensor)
          return refuse(fmt::format("`R.{}` gives {}", k.name, print_type(type)));
        Item field;
        field.entry = {node, i};
        made.fields.push_back(std::move(field));
      }
    } else if (type->kind != TypeKind::Tensor) {
      return refuse(fmt::format("`R.{}` gives {}", k.name, print_type(type)));
    }
    if (k.outputs == 0) return refuse(fmt::format("`R.{}` gives nothing", k.name));
    graph_.kernels.push_back(std::move(k));
    return made;
  }

  const CodegenInput& input_;
  Context& ctx_;
  DimNames dims_;
  ExternalGraph graph_;
  std::unordered_map<const Var*, Item> items_;
  std::unordered_map<const Var*, const Function*> locals_;
  std::unordered_map<const Var*, std::string> symbol_names_;
};

}  // namespace

Result<const Attr*> json_codegen(const CodegenInput& input) {
  if (!input.options.empty()) return Failure(message(diag::CodegenOption, input.codegen, input.options.front().first));
  return GraphBuilder(input).run();
}

}  // namespace rldb::passes
