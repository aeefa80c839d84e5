// KernelText: the lines by which places inside a kernel are named: the user's, when the kernel is in one of the user's
// texts, else the printed function's.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::debug {

class KernelText {
 public:
  KernelText(const session::Session& session, std::string name, const ir::PrimFunc* f);

  const std::string& name() const { return name_; }
  const ir::PrimFunc* function() const { return f_; }
  // The user's text; null: the function is printed.
  const source::Buffer* source() const { return source_; }
  std::uint32_t first_line() const { return first_; }
  std::uint32_t last_line() const { return last_; }
  std::string line(std::uint32_t number) const;
  std::uint32_t line_of(const ir::Stmt* s) const;      // 0: not known
  const ir::Stmt* parent_of(const ir::Stmt* s) const;  // null: none
  // The statements of the nearest line at or after the given one, outer ones only; empty: there is none.
  std::vector<const ir::Stmt*> statements_at(std::uint32_t line) const;
  // All statements, parents first. The contents of a block are directly below its realize.
  struct Row {
    const ir::Stmt* stmt;
    const ir::Stmt* parent;
    std::uint32_t line;
  };
  const std::vector<Row>& statements() const { return rows_; }

 private:
  void collect();
  bool use_source(const session::Session& session);
  void print();

  std::string name_;
  const ir::PrimFunc* f_;
  const source::Buffer* source_ = nullptr;
  std::vector<std::string> printed_;
  std::uint32_t first_ = 1, last_ = 0;
  std::vector<Row> rows_;
  std::unordered_map<const ir::Stmt*, std::size_t> row_of_;
};

}  // namespace rldb::debug
