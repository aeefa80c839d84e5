// Calls of primitive functions: storage and tensors for their results, shape functions where dims are not known.
#include <algorithm>
#include <limits>

#include "relay/codegen/function_compiler.h"
#include "rldb/source/diagnostic_relay.h"

namespace rldb::relay {

namespace {

constexpr std::int64_t kLeastAlignment = 64;

bool is_known(const TensorType* t) {
  return std::all_of(t->shape.begin(), t->shape.end(), [](const Dim& d) { return d.kind == DimKind::Known; });
}

std::vector<std::int64_t> dims_of(const TensorType* t) {
  std::vector<std::int64_t> dims;
  for (const Dim& d : t->shape) dims.push_back(d.value);
  return dims;
}

void tensor_leaves(const Type* t, std::vector<const TensorType*>& out) {
  if (const auto* tensor = as<TensorType>(t)) out.push_back(tensor);
  if (const auto* tuple = as<TupleType>(t))
    for (const Type* f : tuple->fields) tensor_leaves(f, out);
}

// TVM writes bool as an unsigned integer of one bit.
std::vector<std::int64_t> dtype_fields(runtime::DType t) {
  if (t.is_bool()) return {std::int64_t(runtime::TypeCode::UInt), 1, t.lanes};
  return {std::int64_t(t.code), t.bits, t.lanes};
}

std::vector<std::int64_t> joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::int64_t alignment(runtime::DType t) { return std::max(kLeastAlignment, std::int64_t(t.bytes())); }

}  // namespace

void FunctionCompiler::invoke_packed(std::size_t primitive, const Regs& in, const Regs& out) {
  std::vector<Word> fields{Word(primitive), Word(in.size() + out.size()), Word(out.size())};
  emit(Opcode::InvokePacked, joined(joined(fields, in), out));
}

// Nested tuples too: the machine flattens one level only.
void FunctionCompiler::flatten(const Type* t, Reg r, Regs& out) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return out.push_back(r);
  for (std::size_t i = 0; i < tuple->fields.size(); ++i)
    flatten(tuple->fields[i], emit_to(Opcode::GetField, {r, Word(i)}), out);
}

FunctionCompiler::Reg FunctionCompiler::primitive(const Function* f, Span<const Expr*> args) {
  if (args.size() != f->params.size()) {
    unsupported(f, "a primitive function with another number of arguments");
    return 0;
  }
  Regs inputs;
  for (std::size_t i = 0; i < args.size(); ++i) flatten(f->params[i]->annotation, atom(args[i]), inputs);
  if (has_attr(f, attr_name::ReshapeOnly) && !inputs.empty()) return reshape(f, inputs[0]);
  std::vector<const TensorType*> types;
  tensor_leaves(f->result, types);
  const Regs out = outputs(f, types, inputs);
  invoke_packed(tables_.compute(f), inputs, out);
  std::size_t next = 0;
  return result(f->result, out, next);
}

FunctionCompiler::Reg FunctionCompiler::reshape(const Function* f, Reg data) {
  const Reg shape = load(tables_.dims(dims_of(as<TensorType>(f->result))));
  return emit_to(Opcode::ReshapeTensor, {data, shape});
}

FunctionCompiler::Reg FunctionCompiler::result(const Type* t, const Regs& outputs, std::size_t& next) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return outputs[next++];
  Regs fields;
  for (const Type* f : tuple->fields) fields.push_back(result(f, outputs, next));
  return emit_to(Opcode::AllocADT, {0, Word(fields.size())}, fields);
}

FunctionCompiler::Regs FunctionCompiler::outputs(const Function* f, const std::vector<const TensorType*>& types,
                                                 const Regs& args) {
  const bool known = std::all_of(types.begin(), types.end(), is_known);
  const Regs shapes = known ? Regs() : output_shapes(f, types, args);
  Regs out;
  for (std::size_t i = 0; i < types.size(); ++i)
    out.push_back(is_known(types[i]) ? output(types[i]) : dynamic_output(types[i], shapes[i]));
  for (const Reg r : shapes) kill(r);
  return out;
}

FunctionCompiler::Reg FunctionCompiler::output(const TensorType* type) {
  std::int64_t bytes = std::int64_t(type->dtype.bytes());
  for (const std::int64_t d : dims_of(type))
    if (__builtin_mul_overflow(bytes, d, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
  const Reg size = load(tables_.number(bytes));
  const Reg storage =
      emit_to(Opcode::AllocStorage, joined({size, alignment(type->dtype)}, joined(dtype_fields(type->dtype), {0, 0})));
  const Reg offset = load(tables_.number(0));
  std::vector<Word> dims = dims_of(type);
  const Reg tensor = emit_to(Opcode::AllocTensor,
                             joined({storage, offset}, joined(dtype_fields(type->dtype), {Word(dims.size())})), dims);
  kill(storage);
  return tensor;
}

FunctionCompiler::Reg FunctionCompiler::dynamic_output(const TensorType* type, Reg shape) {
  const auto* size_type = tables_.ctx.scalar(runtime::DType::Int(64));
  const Reg size = output(size_type);
  invoke_packed(tables_.storage_size(type->dtype.bytes()), {shape}, {size});
  const Reg storage =
      emit_to(Opcode::AllocStorage, joined({size, alignment(type->dtype)}, joined(dtype_fields(type->dtype), {0, 0})));
  const Reg offset = load(tables_.number(0));
  const Reg tensor = emit_to(Opcode::AllocTensorReg, joined({storage, offset, shape}, dtype_fields(type->dtype)));
  kill(storage);
  kill(size);
  return tensor;
}

// The dims of each result, by the shape function.
FunctionCompiler::Regs FunctionCompiler::output_shapes(const Function* f, const std::vector<const TensorType*>& types,
                                                       const Regs& args) {
  bool needs_data = false;
  const std::size_t shape_function = tables_.shape_of_result(f, needs_data);
  Regs in;
  for (const Reg r : args) in.push_back(needs_data ? r : emit_to(Opcode::ShapeOf, {r}));
  Regs out;
  for (const TensorType* t : types) {
    const Dim rank{DimKind::Known, false, std::int64_t(t->shape.size()), nullptr};
    out.push_back(output(tables_.ctx.tensor(std::span(&rank, 1), runtime::DType::Int(64))));
  }
  invoke_packed(shape_function, in, out);
  if (!needs_data)
    for (const Reg r : in) kill(r);
  return out;
}

}  // namespace rldb::relay
