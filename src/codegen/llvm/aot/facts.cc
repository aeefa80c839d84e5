// The tables of a library, written in the order in which src/aot/runtime/library.c reads them.
#include "codegen/llvm/aot/facts.h"

#include <fmt/format.h>

#include "rldb/runtime/ffi_abi.h"
#include "rldb/support/bytes.h"

namespace rldb::codegen {

using runtime::DType;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kAlignment = 64;

class FactWriter : public support::ByteWriter {
 public:
  void dtype(DType t) {
    u64(std::uint64_t(t.code) | std::uint64_t(t.bits) << 8 | std::uint64_t(std::uint16_t(t.lanes)) << 16);
  }

  bool constant(const Value& v, std::string& data) {
    switch (v.kind()) {
      case ValueKind::Null:
        u64(kTVMFFINone);
        return true;
      case ValueKind::Int:
      case ValueKind::Bool:
        u64(v.is(ValueKind::Int) ? kTVMFFIInt : kTVMFFIBool);
        i64(v.as_int());
        return true;
      case ValueKind::Float:
        u64(kTVMFFIFloat);
        f64(v.as_float());
        return true;
      case ValueKind::DType:
        u64(kTVMFFIDataType);
        dtype(v.as_dtype());
        return true;
      case ValueKind::String:
        u64(kTVMFFIStr);
        string(v.as_string());
        return true;
      case ValueKind::Shape:
        u64(kTVMFFIShape);
        u64(v.as_shape().size());
        for (const std::int64_t d : v.as_shape()) i64(d);
        return true;
      case ValueKind::Tensor: {
        const runtime::Tensor& t = v.as_tensor();
        u64(kTVMFFITensor);
        dtype(t.dtype());
        u64(t.shape().size());
        for (const std::int64_t d : t.shape()) i64(d);
        data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
        u64(data.size());
        data.append(reinterpret_cast<const char*>(t.data()), t.byte_size());
        return true;
      }
      case ValueKind::Tuple:
        u64(kTVMFFIArray);
        u64(v.as_tuple().fields.size());
        for (const Value& f : v.as_tuple().fields)
          if (!constant(f, data)) return false;
        return true;
      case ValueKind::Function:
      case ValueKind::Storage:
      case ValueKind::Object:
        return false;
    }
    return false;
  }

  void kernel(const AotKernel& k) {
    string(k.signature.name);
    dtype(k.signature.result);
    u64(k.signature.variables.size());
    for (const std::string& v : k.signature.variables) string(v);
    u64(k.signature.params.size());
    for (const runtime::KernelParam& p : k.signature.params) {
      string(p.name);
      u64(p.is_tensor);
      u64(p.opaque);
      dtype(p.dtype);
      i64(p.variable);
      u64(p.shape.size());
      for (const runtime::DimExpr& d : p.shape) {
        string(d.text);
        u64(d.code.size());
        for (const runtime::DimOp& op : d.code) {
          u64(std::uint64_t(op.code));
          i64(op.value);
        }
      }
    }
    u64(k.faults.size());
    for (const AotKernel::Fault& f : k.faults) {
      u64(std::uint64_t(f.kind));
      string(f.text);
      string(f.note);
    }
  }

  void function(const bytecode::Executable& exe, std::size_t index, const AotTarget& target) {
    const bytecode::FunctionEntry& f = exe.functions[index];
    const bytecode::FunctionDebug* debug = exe.debug.function(bytecode::FunctionIndex(std::int64_t(index)));
    string(f.name);
    u64(std::uint64_t(target.kind));
    u64(target.kernel);
    u64(target.exported);
    const std::size_t params = f.num_args > 0 ? std::size_t(f.num_args) : 0;
    u64(params);
    for (std::size_t i = 0; i < params; ++i) {
      string(i < f.param_names.size() ? f.param_names[i] : std::string());
      std::string type;
      if (debug)
        for (const bytecode::VariableRange& v : debug->variables)
          if (v.is_parameter && v.reg == bytecode::RegName(std::int64_t(i))) type = v.type;
      string(type);
    }
    u64(debug ? debug->slots.size() : 0);
    if (debug)
      for (const bytecode::SlotDebug& s : debug->slots) {
        string(s.text);
        string(s.bound_by);
        u64(s.is_variable);
      }
    const bool code = target.kind == AotTarget::Kind::Bytecode;
    u64(code ? std::uint64_t(f.start.value()) : 0);
    u64(code ? std::uint64_t(f.end.value() - f.start.value()) : 0);
    if (!code) return;
    for (bytecode::Pc pc = f.start; pc < f.end; ++pc) {
      const bytecode::InstructionDebug* row = exe.debug.instruction(pc);
      string(row ? row->variable : std::string());
      string(row ? exe.debug.file(row->location) : std::string_view());
      u64(row ? row->location.line : 0);
    }
  }
};

}  // namespace

support::Result<Facts, std::string> facts_of(const AotProgram& program) {
  const bytecode::Executable& exe = *program.executable;
  Facts facts;
  FactWriter out;
  out.string(program.name);
  out.u64(exe.constants.size());
  for (const Value& v : exe.constants)
    if (!out.constant(v, facts.constants))
      return support::Failure(fmt::format("a constant that is {}", runtime::describe(v)));
  out.u64(program.kernels.size());
  for (const AotKernel& k : program.kernels) out.kernel(k);
  out.u64(exe.functions.size());
  for (std::size_t i = 0; i < exe.functions.size(); ++i) out.function(exe, i, program.targets[i]);
  facts.tables = out.take();
  return facts;
}

}  // namespace rldb::codegen
