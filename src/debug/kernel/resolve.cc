// From names and lines to kernels, for breakpoints.
#include "debug/impl.h"
#include "debug/kernel/place.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::Instruction;
using bytecode::Opcode;

namespace {

// By name, or through a builtin that takes the kernel.
std::vector<Pc> calls_of(const bytecode::Executable& exe, std::string_view kernel) {
  std::vector<Pc> calls;
  const bytecode::FunctionIndex f = exe.find_function(kernel);
  for (Pc pc = 0; f >= 0 && pc < exe.end(); ++pc) {
    const Instruction i = exe.instruction(pc);
    if (i.op != Opcode::Call) continue;
    bool here = i.callee == f;
    for (std::size_t a = 0; a < i.args.size(); ++a) here = here || i.arg(a) == Arg::function(f);
    if (here) calls.push_back(pc);
  }
  return calls;
}

}  // namespace

// Of a run, with its current kernels.
const ir::Module* Debugger::Impl::lowered_of(const CodeMap& map) const {
  return run && &run->code() == &map ? run->build_of(run->machine())->lowered : map.build()->lowered;
}

std::optional<KernelText> Debugger::Impl::kernel_text(std::string_view name, const CodeMap& map) const {
  const ir::Module* lowered = lowered_of(map);
  const auto* f = lowered ? ir::as<ir::PrimFunc>(lowered->find(name)) : nullptr;
  if (!f) return std::nullopt;
  return KernelText(session, std::string(name), f);
}

std::optional<KernelText> Debugger::Impl::kernel_at(std::string_view file, std::uint32_t line,
                                                    const CodeMap& map) const {
  const ir::Module* lowered = lowered_of(map);
  if (!lowered) return std::nullopt;
  for (const ir::ModuleEntry& entry : lowered->entries) {
    const auto* f = ir::as<ir::PrimFunc>(entry.function);
    if (!f || !session.sources().find(session.context().span_of(f).file)) continue;
    KernelText text(session, std::string(entry.name), f);
    if (text.source() && names_file(file, text.source()->name()) && line >= text.first_line() &&
        line <= text.last_line())
      return text;
  }
  return std::nullopt;
}

Debugger::Impl::Resolved Debugger::Impl::resolve_in_kernel(const KernelText& text, std::string_view said,
                                                           const CodeMap& map) const {
  Resolved r;
  if (auto place = find_place(text, said, r.problem)) {
    place->calls = calls_of(map.executable(), text.name());
    r.in_kernel = std::move(place);
  }
  return r;
}

}  // namespace rldb::debug
