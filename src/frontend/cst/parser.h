// The tree-sitter parser behind one door: text -> cst::Tree. `Parser` may be kept and used again; `parse_tree` uses one
// for the thread. A `LiveTree` keeps tree-sitter's own tree, so that an edit reparses only what it touched.
#pragma once

#include <memory>
#include <vector>

#include "frontend/cst/tree.h"

namespace rldb::frontend::cst {

struct TreeOptions {
  int max_depth = 1000;
};

// May the text be given to the tree-sitter runtime at all (grammar/src/limits.h)? Else `offset` is where it is not.
bool within_limits(std::string_view text, std::size_t* offset = nullptr);

// `text` must outlive the tree. Never fails: bad text gives Error and Missing nodes.
Tree parse_tree(source::FileId file, std::string_view text, const TreeOptions& options = {});

class LiveTree {
 public:
  LiveTree();
  ~LiveTree();
  LiveTree(const LiveTree&) = delete;
  LiveTree& operator=(const LiveTree&) = delete;

  struct Edit {
    std::uint32_t begin;
    std::uint32_t old_end;
    std::uint32_t new_end;
  };
  void reset(std::string_view text);
  // `text` is the text after the edit. Ranges (of the new text) whose syntax differs are returned.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edit(const Edit& edit, std::string_view text);
  Tree copy(source::FileId file, const TreeOptions& options = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rldb::frontend::cst
