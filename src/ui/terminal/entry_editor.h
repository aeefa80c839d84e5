// EntryEditor: applies keys to an entry. Takes bytes, knows their bindings, keeps text, cursor, cuts, history, search
// and completions; asks its owner for anything that needs the terminal. Writes nothing: a test types into it.
//
// Bytes are collected until they form a key: a binding, a character, or an escape sequence without a binding (which is
// dropped). After a binding that could continue, such as Esc in vi's insertion mode, `no_more_bytes` decides.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/ui/terminal/key_bindings.h"
#include "rldb/ui/terminal/line_editor.h"
#include "ui/terminal/edit_buffer.h"
#include "ui/terminal/entry_history.h"
#include "ui/terminal/incremental_search.h"
#include "ui/terminal/kill_ring.h"

namespace rldb::ui {

// The display.
struct EntryView {
  std::string prompt;
  std::string_view text;
  std::size_t point = 0;
  const Candidates* candidates = nullptr;    // listed below, if any
  bool hints = false;                        // the text is the entry, so that hints can be shown
  std::string_view suggested = {};           // text that → would add
  std::optional<std::size_t> selected = {};  // of the candidates
};

class EntryEditor {
 public:
  EntryEditor(const LineEditorHooks& hooks, EntryHistory& history, KeyBindings& keys)
      : hooks_(hooks), history_(history), keys_(keys) {}

  // A key's request to the owner.
  enum class Request : std::uint8_t { None, Accept, End, ClearScreen, EditInEditor, ReadInitFile };

  void begin(std::string prompt);
  // Of the entry that is being typed.
  void set_prompt(std::string prompt) { prompt_ = std::move(prompt); }
  // `more`: further bytes are waiting, as in a paste that the terminal does not mark.
  void byte(char c, bool more = false);
  bool waits() const { return !pending_.empty(); }  // bytes have arrived that are not a key yet
  bool waits_for_paste() const { return paste_.has_value(); }
  void no_more_bytes();  // none arrived for as long as a key takes

  Request request() const { return request_; }
  void answered() { request_ = Request::None; }
  bool take_bell() { return std::exchange(bell_, false); }
  void ring() { bell_ = true; }
  EntryView view() const;
  const std::string& text() const { return buffer_.text(); }
  // Takes the text from the user's editor.
  void replace_text(const std::string& text);
  // The entry was typed, not produced by a letter in single-key mode.
  bool typed() const { return typed_; }
  KeyMode mode() const;

 private:
  // ---- keys to functions: entry_editor.cc ----
  void resolve(bool final);
  void resolve_unbound();
  void run(const KeyBindings::Binding& binding, std::string keys);
  void run_macro(const std::string& macro);
  void call(KeyFunction function);
  void type(std::string_view character);
  void add_to_paste(char c);
  void end_paste();
  void search_byte(char c);
  bool take_awaited(std::string_view character);
  bool take_single(char c);
  int count() const { return count_.value_or(1); }

#define RLDB_KEY_FUNCTION(id, name, emacs, vi_insert, vi_command, flags, doc) void do_##id();
#include "rldb/ui/terminal/key_function.def"

  // ---- helpers of the functions ----
  std::string_view suggested() const;
  bool take_suggested(bool word);
  void kill(std::size_t begin, std::size_t end, KillRing::Join join);
  void copy(std::size_t begin, std::size_t end);
  void change_word(int (*first)(int), int (*rest)(int));
  bool move_line(int direction);
  void recall(const std::string* entry);
  void search_prefix(bool older);
  void align_line();
  void insert_break();
  void drop_indentation(std::string_view character);
  // ---- the menu of candidates: entry_editor_menu.cc ----
  void open_menu(Candidates candidates, std::size_t start);
  void close_menu();
  void select(std::size_t candidate);
  void take_selected();
  void drop_selected();
  bool menu_takes(KeyFunction function);
  void begin_search(bool backwards);
  bool find_character(std::string_view character, bool forwards, bool beside);
  void await(char what) { awaited_ = what; }
  // vi
  void to_insertion();
  void to_command();
  void keep_off_end();
  void begin_operator(char operation);
  void operate(std::size_t from, unsigned flags);
  void operate_lines(std::size_t from, std::size_t to);
  void carry_out(std::size_t begin, std::size_t end, bool lines);

  const LineEditorHooks& hooks_;
  EntryHistory& history_;
  KeyBindings& keys_;

  std::string prompt_;
  EditBuffer buffer_;
  KillRing kills_;
  std::optional<IncrementalSearch> search_;
  std::optional<std::string> paste_;
  Candidates candidates_;                // of the menu that is open
  std::optional<std::size_t> selected_;  // its text is in the entry
  std::size_t word_ = 0;                 // where the word begins that a selection replaces
  std::string pending_;                  // bytes of an incomplete key
  std::string key_;                      // the key whose function runs
  std::string queued_;                   // the rest of a macro that accepted an entry
  KeyFunction last_ = KeyFunction::DoNothing;
  KeyFunction current_ = KeyFunction::DoNothing;
  std::optional<int> count_;
  int goal_column_ = 0;     // of Up and Down
  std::string prefix_;      // for the search by prefix in progress
  bool searching_ = false;  // consecutive Up and Down have reached the history
  std::size_t mark_ = 0;
  std::size_t yanked_at_ = 0;  // position of the last insertion by ^Y or M-.
  std::size_t yanked_to_ = 0;
  std::size_t last_arg_ = 0;  // how many entries back M-. has gone
  char awaited_ = 0;          // use of the next character: a letter of vi's, or 'q' to insert it
  std::string sought_;        // by f, F, t, T; sought_by_ is the letter
  char sought_by_ = 0;
  char operator_ = 0;  // of vi: d, c, y
  std::size_t operator_from_ = 0;
  bool vi_command_ = false;
  bool overwrite_ = false;
  bool killed_ = false;  // the last function cut
  bool kills_now_ = false;
  bool bell_ = false;
  bool typed_ = true;
  bool more_ = false;            // bytes wait after the current one
  std::size_t indented_to_ = 0;  // the cursor is after blanks that Enter has inserted; 0: it is not
  int macro_depth_ = 0;
  std::size_t macro_keys_ = 0;
  Request request_ = Request::None;
};

}  // namespace rldb::ui
