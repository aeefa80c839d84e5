// IncrementalSearch: ^R and ^S over the entries of the history, one key at a time. readline's version for programs that
// read key by key dereferences a null pointer after ^R ^X. Knows no terminal; the editor shows it.
#pragma once

#include <string>
#include <vector>

namespace rldb::ui {

class IncrementalSearch {
 public:
  // `entries`: oldest first. `line`, `point`: the text being typed and the cursor position; searched last.
  IncrementalSearch(std::vector<std::string> entries, std::string line, std::size_t point, bool backwards);

  enum class Outcome {
    Goes,       // the key was for the search
    Taken,      // the search ends at its match; the key still has to be processed
    Abandoned,  // ^G: back to the text being typed
  };
  Outcome key(int c);

  std::string prompt() const;
  const std::string& text() const { return entries_[at_]; }
  std::size_t point() const { return point_; }

 private:
  bool find(std::size_t from, bool skip_same);
  void search_again();

  std::vector<std::string> entries_;
  std::size_t start_point_;
  bool backwards_;
  bool failed_ = false;
  std::string wanted_;
  std::size_t at_;
  std::size_t point_;
};

}  // namespace rldb::ui
