// ManifestAlloc: makes the memory for a call of a primitive function explicit, as instructions of the machine: for each
// result a storage block and a tensor in it, then the call, which writes them.
//
//   let %storage = memory.alloc_storage(40i64, 64i64, dtype="float32");
//   let %tensor = memory.alloc_tensor(%storage, 0i64, [10], const_shape=[10], dtype="float32");
//   let %_ = vm.invoke_tvm_op(fn (%p0: ..., Primitive=1) {...}, (%x,), (%tensor,));
//   let %y = %tensor;
//
// Unknown dims come from the primitive's shape function (`vm.shape_func`), which gets the dims of the operands
// (`vm.shape_of`), or the operands themselves where their values decide, on the host; the size in bytes of a tensor
// with these dims is computed by a primitive. A reshape of known dims is `vm.reshape_tensor`. Requires A-normal form.
#include <fmt/format.h>

#include <limits>
#include <map>

#include "relay/passes/common.h"
#include "relay/passes/devices/device_calls.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

using runtime::DType;

constexpr std::int64_t kLeastAlignment = 64;
constexpr std::size_t kHost = 0;

bool is_known(const TensorType* t) {
  return std::all_of(t->shape.begin(), t->shape.end(), [](const Dim& d) { return d.kind == DimKind::Known; });
}

void tensor_leaves(const Type* t, std::vector<const TensorType*>& out) {
  if (const auto* tensor = as<TensorType>(t)) out.push_back(tensor);
  if (const auto* tuple = as<TupleType>(t))
    for (const Type* f : tuple->fields) tensor_leaves(f, out);
}

class Allocator : public AnfRewriter {
 public:
  Allocator(PassEnv& env, const DevicePlan& plan, DeviceCalls& calls)
      : AnfRewriter(env.ctx), env_(env), plan_(plan), calls_(calls) {}

 private:
  using Exprs = std::vector<const Expr*>;

  const Expr* value(const Var* var, const Expr* v) override {
    const auto* c = as<Call>(v);
    const auto* f = c ? as<Function>(c->callee) : nullptr;
    if (!f || !is_primitive(f)) return v;
    at_ = v;
    device_ = plan_.device_of(var);
    if (c->args.size() != f->params.size() || !f->result) {
      env_.out.add(ctx_.span(v), source::message(diag::RelayNotCompiled,
                                                 "a call of a primitive function with another number of arguments"));
      return v;
    }
    return primitive(f, *c);
  }

  // ---- helpers ----

  // A variable that belongs to the binding that follows.
  const Var* hidden(std::string_view name, const Type* type, const Expr* value) {
    const Var* var = ctx_.var(name, type);
    if (env_.names) env_.names->insert_or_assign(var, "");
    ctx_.set_span(value, ctx_.span(at_));
    bind(var, value);
    return var;
  }
  const Expr* call(OpId id, const Exprs& args, const std::vector<NamedAttr>& attrs = {}) {
    return ctx_.call(ctx_.op(&info(id)), args, attrs);
  }
  NamedAttr attr(std::string_view name, const AttrValue& value) { return {ctx_.str(name), ctx_.attr(value)}; }
  NamedAttr dtype_attr(DType dtype) {
    AttrValue v;
    v.kind = AttrKind::String;
    v.text = ctx_.str(to_string(dtype));
    return attr(instruction_attr::Dtype, v);
  }
  NamedAttr list_attr(std::string_view name, const std::vector<std::int64_t>& numbers) {
    AttrValue list;
    list.kind = AttrKind::List;
    std::vector<const AttrValue*> items;
    for (const std::int64_t n : numbers) {
      AttrValue v;
      v.kind = AttrKind::Int;
      v.integer = n;
      items.push_back(ctx_.attr(v));
    }
    list.items = ctx_.list(items);
    return attr(name, list);
  }
  const Constant* number(std::int64_t n) {
    const Constant*& made = numbers_[n];
    if (made) return made;
    auto t = runtime::Tensor::empty({}, DType::Int(64)).value();
    runtime::store_int(t->data(), t->dtype(), n);
    return made = ctx_.constant(t);
  }
  const Constant* dims_constant(const std::vector<std::int64_t>& dims) {
    const Constant*& made = dims_[dims];
    if (made) return made;
    auto t = runtime::Tensor::empty({std::int64_t(dims.size())}, DType::Int(64)).value();
    for (std::size_t i = 0; i < dims.size(); ++i) runtime::store_int(t->data() + 8 * i, t->dtype(), dims[i]);
    return made = ctx_.constant(t);
  }
  static std::vector<std::int64_t> dims_of(const TensorType* t) {
    std::vector<std::int64_t> dims;
    for (const Dim& d : t->shape) dims.push_back(d.value);
    return dims;
  }
  const TensorType* int64_vector(std::size_t length) {
    const Dim dim{DimKind::Known, false, std::int64_t(length), nullptr};
    return ctx_.tensor(std::span(&dim, 1), DType::Int(64));
  }

