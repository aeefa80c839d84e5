// KeyBindings: which keys do what: the defaults of key_function.def, changed by the user's inputrc. No terminal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

enum class KeyFunction : std::uint8_t {
  SelfInsert,  // for keys without a row: inserts the typed character
  DoNothing,   // unbound by an inputrc
#define RLDB_KEY_FUNCTION(id, name, emacs, vi_insert, vi_command, flags, doc) id,
#include "rldb/ui/terminal/key_function.def"
};

enum class KeyMode : std::uint8_t { Emacs, ViInsert, ViCommand };

struct KeyFunctionRow {
  KeyFunction function;
  std::string_view name;
  std::string_view keys[3];  // by KeyMode, in an inputrc's spelling
  unsigned flags;
  std::string_view doc;
};
inline constexpr unsigned kMove = 1, kInclusive = 2, kLines = 4;
const std::vector<KeyFunctionRow>& key_functions();
// Null: no row (SelfInsert, DoNothing).
const KeyFunctionRow* row_of(KeyFunction function);

enum class BellStyle : std::uint8_t { None, Audible, Visible };

class KeyBindings {
 public:
  KeyBindings();

  struct Binding {
    KeyFunction function = KeyFunction::DoNothing;
    std::string macro;  // keys to be typed instead, when not empty
  };
  struct Match {
    const Binding* exact = nullptr;
    bool longer = false;  // longer keys with this prefix are bound
  };
  Match find(KeyMode mode, const std::string& keys) const;
  void bind(KeyMode mode, std::string keys, Binding binding);

  // Settings of an inputrc.
  bool vi = false;
  BellStyle bell = BellStyle::Audible;
  bool bracketed_paste = true;
  bool list_at_once = false;  // show-all-if-ambiguous
  int key_timeout_ms = 500;   // time after which a key that could continue is complete

 private:
  std::map<std::string, Binding, std::less<>> maps_[3];
};

// The bytes of the keys for an inputrc's spelling (`\C-x\C-e`, `\e[A`).
std::string read_keys(std::string_view spelling);
// The names of a row's keys: `C-x C-e`, `M-Enter`, `Up`. Those of other terminals are left out.
std::vector<std::string> key_names(std::string_view keys);
// A table of all functions and their keys.
std::string keys_markdown();

}  // namespace rldb::ui
