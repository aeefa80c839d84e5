// Console: the program's output: results and diagnostics separately, with or without colour.
//
// The terminal, captured text (scripts and tests) and a pipe are all Consoles. `out` is standard output (results,
// output of programs); diagnostics and notes go to standard error. Used by batch commands and the prompt.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "rldb/runtime/packed.h"
#include "rldb/source/diagnostic.h"
#include "rldb/source/visible.h"

namespace rldb::ui {

class Console : public runtime::Output {
 public:
  virtual void error(std::string_view text) = 0;
  // Sentences of ours rather than code: a terminal breaks their lines between words.
  virtual void prose(std::string_view text) { write(text); }
  // The width of the terminal that shows it; 0: none does.
  virtual int columns() const { return 0; }
  // Some output was lost: nothing more can be reported, so there is no use in continuing.
  virtual bool lost() const { return false; }
  // The work in progress, shown by the console after a while.
  virtual void doing(std::string_view /*what*/) {}
  // Something else takes over the terminal: a question, a shell.
  virtual void pause() {}
  virtual void resume() {}
  // The entry whose output this is waits for its reader by itself.
  virtual void without_pages() {}
  bool color() const { return color_; }
  void set_color(bool on) { color_ = on; }

  // Sentences of ours, with names and paths in them: visible wherever they go. `write` is for documents and for the
  // output of programs, which a file gets as they are.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(source::visible(fmt::format(format, std::forward<Args>(args)...), {.colours = color_}));
  }
  template <class... Args>
  void print_error(fmt::format_string<Args...> format, Args&&... args) {
    error(source::visible(fmt::format(format, std::forward<Args>(args)...), {.colours = color_}));
  }
  void diagnose(const source::Diagnostics& diagnostics, const source::SourceManager& sources);

 private:
  bool color_ = false;
};

// Standard output and standard error of the process. Writing to a closed pipe ends the process quietly. A failed write
// is remembered for `finish_output`; a program that keeps printing after it is cancelled.
class TerminalConsole : public Console {
 public:
  void write(std::string_view text) override;
  void error(std::string_view text) override;
  bool lost() const override;
};

// Call first: a standard stream that is closed must not become the next file that is opened.
void open_standard_streams();
// Call last: closes standard output, reports lost output, and returns the exit code for it. `code`: the exit code
// otherwise.
int finish_output(int code);

// Both streams in the order written.
class CapturedConsole : public Console {
 public:
  void write(std::string_view text) override { text_ += text; }
  void error(std::string_view text) override { text_ += text; }
  std::string take() { return std::move(text_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace rldb::ui
