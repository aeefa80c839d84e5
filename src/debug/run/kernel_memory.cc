#include "debug/run/kernel_memory.h"

#include <map>
#include <memory>
#include <string>

#include "debug/provenance/may_write.h"
#include "rldb/eval/coverage.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;

namespace {

bool same_element(const ir::BufferLoad* load, const ir::BufferStore* init) {
  if (load->buffer != init->buffer || load->indices.size() != init->indices.size()) return false;
  for (std::size_t i = 0; i < load->indices.size(); ++i)
    if (!ir::expr_equal(load->indices[i], init->indices[i])) return false;
  return true;
}

std::size_t loads_of(const ir::Node* part, const ir::Buffer* b, const ir::BufferStore* except) {
  std::size_t count = 0;
  ir::walk(part, [&](const ir::Node* n) {
    const auto* load = as<ir::BufferLoad>(n);
    count += load && load->buffer->data == b->data && !(except && same_element(load, except));
    return true;
  });
  return count;
}

// A reduction reads the element that its block has initialised; anything else reads what was there before.
bool reads_before(const ir::PrimFunc* f, const ir::Buffer* b) {
  std::size_t initialised = 0;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* block = as<ir::SBlock>(n);
    const auto* init = block ? as<ir::BufferStore>(block->init) : nullptr;
    if (init && init->buffer == b) initialised += loads_of(block->body, b, nullptr) - loads_of(block->body, b, init);
    return true;
  });
  return loads_of(f->body, b, nullptr) != initialised;
}

}  // namespace

std::vector<bool> overwritten_parameters(const ir::PrimFunc* f, const std::vector<bool>& written) {
  const std::vector<bool> partly = eval::may_leave_unwritten(f);
  std::vector<bool> list(f->params.size(), false);
  for (std::size_t i = 0; i < list.size() && i < written.size() && i < partly.size(); ++i)
    list[i] = written[i] && !partly[i] && f->params[i].buffer && !reads_before(f, f->params[i].buffer);
  return list;
}

void tell_kernel_writes(const vm::Program& program, const ir::Module* lowered) {
  if (!lowered || vm::has_kernel_writes(program)) return;
  using Known = std::map<std::string, vm::KernelWrites, std::less<>>;
  vm::set_kernel_writes(program, [lowered, known = std::make_shared<Known>()](std::string_view name) {
    if (const auto it = known->find(name); it != known->end()) return static_cast<const vm::KernelWrites*>(&it->second);
    const auto* f = as<ir::PrimFunc>(lowered->find(name));
    if (!f) return static_cast<const vm::KernelWrites*>(nullptr);
    vm::KernelWrites writes{may_write(f), {}};
    writes.overwritten = overwritten_parameters(f, writes.written);
    return static_cast<const vm::KernelWrites*>(&known->emplace(name, std::move(writes)).first->second);
  });
}

}  // namespace rldb::debug
