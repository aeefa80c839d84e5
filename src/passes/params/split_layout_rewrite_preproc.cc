// SplitLayoutRewritePreproc: a kernel that first converts weights to the layout in which it computes is split in two,
// so that LiftTransformParams can run the first one once.
//
// Such a step is a nest in the kernel's root whose block has the annotation `meta_schedule.layout_rewrite_preproc`. It
// is the only reader of one parameter, and writes a buffer of the root. Kernels of any other form are unchanged.
#include <algorithm>
#include <unordered_map>

#include "passes/common.h"
#include "passes/pass_functions.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct Step {
  const Stmt* nest;
  std::size_t param;     // the weight
  const Buffer* result;  // the weight as the kernel reads it
};

struct Split {
  std::string_view prepack, compute;  // names in the module
  std::vector<Step> steps;
};

// The one block below a nest of loops.
const SBlockRealize* block_of(const Stmt* s) {
  while (const auto* f = as<ForStmt>(s)) s = f->body;
  return as<SBlockRealize>(s);
}

class Unmarked : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* block = as<SBlock>(s);
    if (!block || !find_attr(block->annotations, attr_name::LayoutRewritePreproc)) return default_stmt(s);
    SBlock made = *block;
    made.annotations = ctx_.with_attr(block->annotations, attr_name::LayoutRewritePreproc, nullptr);
    return ctx_.sblock(made);
  }
};

class KernelSplitter {
 public:
  KernelSplitter(Context& ctx, const PrimFunc* f) : ctx_(ctx), f_(f) {}

  // False: the kernel is not split.
  bool find() {
    realize_ = as<SBlockRealize>(f_->body);
    if (!realize_ || !realize_->block->iter_vars.empty()) return false;
    root_ = realize_->block;
    if (const auto* seq = as<SeqStmt>(root_->body)) {
      parts_.assign(seq->stmts.begin(), seq->stmts.end());
    } else {
      parts_ = {root_->body};
    }
    for (const Stmt* s : parts_) {
      const SBlockRealize* block = block_of(s);
      if (!block || !find_attr(block->block->annotations, attr_name::LayoutRewritePreproc)) continue;
      if (!add_step(s, block->block)) return false;
    }
    return !steps.empty() && steps.size() < parts_.size();
  }

  const PrimFunc* prepack() const {
    std::vector<PrimParam> params;
    std::vector<const Stmt*> body;
    for (const Step& s : steps) {
      params.push_back(f_->params[s.param]);
      body.push_back(Unmarked(ctx_).rewrite(s.nest));
    }
    for (const Step& s : steps) params.push_back({s.result->data, s.result});
    return function(params, body, {});
  }

  const PrimFunc* compute() const {
    std::vector<PrimParam> params(f_->params.begin(), f_->params.end());
    std::vector<const Stmt*> body;
    for (const Stmt* s : parts_)
      if (std::none_of(steps.begin(), steps.end(), [&](const Step& step) { return step.nest == s; })) body.push_back(s);
    std::vector<const Buffer*> allocs(root_->alloc_buffers.begin(), root_->alloc_buffers.end());
    for (const Step& s : steps) {
      params[s.param] = {s.result->data, s.result};
      std::erase(allocs, s.result);
    }
    return function(params, body, allocs);
  }

  std::vector<Step> steps;

 private:
  bool add_step(const Stmt* nest, const SBlock* block) {
    if (block->reads.size() != 1 || block->writes.size() != 1) return false;
    const auto param = std::find_if(f_->params.begin(), f_->params.end(),
                                    [&](const PrimParam& p) { return p.buffer == block->reads[0].buffer; });
    const auto at = std::size_t(param - f_->params.begin());
    const Buffer* result = block->writes[0].buffer;
    const auto& allocs = root_->alloc_buffers;
    if (param == f_->params.end() || std::find(allocs.begin(), allocs.end(), result) == allocs.end()) return false;
    for (const Stmt* s : parts_)
      if (s != nest && mentions(s, param->buffer)) return false;
    steps.push_back({nest, at, result});
    return true;
  }

