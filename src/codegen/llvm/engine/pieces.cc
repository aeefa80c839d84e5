// Runs a parallel loop in pieces: how many there are, the state of a run for each, and the first that stopped.
#include "codegen/llvm/engine/pieces.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "codegen/llvm/engine/guard.h"
#include "codegen/llvm/engine/helpers.h"
#include "rldb/runtime/guarded.h"
#include "rldb/runtime/threads.h"

namespace rldb::codegen {

namespace {

constexpr std::int64_t kPiecesPerThread = 8;  // threads are not equally fast
constexpr std::int64_t kCacheLine = 64;       // elements of any size in whole lines

struct Loop {
  PartFn part;
  const void* captures;
  std::int64_t begin, end, step;  // of a piece
  const Run* run;

  // The first piece that stopped.
  std::atomic<std::size_t> stopped_at{std::numeric_limits<std::size_t>::max()};
  std::mutex mutex;
  std::int32_t status = 0;
  runtime::KernelFault fault;
  Run state;  // error, trap, damage
};

struct Piece {
  const Loop* loop;
  std::int64_t begin, end;
  runtime::KernelFault fault;
  std::int32_t status = 0;
};

void run_part(void* context) {
  auto* p = static_cast<Piece*>(context);
  p->status = p->loop->part(p->loop->captures, p->begin, p->end, &p->fault);
}

bool intact(const Run& run, std::size_t from) {
  return !run.check_memory || std::all_of(run.allocations.begin() + std::ptrdiff_t(from), run.allocations.end(),
                                          [](const auto& storage) { return runtime::intact(*storage); });
}

void run_piece(void* context, std::size_t index) {
  auto* loop = static_cast<Loop*>(context);
  if (index > loop->stopped_at.load(std::memory_order_relaxed)) return;
  Run state;
  state.args = loop->run->args;
  state.registry = loop->run->registry;
  state.check_memory = loop->run->check_memory;
  state.outer = current_run();
  Piece piece;
  piece.loop = loop;
  piece.begin = loop->begin + std::int64_t(index) * loop->step;
  piece.end = std::min(piece.begin + loop->step, loop->end);
  current_run() = &state;
  const Trap trap = call_guarded(run_part, &piece);
  current_run() = state.outer;
  if (trap.signal != 0) {
    state.trap = trap;
    piece.status = 2;
  }
  if (!intact(state, 0)) state.damaged = true;
  if (piece.status == 0 && !state.damaged) return;
  const std::lock_guard lock(loop->mutex);
  if (state.damaged) loop->state.damaged = true;
  if (piece.status == 0 || index > loop->stopped_at.load(std::memory_order_relaxed)) return;
  loop->stopped_at.store(index, std::memory_order_relaxed);
  loop->status = piece.status;
  loop->fault = piece.fault;
  loop->state.error = std::move(state.error);
  loop->state.trap = state.trap;
}

// On this thread. Its allocations are freed at once: a loop around it may come here often.
std::int32_t run_alone(PartFn part, const void* captures, std::int64_t begin, std::int64_t end,
                       runtime::KernelFault* fault) {
  Run* run = current_run();
  const std::size_t before = run->allocations.size();
  const std::int32_t status = part(captures, begin, end, fault);
  if (run->allocations.size() == before) return status;
  if (!intact(*run, before)) run->damaged = true;
  run->allocations.resize(before);
  return status;
}

}  // namespace

std::int32_t run_pieces(PartFn part, const void* captures, std::int64_t begin, std::int64_t end, std::int64_t grain,
                        runtime::KernelFault* fault) {
  const std::int64_t count = end - begin;
  grain = std::max<std::int64_t>(grain, 1);
  if (count < 1) return 0;
  if (count / 2 < grain || !runtime::may_use_threads()) return run_alone(part, captures, begin, end, fault);
  std::int64_t pieces = std::min(count / grain, std::int64_t(runtime::thread_count()) * kPiecesPerThread);
  std::int64_t step = (count - 1) / pieces + 1;
  if (grain >= kCacheLine) step = (step + kCacheLine - 1) / kCacheLine * kCacheLine;
  pieces = (count - 1) / step + 1;
  Run* run = current_run();
  Loop loop{part, captures, begin, end, step, run, {}, {}, 0, {}, {}};
  loop.stopped_at = std::numeric_limits<std::size_t>::max();
  {
    const GuardPause pause;
    runtime::do_pieces(std::size_t(pieces), run_piece, &loop);
  }
  if (loop.state.damaged) run->damaged = true;
  if (loop.status == 0) return 0;
  fault->code = loop.fault.code;
  std::copy(std::begin(loop.fault.values), std::end(loop.fault.values), std::begin(fault->values));
  if (loop.state.error) run->error = std::move(loop.state.error);
  run->trap = loop.state.trap;
  return loop.status;
}

}  // namespace rldb::codegen
