// From the user's notation (a line, a block, a loop, a buffer) to the probes of a kernel.
#include "debug/kernel/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"

namespace rldb::debug {

using ir::as;

namespace {

const ir::SBlock* block_of(const ir::Stmt* s) {
  const auto* realize = as<ir::SBlockRealize>(s);
  return realize ? realize->block : as<ir::SBlock>(s);
}

// Of a loop, or of threads that are launched; null: it is neither.
const ir::Var* loop_variable(const ir::Stmt* s) {
  if (const auto* f = as<ir::ForStmt>(s)) return f->var;
  const auto* launch = as<ir::AttrStmt>(s);
  return launch ? launch->thread_var : nullptr;
}

void probes_of_line(const KernelText& text, std::uint32_t line, KernelPlace& out) {
  for (const ir::Stmt* s : text.statements_at(line)) {
    Probe p;
    p.at = s;
    out.probes.push_back(p);
  }
  if (out.probes.empty()) return;
  const std::uint32_t found = text.line_of(out.probes[0].at);
  std::string_view code = out.text = text.line(found);
  code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
  out.text = fmt::format("line {}: {}", found, code);
}

// One probe per statement in which `probe_of` finds one.
template <class F>
bool probes_by(const KernelText& text, KernelPlace& out, std::string what, F probe_of) {
  for (const KernelText::Row& row : text.statements())
    if (std::optional<Probe> p = probe_of(row.stmt)) {
      p->at = row.stmt;
      out.probes.push_back(*p);
    }
  if (!out.probes.empty()) out.text = std::move(what);
  return !out.probes.empty();
}

std::optional<Probe> probe_if(bool on, Probe::Arrival arrival, const ir::Var* axis = nullptr) {
  if (!on) return std::nullopt;
  Probe p;
  p.arrival = arrival;
  p.axis = axis;
  return p;
}

bool probes_of_name(const KernelText& text, std::string_view name, KernelPlace& out) {
  const auto axis = [&](const ir::Stmt* s) -> std::optional<Probe> {
    if (const ir::SBlock* b = as<ir::SBlockRealize>(s) ? block_of(s) : nullptr)
      for (const ir::IterVar& v : b->iter_vars)
        if (v.var->name == name) return probe_if(true, Probe::Arrival::NewValue, v.var);
    return std::nullopt;
  };
  const auto loop = [&](const ir::Stmt* s) {
    const ir::Var* v = loop_variable(s);
    return probe_if(v && v->name == name, Probe::Arrival::Iteration);
  };
  const auto write = [&](const ir::Stmt* s) {
    const auto* st = as<ir::BufferStore>(s);
    return probe_if(st && st->buffer->name == name, Probe::Arrival::Statement);
  };
  const auto block = [&](const ir::Stmt* s) {
    const ir::SBlock* b = block_of(s);
    return probe_if(b && b->name == name, Probe::Arrival::Block);
  };
  return probes_by(text, out, fmt::format("each value of axis {}", name), axis) ||
         probes_by(text, out, fmt::format("each value of loop {}", name), loop) ||
         probes_by(text, out, fmt::format("each write of {}", name), write) ||
         probes_by(text, out, fmt::format("block {}", name), block);
}

// Notes the lines where a breakpoint's marks appear.
void note_lines(const KernelText& text, KernelPlace& out) {
  if (text.source()) out.file = text.source()->name();
  for (const Probe& p : out.probes)
    if (const std::uint32_t line = text.line_of(p.at); line > 0) out.lines.push_back(line);
  std::sort(out.lines.begin(), out.lines.end());
  out.lines.erase(std::unique(out.lines.begin(), out.lines.end()), out.lines.end());
}

std::vector<std::string_view> names_in(const KernelText& text) {
  std::vector<std::string_view> names;
  for (const KernelText::Row& row : text.statements()) {
    if (const ir::Var* v = loop_variable(row.stmt)) names.push_back(v->name);
    if (const auto* st = as<ir::BufferStore>(row.stmt)) names.push_back(st->buffer->name);
    if (const ir::SBlock* b = block_of(row.stmt)) {
      names.push_back(b->name);
      for (const ir::IterVar& v : b->iter_vars) names.push_back(v.var->name);
    }
  }
  return names;
}

}  // namespace

std::shared_ptr<KernelPlace> find_place(const KernelText& text, std::string_view said,
                                        std::optional<source::Message>& problem) {
  auto place = std::make_shared<KernelPlace>();
  place->kernel = text.name();
  place->function = text.function();
  std::uint32_t line = 0;
  const auto parsed = std::from_chars(said.data(), said.data() + said.size(), line);
  if (parsed.ec == std::errc() && parsed.ptr == said.data() + said.size()) {
    if (line >= text.first_line() && line <= text.last_line()) probes_of_line(text, line, *place);
    note_lines(text, *place);
    if (!place->probes.empty()) return place;
    problem = source::message(diag::NothingAtLine, fmt::format("statement of kernel `{}`", text.name()), said)
                  .with_hint(fmt::format("its lines are {} to {}: `list` shows them inside the kernel",
                                         text.first_line(), text.last_line()));
    return nullptr;
  }
  const bool found = probes_of_name(text, said, *place);
  note_lines(text, *place);
  if (found) return place;
  problem = source::message(diag::NoSuchThing,
                            fmt::format("loop, block, axis or written buffer in kernel `{}`", text.name()), said);
  if (const std::string_view near = source::nearest(said, names_in(text)); !near.empty())
    problem->hint = fmt::format("did you mean `{}`?", near);
  return nullptr;
}

}  // namespace rldb::debug
