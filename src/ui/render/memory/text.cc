// Memory plans as text: a table with a chart of lifetimes beside it.
#include "rldb/support/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/runtime/dtype.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/render/memory_view.h"

namespace rldb::ui {

using passes::FunctionMemory;
using passes::MemorySize;
using passes::MemoryStorage;
using passes::MemorySum;
using passes::MemoryTensor;

namespace {

constexpr std::size_t kMinChart = 10;
constexpr std::size_t kMaxLabel = 48;

std::string human(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string sum_text(const MemorySum& sum) { return sum.value ? human(*sum.value) : sum.text + " B"; }

// The bindings of a function along a line of the terminal: each column is one binding, or several.
class Chart {
 public:
  Chart(std::size_t bindings, std::size_t width) : bindings_(bindings + 1), width_(std::min(width, bindings_)) {}

  std::string bar(std::size_t begin, std::size_t end, char mark) const {
    std::string text(width_, ' ');
    for (std::size_t c = column(begin); c <= column(std::min(end, bindings_)); ++c) text[c] = mark;
    return text;
  }

  // Numbers above the columns, as many as fit.
  std::string ruler() const {
    std::string text;
    const std::size_t wanted = bindings_ <= width_ ? 5 : std::max<std::size_t>(1, bindings_ * 10 / width_);
    for (std::size_t i = 1; i < bindings_; i = i == 1 && wanted > 1 ? wanted : i + wanted) {
      const std::size_t at = column(i);
      const std::string number = std::to_string(i);
      if (at + number.size() > width_ || (!text.empty() && at < text.size() + 1)) continue;
      text.resize(at, ' ');
      text += number;
    }
    return text;
  }

 private:
  std::size_t column(std::size_t binding) const { return (binding - 1) * width_ / bindings_; }
  std::size_t bindings_;
  std::size_t width_;
};

std::string line_suffix(const MemoryTensor& t, const MemoryView& view) {
  const std::uint32_t line = view.line_of ? view.line_of(t) : 0;
  return line == 0 ? std::string() : fmt::format(" (line {})", line);
}

std::string kind_text(const passes::MemoryKind& kind) {
  std::string text = runtime::to_string(kind.dtype);
  if (kind.scope != "global") text += " " + kind.scope;
  if (kind.device != 0) text += fmt::format(" device {}", kind.device);
  return text;
}

struct Row {
  std::string label;
  std::size_t begin;
  std::size_t end;
  char mark;
  std::string note;
};

void add_rows(const FunctionMemory& m, const MemoryStorage& s, const MemoryView& view, std::vector<Row>& rows) {
  support::poll();
  const auto note = [&](const MemoryTensor& t) {
    return t.escape == passes::Escape::None ? std::string() : passes::why_alone(m, t);
  };
  if (s.shared)
    rows.push_back({fmt::format("{}  {}  {}", s.name, bytes_text(s.size), kind_text(s.kind)), s.begin, s.end, '-', {}});
  for (const std::size_t i : s.tensors) {
    const MemoryTensor& t = m.tensors[i];
    rows.push_back({fmt::format("{}{}{}  {}  {}", s.shared ? "  " : "", t.name, line_suffix(t, view),
                                bytes_text(t.size), kind_text(t.kind)),
                    t.begin, t.end, '#', note(t)});
  }
}

std::string fitted(const std::string& text, std::size_t width) {
  return text.size() <= width ? text + std::string(width - text.size(), ' ') : text.substr(0, width - 3) + "...";
}

std::string summary(const FunctionMemory& m) {
  const auto at = [&](std::size_t i) {
    return i == 0 || i > m.bindings.size() ? std::string()
                                           : fmt::format(", at binding {} (`{}`)", i, m.bindings[i - 1]);
  };
  std::size_t shared = 0;
  for (const MemoryStorage& s : m.storages) shared += s.shared ? 1 : 0;
  const std::size_t own = m.storages.size() - shared;
  std::string text = fmt::format("{}: {}, {} of storage, {} with memory of {} own\n", m.function,
                                 support::counted(m.tensors.size(), "tensor"), support::counted(shared, "allocation"),
                                 own, own == 1 ? "its" : "their");
  if (m.tensors.empty()) return text;
  if (m.preview) text += "  not planned yet; showing the plan that StaticPlanBlockMemory would make\n";
  text += fmt::format("  total     {}\n", sum_text(m.total));
  if (m.peak) text += fmt::format("  peak      {}{}\n", human(*m.peak), at(m.peak_at));
  if (m.needed) text += fmt::format("  in use    {} at most{}\n", human(*m.needed), at(m.needed_at));
  text += fmt::format("  unshared  {}\n", sum_text(m.unshared));
  if (!m.open_dims.empty())
    text += fmt::format("  the peak is not known: give values to {}\n", fmt::join(m.open_dims, ", "));
  return text;
}

std::string chart(const FunctionMemory& m, const MemoryView& view) {
  std::vector<Row> rows;
  for (const MemoryStorage& s : m.storages) add_rows(m, s, view, rows);
  std::size_t label = 0;
  for (const Row& r : rows) label = std::max(label, std::min(r.label.size(), kMaxLabel));
  const std::size_t width = std::size_t(std::max(view.width, 1));
  const Chart columns(m.bindings.size(), std::max(kMinChart, width > label + 5 ? width - label - 5 : 0));
  std::string text = fmt::format("  {}  {}\n", std::string(label, ' '), columns.ruler());
  for (const Row& r : rows) {
    support::poll();
    std::string line = fmt::format("  {}  {}", fitted(r.label, label), columns.bar(r.begin, r.end, r.mark));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  for (const Row& r : rows)
    if (!r.note.empty()) text += fmt::format("  {}\n", r.note);
  return text;
}

}  // namespace

std::string bytes_text(const MemorySize& size) {
  if (size.value) return human(*size.value);
  return size.bytes ? ir::print_expr(size.bytes) + " B" : "size known at run time";
}

std::string memory_text(const std::vector<FunctionMemory>& functions, const MemoryView& view) {
  std::string text;
  for (const FunctionMemory& m : functions) {
    if (!text.empty()) text += "\n";
    text += summary(m);
    if (!m.tensors.empty() || !m.storages.empty()) text += chart(m, view);
  }
  return text;
}

std::string sharing_text(const FunctionMemory& m, std::size_t tensor, const MemoryView& view) {
  const MemoryTensor& t = m.tensors[tensor];
  std::string text =
      fmt::format("{}{}: {}, {}, in `{}`, bindings {} to {}\n", t.name, line_suffix(t, view), bytes_text(t.size),
                  kind_text(t.kind), m.storages[t.storage].name, t.begin, std::min(t.end, m.bindings.size()));
  if (const std::string why = passes::why_alone(m, t); !why.empty()) return text + "  shares nothing: " + why + "\n";
  for (std::size_t i = 0; i < m.tensors.size(); ++i) {
    support::poll();
    if (i != tensor) text += fmt::format("  {}: {}\n", m.tensors[i].name, passes::why_apart(m, tensor, i));
  }
  return text;
}

MemoryView memory_view(const session::Session& session, int width) {
  return {width, [&session](const MemoryTensor& t) -> std::uint32_t {
            const source::Span span = session.context().span_of(t.alloc);
            const source::Buffer* text = session.sources().find(span.file);
            return text ? text->line_column(span.begin).line : 0;
          }};
}

MemoryFormat memory_format(std::string_view path) {
  if (path.ends_with(".json")) return MemoryFormat::Json;
  return path.ends_with(".svg") ? MemoryFormat::Svg : MemoryFormat::Text;
}

std::string render_memory(const std::vector<FunctionMemory>& functions, MemoryFormat format, const MemoryView& view) {
  switch (format) {
    case MemoryFormat::Text:
      return memory_text(functions, view);
    case MemoryFormat::Json:
      return memory_json(functions, view);
    case MemoryFormat::Svg:
      return memory_svg(functions, view);
  }
  return {};
}

}  // namespace rldb::ui
