// SplitCallTIRByPattern(patterns, fcodegen): the first loop nests of a kernel that match patterns become an external
// function, the rest of it a kernel `unfused_epilogue`.
//
// TVM takes PrimFuncs and a Python function; here they are names: of PrimFuncs of the module, and of a row of
// kernel_codegen.def. A kernel stays whole if nothing matches, or if the first part would pass more than one
// tensor to the rest.
#include <algorithm>
#include <unordered_set>

#include "passes/byoc/kernel_pattern.h"
#include "passes/common.h"
#include "passes/fusion/function_table.h"
#include "passes/pass_functions.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/external_module.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kEpilogue = "unfused_epilogue", kLibraryPart = "library";

struct KernelPattern {
  std::string_view name;
  const PrimFunc* function;
};

// The buffers that statements read and write.
struct Accesses {
  std::unordered_set<const Buffer*> read, written;
  std::unordered_set<const Var*> scalars;

  void add(const Stmt* s) {
    walk(s, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) read.insert(load->buffer);
      if (const auto* store = as<BufferStore>(n)) written.insert(store->buffer);
      if (const auto* block = as<SBlock>(n)) {
        for (const BufferRegion& r : block->reads) read.insert(r.buffer);
        for (const BufferRegion& r : block->writes) written.insert(r.buffer);
      }
      if (const auto* v = as<Var>(n)) scalars.insert(v);
      return true;
    });
  }
  bool uses(const Buffer* b) const { return read.count(b) || written.count(b) || scalars.count(b->data); }
};

struct PartOfKernel {
  const PrimFunc* function = nullptr;
  std::vector<std::size_t> args;  // which of the kernel's parameters it takes, of those that are arguments
};

struct KernelParts {
  bool done = false;  // false: the kernel stays whole
  const ExternFunc* library = nullptr;
  PartOfKernel first;
  const Buffer* between = nullptr;  // null: the first part is all of it
  const GlobalVar* epilogue = nullptr;
  PartOfKernel rest;
};

class KernelDivider {
 public:
  KernelDivider(Context& ctx, const PrimFunc* f, std::size_t args) : ctx_(ctx), f_(f), args_(args) {}

  // One match for each of the first statements that match some pattern.
  std::vector<KernelMatch> matches(const std::vector<KernelPattern>& patterns) {
    std::vector<KernelMatch> found;
    root_ = root_block(f_);
    if (!root_) return found;
    parts_ = statements_of(root_);
    for (const Stmt* s : parts_) {
      std::optional<KernelMatch> match;
      for (std::size_t i = 0; i < patterns.size() && !match; ++i)
        match = match_nest(ctx_, patterns[i].name, patterns[i].function, s);
      if (!match) break;
      found.push_back(std::move(*match));
    }
    return found;
  }

  // The kernel's first `count` statements, and the others.
  bool divide(std::size_t count, KernelParts& out) {
    if (count == 0 || count > parts_.size()) return false;
    Accesses first, rest;
    for (std::size_t i = 0; i < parts_.size(); ++i) (i < count ? first : rest).add(parts_[i]);
    if (count == parts_.size()) {
      for (std::size_t i = 0; i < args_; ++i) out.first.args.push_back(i);
      out.first.function = f_;
      return true;
    }
    const Buffer* between = nullptr;
    for (const Buffer* b : first.written) {
      if (!rest.uses(b)) continue;
      if (between || rest.written.count(b)) return false;
      between = b;
    }
    const auto& allocs = root_->alloc_buffers;
    if (!between || std::find(allocs.begin(), allocs.end(), between) == allocs.end() || writes_parameter(first))
      return false;
    out.between = between;
    out.first = part(first, 0, count, {}, between);
    out.rest = part(rest, count, parts_.size(), between, nullptr);
    return true;
  }

 private:
  bool writes_parameter(const Accesses& a) const {
    return std::any_of(f_->params.begin(), f_->params.end(),
                       [&](const PrimParam& p) { return p.buffer && a.written.count(p.buffer); });
  }

