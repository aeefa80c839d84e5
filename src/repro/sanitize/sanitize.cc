// Scans the tensors of a trace for the sanitizers' findings, and formats them.
#include "rldb/repro/sanitize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "repro/sanitize/race.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using runtime::Tensor;
using runtime::ValueKind;

class Scan {
 public:
  Scan(const Trace& trace, const Sanitizers& which) : trace_(trace), which_(which) {}

  std::vector<Finding> run() {
    for (const Event& e : trace_.events) {
      support::poll();
      for (const Reading& r : e.inputs) visit(r, &e);
      if (which_.nan && found_nan_ == kNoEvent) look_for_nan(e);
    }
    for (const Reading& r : trace_.results) visit(r, nullptr);
    return std::move(out_);
  }

 private:
  static std::string text_of(const Event& e) { return e.binding ? ir::print_binding(e.binding) : e.instruction; }

  Finding start(Finding::Kind kind, const Reading& r, const Event* reader) const {
    Finding f;
    f.kind = kind;
    f.tensor = r.name;
    f.reader = reader ? reader->names.back() : "return";
    if (reader) {
      f.function = reader->function;
      f.reader_callee = reader->callee;
      f.text = text_of(*reader);
    } else if (r.event != kNoEvent) {
      f.function = trace_.events[r.event].function;
    }
    return f;
  }

  void visit(const Reading& r, const Event* reader) {
    if (which_.unwritten && r.unwritten) out_.push_back(start(Finding::Kind::Unwritten, r, reader));
    if (which_.storage && r.shared && reader) add_shared(r, *reader);
    if (!which_.storage || r.writer == kNoEvent) return;
    const Event& writer = trace_.events[r.writer];
    Finding f = start(Finding::Kind::Storage, r, reader);
    f.writer = writer.name();
    f.writer_callee = writer.callee;
    f.writer_text = text_of(writer);
    f.storage = writer.storage;
    f.allocation = trace_.events[r.event].allocation;
    f.writer_allocation = writer.allocation;
    out_.push_back(std::move(f));
  }

  // A kernel is passed the same memory for an input and for an output.
  void add_shared(const Reading& r, const Event& e) {
    Finding f = start(Finding::Kind::Shared, r, &e);
    f.storage = e.storage;
    if (r.event != kNoEvent) f.allocation = trace_.events[r.event].allocation;
    f.writer = e.name();
    f.writer_callee = e.callee;
    f.writer_allocation = e.allocation;
    out_.push_back(std::move(f));
  }

  static std::optional<std::int64_t> first_not_finite(const Event& e) {
    if (!e.value.is(ValueKind::Tensor)) return std::nullopt;
    const Tensor& t = e.value.as_tensor();
    if (!t.dtype().is_float() || t.dtype().lanes != 1) return std::nullopt;
    for (std::int64_t i = 0; i < t.element_count(); ++i)
      if (!std::isfinite(t.at(i))) return i;
    return std::nullopt;
  }

  void look_for_nan(const Event& e) {
    if (!e.binding) return;
    const auto at = first_not_finite(e);
    if (!at) return;
    for (const Reading& r : e.inputs)
      if (r.event != kNoEvent && first_not_finite(trace_.events[r.event])) return;
    found_nan_ = std::size_t(&e - trace_.events.data());
    Reading self;
    self.name = e.names.back();
    Finding f = start(Finding::Kind::Nan, self, &e);
    const Tensor& t = e.value.as_tensor();
    f.value = t.at(*at);
    f.element.resize(std::size_t(t.ndim()));
    std::int64_t flat = *at;
    for (std::size_t i = f.element.size(); i-- > 0; flat /= t.shape()[i]) f.element[i] = flat % t.shape()[i];
    out_.push_back(std::move(f));
  }

  const Trace& trace_;
  const Sanitizers& which_;
  std::vector<Finding> out_;
  std::size_t found_nan_ = kNoEvent;
};

std::string reader_of(const Finding& f) {
  if (f.reader == "return" && f.function.empty()) return "the result";
  if (f.reader == "return") return fmt::format("the result of `{}`", f.function);
  if (f.reader.empty() && f.function.empty()) return fmt::format("`{}`", f.reader_callee);  // a kernel by itself
  std::string text = fmt::format("`{}` of `{}`", f.reader, f.function);
  if (!f.reader_callee.empty()) text += fmt::format(" (by `{}`)", f.reader_callee);
  return text;
}

std::string allocated_as(const std::string& name, const std::string& allocation) {
  if (allocation.empty() || allocation == name) return fmt::format("`{}`", name);
  return fmt::format("`{}` (allocated as `{}`)", name, allocation);
}

}  // namespace

namespace {

struct SanitizerRow {
  std::string_view word;
  bool Sanitizers::*member;
  std::string_view doc;  // empty: the word says it
};
constexpr SanitizerRow kWords[] = {{"storage", &Sanitizers::storage, "memory of a live tensor given away"},
                                   {"uninit", &Sanitizers::unwritten, "memory read before it was written"},
                                   {"nan", &Sanitizers::nan, {}},
                                   {"bounds", &Sanitizers::bounds, {}},
                                   {"overflow", &Sanitizers::overflow, "integers"},
                                   {"race", &Sanitizers::race, "of GPU threads"}};

}  // namespace

std::string sanitizer_names() {
  std::string text;
  for (const SanitizerRow& row : kWords) text += fmt::format("{}{}", text.empty() ? "" : ", ", row.word);
  return text;
}

