// Values as HTML: tables of the last two axes, lists of fields.
#include "rldb/ui/render/value_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "rldb/ui/render/page.h"

namespace rldb::ui {

namespace {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using Indices = std::vector<std::int64_t>;

// An axis that is longer than this shows its ends only.
constexpr std::int64_t kLongestAxis = 16;
constexpr std::int64_t kEnd = 6;
constexpr std::int64_t kMatrices = 4;  // of a tensor with more than two axes
constexpr int kMaxValues = 64;         // tensors and fields of nested tuples altogether
constexpr int kMaxDepth = 8;
constexpr std::string_view kEllipsis = "&hellip;";

// nullopt: those between the ends.
std::vector<std::optional<std::int64_t>> shown_of_axis(std::int64_t length) {
  std::vector<std::optional<std::int64_t>> shown;
  const std::int64_t end = length > kLongestAxis ? kEnd : length;
  for (std::int64_t i = 0; i < end; ++i) shown.emplace_back(i);
  if (end == length) return shown;
  shown.emplace_back();
  for (std::int64_t i = length - kEnd; i < length; ++i) shown.emplace_back(i);
  return shown;
}

std::string element_html(const Tensor& tensor, std::int64_t flat) {
  const auto element = Tensor::view(tensor.storage(), tensor.byte_offset() + std::size_t(flat) * tensor.dtype().bytes(),
                                    {}, tensor.dtype());
  if (!element.ok()) return {};
  const std::string text = runtime::format_value(Value(*element));  // the number is below the type
  return html_text(std::string_view(text).substr(text.rfind('\n') + 1));
}

std::string cell(std::string_view tag, std::string_view html) {
  return fmt::format("<{} class=\"num\">{}</{}>", tag, html, tag);
}

// The matrix at element `first`, with the numbers of its columns above and of its rows at the left.
std::string matrix_html(const Tensor& tensor, std::int64_t first, std::int64_t rows, std::int64_t columns,
                        bool is_vector) {
  const auto shown_columns = shown_of_axis(columns);
  std::string out = "<div class=\"wide\"><table class=\"facts-table\"><tr>";
  if (!is_vector) out += cell("th", "");
  for (const auto& column : shown_columns) out += cell("th", column ? fmt::to_string(*column) : std::string(kEllipsis));
  out += "</tr>\n";
  for (const auto& row : shown_of_axis(rows)) {
    out += "<tr>";
    if (!is_vector) out += cell("th", row ? fmt::to_string(*row) : std::string(kEllipsis));
    for (const auto& column : shown_columns)
      out +=
          cell("td", row && column ? element_html(tensor, first + *row * columns + *column) : std::string(kEllipsis));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

// The indices of the leading axes of matrix number `matrix`.
std::string place_of_matrix(const Tensor& tensor, std::int64_t matrix) {
  Indices indices(tensor.shape().begin(), tensor.shape().end() - 2);
  for (std::size_t axis = indices.size(); axis-- > 0;) {
    const std::int64_t length = indices[axis];
    indices[axis] = matrix % length;
    matrix /= length;
  }
  return fmt::format("[{}, :, :]", fmt::join(indices, ", "));
}

std::string tensor_html(const Tensor& tensor) {
  const std::int64_t count = tensor.element_count();
  const int rank = tensor.ndim();
  if (rank == 0) return "<pre class=\"out\">" + element_html(tensor, 0) + "</pre>\n";
  if (count == 0) return {};
  const std::int64_t columns = tensor.shape()[std::size_t(rank) - 1];
  if (rank == 1) return matrix_html(tensor, 0, 1, columns, true);
  const std::int64_t rows = tensor.shape()[std::size_t(rank) - 2], matrices = count / (rows * columns);
  std::string out;
  for (std::int64_t m = 0; m < std::min(matrices, kMatrices); ++m) {
    if (rank > 2) out += fmt::format("<div class=\"note\"><code>{}</code></div>\n", place_of_matrix(tensor, m));
    out += matrix_html(tensor, m * rows * columns, rows, columns, false);
  }
  if (matrices > kMatrices) out += fmt::format("<div class=\"note\">{} more</div>\n", matrices - kMatrices);
  return out;
}

std::string caption(const Value& value, std::string_view name) {
  const std::string what = html_text(runtime::describe(value));
  if (name.empty()) return fmt::format("<div class=\"note\"><code>{}</code></div>\n", what);
  return fmt::format("<div class=\"note\"><code>{}</code>: <code>{}</code></div>\n", html_text(name), what);
}

class ValuePage {
 public:
  std::string of(const Value& value, std::string_view name, int depth) {
    --left_;
    if (value.is(ValueKind::Tensor)) return caption(value, name) + tensor_html(value.as_tensor());
    if (value.is(ValueKind::Tuple) && depth < kMaxDepth) return caption(value, name) + fields(value, depth);
    const std::string text = html_text(runtime::format_value(value));
    return "<pre class=\"out\">" + (name.empty() ? text : html_text(name) + " = " + text) + "</pre>\n";
  }

 private:
  std::string fields(const Value& tuple, int depth) {
    const auto& all = tuple.as_tuple().fields;
    std::string out = "<ol start=\"0\">\n";
    std::size_t shown = 0;
    for (; shown < all.size() && left_ > 0; ++shown) out += "<li>" + of(all[shown], {}, depth + 1) + "</li>\n";
    out += "</ol>\n";
    if (shown < all.size()) out += fmt::format("<div class=\"note\">{} more</div>\n", all.size() - shown);
    return out;
  }
  int left_ = kMaxValues;
};

}  // namespace

std::string value_html(const Value& value, std::string_view name) { return ValuePage().of(value, name, 0); }

}  // namespace rldb::ui
