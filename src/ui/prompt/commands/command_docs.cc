// The pages that are made from tables: commands, expressions, types of replies.
#include "ui/prompt/commands/command_docs.h"

#include <fmt/format.h>

#include <optional>

#include "rldb/expression/language.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/prompt/reply_schema.h"

namespace rldb::ui {

namespace {

struct SubcommandRow {
  std::string_view name, usage, doc;
};
constexpr SubcommandRow kSubcommands[] = {
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) {name, usage, doc},
#include "rldb/ui/command_line/subcommand.def"
};

std::string_view heading(CommandGroup group) {
  switch (group) {
    case CommandGroup::Module:
      return "Module";
    case CommandGroup::Passes:
      return "Passes";
    case CommandGroup::Run:
      return "Run";
    case CommandGroup::Debug:
      return "Debug (the colon may be left out while a program is stopped)";
    case CommandGroup::Session:
      return "Session";
  }
  return "";
}

// `|` would end a cell of the table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string commands_markdown() {
  std::string text =
      "# Commands\n\nMade from the tables by `scripts/gen_docs`; a test checks that it is current.\n\n## Batch\n\n"
      "| command | does |\n|---|---|\n";
  for (const SubcommandRow& row : kSubcommands)
    text += fmt::format("| `rldb {} {}` | {} |\n", row.name, cell(row.usage), row.doc);
  text += "\n`rldb COMMAND --help` lists the options of each; `rldb --help` has the exit codes.\n";
  std::optional<CommandGroup> group;
  for (const Command& c : commands()) {
    if (group != c.group)
      text += fmt::format("\n## {}\n\n| command | also | does |\n|---|---|---|\n", heading(c.group));
    group = c.group;
    std::string aliases;
    for (const std::string& alias : split_words(c.aliases)) aliases += (aliases.empty() ? "`" : ", `") + alias + "`";
    text += fmt::format("| `:{}{}{}` | {} | {}{}{} |\n", c.name, c.arguments.empty() ? "" : " ", cell(c.arguments),
                        aliases, cell(c.doc), c.more.empty() ? "" : ". ", cell(c.more));
  }
  text += "\n## Options of `:set`\n\n| option | values | meaning |\n|---|---|---|\n";
  for (const Option& o : options()) text += fmt::format("| `{}` | {} | {} |\n", o.name, cell(o.values), cell(o.doc));
  return text;
}

namespace {

void add_rows(std::string& text, std::string_view heading, const std::vector<expression::LanguageRow>& rows,
              bool calls) {
  text += fmt::format("\n### {}\n\n| form | gives |\n|---|---|\n", heading);
  for (const expression::LanguageRow& row : rows) {
    const std::string form = calls              ? fmt::format("{}({})", row.name, row.form)
                             : row.form.empty() ? fmt::format("x.{}", row.name)
                                                : std::string(row.form);
    text += fmt::format("| `{}` | {} |\n", cell(form), cell(row.doc));
  }
}

}  // namespace

std::string expressions_markdown() {
  std::string text = "## Tables\n\nMade by `scripts/gen_docs`; a test checks that they are current.\n";
  add_rows(text, "Operators", expression::language_operators(), false);
  add_rows(text, "Attributes", expression::language_attributes(), false);
  add_rows(text, "Functions", expression::language_functions(), true);
  return text;
}

std::string replies_markdown() {
  std::string text =
      "## Types\n\nMade from `include/rldb/ui/prompt/reply.def` by `scripts/gen_docs`; a test checks that they are "
      "current, others that replies are of these types. `[T]` is a list, `{T}` an object with such values, `A|B` one "
      "of "
      "several, `any` whatever JSON has, `real` a number or one of the strings \"nan\", \"inf\" and \"-inf\"; a key "
      "with `?` "
      "may be absent. The data of a command that failed can be null.\n\n| command | data |\n|---|---|\n";
  for (const Command& c : commands())
    if (const std::string_view type = reply_type(c.name); !type.empty())
      text += fmt::format("| `{}` | `{}` |\n", c.name, cell(type));
  text += "\n| type | keys |\n|---|---|";
  std::string_view shape;
  for (const ReplyKey& k : reply_keys()) {
    text += k.shape == shape ? ", " : fmt::format("{}\n| {} | ", shape.empty() ? "" : " |", k.shape);
    text += fmt::format("`{}`: `{}`", k.key, cell(k.type));
    shape = k.shape;
  }
  return text + " |\n";
}

}  // namespace rldb::ui
