// The versions of a module and how each was made: the compile-time axis of time travel. Version 0 is the program as
// loaded. Users: session, repro.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rldb/pipeline/run.h"

namespace rldb::pipeline {

class History {
 public:
  void start(ModuleRef module);      // version 0; forgets the rest
  void push(Record record);          // drops versions after the current one
  void push_edit(ModuleRef module);  // a version made by hand (an edit at the prompt)
  ModuleRef current() const { return records_.empty() ? ModuleRef() : records_[position_].after; }
  std::size_t position() const { return position_; }
  std::size_t size() const { return records_.size(); }
  const Record& record(std::size_t version) const { return records_[version]; }  // of 0 and edits without a pass
  // Made by no pass: as loaded, or by an edit.
  bool is_edit(std::size_t version) const { return !records_[version].pass.pass; }
  ModuleRef module_at(std::size_t version) const { return records_[version].after; }
  bool rewind(std::size_t version);  // keeps later versions until the next push; false: there is no such version
  void bookmark(std::string name) { bookmarks_.emplace_back(std::move(name), position_); }
  const std::vector<std::pair<std::string, std::size_t>>& bookmarks() const { return bookmarks_; }

 private:
  std::vector<Record> records_;
  std::size_t position_ = 0;
  std::vector<std::pair<std::string, std::size_t>> bookmarks_;
};

}  // namespace rldb::pipeline
