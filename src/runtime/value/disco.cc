// Collectives of the workers of a program. A single worker gets its own operand.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "rldb/runtime/contrib.h"
#include "rldb/runtime/workers.h"
#include "rldb/support/text.h"

namespace rldb::runtime {

namespace {

Workers* g_workers = nullptr;

// TVM's numbers of reductions.
enum class Reduction : std::int64_t { Sum, Prod, Min, Max, Avg };

std::optional<Reduction> reduction_at(const Value& v) {
  const bool known = v.is(ValueKind::Shape) && v.as_shape().size() == 1 && v.as_shape()[0] >= 0 &&
                     v.as_shape()[0] <= std::int64_t(Reduction::Avg);
  return known ? std::optional(Reduction(v.as_shape()[0])) : std::nullopt;
}

// TVM's kernel that is always a sum takes a tensor, a strategy and the result.
constexpr std::size_t kCustomArguments = 3;

std::size_t options_of(Collective what) { return what == Collective::Allreduce ? 2 : 1; }

// The output tensor is the last argument; that of a gathering collective is for worker 0 alone.
Result<support::Unit> check_arguments(Collective what, PackedArgs args, std::size_t id) {
  if (what == Collective::Gather && id != 0 && args.size() == 3 && args.front().is(ValueKind::Tensor) &&
      args.back().is_null())
    return support::Unit{};
  const std::size_t options = options_of(what);
  if (args.size() != options + 2 || !args.front().is(ValueKind::Tensor) || !args.back().is(ValueKind::Tensor))
    return fail(ErrorKind::TypeMismatch,
                fmt::format("expected a tensor, {} and the result", support::counted(std::size_t(options), "option")));
  const Tensor &from = args.front().as_tensor(), &to = args.back().as_tensor();
  if (from.dtype() == to.dtype()) return support::Unit{};
  return fail(ErrorKind::TypeMismatch,
              fmt::format("{} does not become {}", describe(args.front()), describe(args.back())));
}

support::Failure<Error> wrong_count(PackedArgs args, std::size_t workers) {
  const std::string has = workers == 1 ? "one worker" : fmt::format("{} workers", workers);
  return fail(ErrorKind::ShapeMismatch, fmt::format("this program has {}, so that {} does not become {}", has,
                                                    describe(args.front()), describe(args.back())));
}

// The workers' operands have the same shape and dtype.
Result<support::Unit> check_inputs(std::span<const Value> inputs, const Value& own) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool same = inputs[i].is(ValueKind::Tensor) && inputs[i].as_tensor().dtype() == own.as_tensor().dtype() &&
                      inputs[i].as_tensor().shape() == own.as_tensor().shape();
    if (!same)
      return fail(ErrorKind::ShapeMismatch,
                  fmt::format("{} and {} are brought to one collective", describe(inputs[i]), describe(own)));
  }
  return support::Unit{};
}

template <class T>
T reduced(Reduction kind, T a, T b) {
  switch (kind) {
    case Reduction::Sum:
    case Reduction::Avg:
      return a + b;
    case Reduction::Prod:
      return a * b;
    case Reduction::Min:
      return std::min(a, b);
    case Reduction::Max:
      return std::max(a, b);
  }
  RLDB_UNREACHABLE("reduction");
}

// In the order of the workers, in double.
void reduce_floats(Reduction kind, std::span<const Value> inputs, Tensor& to) {
  const std::size_t bytes = to.dtype().bytes();
  for (std::int64_t i = 0; i < to.element_count(); ++i) {
    double sum = inputs[0].as_tensor().at(i);
    for (std::size_t w = 1; w < inputs.size(); ++w) sum = reduced(kind, sum, inputs[w].as_tensor().at(i));
    if (kind == Reduction::Avg) sum /= double(inputs.size());
    store_double(to.data() + std::size_t(i) * bytes, to.dtype(), sum);
  }
}

// Integers wrap; unsigned arithmetic does so without undefined behaviour.
std::int64_t reduced_integer(Reduction kind, std::int64_t a, std::int64_t b) {
  if (kind == Reduction::Min || kind == Reduction::Max) return reduced(kind, a, b);
  return std::int64_t(reduced(kind, std::uint64_t(a), std::uint64_t(b)));
}

