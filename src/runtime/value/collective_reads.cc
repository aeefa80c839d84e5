// The elements that a collective reads for one element of its result: those of this worker, and where the others' are.
#include <fmt/format.h>

#include "rldb/runtime/call_reads.h"
#include "rldb/runtime/contrib.h"
#include "rldb/runtime/worker_groups.h"
#include "rldb/runtime/workers.h"

namespace rldb::runtime {

namespace {

// The place of an element of `t` at the position.
ElementPlace place_in(const Tensor& t, std::int64_t position) {
  return {t.storage().get(), t.byte_offset() + std::size_t(position) * t.dtype().bytes()};
}

std::int64_t g_workers_in_group = 0;

CallReads from_worker(const Tensor& input, std::int64_t position, std::int64_t worker) {
  const std::int64_t own = workers() ? workers()->id() : 0;
  if (worker == own) return {true, {place_in(input, position)}, {}};
  return {true, {}, fmt::format("it comes from element {} of the tensor of worker {}", position, worker)};
}

// Those whose last argument is the result.
bool is_followed(PackedFunctionPointer function, PackedArgs args) {
  const bool known = function == disco_allreduce || function == disco_custom_allreduce || function == disco_allgather ||
                     function == disco_broadcast;
  return known && args.size() >= 2 && args[0].is(ValueKind::Tensor) && args[args.size() - 1].is(ValueKind::Tensor);
}

}  // namespace

std::int64_t workers_in_group() { return g_workers_in_group; }
void set_workers_in_group(std::int64_t count) { g_workers_in_group = count; }

std::optional<CallReads> collective_reads(PackedFunctionPointer function, PackedArgs args,
                                          const ElementPlace& written) {
  const bool reduces = function == disco_allreduce || function == disco_custom_allreduce;
  const bool gathers = function == disco_allgather, casts = function == disco_broadcast;
  if (!is_followed(function, args)) return std::nullopt;
  const Tensor &input = args[0].as_tensor(), &out = args[args.size() - 1].as_tensor();
  const std::size_t width = out.dtype().bytes();
  if (out.storage().get() != written.memory || written.byte < out.byte_offset() ||
      written.byte >= out.byte_offset() + out.byte_size())
    return CallReads{};
  if (width == 0 || input.dtype() != out.dtype() || input.element_count() == 0) return std::nullopt;
  const auto position = std::int64_t((written.byte - out.byte_offset()) / width);
  if (reduces) {
    if (position >= input.element_count()) return std::nullopt;
    CallReads reads{true, {place_in(input, position)}, {}};
    if (workers()) reads.others = "and from the same element of the other workers";
    return reads;
  }
  const Collective what = gathers ? Collective::Allgather : Collective::Broadcast;
  const bool in_group = is_in_group(what, args) && workers();
  if (in_group && g_workers_in_group <= 0) return std::nullopt;
  const std::int64_t first = in_group ? workers()->id() / g_workers_in_group * g_workers_in_group : 0;
  if (casts) return from_worker(input, position, first);
  return from_worker(input, position % input.element_count(), first + position / input.element_count());
}

std::optional<std::vector<WrittenBytes>> collective_writes(PackedFunctionPointer function, PackedArgs args) {
  if (!is_followed(function, args)) return std::nullopt;
  const Tensor& out = args[args.size() - 1].as_tensor();
  return std::vector<WrittenBytes>{
      {out.storage().get(), out.byte_offset(), out.byte_offset() + out.byte_size(), out.dtype().bytes()}};
}

}  // namespace rldb::runtime
