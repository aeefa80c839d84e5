// How ^C ends a kernel: OpenCL cannot stop one, so code that may run long looks at a word that the host sets. Threads
// that meet at barriers leave together: one of them looks for all.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

namespace {

// Some milliseconds of one thread of a CPU.
constexpr std::int64_t kLongWork = std::int64_t(1) << 22;
// A launch is looked at as a whole if its threads together may take longer than some tenths of a second.
constexpr std::int64_t kLongLaunch = std::int64_t(1) << 26;
constexpr std::int64_t kChunk = 4096;

// A barrier that every iteration reaches is in between two looks.
bool always_meets(const ir::Stmt* s) {
  if (const auto* seq = as<ir::SeqStmt>(s)) return std::any_of(seq->stmts.begin(), seq->stmts.end(), always_meets);
  if (const auto* a = as<ir::AttrStmt>(s)) return always_meets(a->body);
  if (const auto* f = as<ir::ForStmt>(s)) return ir::const_int(f->extent).value_or(0) > 0 && always_meets(f->body);
  const auto* e = as<ir::Evaluate>(s);
  return e && ir::meeting_of(e->value) == ir::Meeting::Barrier;
}

}  // namespace

bool Emitter::leaves_loop(const ir::Stmt* s) {
  bool found = false;
  ir::walk(s, [&](const ir::Node* n) {
    const auto* e = as<ir::Expr>(n);
    found = found || (e && (ir::is_call_of(e, ir::intrin::BreakLoop) || ir::is_call_of(e, ir::intrin::ContinueLoop)));
    return !found;
  });
  return found;
}

std::optional<std::int64_t> Emitter::work_of(const ir::Stmt* s) {
  std::optional<std::int64_t> inner = 1;
  if (const auto* f = as<ir::ForStmt>(s)) {
    const auto n = analyzer_.bounds(f->extent).max;
    inner = work_of(f->body);
    std::int64_t all = 0;
    if (!n || !inner || __builtin_mul_overflow(std::max<std::int64_t>(*n, 1), *inner, &all)) return std::nullopt;
    return all;
  }
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : seq->stmts) {
      const auto n = work_of(part);
      if (!n || __builtin_add_overflow(*inner, *n, &*inner)) return std::nullopt;
    }
    return inner;
  }
  if (const auto* a = as<ir::AttrStmt>(s)) return work_of(a->body);
  if (const auto* i = as<ir::IfThenElse>(s)) {
    const auto yes = work_of(i->then_case), no = i->else_case ? work_of(i->else_case) : 0;
    return yes && no ? std::optional(std::max(*yes, *no)) : std::nullopt;
  }
  if (as<ir::WhileStmt>(s)) return std::nullopt;
  return inner;
}

std::string Emitter::stop_word() {
  argument({LaunchArgument::Kind::Stop});
  return "*rldb_stop";
}

// Before a thread of a launch that may be long in all begins.
void Emitter::stop_at_head(const ir::Stmt* s) {
  const auto each = work_of(s);
  std::int64_t threads = 1;
  bool known = each.has_value();
  for (const ThreadAxis& a : launch_->axes) {
    const auto n = ir::const_int(a.extent);
    known = known && n && !__builtin_mul_overflow(threads, std::max<std::int64_t>(*n, 1), &threads);
  }
  std::int64_t all = 0;
  if (known && !__builtin_mul_overflow(threads, *each, &all) && all < kLongLaunch) return;
  // PoCL's compiler gives up on some kernels that may return before a barrier.
  if (!ir::has_barrier(s)) line(fmt::format("if ({}) return;", stop_word()));
}

// The first thread of the block looks.
void Emitter::stop_together() {
  if (shared_.find("rldb_stopped") == std::string::npos) shared_ += "  __local uint rldb_stopped;\n";
  line(fmt::format("if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0) rldb_stopped = {};", stop_word()));
  line("barrier(CLK_LOCAL_MEM_FENCE);");
}

// At the start of each iteration of a loop that may be long.
void Emitter::stop_in_loop(const ir::Stmt* body, const std::string& leave) {
  if (!ir::has_barrier(body)) return line(fmt::format("if ({}) break;", stop_word()));
  if (leave.empty()) return;
  stop_together();
  line(fmt::format("{} = rldb_stopped;", leave));
}

// A loop with barriers keeps its one exit, which PoCL's compiler needs: the variable is part of its condition. Empty:
// such a loop cannot look.
std::string Emitter::leaving_variable(const ir::Stmt* body) {
  if (!ir::has_barrier(body) || !always_meets(body)) return {};
  std::string leave = names_.fresh("leave");
  line(fmt::format("uint {} = 0;", leave));
  return leave;
}

Emitter::Looks Emitter::looks_in(const ir::ForStmt* s) {
  const auto inner = work_of(s->body), all = work_of(s);
  if (all && *all < kLongWork) return Looks::Never;
  const bool short_iterations = inner && *inner < kChunk;
  if (short_iterations && !ir::has_barrier(s->body) && !s->step && !leaves_loop(s->body) && s->var->dtype().bits >= 32)
    return Looks::Chunks;
  return Looks::Each;
}

// A long loop of short iterations: chunks, with a look before each.
void Emitter::loop_in_chunks(const ir::ForStmt* s) {
  const ir::DType t = s->var->dtype();
  const std::string_view type = value_type(t);
  const std::string first = value(s->min), count = value(s->extent);
  const std::string name = names_.of(s->var, s->var->name);
  const std::string from = names_.fresh(name + "_from"), end = names_.fresh(name + "_end");
  const std::string to = names_.fresh(name + "_to");
  line(fmt::format("for ({0} {1} = {2}, {3} = {1} + {4}; {1} < {3}; {1} = {1} < {3} - {5} ? {1} + {5} : {3}) {{", type,
                   from, bare(first), end, count, kChunk));
  ++depth_;
  line(fmt::format("if ({}) break;", stop_word()));
  line(fmt::format("const {0} {1} = {2} - {3} < {4} ? {2} : {3} + {4};", type, to, end, from, kChunk));
  line(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1})", type, name, from, to));
  local_vars_[s->var] = name;
  block(s->body);
  --depth_;
  line("}");
}

}  // namespace rldb::codegen