std::string sanitizer_doc() {
  std::string text;
  for (const SanitizerRow& row : kWords) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", row.word);
    if (!row.doc.empty()) text += fmt::format(" ({})", row.doc);
  }
  return text;
}

std::optional<Sanitizers> parse_sanitizers(std::string_view text, std::string& wrong) {
  Sanitizers out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const auto* row = std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& r) { return r.word == word; });
    if (row == std::end(kWords)) {
      wrong = word;
      return std::nullopt;
    }
    out.*row->member = true;
  }
  return out;
}

std::string to_string(const Sanitizers& which) {
  std::string text;
  for (const SanitizerRow& row : kWords)
    if (which.*row.member) text += (text.empty() ? "" : ",") + std::string(row.word);
  return text;
}

std::vector<Finding> sanitize(const Trace& trace, const Sanitizers& which) { return Scan(trace, which).run(); }

namespace {

// A reader of memory without any content is found by the trace too, which knows no elements.
void add_by_element(std::vector<Finding>& all, std::vector<Finding>& more) {
  for (Finding& f : more) {
    if (f.kind == Finding::Kind::Unwritten)
      std::erase_if(all, [&](const Finding& known) {
        return known.kind == f.kind && known.element.empty() && known.function == f.function &&
               known.reader == f.reader;
      });
    all.push_back(std::move(f));
  }
}

}  // namespace

SanitizedRun run_sanitized(session::Session& session, const Program& program, const Sanitizers& which) {
  SanitizedRun out;
  Program checked = program;
  if (which.bounds || which.overflow) checked.kernels = session::Engine::Eval;
  RaceRecorder recorder(session.context(), memory_for_copies(), which, session.registry());
  out.trace = record(session, checked, recorder);
  out.findings = sanitize(out.trace, which);
  add_by_element(out.findings, recorder.findings());
  std::vector<std::string> missed;
  if (!out.trace.incomplete.empty()) missed.push_back(out.trace.incomplete);
  if (!recorder.not_looked_at().empty())
    missed.push_back(fmt::format("what these kernels read could not be looked at, element by element: {}",
                                 fmt::join(recorder.not_looked_at(), ", ")));
  for (const auto& [kernel, why] : recorder.not_followed())
    missed.push_back(fmt::format("not all accesses of the threads of kernel `{}` could be followed: {}", kernel, why));
  out.trace.incomplete = fmt::format("{}", fmt::join(missed, "; "));
  if (which.bounds && out.trace.error_kind == runtime::ErrorKind::OutOfBounds) {
    Finding f;
    f.kind = Finding::Kind::Bounds;
    f.function = out.trace.error_function;
    if (const ir::Binding* b = out.trace.error_binding) {
      f.reader = std::string(b->var->name);
      f.text = ir::print_binding(b);
    }
    f.statement = out.trace.error;
    out.findings.push_back(std::move(f));
  }
  return out;
}

std::string to_string(const Finding& f) {
  switch (f.kind) {
    case Finding::Kind::Storage: {
      std::string text = fmt::format("{} reads {} after {} was written to the same memory", reader_of(f),
                                     allocated_as(f.tensor, f.allocation), allocated_as(f.writer, f.writer_allocation));
      if (!f.writer_callee.empty()) text += fmt::format(" by `{}`", f.writer_callee);
      if (!f.storage.empty()) text += fmt::format(": both lie in storage `{}`", f.storage);
      if (!f.planner.empty()) text += fmt::format(", planned by `{}`", f.planner);
      return text;
    }
    case Finding::Kind::Shared: {
      std::string text = fmt::format("{} reads {} while it writes {} to the same memory", reader_of(f),
                                     allocated_as(f.tensor, f.allocation), allocated_as(f.writer, f.writer_allocation));
      if (!f.storage.empty()) text += fmt::format(": both lie in storage `{}`", f.storage);
      if (!f.planner.empty()) text += fmt::format(", planned by `{}`", f.planner);
      return text;
    }
    case Finding::Kind::Unwritten:
      if (f.element.empty()) return fmt::format("{} reads `{}`, where nothing was written", reader_of(f), f.tensor);
      return fmt::format("{} reads `{}` at [{}], where nothing was written{}", reader_of(f), f.tensor,
                         fmt::join(f.element, ", "), f.statement.empty() ? "" : fmt::format(": `{}`", f.statement));
    case Finding::Kind::Nan:
      return fmt::format("{} is {} at [{}], but its operands are finite", reader_of(f), f.value,
                         fmt::join(f.element, ", "));
    case Finding::Kind::Race:
      return fmt::format("{}: `{}` at [{}] is {}, and {}", reader_of(f), f.tensor, fmt::join(f.element, ", "),
                         f.statement, f.number);
    case Finding::Kind::Resized:
      return fmt::format("storage `{}` of `{}` is allocated with {} bytes, and with {} before", f.storage, f.function,
                         f.value, f.number);
    case Finding::Kind::Bounds:
      return fmt::format("{}: {}", reader_of(f), f.statement);
    case Finding::Kind::Overflow:
      return fmt::format("{}: `{}` is {} for [{}] of `{}`, which {} cannot hold", reader_of(f), f.statement, f.number,
                         fmt::join(f.element, ", "), f.tensor, f.dtype);
  }
  return {};
}

}  // namespace rldb::repro