void reduce_integers(Reduction kind, std::span<const Value> inputs, Tensor& to) {
  const std::size_t bytes = to.dtype().bytes();
  const auto at = [&](std::size_t w, std::int64_t i) {
    return load_as_int(inputs[w].as_tensor().peek() + std::size_t(i) * bytes, to.dtype());
  };
  for (std::int64_t i = 0; i < to.element_count(); ++i) {
    std::int64_t sum = at(0, i);
    for (std::size_t w = 1; w < inputs.size(); ++w) sum = reduced_integer(kind, sum, at(w, i));
    if (kind == Reduction::Avg) sum /= std::int64_t(inputs.size());
    store_int(to.data() + std::size_t(i) * bytes, to.dtype(), sum);
  }
}

Result<support::Unit> allreduce(std::span<const Value> inputs, PackedArgs args) {
  RLDB_TRY_VOID(check_inputs(inputs, args[0]));
  Tensor& to = args.back().as_tensor();
  if (to.element_count() != args[0].as_tensor().element_count()) return wrong_count(args, inputs.size());
  const std::optional<Reduction> kind = reduction_at(args[1]);
  if (!kind) return fail(ErrorKind::TypeMismatch, fmt::format("{} is not a kind of reduction", describe(args[1])));
  if (to.dtype().is_float()) {
    reduce_floats(*kind, inputs, to);
  } else {
    reduce_integers(*kind, inputs, to);
  }
  return support::Unit{};
}

Result<support::Unit> allgather(std::span<const Value> inputs, PackedArgs args) {
  RLDB_TRY_VOID(check_inputs(inputs, args[0]));
  const Tensor& to = args.back().as_tensor();
  const std::size_t part = args[0].as_tensor().byte_size();
  if (to.byte_size() != part * inputs.size()) return wrong_count(args, inputs.size());
  for (std::size_t w = 0; w < inputs.size(); ++w)
    std::memmove(to.data() + w * part, inputs[w].as_tensor().peek(), part);
  return support::Unit{};
}

Result<support::Unit> broadcast(std::span<const Value> inputs, PackedArgs args) {
  const Tensor &from = inputs[0].as_tensor(), &to = args.back().as_tensor();
  if (from.dtype() != to.dtype() || from.byte_size() != to.byte_size()) return wrong_count(args, inputs.size());
  std::memmove(to.data(), from.peek(), from.byte_size());
  return support::Unit{};
}

Result<support::Unit> scatter(std::span<const Value> inputs, std::size_t id, PackedArgs args) {
  const Tensor &from = inputs[0].as_tensor(), &to = args.back().as_tensor();
  if (from.dtype() != to.dtype() || from.byte_size() != to.byte_size() * inputs.size())
    return wrong_count(args, inputs.size());
  std::memmove(to.data(), from.peek() + id * to.byte_size(), to.byte_size());
  return support::Unit{};
}

Result<support::Unit> gather(std::span<const Value> inputs, std::size_t id, PackedArgs args) {
  return id == 0 ? allgather(inputs, args) : check_inputs(inputs, args[0]);
}

// args: the output[, a number]
Result<support::Unit> receive(std::span<const Value> inputs, PackedArgs args) {
  Tensor& to = args[0].as_tensor();
  const Tensor& from = inputs[0].as_tensor();
  if (to.dtype() != from.dtype() || to.shape() != from.shape())
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} was sent, and {} is to receive it", describe(inputs[0]), describe(args[0])));
  std::memmove(to.data(), from.peek(), from.byte_size());
  return support::Unit{};
}

bool is_message(Collective what) {
  return what == Collective::Send || what == Collective::SendToNextGroup || what == Collective::Receive ||
         what == Collective::ReceiveFromPrevGroup;
}

Result<support::Unit> check_message(Collective what, PackedArgs args) {
  const bool by_number = what == Collective::Send || what == Collective::Receive;
  if (args.size() == (by_number ? 2u : 1u) && args[0].is(ValueKind::Tensor) &&
      (!by_number || args[1].is(ValueKind::Int)))
    return support::Unit{};
  return fail(ErrorKind::TypeMismatch,
              by_number ? "expected a tensor and the number of a worker" : "expected a tensor");
}

