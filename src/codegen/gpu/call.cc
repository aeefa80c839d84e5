// The host's side of a call: arguments, statements around the launches, launches, faults.
#include "codegen/gpu/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "codegen/gpu/wait.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/runtime/shared_memory.h"

namespace rldb::codegen {

using ir::as;
using runtime::Error;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

// The record of faults as the generated code has it.
struct FaultRecord {
  std::uint32_t least_thread = 0xFFFFFFFF;
  std::uint32_t site = 0;
  std::uint32_t noted = 0;
  std::uint32_t unused = 0;
  std::int64_t numbers[kFaultNumbers] = {};
};
constexpr std::uint32_t kNoThread = 0xFFFFFFFF;

// The bytes that an argument of a kernel function is passed as.
GpuArgument bytes_of(const Value& v, ir::DType t) {
  GpuArgument out;
  if (t.is_float()) {
    const bool wide = t.bits == 64;
    out.size = wide ? 8 : 4;
    runtime::store_double(out.bytes, wide ? t : ir::DType::Float(32),
                          v.is(ValueKind::Float) ? v.as_float() : double(v.as_int()));
    return out;
  }
  out.size = t.is_bool() ? 1 : t.bytes();
  const std::int64_t n = v.is(ValueKind::Float) ? std::int64_t(v.as_float()) : v.as_int();
  std::memcpy(out.bytes, &n, out.size);
  return out;
}
template <class T>
GpuArgument bytes_of_number(T n) {
  GpuArgument out;
  out.size = sizeof n;
  std::memcpy(out.bytes, &n, sizeof n);
  return out;
}

// With the record's numbers in the places of `{}`, from `next` on.
std::string filled(std::string_view text, const FaultRecord& record, std::size_t& next) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("{}");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    if (next < kFaultNumbers) out += fmt::format("{}", record.numbers[next++]);
    text.remove_prefix(at + 2);
  }
  return out;
}

// The error of a call, with one that came after it.
Error with_note(Error first, std::string_view consequence, const Error& second) {
  first.notes.push_back(fmt::format("{}: {}", consequence, second.message));
  return first;
}

GpuArgument memory_argument(GpuAddress address) { return {GpuArgument::Kind::Memory, address, {}, 0}; }

}  // namespace

std::string block_is_too_large(const GpuDevice& device, const Launch& launch, std::uint64_t threads) {
  // On a CPU, the arrays of all threads of a block are on the stack of one thread, whose end is not tested (PoCL).
  constexpr std::uint64_t kMostStack = std::uint64_t(4) << 20;
  if (threads > device.block_threads)
    return fmt::format("its blocks have {} threads, a block of {} has at most {}", threads, device.name,
                       device.block_threads);
  if (device.is_cpu && launch.private_bytes > kMostStack / std::max<std::uint64_t>(1, threads))
    return fmt::format("its blocks have {} threads with arrays of {} bytes each, a block of {} has room for {} bytes",
                       threads, launch.private_bytes, device.name, kMostStack);
  return {};
}

Result<support::Unit> GpuCall::run(runtime::PackedArgs args) {
  RLDB_TRY_VOID(wait_for_abandoned(device_, options_.interrupt, fmt::format("kernel `{}`", signature_.name)));
  RLDB_TRY_VOID(bind(args));
  RLDB_TRY(faults_, GpuMemory::allocate(device_, sizeof(FaultRecord)));
  RLDB_TRY_VOID(copy_in());
  RLDB_TRY_VOID(keep_originals());
  auto done = execute();
  if (!done.ok() && failed_thread_ != kNoThread) {
    if (auto again = start_again(); again.ok())
      done = execute();
    else
      done = support::Failure(with_note(done.error(), "a thread's fault cannot be queried", again.error()));
  }
  if (done.ok()) return copy_out();
  if (auto restored = restore(); !restored.ok())
    return support::Failure(with_note(done.error(), "its tensors are not as they were", restored.error()));
  return done;
}

