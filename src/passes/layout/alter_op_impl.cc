// AlterOpImpl(op_impl_map, op_buffer_transforms): kernels of an operator (attribute `operator_name`) are replaced by
// another one, which may need its tensors in other layouts: R.layout_transform converts to them and back. Where that
// pads, a kernel `remove_pad` drops the padding.
//
// TVM takes kernels and index maps as objects; here they are names of PrimFuncs of the module and texts:
// AlterOpImpl({"relax.add": add4}, {"relax.add": [T.index_map(lambda i: (i // 4, i % 4)), ...]}), a map or None for
// each tensor, results last. Axis separators are for devices other than CPUs and are refused.
#include <fmt/format.h>

#include "passes/layout/index_map.h"
#include "passes/layout/remove_pad.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/te/create_prim_func.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kNoMap = "None";

struct Replacement {
  const PrimFunc* function = nullptr;
  const GlobalVar* name = nullptr;  // in the module, once it is used
  std::vector<std::string> maps;    // by tensor: the text of an index map, or None; empty: no tensor is transformed
};
using Replacements = std::unordered_map<std::string_view, Replacement>;  // by operator

Failure<source::Message> bad_option(std::string_view option, std::string_view wanted, std::string_view got) {
  return Failure(message(diag::PassOptionValue, option, wanted, got));
}

Result<Replacements> replacements_of(Context& ctx, const Module* module, const AlterOpImplOptions& options) {
  if (!options.op_impl_map) return bad_option("op_impl_map", "`{\"operator\": kernel}`", "nothing");
  Replacements out;
  for (const auto& [op, kernel] : *options.op_impl_map) {
    const auto* f = as<PrimFunc>(module->find(kernel.name()));
    if (!f) return bad_option("op_impl_map", "the names of PrimFuncs of the module", kernel.written);
    out[ctx.str(op)].function = f;
  }
  for (const auto& [op, maps] : options.op_buffer_transforms) {
    const auto found = out.find(op);
    if (found == out.end()) continue;
    if (!maps.is(pipeline::WrittenValue::Kind::List))
      return bad_option("op_buffer_transforms", "a list of index maps", maps.written);
    if (!maps.items.empty() && maps.items.size() != found->second.function->params.size())
      return bad_option("op_buffer_transforms", "an index map for each parameter of the kernel", maps.written);
    for (const pipeline::WrittenValue& map : maps.items) {
      found->second.maps.push_back(map.written);
      if (map.written != kNoMap && !read_index_map(ctx, map.written))
        return bad_option("op_buffer_transforms", "`T.index_map(lambda i: ...)`", map.written);
    }
  }
  for (const auto& [name, given] :
       {std::pair("op_buffer_axis_separators", &options.op_buffer_axis_separators),
        std::pair("op_buffer_input_axis_separators", &options.op_buffer_input_axis_separators)})
    if (!given->empty()) return bad_option(name, "nothing: memory has one axis here", pipeline::written(*given));
  return out;
}

// output[i] = input[i], for any sizes.
const PrimFunc* remove_pad_kernel(Context& ctx, std::size_t rank, DType dtype) {
  te::Graph graph(ctx);
  std::vector<const Expr*> padded, wanted;
  for (std::size_t i = 0; i < rank; ++i) {
    padded.push_back(ctx.var(fmt::format("p{}", i), ctx.int64()));
    wanted.push_back(ctx.var(fmt::format("i{}", i), ctx.int64()));
  }
  const te::Tensor in = graph.placeholder(padded, dtype, "input");
  const te::Tensor out = graph.compute(
      wanted, [&](te::Indices i) { return graph.load(in, i); }, "output");
  const te::Param params[] = {{in, nullptr}, {out, nullptr}};
  return with_attr(ctx, te::create_prim_func(ctx, params), attr_name::OperatorName, ctx.attr(kRemovePad));
}

class OpAlterer : public CallExpander {
 public:
  OpAlterer(Context& ctx, const Module* module, ModuleBuilder& builder, Replacements& replacements)
      : CallExpander(ctx), module_(module), builder_(builder), kernels_(ctx, builder), replacements_(replacements) {}
  std::optional<source::Message> error;

 protected:
  const Expr* expand(const Call* call) override {
    const auto* name = as_call_of(call, op::CallTir) ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* kernel = name ? as<PrimFunc>(module_->find(name->name)) : nullptr;
    const Attr* is = kernel ? find_attr(kernel->attrs, attr_name::OperatorName) : nullptr;
    const auto found = is && is->is(AttrKind::String) ? replacements_.find(is->string) : replacements_.end();
    const auto* args = found == replacements_.end() ? nullptr : as<Tuple>(call->args[1]);
    if (!args || error || found->second.function == kernel || call->ty_args.size() != 1) return nullptr;
    if (found->second.function->params.size() != kernel->params.size())
      return refuse(found->first, "it has another number of parameters than the kernel that it replaces");
    if (!may_rewrite([&] { return fmt::format("`{}` is replaced", name->name); })) return nullptr;
    return replaced(call, args, found->first, found->second);
  }