  PartOfKernel part(const Accesses& used, std::size_t begin, std::size_t end, const Buffer* input,
                    const Buffer* output) const {
    PartOfKernel made;
    std::vector<PrimParam> params;
    if (input) params.push_back({input->data, input});
    for (std::size_t i = 0; i < f_->params.size(); ++i) {
      const PrimParam& p = f_->params[i];
      if (p.buffer ? !used.uses(p.buffer) : !used.scalars.count(p.var)) continue;
      params.push_back(p);
      if (i < args_) made.args.push_back(i);
    }
    if (output) params.push_back({output->data, output});
    SBlock root = *root_;
    std::vector<const Buffer*> allocs;
    for (const Buffer* b : root_->alloc_buffers)
      if (b != input && b != output && used.uses(b)) allocs.push_back(b);
    root.alloc_buffers = allocs;
    root.body = ctx_.seq_stmt(
        std::vector<const Stmt*>(parts_.begin() + std::ptrdiff_t(begin), parts_.begin() + std::ptrdiff_t(end)));
    made.function = ctx_.prim_func(params, f_->ret_type, ctx_.realize({}, ctx_.bool_imm(true), ctx_.sblock(root)),
                                   ctx_.with_attr(f_->attrs, attr_name::GlobalSymbol, nullptr), f_->s_tir);
    ctx_.set_origin(made.function, f_);
    return made;
  }

  Context& ctx_;
  const PrimFunc* f_;
  std::size_t args_;
  const SBlock* root_ = nullptr;
  std::vector<const Stmt*> parts_;
};

// A call of a PrimFunc of the module that may be divided; its arguments are given inline.
struct KernelCall {
  std::string_view name;
  const PrimFunc* function = nullptr;
  const Tuple* args = nullptr;
};

KernelCall kernel_call(const Module* module, const Expr* value) {
  const Call* call = as_call_of(value, op::CallTir);
  const auto* callee =
      call && call->args.size() == 2 && call->ty_args.size() == 1 ? as<GlobalVar>(call->args[0]) : nullptr;
  const auto* f = callee ? as<PrimFunc>(module->find(callee->name)) : nullptr;
  const auto* args = f ? as<Tuple>(call->args[1]) : nullptr;
  if (!args || args->items.size() >= f->params.size()) return {};
  return {callee->name, f, args};
}

