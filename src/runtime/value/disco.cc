// Collectives as a program of one worker has them: what would come from the others is not there, so that each is a
// copy.
#include <fmt/format.h>

#include <cstring>

#include "rldb/runtime/contrib.h"

namespace rldb::runtime {

namespace {

// `args[0]` into the last argument; the count of the others is `between`.
Result<Value> copy_through(PackedArgs args, std::size_t between) {
  if (args.size() != between + 2 || !args.front().is(ValueKind::Tensor) || !args.back().is(ValueKind::Tensor))
    return fail(ErrorKind::TypeMismatch, fmt::format("expected a tensor, {} option(s) and the result", between));
  const Tensor& from = args.front().as_tensor();
  Tensor& to = args.back().as_tensor();
  if (from.dtype() != to.dtype())
    return fail(ErrorKind::TypeMismatch,
                fmt::format("{} does not become {}", describe(args.front()), describe(args.back())));
  if (from.element_count() != to.element_count())
    return fail(ErrorKind::ShapeMismatch, fmt::format("this program has one worker, so that {} does not become {}",
                                                      describe(args.front()), describe(args.back())));
  std::memmove(to.data(), from.data(), from.byte_size());
  return Value::null();
}

}  // namespace

Result<Value> disco_worker_id(PackedArgs) { return Value::of_shape({0}); }
Result<Value> disco_allreduce(PackedArgs args) { return copy_through(args, 2); }
Result<Value> disco_custom_allreduce(PackedArgs args) { return copy_through(args, 1); }
Result<Value> disco_allgather(PackedArgs args) { return copy_through(args, 1); }
Result<Value> disco_broadcast(PackedArgs args) { return copy_through(args, 1); }
Result<Value> disco_scatter(PackedArgs args) { return copy_through(args, 1); }

}  // namespace rldb::runtime