Result<support::Unit> GpuCall::start_again() {
  RLDB_TRY_VOID(restore());
  RLDB_TRY_VOID(copy_in());
  temporaries_.clear();
  return Unit{};
}

Result<support::Unit> GpuCall::execute() {
  launched_ = 0;
  return host(program_.f->body);
}

// ---- arguments ----

Result<support::Unit> GpuCall::bind(runtime::PackedArgs args) {
  // Memory that is shared moves before its address is taken.
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::PrimParam& p = program_.f->params[i];
    if (args[i].is(ValueKind::Tensor) && program_.written.contains(p.buffer ? p.buffer->data : p.var))
      RLDB_TRY_VOID(runtime::own(*args[i].as_tensor().storage()));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::PrimParam& p = program_.f->params[i];
    if (args[i].is(ValueKind::Tensor)) {
      RLDB_TRY_VOID(bind_tensor(p, i, args[i].as_tensor()));
    } else if (!p.buffer) {
      scalars_[p.var] = args[i];
    }
  }
  for (auto first = tensors_.begin(); first != tensors_.end(); ++first) {
    const Shared& a = first->second;
    for (auto second = std::next(first); second != tensors_.end() && second->first < first->first + a.bytes; ++second)
      if (second->second.bytes > 0 && (a.written || second->second.written))
        return fail(ErrorKind::Unsupported,
                    "two arguments are parts of one tensor that overlap, and one of them is written");
  }
  return Unit{};
}

Result<support::Unit> GpuCall::bind_tensor(const ir::PrimParam& p, std::size_t index, const runtime::Tensor& t) {
  const ir::Var* data = p.buffer ? p.buffer->data : p.var;
  const auto [row, added] = tensors_.try_emplace(t.address());
  if (added) order_.push_back(t.address());
  Shared& shared = row->second;
  shared.storage = t.storage();
  shared.at = t.byte_offset();
  shared.bytes = std::max(shared.bytes, t.byte_size());
  const bool written = program_.written.contains(data);
  shared.written = shared.written || written;
  const runtime::KernelParam& param = signature_.params[index];
  shared.read = shared.read || program_.read.contains(data) || (written && (param.may_leave_unwritten || param.opaque));
  reside(shared);
  arguments_[data] = t.address();
  bytes_[data] = t.byte_size();
  if (!p.buffer) return Unit{};
  std::int64_t stride = 1;
  for (std::size_t d = t.shape().size(); d-- > 0; stride *= t.shape()[d]) {
    if (d < p.buffer->shape.size())
      if (const auto* v = as<ir::Var>(p.buffer->shape[d])) scalars_[v] = Value::of_int(t.shape()[d]);
    if (d < p.buffer->strides.size())
      if (const auto* v = as<ir::Var>(p.buffer->strides[d])) scalars_[v] = Value::of_int(stride);
  }
  if (const auto* offset = as<ir::Var>(p.buffer->elem_offset)) scalars_[offset] = Value::of_int(0);
  return Unit{};
}

// ---- the host's statements ----

Result<Value> GpuCall::scalar(const ir::Expr* e) const {
  eval::ScalarEnv env;
  env.var = [&](const ir::Var* v) -> std::optional<Value> {
    const auto it = scalars_.find(v);
    return it == scalars_.end() ? std::nullopt : std::optional(it->second);
  };
  return eval::eval_scalar(e, env);
}

Result<std::int64_t> GpuCall::number(const ir::Expr* e) const {
  RLDB_TRY(const Value v, scalar(e));
  return v.is(ValueKind::Float) ? std::int64_t(v.as_float()) : v.as_int();
}