class KernelSplitting : public Rewriter {
 public:
  KernelSplitting(PassEnv& env, const Module* module, ModuleBuilder& builder, std::vector<KernelPattern> patterns,
                  const KernelCodegenInfo& codegen)
      : Rewriter(env.ctx),
        env_(env),
        module_(module),
        builder_(builder),
        patterns_(std::move(patterns)),
        codegen_(codegen),
        epilogues_(env.ctx, module, builder) {
    count_references();
  }
  std::optional<source::Message> error;
  std::vector<const Attr*> external;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out = default_binding(b);
    if (out.size() != 1 || out[0]->is_match_cast() || error) return out;
    support::poll();
    const KernelCall call = kernel_call(module_, out[0]->value);
    if (!call.function) return out;
    const KernelParts& parts = parts_of(call);
    return parts.done ? calls_of(out[0], call, parts) : out;
  }

 private:
  // How often a kernel is named, and how often by a call that can be divided.
  void count_references() {
    for (const ModuleEntry& e : module_->entries)
      walk(e.function, [&](const Node* n) {
        if (const auto* g = as<GlobalVar>(n)) ++named_[g->name];
        if (const auto* b = as<Binding>(n); b && !b->is_match_cast())
          if (const KernelCall c = kernel_call(module_, b->value); c.function) --named_[c.name];
        return true;
      });
  }

  const KernelParts& parts_of(const KernelCall& call) {
    const auto [at, fresh] = parts_.try_emplace(call.name);
    KernelParts& parts = at->second;
    if (!fresh) return parts;
    KernelDivider divider(ctx_, call.function, call.args->items.size());
    const std::vector<KernelMatch> all = divider.matches(patterns_);
    const std::size_t count = codegen_.take ? std::min(codegen_.take(all), all.size()) : all.size();
    if (!divider.divide(count, parts)) return parts;
    if (!may_rewrite([&] { return "splits `" + std::string(call.name) + "`"; })) return parts;
    // Other references to the kernel mean all of it.
    const bool is_replaced = named_[call.name] == 0;
    const std::string_view symbol =
        is_replaced ? call.name
                    : ctx_.str(builder_.unique_name(std::string(call.name) + "_" + std::string(kLibraryPart)));
    const PrimFunc* library = with_attr(ctx_, parts.first.function, attr_name::GlobalSymbol, ctx_.attr(symbol));
    auto made = codegen_.run({env_, codegen_.name, symbol, library, std::span(all).first(count)});
    if (!made.ok()) {
      error = std::move(made).error();
      return parts;
    }
    external.push_back(*made);
    if (is_replaced) builder_.remove(call.name);
    parts.library = ctx_.extern_func(symbol);
    if (parts.between) parts.epilogue = epilogues_.add(parts.rest.function, kEpilogue);
    parts.done = true;
    return parts;
  }

  std::vector<const Binding*> calls_of(const Binding* b, const KernelCall& call, const KernelParts& parts) {
    const Type* whole = b->value->type;
    if (!parts.between) {
      const Call* made = op_call(ctx_, op::CallDpsPacked, {parts.library, call.args}, whole, {whole});
      ctx_.set_origin(made, b->value);
      return {remake_binding(ctx_, b, b->var, made)};
    }
    const Type* type = ctx_.tensor(parts.between->shape, parts.between->dtype);
    const Call* first =
        op_call(ctx_, op::CallDpsPacked, {parts.library, ctx_.tuple(arguments(call, parts.first))}, type, {type});
    const Var* v = in_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var("lv", type)) : ctx_.var("lv", type);
    const Binding* before = ctx_.binding(v, first);
    std::vector<const Expr*> args{v};
    for (const Expr* a : arguments(call, parts.rest)) args.push_back(a);
    const Call* second = op_call(ctx_, op::CallTir, {parts.epilogue, ctx_.tuple(args)}, whole, {whole});
    for (const Node* made :
         {static_cast<const Node*>(first), static_cast<const Node*>(before), static_cast<const Node*>(second)})
      ctx_.set_origin(made, b);
    return {before, remake_binding(ctx_, b, b->var, second)};
  }

  static std::vector<const Expr*> arguments(const KernelCall& call, const PartOfKernel& part) {
    std::vector<const Expr*> args;
    for (const std::size_t i : part.args) args.push_back(call.args->items[i]);
    return args;
  }

  PassEnv& env_;
  const Module* module_;
  ModuleBuilder& builder_;
  std::vector<KernelPattern> patterns_;
  const KernelCodegenInfo& codegen_;
  FunctionTable epilogues_;
  std::unordered_map<std::string_view, std::int64_t> named_;
  std::unordered_map<std::string_view, KernelParts> parts_;
};

Result<std::vector<KernelPattern>> patterns_of(const Module* module, const std::vector<std::string>& names) {
  std::vector<KernelPattern> out;
  for (const std::string& name : names) {
    const ModuleEntry* entry = nullptr;
    for (const ModuleEntry& e : module->entries)
      if (e.name == name) entry = &e;
    const auto* f = entry ? as<PrimFunc>(entry->function) : nullptr;
    if (!f) return Failure(message(diag::PassOptionValue, "patterns", "the names of PrimFuncs of the module", name));
    if (!is_kernel_pattern(f))
      return Failure(message(diag::PassOptionValue, "patterns",
                             "PrimFuncs with one loop nest over buffers and scalars that are parameters", name));
    out.push_back({entry->name, f});
  }
  return out;
}

}  // namespace

Result<const Module*> split_call_tir_by_pattern(PassEnv& env, const Module* module,
                                                const SplitCallTIRByPatternOptions& options) {
  RLDB_TRY(std::vector<KernelPattern> patterns, patterns_of(module, options.patterns));
  const std::string& name = options.fcodegen;
  const KernelCodegenInfo* codegen = find_kernel_codegen(name);
  if (!codegen) {
    std::string known;
    for (const KernelCodegenInfo& c : all_kernel_codegens())
      known += (known.empty() ? "`" : ", `") + std::string(c.name) + "`";
    return Failure(message(diag::PassOptionValue, "fcodegen", "a code generator: " + known, name));
  }
  ModuleBuilder builder(env.ctx, *module);
  KernelSplitting splitting(env, module, builder, std::move(patterns), *codegen);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = splitting.rewrite_function(f);
    if (splitting.error) return Failure(std::move(*splitting.error));
    if (made != f) builder.set(e.name, made);
  }
  if (splitting.external.empty()) return module;
  return attach_external(env.ctx, builder.build(), splitting.external);
}

}  // namespace rldb::passes
