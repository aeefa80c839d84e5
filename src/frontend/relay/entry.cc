// Relay text at a prompt: judged by its tokens alone, before it is read.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "frontend/cst/parser.h"
#include "frontend/cst/tree.h"
#include "frontend/relay/units.h"
#include "rldb/frontend/relay.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

namespace {

constexpr std::string_view kVersionLine = "#[version";
constexpr std::string_view kMetadataLine = "#[metadata]";

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return text.starts_with(b); });
}

// `fn (%x: int32) { ... }`; `fn(x)` may be a call of TVMScript.
bool begins_lone_function(std::string_view text) {
  if (!text.starts_with("fn")) return false;
  text = support::trim(text.substr(2));
  if (text.starts_with("[")) text.remove_prefix(std::min(text.find(']'), text.size() - 1) + 1);
  if (!text.starts_with("(")) return false;
  text = support::trim(text.substr(1));
  return text.starts_with("%") || (text.starts_with(")") && text.find('{') != std::string_view::npos);
}

// Past the version line: an entry that has nothing else is not complete.
std::string_view behind_version(std::string_view text) {
  text = support::trim(text);
  if (!text.starts_with(kVersionLine)) return text;
  return support::trim(text.substr(std::min(text.find(']'), text.size() - 1) + 1));
}

std::string_view behind_relay_comments(std::string_view text) {
  for (;;) {
    text = support::trim(text);
    if (text.starts_with("//"))
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    else if (text.starts_with("/*"))
      text.remove_prefix(std::min(relay_text::end_of_comment(text, 0), text.size()));
    else
      return text;
  }
}

// The JSON behind `#[metadata]`.
bool is_open_json(std::string_view text) {
  int depth = 0;
  bool any = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (text[i] == '{') {
      ++depth;
      any = true;
    } else if (text[i] == '}') {
      --depth;
    }
  }
  return !any || depth > 0;
}

bool is_missing_closer(const source::Diagnostic& d) {
  return d.id == source::DiagId(diag::NeverClosed) || d.id == source::DiagId(diag::RelayOpenString) ||
         d.id == source::DiagId(diag::RelayOpenComment);
}

struct WrittenDefinition {
  std::string_view name;
  bool is_extern = false;
  std::uint32_t begin = 0, end = 0;
};

std::vector<WrittenDefinition> definitions_in(std::string_view text) {
  cst::TreeOptions options;
  options.grammar = cst::Grammar::Relay;
  const cst::Tree tree = cst::parse_tree({}, text, options);
  std::vector<WrittenDefinition> found;
  for (const cst::Node n : cst::Node(&tree, 0).children()) {
    if (!n.is(cst::Kind::FunctionDefinition) && !n.is(cst::Kind::TypeDefinition)) continue;
    const source::Span name = n.child(cst::Field::Name).span();
    found.push_back({text.substr(name.begin, name.end - name.begin), bool(n.child(cst::Field::Extern)), n.span().begin,
                     n.span().end});
  }
  return found;
}

// Blanks and comments.
bool is_empty_text(std::string_view text) { return behind_relay_comments(text).empty(); }

bool is_all_definitions(std::string_view text, const std::vector<WrittenDefinition>& definitions) {
  std::uint32_t at = 0;
  for (const WrittenDefinition& d : definitions) {
    if (!is_empty_text(text.substr(at, d.begin - at))) return false;
    at = d.end;
  }
  return is_empty_text(text.substr(at));
}

// A text whose definitions are replaced, dropped, and followed by others, each of which is found by its name once.
class DefinitionEdit {
 public:
  DefinitionEdit(std::string_view text, std::string_view entry)
      : text_(text), entry_(entry), known_(definitions_in(text)), instead_(known_.size()) {
    for (std::size_t i = 0; i < known_.size(); ++i) by_name_[known_[i].name] = i;
  }

  // Nothing but another may follow an extern type: where one is concerned, the new definition has the place of a new
  // one.
  void put(const WrittenDefinition& d) {
    const std::string_view written = entry_.substr(d.begin, d.end - d.begin);
    const auto old = by_name_.find(d.name);
    const bool in_place = old != by_name_.end() && !d.is_extern && !known_[old->second].is_extern;
    if (old != by_name_.end()) {
      std::optional<std::vector<std::string_view>>& there = instead_[old->second];
      if (!there) there.emplace();
      if (in_place) there->push_back(written);
    }
    if (!in_place) (d.is_extern ? last_ : added_).push_back(written);
  }