Result<support::Unit> GpuCall::host(const ir::Stmt* s) {
  if (const auto it = program_.launch_of.find(s); it != program_.launch_of.end()) return launch(it->second);
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : seq->stmts) RLDB_TRY_VOID(host(part));
  } else if (const auto* a = as<ir::AttrStmt>(s)) {
    return host(a->body);
  } else if (const auto* f = as<ir::ForStmt>(s)) {
    return loop(f);
  } else if (const auto* i = as<ir::IfThenElse>(s)) {
    RLDB_TRY(const std::int64_t holds, number(i->cond));
    if (holds) return host(i->then_case);
    if (i->else_case) return host(i->else_case);
  } else if (const auto* b = as<ir::BindStmt>(s)) {
    RLDB_TRY(scalars_[b->var], scalar(b->value));
  } else if (const auto* check = as<ir::AssertStmt>(s)) {
    RLDB_TRY(const std::int64_t holds, number(check->cond));
    std::string message;
    for (const std::string_view part : check->message_parts) message += part;
    if (!holds) return fail(ErrorKind::AssertFailed, message.empty() ? "an assertion fails" : message);
  } else if (as<ir::AllocBuffer>(s) || as<ir::AllocateStmt>(s)) {
    return allocate(s);
  }
  return Unit{};
}

Result<support::Unit> GpuCall::loop(const ir::ForStmt* s) {
  RLDB_TRY(const std::int64_t first, number(s->min));
  RLDB_TRY(const std::int64_t count, number(s->extent));
  std::int64_t step = 1;
  if (s->step) {
    RLDB_TRY(step, number(s->step));
  }
  for (std::int64_t i = first; i < first + count; i += std::max<std::int64_t>(step, 1)) {
    if (options_.interrupt && *options_.interrupt)
      return fail(ErrorKind::Interrupted, fmt::format("interrupted in kernel `{}`", signature_.name));
    scalars_[s->var] = Value::of_int(i);
    RLDB_TRY_VOID(host(s->body));
  }
  return Unit{};
}

Result<support::Unit> GpuCall::allocate(const ir::Stmt* s) {
  const auto* b = as<ir::AllocBuffer>(s);
  const auto* old = as<ir::AllocateStmt>(s);
  const ir::Var* data = b ? b->buffer->data : old->var;
  const ir::DType t = b ? b->buffer->dtype : old->dtype;
  if (!program_.temporaries.contains(data)) return Unit{};  // memory of threads, which the launches have, or unused
  std::int64_t bytes = std::int64_t(t.bytes());
  const auto& dims = b ? b->buffer->shape : old->extents;
  for (const ir::Expr* d : dims) {
    RLDB_TRY(const std::int64_t n, number(d));
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes) || std::size_t(bytes) > runtime::memory_limit())
      return fail(ErrorKind::OutOfMemory, fmt::format("cannot allocate buffer `{}`: its shape is negative or too large",
                                                      b ? b->buffer->name : old->var->name));
  }
  std::unique_ptr<GpuMemory>& memory = temporaries_[data];
  if (!memory || memory->size() < std::size_t(bytes)) {
    RLDB_TRY(memory, GpuMemory::allocate(device_, std::size_t(bytes)));
  }
  bytes_[data] = std::size_t(bytes);
  return memory->clear();
}

// ---- launches ----

Result<support::Unit> GpuCall::launch(std::size_t which) {
  const Launch& made = program_.launches[which];
  ++launched_;
  GpuGrid grid;
  std::uint64_t threads = 1;
  for (const ThreadAxis& axis : made.axes) {
    RLDB_TRY(const std::int64_t n, number(axis.extent));
    if (n <= 0) return Unit{};
    if (__builtin_mul_overflow(threads, std::uint64_t(n), &threads) || threads > kNoThread)
      return fail(ErrorKind::Unsupported, fmt::format("`{}` is launched with 2^32 threads or more", made.function));
    if (n > INT32_MAX)
      return fail(ErrorKind::Unsupported,
                  fmt::format("`{}` is launched with 2^31 or more of `{}`", made.function, axis.tag));
    const auto dim = std::size_t(axis.tag.back() - 'x');
    (ir::is_thread_idx(axis.tag) ? grid.threads : grid.blocks)[dim] = std::size_t(n);
  }
  const std::size_t in_block = grid.threads[0] * grid.threads[1] * grid.threads[2];
  if (std::string why = block_is_too_large(device_, made, in_block); !why.empty())
    return fail(ErrorKind::Unsupported, std::move(why));
  RLDB_TRY(const std::vector<GpuArgument> arguments, arguments_of(made));
  RLDB_TRY_VOID(device_.launch(code_, which, grid, arguments));
  note_written(made);
  RLDB_TRY_VOID(wait_for_launch(device_, options_, signature_.name));
  return look_at_faults(which);
}

