#include "rldb/codegen/gpu/host_walk.h"

#include <fmt/format.h>

#include <utility>

#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/profile_mark.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

namespace {

bool has_launch(const ir::Stmt* s) {
  bool found = false;
  ir::walk(s, [&](const ir::Node* n) {
    const auto* part = as<ir::AttrStmt>(n);
    found = found || (part && !ir::thread_tag(part).empty());
    return !found;
  });
  return found;
}

}  // namespace

bool is_of_host(const ir::Expr* e) {
  bool good = true;
  ir::walk(e, [&](const ir::Node* n) {
    good = good && !as<ir::BufferLoad>(n);
    return good;
  });
  return good;
}

void HostWalk::refuse(std::string why) {
  if (refused_.empty()) refused_ = std::move(why);
}

void HostWalk::unscheduled(const ir::Stmt* s) {
  if (!refused_.empty()) return;
  unscheduled_ = true;
  std::string text = ir::print_stmt(s);
  refuse(fmt::format("`{}` does not run in threads", text.substr(0, text.find('\n'))));
}

void HostWalk::walk(const ir::Stmt* s) {
  if (!refused_.empty()) return;
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : seq->stmts) walk(part);
  } else if (const auto* a = as<ir::AttrStmt>(s)) {
    ir::thread_tag(a).empty() ? walk(a->body) : launch(a);
  } else if (const auto* f = as<ir::ForStmt>(s)) {
    if (!has_launch(f) || f->for_kind == ir::ForKind::ThreadBinding || !is_of_host(f->min) || !is_of_host(f->extent))
      return unscheduled(f);
    host_loop(f);
    walk(f->body);
  } else if (const auto* i = as<ir::IfThenElse>(s)) {
    if (!has_launch(i) || !is_of_host(i->cond)) return unscheduled(i);
    walk(i->then_case);
    if (i->else_case) walk(i->else_case);
  } else if (const auto* b = as<ir::BindStmt>(s)) {
    if (!is_of_host(b->value) || !b->var->dtype().is_scalar()) return unscheduled(b);
    host_bind(b);
  } else if (const auto* check = as<ir::AssertStmt>(s)) {
    if (!is_of_host(check->cond)) unscheduled(check);
  } else if (as<ir::AllocBuffer>(s) || as<ir::AllocateStmt>(s)) {
    allocation(s);
  } else if (const auto* d = as<ir::DeclBuffer>(s)) {
    declaration(d);
  } else if (const auto* e = as<ir::Evaluate>(s)) {
    const bool nothing = ir::const_int(e->value).has_value() || (ir::is_call_of(e->value, ir::intrin::Ret) &&
                                                                 ir::is_const(as<ir::Call>(e->value)->args[0], 0));
    if (!nothing && !ir::is_profile_mark(e->value)) unscheduled(e);
  } else {
    unscheduled(s);
  }
}

}  // namespace rldb::codegen