Result<Value> meet(Collective what, PackedArgs args) {
  if (g_workers) return g_workers->meet(what, args);
  if (is_message(what)) {
    RLDB_TRY_VOID(check_message(what, args));
    return fail(ErrorKind::Unsupported,
                "this program has one worker: there is no other one to send to or receive from");
  }
  return run_collective(what, args.first(std::min<std::size_t>(args.size(), 1)), 0, args);
}

}  // namespace

Workers* workers() { return g_workers; }
void set_workers(Workers* group) { g_workers = group; }

bool is_in_group(Collective what, PackedArgs args) {
  const std::size_t at = options_of(what);
  if (is_message(what) || args.size() <= at) return false;
  const Value& v = args[at];
  return (v.is(ValueKind::Bool) || v.is(ValueKind::Int)) && v.as_int() != 0;
}

std::string_view reduction_of(Collective what, PackedArgs args) {
  if (what != Collective::Allreduce) return {};
  if (args.size() == kCustomArguments) return "sum";
  const std::optional<Reduction> kind = args.size() > 1 ? reduction_at(args[1]) : std::nullopt;
  if (!kind) return {};
  switch (*kind) {
    case Reduction::Sum:
      return "sum";
    case Reduction::Prod:
      return "prod";
    case Reduction::Min:
      return "min";
    case Reduction::Max:
      return "max";
    case Reduction::Avg:
      return "avg";
  }
  RLDB_UNREACHABLE("reduction");
}

Result<Value> run_collective(Collective what, std::span<const Value> inputs, std::size_t id, PackedArgs args) {
  if (is_message(what)) {
    RLDB_TRY_VOID(check_message(what, args));
  } else {
    RLDB_TRY_VOID(check_arguments(what, args, id));
  }
  for (const Value& v : inputs)
    if (!v.is(ValueKind::Tensor)) return fail(ErrorKind::TypeMismatch, fmt::format("{} is not a tensor", describe(v)));
  const auto run = [&]() -> Result<support::Unit> {
    switch (what) {
      case Collective::Allreduce:
        return allreduce(inputs, args);
      case Collective::Allgather:
        return allgather(inputs, args);
      case Collective::Broadcast:
        return broadcast(inputs, args);
      case Collective::Scatter:
        return scatter(inputs, id, args);
      case Collective::Gather:
        return gather(inputs, id, args);
      case Collective::Receive:
      case Collective::ReceiveFromPrevGroup:
        return receive(inputs, args);
      case Collective::Send:
      case Collective::SendToNextGroup:
        return support::Unit{};  // it is on its way
    }
    RLDB_UNREACHABLE("collective");
  };
  RLDB_TRY_VOID(run());
  return Value::null();
}

Result<Value> disco_worker_id(PackedArgs) { return Value::of_shape({g_workers ? g_workers->id() : 0}); }
Result<Value> disco_allreduce(PackedArgs args) { return meet(Collective::Allreduce, args); }
// TVM's own kernel for a sum over devices that share memory: its strategy affects the method, not the result.
Result<Value> disco_custom_allreduce(PackedArgs args) {
  if (args.size() != kCustomArguments)
    return fail(ErrorKind::ArgumentCount, "expected a tensor, a strategy and the result");
  const Value sum[] = {args[0], Value::of_shape({std::int64_t(Reduction::Sum)}), Value::of_bool(true), args[2]};
  return meet(Collective::Allreduce, sum);
}
Result<Value> disco_allgather(PackedArgs args) { return meet(Collective::Allgather, args); }
Result<Value> disco_broadcast(PackedArgs args) { return meet(Collective::Broadcast, args); }
Result<Value> disco_scatter(PackedArgs args) { return meet(Collective::Scatter, args); }
Result<Value> disco_gather(PackedArgs args) { return meet(Collective::Gather, args); }
Result<Value> disco_send(PackedArgs args) { return meet(Collective::Send, args); }
Result<Value> disco_send_to_next_group(PackedArgs args) { return meet(Collective::SendToNextGroup, args); }
Result<Value> disco_receive(PackedArgs args) { return meet(Collective::Receive, args); }
Result<Value> disco_receive_from_prev_group(PackedArgs args) { return meet(Collective::ReceiveFromPrevGroup, args); }

}  // namespace rldb::runtime
