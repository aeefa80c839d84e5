// A matrix of patterns, one row per arm: a row of wildcards is useful if some value falls through all arms (Maranget,
// "Warnings for pattern matching"). The result built on the way back is such a value.
#include "relay/ops/match.h"

#include <algorithm>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

using Row = std::vector<const Pattern*>;  // null: any value
using Values = std::vector<std::string>;

bool is_open(const Pattern* p) {
  return p == nullptr || p->kind == PatternKind::Wildcard || p->kind == PatternKind::Variable;
}

class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}

  bool gave_up() const { return gave_up_; }

  // Patterns of values for the columns that no row matches.
  std::optional<Values> missed(const std::vector<Row>& rows, std::size_t columns, int depth) {
    support::poll();
    if (++steps_ > kMaxSteps || depth > kMaxDepth) gave_up_ = true;
    if (gave_up_) return std::nullopt;
    if (columns == 0) return rows.empty() ? std::optional(Values()) : std::nullopt;
    const auto head = std::find_if(rows.begin(), rows.end(), [](const Row& r) { return !is_open(r[0]); });
    if (head == rows.end()) return with_head("_", missed(rest_of(rows), columns - 1, depth + 1));
    const Pattern* p = (*head)[0];
    if (p->kind == PatternKind::Tuple) return of_tuple(rows, p->parts.size(), columns, depth);
    return of_type(rows, p->constructor->type_name, columns, depth);
  }

 private:
  static constexpr std::size_t kMaxSteps = 200000;
  static constexpr int kMaxDepth = 3000;

  static std::optional<Values> with_head(std::string head, std::optional<Values> values) {
    if (values) values->insert(values->begin(), std::move(head));
    return values;
  }

  static std::vector<Row> rest_of(const std::vector<Row>& rows) {
    std::vector<Row> made;
    for (const Row& r : rows)
      if (is_open(r[0])) made.emplace_back(r.begin() + 1, r.end());
    return made;
  }

  // The rows that match such a value, with their first column replaced by its parts.
  template <class F>
  static std::vector<Row> opened(const std::vector<Row>& rows, std::size_t parts, F&& takes) {
    std::vector<Row> made;
    for (const Row& r : rows) {
      if (!is_open(r[0]) && !takes(r[0])) continue;
      Row row;
      if (is_open(r[0]))
        row.resize(parts, nullptr);
      else
        row.assign(r[0]->parts.begin(), r[0]->parts.end());
      row.resize(parts, nullptr);
      row.insert(row.end(), r.begin() + 1, r.end());
      made.push_back(std::move(row));
    }
    return made;
  }

  // Combines the parts of the first value into one.
  static std::optional<Values> closed(std::string_view name, std::size_t parts, std::optional<Values> values) {
    if (!values) return values;
    std::string text;
    for (std::size_t i = 0; i < parts; ++i) text += (i ? ", " : "") + (*values)[i];
    std::string head(name);
    if (parts > 0 || name.empty()) head += "(" + text + ")";
    values->erase(values->begin(), values->begin() + std::ptrdiff_t(parts));
    return with_head(std::move(head), std::move(values));
  }

  std::optional<Values> of_tuple(const std::vector<Row>& rows, std::size_t parts, std::size_t columns, int depth) {
    const auto inner = opened(rows, parts, [](const Pattern* p) { return p->kind == PatternKind::Tuple; });
    return closed("", parts, missed(inner, columns - 1 + parts, depth + 1));
  }

  std::optional<Values> of_type(const std::vector<Row>& rows, std::string_view type, std::size_t columns, int depth) {
    const TypeDefinition* definition = module_.find_type(type);
    if (!definition) return std::nullopt;
    for (const Constructor* c : definition->constructors) {
      const std::size_t parts = c->fields.size();
      const auto inner = opened(rows, parts, [&](const Pattern* p) { return p->constructor == c; });
      if (auto found = closed(c->name, parts, missed(inner, columns - 1 + parts, depth + 1))) return found;
    }
    return std::nullopt;
  }

  const Module& module_;
  std::size_t steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace

Coverage coverage_of(const Match& m, const Module& module) {
  std::vector<Row> rows;
  for (const Arm& arm : m.arms) rows.push_back({arm.pattern});
  Checker checker(module);
  const auto values = checker.missed(rows, 1, 0);
  Coverage coverage;
  coverage.gave_up = checker.gave_up();
  if (values && !coverage.gave_up) coverage.missed = values->front();
  return coverage;
}

}  // namespace rldb::relay
