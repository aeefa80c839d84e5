// Copies from global to shared or local memory by instructions of NVIDIA's GPUs. An asynchronous one is done at once:
// a program that waits for its group before it reads cannot tell.
#include <fmt/format.h>

#include <cstring>

#include "eval/tir/parts.h"
#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/printer.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using support::Unit;

namespace {

// Bytes of what the pointer points to; offsets count those.
std::int64_t element_bytes(const ir::Expr* pointer, DType otherwise) {
  const auto* p = as<ir::PointerType>(pointer->type);
  return std::int64_t((p && !p->element.is_void() ? p->element : otherwise).bytes());
}

}  // namespace

Result<std::byte*> TirMachine::Impl::memory_at(const ir::Expr* pointer, const ir::Expr* offset, DType element,
                                               std::int64_t bytes) const {
  RLDB_TRY(const Pointer p, pointer_of(pointer));
  RLDB_TRY(const std::int64_t index, expr().integer(offset));
  const std::int64_t size = std::int64_t(p.end - p.byte_offset), step = element_bytes(pointer, element);
  if (index < 0 || bytes > size || index > (size - bytes) / step)
    return fail(ErrorKind::OutOfBounds, fmt::format("access out of bounds: {} bytes from element {} of `{}` on", bytes,
                                                    index, ir::print_expr(pointer)));
  return p.storage->data() + p.byte_offset + std::size_t(index * step);
}

// args: target, its offset, source, its offset, bytes, and a condition, without which all are copied; where it does not
// hold the target is filled with zeros
Result<Unit> TirMachine::Impl::copy_to_shared(const ir::Call* c) {
  if (c->args.size() != 5 && c->args.size() != 6)
    return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", ir::print_expr(c)));
  if (watcher)
    return fail(ErrorKind::Unsupported,
                fmt::format("sanitizers do not see what `{}` reads: check the program before InjectPTXAsyncCopy",
                            ir::print_expr(c)));
  RLDB_TRY(const std::int64_t bytes, expr().integer(c->args[4]));
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return fail(ErrorKind::Raised,
                fmt::format("`{}` copies {} bytes; it must be 4, 8 or 16", ir::print_expr(c), bytes));
  RLDB_TRY(std::byte * to, memory_at(c->args[0], c->args[1], c->dtype(), bytes));
  bool holds = true;
  if (c->args.size() == 6) {
    RLDB_TRY(const Scalar on, expr().eval(c->args[5]));
    holds = on.i != 0;
  }
  if (holds) {
    RLDB_TRY(const std::byte* from, memory_at(c->args[2], c->args[3], c->dtype(), bytes));
    std::memcpy(to, from, std::size_t(bytes));
  } else {
    std::memset(to, 0, std::size_t(bytes));
  }
  return Unit{};
}

// args: target, a condition, an element that is read if it holds, the offset of the target
Result<Unit> TirMachine::Impl::load_if(const ir::Call* c) {
  const auto* load = c->args.size() == 4 ? as<ir::BufferLoad>(c->args[2]) : nullptr;
  if (!load)
    return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", ir::print_expr(c)));
  RLDB_TRY(const Scalar on, expr().eval(c->args[1]));
  if (!on.i) return Unit{};
  RLDB_TRY(const Scalar value, expr().eval(load));
  const std::size_t bytes = load->dtype().bytes();
  RLDB_TRY(std::byte * to, memory_at(c->args[0], c->args[3], load->dtype(), std::int64_t(bytes)));
  store(to, load->dtype(), value);
  if (watcher) watcher->stored(to, bytes);
  return Unit{};
}

// False: another kind of statement.
Result<bool> TirMachine::Impl::evaluate_copy(const ir::Expr* e) {
  const auto* c = as<ir::Call>(e);
  if (is_call_of<ir::intrin::PtxCpAsync>(e)) {
    RLDB_TRY_VOID(copy_to_shared(c));
    return true;
  }
  if (is_call_of<ir::intrin::PtxLdg32>(e)) {
    RLDB_TRY_VOID(load_if(c));
    return true;
  }
  return is_call_of<ir::intrin::PtxCommitGroup>(e) || is_call_of<ir::intrin::PtxWaitGroup>(e);
}

}  // namespace rldb::eval
