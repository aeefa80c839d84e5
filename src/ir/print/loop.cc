// Loops of TensorIR: grids of nested loops, single loops of every kind.
#include "ir/print/printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

bool trivial_step(const ForStmt* s) { return s->step == nullptr || is_int(s->step, 1); }

// A serial loop from zero with no other properties.
bool fits_grid(const ForStmt* s) {
  return s->for_kind == ForKind::Serial && is_int(s->min, 0) && s->annotations.empty() && trivial_step(s);
}

// The loops merged into one T.grid: nested, none with an extent that depends on another.
std::vector<const ForStmt*> grid_of(const ForStmt* s) {
  std::vector<const ForStmt*> loops;
  std::unordered_set<const Node*> vars;
  for (const ForStmt* l = s; l != nullptr && fits_grid(l); l = as<ForStmt>(l->body)) {
    std::vector<const Var*> used;
    collect_vars(l->extent, used);
    for (const Var* v : used)
      if (vars.count(v) != 0) return loops;
    loops.push_back(l);
    vars.insert(l->var);
  }
  return loops;
}

// The part after `T.`; a serial loop without annotations is Python's own range.
std::string_view loop_name(ForKind k) {
  switch (k) {
    case ForKind::Serial:
      return "serial";
    case ForKind::Parallel:
      return "parallel";
    case ForKind::Vectorized:
      return "vectorized";
    case ForKind::Unrolled:
      return "unroll";
    case ForKind::ThreadBinding:
      return "thread_binding";
  }
  return {};
}

}  // namespace

void Printer::grid(const std::vector<const ForStmt*>& loops) {
  bool first = true;
  for (const ForStmt* l : loops) {
    comma(first);
    out_ += define(l->var);
  }
  out_ += " in ";
  t("grid(");
  first = true;
  for (const ForStmt* l : loops) {
    comma(first);
    expr(l->extent);
  }
  out_ += "):";
}

// i in T.serial(1, n, annotations={...}):
void Printer::loop_header(const ForStmt* s) {
  bool range = s->for_kind == ForKind::Serial && s->annotations.empty();
  out_ += define(s->var);
  out_ += " in ";
  if (range)
    out_ += "range";
  else
    t(loop_name(s->for_kind));
  out_ += '(';
  if (!is_int(s->min, 0) || !trivial_step(s)) {
    expr(s->min);
    out_ += ", ";
    sum(s->min, s->extent);
  } else {
    expr(s->extent);
  }
  if (range && !trivial_step(s)) {
    out_ += ", ";
    expr(s->step);
  }
  if (s->for_kind == ForKind::ThreadBinding) {
    out_ += ", thread=";
    string_literal(s->thread_tag);
  }
  if (!s->annotations.empty()) {
    out_ += ", annotations=";
    attr_dict(s->annotations);
  }
  if (!range && !trivial_step(s)) {
    out_ += ", step=";
    expr(s->step);
  }
  out_ += "):";
}

void Printer::for_stmt(const ForStmt* s) {
  std::vector<const ForStmt*> loops = grid_of(s);
  names_.push();
  line(s);
  out_ += "for ";
  if (loops.size() > 1) {
    grid(loops);
  } else {
    loops.assign(1, s);
    loop_header(s);
  }
  for (const ForStmt* l : loops) loops_[l->var] = l;
  nested(loops.back()->body);
  for (const ForStmt* l : loops) loops_.erase(l->var);
  names_.pop();
}

}  // namespace rldb::ir::print_detail
