// Memory plans as a picture: time from left to right, one row per storage, its tensors as boxes in it.
#include "ui/render/draw/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/memory_view.h"

namespace rldb::ui {

using passes::FunctionMemory;
using passes::MemoryStorage;
using passes::MemoryTensor;

namespace {

constexpr double kLabels = 220;
constexpr double kChart = 900;
constexpr double kRow = 22;
constexpr double kHead = 64;
constexpr double kNarrow = 4;
constexpr const char* kCrowd = "#8cb4a8";  // several tensors in one box
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f"};

class Picture {
 public:
  explicit Picture(const MemoryView& view) : view_(view) {}

  void add(const FunctionMemory& m) {
    text(8, y_ + 20, 15,
         m.function + (m.preview ? " (not planned yet; showing the plan that StaticPlanBlockMemory would make)" : ""));
    const auto amount = [](const passes::MemorySum& s) {
      return s.value ? bytes_text({nullptr, s.value}) : s.text + " B";
    };
    std::string sums = fmt::format("total {}, unshared {}", amount(m.total), amount(m.unshared));
    if (m.peak) sums += fmt::format(", peak {} at binding {}", bytes_text({nullptr, m.peak}), m.peak_at);
    text(8, y_ + 40, 12, sums);
    y_ += kHead;
    for (const MemoryStorage& s : m.storages) row(m, s);
    y_ += kRow;
  }

  std::string finish() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
        kLabels + kChart + 16, y_, body_);
  }

 private:
  void row(const FunctionMemory& m, const MemoryStorage& s) {
    support::poll();
    text(8, y_ + 15, 12, fmt::format("{}  {}", s.name, bytes_text(s.size)));
    box(m, s.begin, s.end, 1, "#e0e0e0", fmt::format("{}: {}", s.name, bytes_text(s.size)), {});
    for (auto at = s.tensors.begin(); at != s.tensors.end();) {
      const auto behind = crowd(m, at, s.tensors.end());
      if (behind - at > 1)
        crowd_box(m, m.tensors[*at], m.tensors[*(behind - 1)], std::size_t(behind - at));
      else
        tensor_box(m, *at);
      at = std::max(at + 1, behind);
    }
    y_ += kRow;
  }

  void tensor_box(const FunctionMemory& m, std::size_t i) {
    const MemoryTensor& t = m.tensors[i];
    std::string told = fmt::format("{}: {}, bindings {} to {}", t.name, bytes_text(t.size), t.begin,
                                   std::min(t.end, m.bindings.size()));
    if (const std::uint32_t line = view_.line_of ? view_.line_of(t) : 0; line != 0)
      told += fmt::format(", line {}", line);
    if (const std::string why = passes::why_alone(m, t); !why.empty()) told += "; " + why;
    box(m, t.begin, t.end, 4, kColours[i % std::size(kColours)], told, t.name);
  }

  void crowd_box(const FunctionMemory& m, const MemoryTensor& first, const MemoryTensor& last, std::size_t count) {
    const std::string told = fmt::format("{} to {}: {} tensors, bindings {} to {}", first.name, last.name, count,
                                         first.begin, std::min(last.end, m.bindings.size()));
    box(m, first.begin, last.end, 4, kCrowd, told, {});
  }

  static double unit(const FunctionMemory& m) { return kChart / double(m.bindings.size() + 1); }

  // Behind the tensors that follow one another within kNarrow: nobody could point at one of them.
  using TensorNumber = std::vector<std::size_t>::const_iterator;
  static TensorNumber crowd(const FunctionMemory& m, TensorNumber first, TensorNumber end) {
    const std::size_t begin = m.tensors[*first].begin;
    const auto is_within = [&](std::size_t i) {
      const MemoryTensor& t = m.tensors[i];
      return t.begin >= begin && t.end >= t.begin && double(t.end - begin + 1) * unit(m) < kNarrow;
    };
    return std::find_if_not(first, end, is_within);
  }

  void box(const FunctionMemory& m, std::size_t begin, std::size_t end, double inset, std::string_view colour,
           std::string_view told, std::string_view label) {
    const double x = kLabels + double(begin - 1) * unit(m);
    const double width = std::max(1.0, double(std::min(end, m.bindings.size() + 1) - begin + 1) * unit(m));
    body_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n", x,
        y_ + inset, width, kRow - 2 * inset, colour, xml_text(told));
    if (double(label.size()) * 7 < width) text(x + 3, y_ + 15, 11, label, "white");
  }

  void text(double x, double y, int size, std::string_view what, std::string_view colour = "black") {
    body_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\">{}</text>\n", x, y, size, colour,
                         xml_text(what));
  }

  const MemoryView& view_;
  std::string body_;
  double y_ = 0;
};

}  // namespace

std::string memory_svg(const std::vector<FunctionMemory>& functions, const MemoryView& view) {
  Picture picture(view);
  for (const FunctionMemory& m : functions) picture.add(m);
  return picture.finish();
}

}  // namespace rldb::ui
