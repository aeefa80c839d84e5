#include "debug/run/kernel_memory.h"

#include <map>
#include <memory>
#include <string>

#include "debug/provenance/may_write.h"

namespace rldb::debug {

using ir::as;

void tell_kernel_writes(const vm::Program& program, const ir::Module* lowered) {
  if (!lowered || vm::has_kernel_writes(program)) return;
  using Known = std::map<std::string, vm::KernelWrites, std::less<>>;
  vm::set_kernel_writes(program, [lowered, known = std::make_shared<Known>()](std::string_view name) {
    if (const auto it = known->find(name); it != known->end()) return static_cast<const vm::KernelWrites*>(&it->second);
    const auto* f = as<ir::PrimFunc>(lowered->find(name));
    if (!f) return static_cast<const vm::KernelWrites*>(nullptr);
    return static_cast<const vm::KernelWrites*>(&known->emplace(name, vm::KernelWrites{may_write(f)}).first->second);
  });
}

}  // namespace rldb::debug