Result<std::vector<GpuArgument>> GpuCall::arguments_of(const Launch& made) {
  std::vector<GpuArgument> all;
  for (const LaunchArgument& a : made.arguments) {
    switch (a.kind) {
      case LaunchArgument::Kind::Memory: {
        const auto given = arguments_.find(a.var);
        const auto temporary = temporaries_.find(a.var);
        if (given == arguments_.end() && temporary == temporaries_.end())
          return fail(ErrorKind::Raised, fmt::format("`{}` has no memory here", a.var->name));
        all.push_back(memory_argument(given != arguments_.end() ? tensors_.at(given->second).address
                                                                : temporary->second->address()));
        break;
      }
      case LaunchArgument::Kind::Bytes:
        all.push_back(bytes_of_number(std::int64_t(bytes_[a.var])));
        break;
      case LaunchArgument::Kind::Scalar: {
        RLDB_TRY(const Value v, scalar(a.var));
        all.push_back(bytes_of(v, a.var->dtype()));
        break;
      }
      case LaunchArgument::Kind::Fault: {
        FaultRecord record;
        RLDB_TRY_VOID(faults_->write(&record, sizeof record, false));
        all.push_back(memory_argument(faults_->address()));
        all.push_back(bytes_of_number(launched_ == failed_launch_ ? failed_thread_ : kNoThread));
        break;
      }
      case LaunchArgument::Kind::Stop:
        all.push_back({GpuArgument::Kind::Stop, 0, {}, 0});
        break;
    }
  }
  return all;
}

Result<support::Unit> GpuCall::look_at_faults(std::size_t which) {
  const Launch& made = program_.launches[which];
  if (std::none_of(made.arguments.begin(), made.arguments.end(),
                   [](const LaunchArgument& a) { return a.kind == LaunchArgument::Kind::Fault; }))
    return Unit{};
  FaultRecord record;
  RLDB_TRY_VOID(faults_->read(&record, sizeof record, false));
  noted_ = noted_ || record.noted;
  if (launched_ == failed_launch_ && record.site > 0) {
    Error e = fault(made, failed_thread_);
    return support::Failure(std::move(e));
  }
  if (record.least_thread == kNoThread) return Unit{};
  failed_launch_ = launched_;
  failed_thread_ = record.least_thread;
  return fail(ErrorKind::Raised, "a thread had a fault");  // replaced by the second execution
}

Error GpuCall::fault(const Launch& launch, std::uint32_t thread) const {
  FaultRecord record;
  if (!faults_->read(&record, sizeof record, false).ok() || record.site == 0 || record.site > program_.sites.size())
    return {ErrorKind::Raised, "a thread had a fault", {}};
  const FaultSite& site = program_.sites[record.site - 1];
  std::size_t next = 0;
  Error e{site.kind, site.has_numbers ? filled(site.text, record, next) : site.text, {}};
  if (!site.note.empty()) e.notes.push_back(filled(site.note, record, next));
  std::string place;
  for (std::size_t i = launch.axes.size(); i-- > 0;) {
    const auto extent = number(launch.axes[i].extent);
    const std::uint32_t n = extent.ok() && *extent > 0 ? std::uint32_t(*extent) : 1;
    place = fmt::format("{} = {}{}{}", launch.axes[i].tag, thread % n, place.empty() ? "" : ", ", place);
    thread /= n;
  }
  e.notes.push_back(fmt::format("in the thread {}", place));
  return e;
}

}  // namespace rldb::codegen
