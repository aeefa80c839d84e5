// TemporaryNames: which of `lv`, `lv1`, `gv`, `gv1`, ... the text of a function spells, so that no temporary
// gets the name of a binding of the text, also of one further on. Any mention counts: what a name depends on is the
// text alone, which is the same after an edit and in a fresh reading. Used by Body, and by BodyMemo to see whether the
// values of a kept statement would still get their names.
#pragma once

#include <string_view>
#include <vector>

namespace rldb::frontend::script {

class TemporaryNames {
 public:
  TemporaryNames() = default;
  explicit TemporaryNames(std::string_view text);

  // Whether the text has the n-th name of that kind; the first is the bare word.
  bool is_written(bool dataflow, int n) const { return get(dataflow ? dataflow_ : plain_, n); }
  // Whether both have the same names from `begin` to `end`.
  bool same(const TemporaryNames& other, int begin, int end) const;

 private:
  static bool get(const std::vector<bool>& of, int n) { return std::size_t(n) < of.size() && of[std::size_t(n)]; }

  std::vector<bool> dataflow_, plain_;  // by number
};

}  // namespace rldb::frontend::script