  static bool mentions(const Stmt* s, const Buffer* b) {
    bool found = false;
    walk(s, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) found = found || load->buffer == b;
      if (const auto* store = as<BufferStore>(n)) found = found || store->buffer == b;
      found = found || n == b || n == b->data;
      return !found;
    });
    return found;
  }

  const PrimFunc* function(const std::vector<PrimParam>& params, const std::vector<const Stmt*>& body,
                           const std::vector<const Buffer*>& allocs) const {
    SBlock root = *root_;
    root.alloc_buffers = allocs;
    root.body = ctx_.seq_stmt(body);
    const PrimFunc* made = ctx_.prim_func(params, f_->ret_type,
                                          ctx_.realize(realize_->iter_values, realize_->predicate, ctx_.sblock(root)),
                                          ctx_.with_attr(f_->attrs, attr_name::LayoutFreeBuffers, nullptr), f_->s_tir);
    ctx_.set_origin(made, f_);
    return made;
  }

  Context& ctx_;
  const PrimFunc* f_;
  const SBlockRealize* realize_ = nullptr;
  const SBlock* root_ = nullptr;
  std::vector<const Stmt*> parts_;
};

class CallSplitter : public Rewriter {
 public:
  CallSplitter(PassEnv& env, const Module* module, ModuleBuilder& builder)
      : Rewriter(env.ctx), module_(module), builder_(builder) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out = default_binding(b);
    if (out.size() != 1 || out[0]->is_match_cast()) return out;
    const Call* call = as_call_of(out[0]->value, op::CallTir);
    const auto* callee = call && call->args.size() == 2 ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* args = call && call->args.size() == 2 ? as<Tuple>(call->args[1]) : nullptr;
    const auto* kernel = callee ? as<PrimFunc>(module_->find(callee->name)) : nullptr;
    if (!kernel || !args) return out;
    const Split& split = split_of(callee->name, kernel);
    if (split.steps.empty() || split.steps.back().param >= args->items.size()) return out;
    return two_calls(out[0], call, args, split);
  }

 private:
  const Split& split_of(std::string_view name, const PrimFunc* f) {
    const auto [it, fresh] = splits_.try_emplace(name);
    if (!fresh) return it->second;
    KernelSplitter splitter(ctx_, f);
    if (!splitter.find()) return it->second;
    it->second.compute = ctx_.str(builder_.unique_name(std::string(name) + "_prepacked"));
    builder_.set(it->second.compute, splitter.compute());
    it->second.prepack = ctx_.str(builder_.unique_name(std::string(name) + "_weight_prepack"));
    builder_.set(it->second.prepack, splitter.prepack());
    it->second.steps = std::move(splitter.steps);
    return it->second;
  }

  const Var* bound(const Expr* value, const Binding* from, std::vector<const Binding*>& out) {
    const Var* v =
        in_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var("lv", value->type)) : ctx_.var("lv", value->type);
    out.push_back(ctx_.binding(v, value));
    ctx_.set_origin(out.back(), from);
    ctx_.set_origin(value, from->value);
    return v;
  }

  const Call* call_of(std::string_view name, const std::vector<const Expr*>& args, const Type* type) {
    return op_call(ctx_, op::CallTir, {ctx_.global_var(name, builder_.find(name)->type), ctx_.tuple(args)}, type,
                   {type});
  }

  std::vector<const Binding*> two_calls(const Binding* b, const Call* call, const Tuple* args, const Split& split) {
    std::vector<const Binding*> out;
    std::vector<const Expr*> weights;
    std::vector<const Type*> types;
    for (const Step& s : split.steps) {
      weights.push_back(args->items[s.param]);
      types.push_back(ctx_.tensor(s.result->shape, s.result->dtype));
    }
    const Type* type = types.size() == 1 ? types[0] : ctx_.tuple_type(types);
    const Var* packed = bound(call_of(split.prepack, weights, type), b, out);
    std::vector<const Expr*> made(args->items.begin(), args->items.end());
    for (std::size_t i = 0; i < split.steps.size(); ++i)
      made[split.steps[i].param] = types.size() == 1 ? packed : bound(*ctx_.tuple_get(packed, std::int64_t(i)), b, out);
    const Var* result = bound(call_of(split.compute, made, call->type), b, out);
    out.push_back(remake_binding(ctx_, b, b->var, result));
    return out;
  }

  const Module* module_;
  ModuleBuilder& builder_;
  std::unordered_map<std::string_view, Split> splits_;
};

}  // namespace

Result<const Module*> split_layout_rewrite_preproc(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  CallSplitter splitter(env, module, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = splitter.rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? dead_code_elimination(env, builder.build(), {}) : module;
}

}  // namespace rldb::passes
