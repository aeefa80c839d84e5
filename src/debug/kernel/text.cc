// KernelText: lines of a kernel, from the user's text or from the printed function.
#include "debug/kernel/text.h"

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using ir::Stmt;

KernelText::KernelText(const session::Session& session, std::string name, const ir::PrimFunc* f)
    : name_(std::move(name)), f_(f) {
  collect();
  if (!use_source(session)) print();
  // A node that does not start a line gets the line of its parent.
  for (Row& row : rows_)
    if (row.line == 0) row.line = row.parent ? rows_[row_of_.at(row.parent)].line : first_;
}

void KernelText::collect() {
  struct Open {
    const Stmt* stmt;
    const Stmt* parent;
  };
  std::vector<Open> open;
  if (f_->body) open.push_back({f_->body, nullptr});
  while (!open.empty()) {
    support::poll();
    const Open at = open.back();
    open.pop_back();
    row_of_[at.stmt] = rows_.size();
    rows_.push_back({at.stmt, at.parent, 0});
    const auto* realize = ir::as<ir::SBlockRealize>(at.stmt);
    if (realize) row_of_[realize->block] = rows_.size() - 1;
    std::vector<const Stmt*> inner;
    ir::for_each_use(realize ? static_cast<const ir::Node*>(realize->block) : at.stmt, [&](const ir::Node* n) {
      if (const auto* s = ir::as<Stmt>(n)) inner.push_back(s);
    });
    for (std::size_t i = inner.size(); i-- > 0;) open.push_back({inner[i], at.stmt});
  }
}

// A pass gives everything it makes the span of its source, the same for all.
bool KernelText::use_source(const session::Session& session) {
  const ir::Context& ctx = const_cast<session::Session&>(session).context();
  const source::Span whole = ctx.span_of(f_);
  const source::Buffer* buffer = session.sources().find(whole.file);
  if (!buffer) return false;
  std::uint32_t last = buffer->line_column(whole.begin).line;
  source::Span one;
  bool several = false;
  for (Row& row : rows_) {
    const source::Span span = ctx.span_of(row.stmt);
    const bool is_leaf = ir::isa<ir::BufferStore>(row.stmt) || ir::isa<ir::Evaluate>(row.stmt);
    if (!session.sources().find(span.file)) {
      if (is_leaf) return false;
      continue;
    }
    if (span.file != whole.file || span.begin < whole.begin || span.end > whole.end) return false;
    several = several || (one && span != one);
    one = span;
    row.line = buffer->line_column(span.begin).line;
    last = std::max(last, row.line);
  }
  if (!several) return false;
  source_ = buffer;
  first_ = buffer->line_column(whole.begin).line;
  last_ = std::max(last, buffer->line_column(whole.end > whole.begin ? whole.end - 1 : whole.end).line);
  return true;
}

void KernelText::print() {
  class Lines : public ir::Decorator {
   public:
    explicit Lines(KernelText& text) : text_(text) {}
    void line(int number, const ir::Node* node) override {
      const auto it = node ? text_.row_of_.find(static_cast<const Stmt*>(node)) : text_.row_of_.end();
      if (it == text_.row_of_.end()) return;
      Row& row = text_.rows_[it->second];
      if (row.line == 0) row.line = std::uint32_t(number);
    }

   private:
    KernelText& text_;
  };
  for (Row& row : rows_) row.line = 0;
  Lines lines(*this);
  ir::PrintOptions options;
  options.header = false;
  const std::string text = ir::print_function(name_, f_, options, &lines);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    printed_.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  last_ = std::uint32_t(printed_.size());
}

std::string KernelText::line(std::uint32_t number) const {
  if (number < first_ || number > last_) return {};
  return source_ ? std::string(source_->line(number)) : printed_[number - 1];
}

std::uint32_t KernelText::line_of(const Stmt* s) const {
  const auto it = row_of_.find(s);
  return it == row_of_.end() ? 0 : rows_[it->second].line;
}

const Stmt* KernelText::parent_of(const Stmt* s) const {
  const auto it = row_of_.find(s);
  return it == row_of_.end() ? nullptr : rows_[it->second].parent;
}

std::vector<const Stmt*> KernelText::statements_at(std::uint32_t line) const {
  std::uint32_t best = 0;
  const auto counts = [](const Row& row) { return row.line > 0 && !ir::isa<ir::SeqStmt>(row.stmt); };
  for (const Row& row : rows_)
    if (counts(row) && row.line >= line && (best == 0 || row.line < best)) best = row.line;
  std::vector<const Stmt*> found;
  for (const Row& row : rows_) {
    if (!counts(row) || row.line != best) continue;
    const Stmt* outer = row.parent;
    while (outer && ir::isa<ir::SeqStmt>(outer)) outer = rows_[row_of_.at(outer)].parent;
    if (!outer || line_of(outer) != best) found.push_back(row.stmt);
  }
  return found;
}

}  // namespace rldb::debug
