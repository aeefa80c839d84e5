#include "session/ranks/collectives.h"

#include <fmt/format.h>

#include "rldb/bytecode/runtime_function.h"

namespace rldb::session {

using bytecode::Pc;
using runtime::Collective;
using runtime::PackedArgs;
using runtime::Value;

namespace {

constexpr CollectiveName kCollectives[] = {
    {runtime_function::DiscoAllreduce, Collective::Allreduce},
    {runtime_function::CustomAllreduce, Collective::Allreduce},
    {runtime_function::DiscoAllgather, Collective::Allgather},
    {runtime_function::DiscoBroadcast, Collective::Broadcast},
    {runtime_function::DiscoScatter, Collective::Scatter},
    {runtime_function::DiscoGather, Collective::Gather},
    {runtime_function::DiscoSend, Collective::Send},
    {runtime_function::DiscoSendNext, Collective::SendToNextGroup},
    {runtime_function::DiscoReceive, Collective::Receive},
    {runtime_function::DiscoReceivePrev, Collective::ReceiveFromPrevGroup},
};

const CollectiveName* find_collective(std::string_view function) {
  for (const CollectiveName& c : kCollectives)
    if (c.name == function) return &c;
  return nullptr;
}

}  // namespace

std::string_view name_of(Collective what) {
  for (const CollectiveName& c : kCollectives)
    if (c.what == what) return c.name;
  return {};
}

const CollectiveName* collective_at(const bytecode::Executable& exe, Pc pc) {
  const bytecode::Instruction i = exe.instruction(pc);
  return i.op == bytecode::Opcode::Call ? find_collective(exe.functions[std::size_t(i.callee)].name) : nullptr;
}

vm::StopSet collectives_of(const bytecode::Executable& exe) {
  vm::StopSet stops(exe.instruction_count());
  for (Pc pc = 0; pc < exe.end(); ++pc)
    if (collective_at(exe, pc)) stops.set(pc);
  return stops;
}

std::vector<Value> arguments_at(const vm::Machine& m) {
  const bytecode::Instruction i = m.executable().instruction(m.frame().pc);
  std::vector<Value> out;
  for (std::size_t k = 0; k < i.args.size(); ++k) {
    const bytecode::Arg arg = i.arg(k);
    const bool in_register = arg.kind() == bytecode::ArgKind::Register && !bytecode::is_special(arg.reg());
    const Value* v = in_register ? m.read_register(m.frames().size() - 1, arg.reg()) : nullptr;
    if (arg.kind() == bytecode::ArgKind::Constant) v = &m.executable().constants[std::size_t(arg.value())];
    if (arg.kind() == bytecode::ArgKind::Immediate) {
      out.push_back(Value::of_int(arg.value()));
    } else {
      out.push_back(v ? *v : Value());
    }
  }
  return out;
}

runtime::Error other_reduction(std::string_view by, std::size_t other, std::string_view others_by) {
  return {runtime::ErrorKind::Unsupported,
          fmt::format("it combines by `{}` where rank {} combines by `{}`", by, other, others_by),
          {}};
}

bool is_send(Collective what) { return what == Collective::Send || what == Collective::SendToNextGroup; }
bool is_receive(Collective what) { return what == Collective::Receive || what == Collective::ReceiveFromPrevGroup; }

bool is_in_group_at(const vm::Machine& m) {
  const CollectiveName* at = collective_at(m.executable(), m.frame().pc);
  if (at && at->name == runtime_function::CustomAllreduce) return true;
  return at && runtime::is_in_group(at->what, arguments_at(m));
}

std::optional<std::int64_t> peer_of(Collective what, PackedArgs args, std::size_t rank, std::size_t group_size) {
  const auto size = std::int64_t(group_size);
  if (what == Collective::SendToNextGroup) return std::int64_t(rank) + size;
  if (what == Collective::ReceiveFromPrevGroup) return std::int64_t(rank) - size;
  if (!is_send(what) && !is_receive(what)) return std::nullopt;
  return args.size() > 1 && args[1].is(runtime::ValueKind::Int) ? args[1].as_int() : -1;
}

}  // namespace rldb::session
