// Table: rows of text in aligned columns, separated by two blanks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rldb::ui {

// Columns that a text takes on a terminal: one per code point.
std::size_t width_of(std::string_view text);
// Cut to `width` columns, with `...` in place of what was cut.
std::string cut(std::string_view text, std::size_t width);

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  // Columns in which every row is empty are left out. Each line ends with a line break. If the table is wider than
  // `width`, the cells of its widest columns are cut.
  std::string text(std::size_t width = std::size_t(-1)) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::vector<std::string>> rows_;  // the first is the header
};

}  // namespace rldb::ui