  // ---- calls ----

  // The tensors of a value, nested tuples included.
  void flatten(const Type* t, const Expr* e, Exprs& out) {
    const auto* tuple = as<TupleType>(t);
    if (!tuple) return out.push_back(e);
    for (std::size_t i = 0; i < tuple->fields.size(); ++i)
      flatten(tuple->fields[i], hidden("field", tuple->fields[i], ctx_.projection(e, std::int64_t(i))), out);
  }

  const Expr* primitive(const Function* f, const Call& c) {
    Exprs inputs;
    for (std::size_t i = 0; i < c.args.size(); ++i) flatten(f->params[i]->annotation, c.args[i], inputs);
    std::vector<const TensorType*> types;
    tensor_leaves(f->result, types);
    if (has_attr(f, attr_name::ReshapeOnly) && !inputs.empty() && types.size() == 1 && is_known(types[0])) {
      const std::vector<std::int64_t> dims = dims_of(types[0]);
      return call(op::VmReshapeTensor, {inputs[0], dims_constant(dims)}, {list_attr(instruction_attr::NewShape, dims)});
    }
    const Exprs outputs = results(f, types, inputs);
    hidden("", nullptr, call(op::VmInvokeTvmOp, {f, ctx_.tuple(inputs), ctx_.tuple(outputs)}));
    std::size_t next = 0;
    return result(f->result, outputs, next);
  }

  const Expr* result(const Type* t, const Exprs& outputs, std::size_t& next) {
    const auto* tuple = as<TupleType>(t);
    if (!tuple) return outputs[next++];
    Exprs fields;
    for (const Type* f : tuple->fields) {
      const Expr* e = result(f, outputs, next);
      fields.push_back(is_leaf(e) ? e : hidden("field", f, e));
    }
    return ctx_.tuple(fields);
  }

  Exprs results(const Function* f, const std::vector<const TensorType*>& types, const Exprs& inputs) {
    const bool known = std::all_of(types.begin(), types.end(), is_known);
    const Exprs shapes = known ? Exprs() : result_shapes(f, types, inputs);
    Exprs out;
    for (std::size_t i = 0; i < types.size(); ++i)
      out.push_back(is_known(types[i]) ? static_tensor(types[i], device_) : dynamic_tensor(types[i], shapes[i]));
    return out;
  }

  const Expr* storage(const Expr* size, DType dtype, std::size_t device) {
    const std::int64_t alignment = std::max(kLeastAlignment, std::int64_t(dtype.bytes()));
    std::vector<NamedAttr> attrs{dtype_attr(dtype)};
    if (device != kHost) attrs.push_back({field::VirtualDevice, calls_.attr(device)});
    return hidden("storage", ctx_.named("Storage", {}), call(op::MemoryAllocStorage, {size, number(alignment)}, attrs));
  }

