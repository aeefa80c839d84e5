// The machine's instructions as they appear in the text after ManifestAlloc and ManifestLifetimes:
// `memory.alloc_storage` and the like.
#include <algorithm>

#include "relay/codegen/function_compiler.h"
#include "rldb/relay/ir/attributes.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"

namespace rldb::relay {

namespace {

// TVM encodes bool as an unsigned integer of one bit.
std::vector<std::int64_t> dtype_fields(runtime::DType t) {
  if (t.is_bool()) return {std::int64_t(runtime::TypeCode::UInt), 1, t.lanes};
  return {std::int64_t(t.code), t.bits, t.lanes};
}

std::vector<std::int64_t> joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

runtime::DType dtype_of(const Call& c, runtime::DType otherwise) {
  return Attributes(c, *as<Op>(c.callee)->info).dtype(instruction_attr::Dtype).value_or(otherwise);
}

}  // namespace

bool FunctionCompiler::machine_call(const Call& c, std::optional<Reg>& result) {
  const auto* o = as<Op>(c.callee);
  if (!o || (o->info->role != OpRole::Instruction && o->info->role != OpRole::Effect)) return false;
  const OpId id = o->info->id;
  if (o->info->operands >= 0 && c.args.size() != std::size_t(o->info->operands)) {
    unsupported(&c, "an instruction with another number of operands");
    result = 0;
  } else if (id == op::MemoryAllocStorage) {
    result = alloc_storage(c);
  } else if (id == op::MemoryAllocTensor) {
    result = alloc_tensor(c);
  } else if (id == op::VmShapeOf) {
    if (dtype_of(c, runtime::DType::Int(64)) != runtime::DType::Int(64))
      unsupported(&c, "`vm.shape_of` with another dtype than int64");
    result = emit_to(Opcode::ShapeOf, {atom(c.args[0])});
  } else if (id == op::DeviceCopy) {
    result = device_copy(c);
  } else if (id == op::VmReshapeTensor) {
    const Reg data = atom(c.args[0]);
    result = emit_to(Opcode::ReshapeTensor, {data, atom(c.args[1])});
  } else if (id == op::MemoryKill) {
    if (!units_.contains(c.args[0])) kill(atom(c.args[0]));
  } else if (id == op::CallLowered) {
    unsupported(&c, "the call of a lowered function whose operands are not known to be a tuple");
    result = 0;
  } else {
    invoke_primitive(c, id);
  }
  return true;
}

// With the size and the alignment; TVM 0.14 has the shape between the two.
FunctionCompiler::Reg FunctionCompiler::alloc_storage(const Call& c) {
  const auto* alignment = c.args.size() == 2 || c.args.size() == 3 ? as<Constant>(c.args.back()) : nullptr;
  if (!alignment || !alignment->tensor->dtype().is_integral() || alignment->tensor->element_count() != 1) {
    unsupported(&c, "a storage block without a constant for its alignment");
    return 0;
  }
  const Reg size = atom(c.args[0]);
  const std::vector<std::int64_t> dtype = dtype_fields(dtype_of(c, runtime::DType::Float(32)));
  const Word device = device_number(c, field::VirtualDevice, &c);
  return emit_to(Opcode::AllocStorage,
                 joined({size, std::int64_t(alignment->tensor->at(0))}, joined(dtype, {device, 0})));
}

FunctionCompiler::Word FunctionCompiler::device_number(const Call& c, std::string_view attr, const Expr* value) const {
  const auto named = tables_.plan.named(Attributes(c, *as<Op>(c.callee)->info).attr(attr));
  return Word(named.value_or(tables_.plan.device_of(value)));
}

FunctionCompiler::Reg FunctionCompiler::device_copy(const Call& c) {
  const Word from = device_number(c, field::SrcVirtualDevice, c.args[0]);
  const Word to = device_number(c, field::DstVirtualDevice, &c);
  const auto* constant = as<Constant>(c.args[0]);
  return emit_to(Opcode::DeviceCopy, {constant ? load(*constant, std::size_t(from)) : atom(c.args[0]), from, to});
}

std::optional<std::vector<std::int64_t>> FunctionCompiler::constant_dims(const Expr* e) {
  const auto* c = as<Constant>(e);
  if (!c || !c->tensor->dtype().is_integral() || c->tensor->ndim() != 1) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < c->tensor->element_count(); ++i) dims.push_back(std::int64_t(c->tensor->at(i)));
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; })) return std::nullopt;
  return dims;
}

FunctionCompiler::Reg FunctionCompiler::alloc_tensor(const Call& c) {
  const Reg storage = atom(c.args[0]), offset = atom(c.args[1]);
  const std::vector<std::int64_t> dtype = dtype_fields(dtype_of(c, runtime::DType::Float(32)));
  if (const auto dims = constant_dims(c.args[2]))
    return emit_to(Opcode::AllocTensor, joined({storage, offset}, joined(dtype, {Word(dims->size())})), *dims);
  return emit_to(Opcode::AllocTensorReg, joined({storage, offset, atom(c.args[2])}, dtype));
}

void FunctionCompiler::invoke_packed(std::size_t primitive, const Regs& in, const Regs& out) {
  std::vector<Word> fields{Word(primitive), Word(in.size() + out.size()), Word(out.size())};
  emit(Opcode::InvokePacked, joined(joined(fields, in), out));
}

// `vm.invoke_tvm_op(f, (inputs), (outputs))`, and `vm.shape_func` likewise.
void FunctionCompiler::invoke_primitive(const Call& c, OpId id) {
  const auto* f = as<Function>(c.args[0]);
  const auto *in = as<Tuple>(c.args[1]), *out = as<Tuple>(c.args[2]);
  if (!f || !is_primitive(f) || !f->result || !in || !out) {
    unsupported(&c,
                "the call of a kernel that is not written as a primitive function, a tuple of inputs, and a tuple of "
                "outputs");
    return;
  }
  const Regs inputs = atoms(in->fields), outputs = atoms(out->fields);
  std::size_t primitive = 0;
  if (id == op::VmShapeFunc) {
    const auto is_input = Attributes(c, info(id)).ints(instruction_attr::IsInput);
    const bool from_values = is_input && std::any_of(is_input->begin(), is_input->end(), [](auto i) { return i != 0; });
    primitive = tables_.shape_of_result(f, from_values);
  } else {
    primitive = tables_.compute(f);
  }
  invoke_packed(primitive, inputs, outputs);
}

}  // namespace rldb::relay
