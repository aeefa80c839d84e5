#include "debug/provenance/runtime_call.h"

#include "rldb/bytecode/builtin/value.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/runtime/contrib.h"

namespace rldb::debug {

using bytecode::ArgKind;
using runtime::Value;

namespace {

// The function of the runtime that a program calls by this name, or null.
runtime::PackedFunctionPointer contrib_of(std::string_view callee) {
#define RLDB_RUNTIME_FUNCTION(id, name, function, doc) \
  if (callee == runtime_function::id) return runtime::function;
#include "rldb/bytecode/runtime_function.def"
  return nullptr;
}

}  // namespace

std::optional<CopiedBytes> copied_by(const CallMoment& call, std::string_view callee) {
  const bool copies = callee == builtin::ToDevice || callee == builtin::EnsureZeroOffset;
  if (!copies || call.args.size() != 1 || call.results.size() != 1) return std::nullopt;
  const Touch &from = call.args[0], &to = call.results[0];
  if (from.memory == to.memory || to.end - to.begin != from.end - from.begin) return std::nullopt;
  return CopiedBytes{from, to};
}

RuntimeCall::RuntimeCall(const Run& run, const vm::Machine& before, const CallMoment& call, std::string_view callee)
    : function_(contrib_of(callee)) {
  const bytecode::Executable& exe = run.code().executable();
  const bytecode::Instruction i = exe.instruction(call.pc);
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    const bytecode::Arg arg = i.arg(a);
    const Value* v = arg.kind() == ArgKind::Register && !bytecode::is_special(arg.reg())
                         ? before.read_register(call.frame, arg.reg())
                         : nullptr;
    if (arg.kind() == ArgKind::Constant) v = &exe.constants[std::size_t(arg.value())];
    args_.push_back(v ? *v : arg.kind() == ArgKind::Immediate ? Value::of_int(arg.value()) : Value());
  }
}

std::optional<runtime::CallReads> RuntimeCall::reads(const runtime::ElementPlace& written) const {
  auto known = runtime::call_reads(function_, args_, written);
  return known ? known : runtime::collective_reads(function_, args_, written);
}

std::optional<std::vector<runtime::WrittenBytes>> RuntimeCall::writes() const {
  auto known = runtime::call_writes(function_, args_);
  return known ? known : runtime::collective_writes(function_, args_);
}

}  // namespace rldb::debug