  const Expr* static_tensor(const TensorType* type, std::size_t device) {
    const std::vector<std::int64_t> dims = dims_of(type);
    std::int64_t bytes = std::int64_t(type->dtype.bytes());
    for (const std::int64_t d : dims)
      if (__builtin_mul_overflow(bytes, d, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
    const Expr* block = storage(number(bytes), type->dtype, device);
    const Constant* shape = dims_constant(dims);
    AttrValue known;
    known.kind = AttrKind::Expression;
    known.expr = shape;
    return hidden("tensor", type,
                  call(op::MemoryAllocTensor, {block, number(0), shape},
                       {dtype_attr(type->dtype), attr(instruction_attr::ConstShape, known)}));
  }

  const Expr* dynamic_tensor(const TensorType* type, const Expr* shape) {
    const auto* size_type = ctx_.scalar(DType::Int(64));
    const Expr* size = static_tensor(size_type, kHost);
    const Function* f = size_function(type);
    hidden("", nullptr, call(op::VmInvokeTvmOp, {f, ctx_.tuple(Exprs{shape}), ctx_.tuple(Exprs{size})}));
    const Expr* block = storage(size, type->dtype, device_);
    return hidden("tensor", type, call(op::MemoryAllocTensor, {block, number(0), shape}, {dtype_attr(type->dtype)}));
  }

  // The product of the dims times the bytes of an element.
  const Function* size_function(const TensorType* type) {
    const Var* dims = ctx_.var("p0", int64_vector(type->shape.size()));
    const Expr* elements = call(op::Prod, {dims});
    const Expr* bytes = call(op::Multiply, {elements, number(std::int64_t(type->dtype.bytes()))});
    return ctx_.function({}, std::vector<const Var*>{dims}, ctx_.scalar(DType::Int(64)), bytes,
                         std::vector<NamedAttr>{flag(ctx_, attr_name::Primitive)});
  }

  // The dims of each result, computed by the shape function.
  Exprs result_shapes(const Function* f, const std::vector<const TensorType*>& types, const Exprs& inputs) {
    bool by_values = false;
    for (const Expr* e : reachable(f))
      if (const OpInfo* op = operator_of(e)) by_values = by_values || op->role == OpRole::Values;
    Exprs in;
    for (const Expr* x : inputs) in.push_back(by_values ? on_host(x) : shape_of(x));
    Exprs out;
    for (const TensorType* t : types) out.push_back(static_tensor(int64_vector(t->shape.size()), kHost));
    const std::vector<std::int64_t> is_input(inputs.size(), by_values ? 1 : 0);
    hidden(
        "", nullptr,
        call(op::VmShapeFunc, {f, ctx_.tuple(in), ctx_.tuple(out)}, {list_attr(instruction_attr::IsInput, is_input)}));
    return out;
  }

  const Expr* on_host(const Expr* x) {
    return device_ == kHost ? x : hidden("copy", nullptr, calls_.copy(x, device_, kHost));
  }

  const Expr* shape_of(const Expr* x) {
    return hidden("shape", nullptr, call(op::VmShapeOf, {x}, {dtype_attr(DType::Int(64))}));
  }

  PassEnv& env_;
  const DevicePlan& plan_;
  DeviceCalls& calls_;
  const Expr* at_ = nullptr;    // the call being made explicit
  std::size_t device_ = kHost;  // where it computes
  std::unordered_map<std::int64_t, const Constant*> numbers_;
  std::map<std::vector<std::int64_t>, const Constant*> dims_;
};

}  // namespace

const Module* run_ManifestAlloc(PassEnv& env, const Module* m, const NoOptions&) {
  const auto plan = DevicePlan::of(env.ctx, m, env.out);
  if (!plan) return nullptr;
  DeviceCalls calls(env.ctx, *plan);
  const std::size_t before = env.out.error_count();
  const Module* made = map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : Allocator(env, *plan, calls).function(d.function);
  });
  return env.out.error_count() == before ? made : nullptr;
}

}  // namespace rldb::relay