  void write(RelayAddition& out) const {
    std::size_t at = 0;
    bool is_added = false;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const WrittenDefinition& d = known_[i];
      write_piece(out, text_.substr(at, d.begin - at), false);
      if (d.is_extern && !std::exchange(is_added, true))
        for (const std::string_view written : added_) {
          write_piece(out, written, true);
          out.text += '\n';
        }
      at = d.end;
      if (!instead_[i]) {
        write_piece(out, text_.substr(d.begin, d.end - d.begin), false);
        continue;
      }
      for (const std::string_view written : *instead_[i]) {
        if (written.data() != instead_[i]->front().data()) out.text += '\n';
        write_piece(out, written, true);
      }
    }
    if (known_.empty()) write_piece(out, text_, false), at = text_.size();
    if (!is_added) write_behind(out, added_);
    write_behind(out, last_);
    write_piece(out, text_.substr(at), false);
  }

 private:
  void write_behind(RelayAddition& out, const std::vector<std::string_view>& definitions) const {
    for (const std::string_view written : definitions) {
      out.text += '\n';
      write_piece(out, written, true);
    }
  }
  void write_piece(RelayAddition& out, std::string_view piece, bool of_entry) const {
    out.add(piece, of_entry, static_cast<std::uint32_t>(piece.data() - (of_entry ? entry_ : text_).data()));
  }

  std::string_view text_, entry_;
  std::vector<WrittenDefinition> known_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::vector<std::optional<std::vector<std::string_view>>> instead_;  // by definition of the text
  std::vector<std::string_view> added_, last_;                         // of the entry
};

}  // namespace

bool begins_relay_definition(std::string_view entry) {
  const std::string_view text = behind_relay_comments(entry);
  if (begins_with_any(text, {"def @", "extern type "})) return true;
  // `type x` is a command of the prompt, `type = ...` a name.
  const std::string_view line = text.substr(0, text.find('\n'));
  return text.starts_with("type ") && line.find('{') != std::string_view::npos &&
         line.find('=') == std::string_view::npos;
}

bool begins_relay(std::string_view entry) {
  if (has_relay_version(entry)) return true;
  const std::string_view text = behind_relay_comments(entry);
  return begins_relay_definition(text) || begins_lone_function(text) ||
         begins_with_any(text, {kMetadataLine, "free_var %", "let %"});
}

bool is_open_relay(std::string_view entry) {
  const std::string_view text = behind_version(entry);
  if (text.empty()) return true;
  const relay_text::UnitsFound found = relay_text::find_units(text);
  if (found.open) return is_missing_closer(*found.open);
  if (!found.bodiless.empty()) return true;
  if (found.metadata != std::string_view::npos) return is_open_json(text.substr(found.metadata + kMetadataLine.size()));
  const std::string_view first = behind_relay_comments(text);
  if (begins_lone_function(first) || first.starts_with("type ")) return first.find('{') == std::string_view::npos;
  return text.ends_with(';') || text.ends_with('=');
}

int relay_indent(std::string_view entry) {
  constexpr int kStep = 2;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    const char c = entry[i];
    in_string = in_string != (c == '"');
    if (in_string) continue;
    if (entry.substr(i).starts_with("//")) i = std::min(entry.find('\n', i), entry.size()) - 1;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') depth = std::max(0, depth - 1);
  }
  return kStep * depth;
}

bool has_relay_version(std::string_view text) {
  text = behind_relay_comments(text);
  return text.starts_with(kVersionLine) || text.starts_with("v0.0.");
}

std::string_view relay_definition_name(std::string_view line) {
  line = support::trim(line);
  for (const std::string_view word : {"def ", "type ", "extern type "}) {
    if (!line.starts_with(word)) continue;
    line = support::trim(line.substr(word.size()));
    return line.substr(0, std::min(line.find_first_of(" \t([{"), line.size()));
  }
  return {};
}

void RelayBrackets::add(std::string_view line) {
  if (line.starts_with(kMetadataLine)) has_escapes_ = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (in_string_) {
      if (line[i] == '\\' && has_escapes_)
        ++i;
      else if (line[i] == '"')
        in_string_ = false;
    } else if (rest.starts_with("*/") && comments_ > 0) {
      --comments_, ++i;
    } else if (rest.starts_with("/*") && !has_escapes_) {
      ++comments_, ++i;
    } else if (comments_ > 0) {
      continue;
    } else if (rest.starts_with("//") && !has_escapes_) {
      return;
    } else if (line[i] == '"') {
      in_string_ = true;
    } else if (line[i] == '(' || line[i] == '[' || line[i] == '{') {
      open_ += line[i];
    } else if (line[i] == ')' || line[i] == ']' || line[i] == '}') {
      const char wanted = line[i] == ')' ? '(' : line[i] == ']' ? '[' : '{';
      is_wrong_ = is_wrong_ || open_.empty() || open_.back() != wanted;
      if (!open_.empty()) open_.pop_back();
    }
  }
}

void RelayAddition::add(std::string_view piece, bool of_entry, std::uint32_t from) {
  if (piece.empty()) return;
  pieces.push_back({static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(piece.size()), of_entry, from});
  text += piece;
}

RelayAddition with_relay_definitions(std::string_view text, std::string_view entry) {
  RelayAddition made;
  const std::vector<WrittenDefinition> added = definitions_in(entry);
  for (const WrittenDefinition& d : added) made.names.emplace_back(d.name);
  if (!is_all_definitions(entry, added)) {  // the reader tells why
    made.add(text, false, 0);
    made.text += '\n';
    made.add(entry, true, 0);
    return made;
  }
  DefinitionEdit edit(text, entry);
  for (const WrittenDefinition& d : added) edit.put(d);
  edit.write(made);
  return made;
}

}  // namespace rldb::frontend
