#include "rldb/eval/machine_view.h"

#include <fmt/format.h>

#include "eval/tir/tir_machine_impl.h"

namespace rldb::eval {

using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;

class MachineAccess {
 public:
  static auto& impl_of(const TirMachine& m) { return *m.impl_; }
};

void keep_to_written_barriers(TirMachine& machine) { MachineAccess::impl_of(machine).places_barriers = false; }

Result<Value> value_of_lane(const TirMachine& machine, const ir::Expr* e, int lane) {
  RLDB_TRY(const Scalar v, MachineAccess::impl_of(machine).expr().eval(e, lane));
  return e->dtype().is_float() ? Value::of_float(v.f) : Value::of_int(v.i);
}

Result<ElementPlace> place_of(const TirMachine& machine, const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
                              int lane) {
  const auto& i = MachineAccess::impl_of(machine);
  RLDB_TRY(const std::byte* at, i.expr().address(b, indices, lane));
  const auto it = i.env.buffers.find(b);
  if (it == i.env.buffers.end())
    return runtime::fail(ErrorKind::Raised, fmt::format("buffer `{}` has no memory here", b->name));
  return ElementPlace{it->second.storage.get(), at - it->second.storage->data()};
}

std::vector<ThreadView> threads_of(const TirMachine& machine) {
  std::vector<ThreadView> list;
  const auto& impl = MachineAccess::impl_of(machine);
  if (!impl.grid) return list;
  Grid grid = *impl.grid;
  for (std::size_t i = 0; i < grid.running.size(); ++i) {
    const Thread& t = grid.running[i];
    const bool current = i == grid.current;
    const std::vector<Activity>& stack = current ? impl.stack : t.stack;
    ThreadView row;
    row.name = grid.name_of(i);
    row.current = current;
    row.state = t.done               ? ThreadView::State::Done
                : t.waits            ? ThreadView::State::Waiting
                : current || t.begun ? ThreadView::State::Ready
                                     : ThreadView::State::NotBegun;
    if (stack.size() > grid.depth() && row.state != ThreadView::State::NotBegun) row.at = stack.back().stmt;
    list.push_back(std::move(row));
  }
  return list;
}

std::unique_ptr<TirMachine> as_thread(const TirMachine& machine, std::size_t thread) {
  const auto& from = MachineAccess::impl_of(machine);
  if (!from.grid || thread >= from.grid->running.size()) return nullptr;
  const Thread& wanted = from.grid->running[thread];
  if (thread != from.grid->current && (!wanted.begun || wanted.done)) return nullptr;
  auto copy = std::make_unique<TirMachine>(machine);
  auto& i = MachineAccess::impl_of(*copy);
  if (thread == i.grid->current) return copy;
  Thread& now = i.grid->running[i.grid->current];
  now.stack = std::move(i.stack);
  now.env = std::move(i.env);
  i.take_turn(thread);
  return copy;
}

}  // namespace rldb::eval