 private:
  const Expr* refuse(std::string_view op, std::string why) {
    if (!error) error = message(diag::PassUnsupported, fmt::format("the kernel for `{}`", op), std::move(why));
    return nullptr;
  }

  const Expr* replaced(const Call* call, const Tuple* args, std::string_view op, Replacement& r) {
    std::vector<const Type*> outs{call->ty_args[0]};
    const auto* several = as<TupleType>(call->ty_args[0]);
    if (several) outs.assign(several->fields.begin(), several->fields.end());
    if (args->items.size() + outs.size() != r.function->params.size())
      return refuse(op, "a call has other arguments than it has parameters");
    std::vector<const Expr*> inputs;
    for (std::size_t i = 0; i < args->items.size(); ++i) {
      inputs.push_back(transformed(args->items[i], map_at(r, i)));
      if (!inputs.back()) return refuse(op, fmt::format("argument {} cannot be brought into its layout", i));
    }
    std::vector<const Type*> types;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      const Expr* like = transform_call(ctx_.var("out", outs[i]), map_at(r, inputs.size() + i));
      if (!like) return refuse(op, fmt::format("result {} has no shape that is known in its layout", i));
      types.push_back(like->type);
    }
    const Type* type = several ? static_cast<const Type*>(ctx_.tuple_type(types)) : types[0];
    const Expr* const operands[] = {name_of(op, r), ctx_.tuple(inputs)};
    const Type* const ty_args[] = {type};
    const Expr* made = ctx_.call_typed(call->callee, operands, type, call->attrs, ty_args);
    if (r.maps.empty()) return made;
    made = emit_value(made);
    std::vector<const Expr*> results;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      const Expr* part = made;
      if (several) {
        auto get = ctx_.tuple_get(made, std::int64_t(i));
        part = get.ok() ? emit_value(*get) : nullptr;
      }
      const Expr* back = part ? restored(part, map_at(r, inputs.size() + i), outs[i]) : nullptr;
      if (!back) return refuse(op, fmt::format("the layout of result {} cannot be undone", i));
      results.push_back(back);
    }
    return several ? ctx_.tuple(results) : results[0];
  }

  // A fresh map for each use; null: the tensor stays as it is.
  const Lambda* map_at(const Replacement& r, std::size_t i) {
    return r.maps.empty() || r.maps[i] == kNoMap ? nullptr : read_index_map(ctx_, r.maps[i]);
  }

  const Expr* transform_call(const Expr* x, const Lambda* map) {
    if (!map) return x;
    auto call = ctx_.call(op::LayoutTransform, {x}, {ctx_.named(op_attr::IndexMap, index_map_attr(ctx_, map))});
    const auto* t = call.ok() ? as<TensorType>((*call)->type) : nullptr;
    return t && t->has_shape ? *call : nullptr;
  }
  const Expr* transformed(const Expr* x, const Lambda* map) {
    const Expr* made = transform_call(x, map);
    return map && made ? emit_value(made) : made;
  }

  const Expr* restored(const Expr* x, const Lambda* map, const Type* wanted) {
    if (!map) return x;
    const auto* t = as<TensorType>(wanted);
    const Lambda* inverse = t && t->has_shape ? inverse_of(ctx_, map, t->shape) : nullptr;
    const Expr* back = inverse ? transformed(x, inverse) : nullptr;
    const auto* padded = back ? as<TensorType>(back->type) : nullptr;
    if (!padded || prove_shapes_equal(ctx_, padded->shape, t->shape)) return back;
    const GlobalVar* trim = kernels_.add_function(remove_pad_kernel(ctx_, t->shape.size(), t->dtype), kRemovePad);
    const Expr* const tensor[] = {back};
    const Expr* const operands[] = {trim, ctx_.tuple(tensor)};
    const Type* const ty_args[] = {wanted};
    return emit_value(ctx_.call_typed(ctx_.op(op::CallTir), operands, wanted, {}, ty_args));
  }

  const GlobalVar* name_of(std::string_view op, Replacement& r) {
    if (r.name) return r.name;
    std::string hint(op);
    for (char& c : hint)
      if (c == '.') c = '_';
    Span<NamedAttr> attrs = ctx_.with_attr(r.function->attrs, attr_name::OperatorName, ctx_.attr(op));
    const PrimFunc* own = with_attrs(ctx_, r.function, ctx_.with_attr(attrs, attr_name::GlobalSymbol, nullptr));
    const std::string_view name = ctx_.str(builder_.unique_name(hint + "_replacement"));
    builder_.set(name, own);
    return r.name = ctx_.global_var(name, own->type);
  }

  const Module* module_;
  ModuleBuilder& builder_;
  ops::Legalizer kernels_;
  Replacements& replacements_;
};

}  // namespace

Result<const Module*> alter_op_impl(PassEnv& env, const Module* module, const AlterOpImplOptions& options) {
  RLDB_TRY(Replacements replacements, replacements_of(env.ctx, module, options));
  ModuleBuilder builder(env.ctx, *module);
  OpAlterer alterer(env.ctx, module, builder, replacements);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = alterer.rewrite_function(f);
    if (alterer.error) return Failure(*alterer.error);
    if (made == f) continue;
    builder.set(e.name, refine_result(env.ctx, made));
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
