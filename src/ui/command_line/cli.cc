// The command line, parsed with CLI11: the command is found, its options (options.h) fill the struct, errors are in our
// words.
#include "rldb/ui/command_line/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "rldb/source/diagnostic.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/file.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/render/version.h"
#include "rldb/ui/terminal/console.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/script_path.h"
#include "ui/command_line/help_topic.h"
#include "ui/command_line/options.h"

namespace rldb::ui {

namespace {

struct SubcommandRow {
  Subcommand id;
  const char* name;
  const char* usage;
  const char* doc;
};
constexpr SubcommandRow kSubcommands[] = {
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) {Subcommand::id, name, usage, doc},
#include "rldb/ui/command_line/subcommand.def"
};

constexpr std::string_view kHelp = "help";

// The prompt's own flags are parsed by hand: -x and -ex keep their order, on which gdb users rely.
struct ReplArgs {
  std::vector<std::string> rest;
  bool ok = true;
  std::string missing;
};
ReplArgs take_startup(int argc, char** argv, CommandLine& c) {
  constexpr std::string_view kServe = "--serve=", kAttach = "--attach=";
  ReplArgs args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool file = arg == "-x";
    if (file || arg == "-ex" || arg == "--attach") {
      if (i + 1 == argc) {
        args.ok = false;
        args.missing = arg;
        return args;
      }
      const std::string value = argv[++i];
      c.prompt.startup.emplace_back(file, arg == "--attach" ? ":attach " + value : value);
    } else if (arg == "-nx") {
      c.prompt.no_init = true;
    } else if (arg == "--serve") {
      c.prompt.startup.emplace_back(false, ":serve");
    } else if (arg.starts_with(kServe)) {
      c.prompt.startup.emplace_back(false, ":serve " + arg.substr(kServe.size()));
    } else if (arg.starts_with(kAttach)) {
      c.prompt.startup.emplace_back(false, ":attach " + arg.substr(kAttach.size()));
    } else {
      args.rest.push_back(arg);
    }
  }
  return args;
}

std::string footer() {
  std::string text = "\nBatch commands (rldb help COMMAND and rldb COMMAND --help for each):\n";
  for (const SubcommandRow& row : kSubcommands) {
    std::string left = std::string("  ") + row.name + " " + row.usage;
    text += left + "\n      " + row.doc + "\n";
  }
  text +=
      "\nExit codes: 0 success; 1 a check failed, values differ or the program failed; 2 usage error; 3 the text does\n"
      "not parse, type-check or verify; 4 internal error; 124 time-out; 125 cannot tell; 128+N killed by signal N.\n";
  return text;
}

// The existing option nearest to an unknown one; empty: none is near.
std::string nearest_option(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(source::nearest(word.substr(0, word.find('=')), views));
}

// CLI11's error, in our words.
source::Message usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string hint = fmt::format("`{} --help` lists the arguments", app.get_name());
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const std::string words = text.substr(std::min(text.find(": "), text.size() - 2) + 2);
    const std::string near = nearest_option(app, words);
    return source::message(diag::UnknownArgument, words)
        .with_hint(near.empty() ? hint : fmt::format("did you mean `{}`?", near));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::string name = text.substr(0, text.find(' '));
    const CLI::Option* option = app.get_option_no_throw(name);
    return source::message(diag::ArgumentMissing, option && option->get_positional() ? option->get_type_name() : name)
        .with_hint(hint);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {
    const std::string said = text.substr(std::min(text.rfind(": ") + 2, text.size()));  // `--seed = x`
    const auto sign = said.find(" = ");
    if (sign != std::string::npos)
      return source::message(diag::BadArgument,
                             fmt::format("{}: `{}` is not a number", said.substr(0, sign), said.substr(sign + 3)))
          .with_hint(hint);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && text.find("At Most") != std::string::npos)
    return source::message(diag::BadArgument,
                           fmt::format("{}: given more often than allowed", text.substr(0, text.find(':'))))
        .with_hint(hint);
  return source::message(diag::BadArgument, text).with_hint(hint);
}

int finish(CLI::App& app, const CLI::ParseError& error) {
  TerminalConsole console;
  if (error.get_exit_code() == int(CLI::ExitCodes::Success)) {  // --help and --version
    std::ostringstream out;
    app.exit(error, out, out);
    console.write(out.str());
    return kGood;
  }
  source::Diagnostics diagnostics;
  diagnostics.add({}, usage_error(app, error));
  console.diagnose(diagnostics, {});
  return kUsage;
}

// Compiled kernels are kept for the next run, except by tests, whose results must not depend on earlier runs.
void choose_cache(CommandLine& c) {
  if (c.cache.empty() && c.subcommand != Subcommand::Test) c.cache = cache_folder("kernels");
  if (c.cache != "off") c.options.cache_dir = c.cache;
}

// Without CLI11's mark of a flag that means the opposite, `--no-x{false}`.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    constexpr std::string_view kMark = "{false}";
    std::string name = CLI::Formatter::make_option_name(option, positional);
    for (std::size_t at; (at = name.find(kMark)) != std::string::npos;) name.erase(at, kMark.size());
    return name;
  }
};

// CLI11 takes `[1, 2]` as a list of words of its own. With a blank before it it is one word; no reader of values minds.
std::vector<std::string> shielded_words(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 1; --i) {  // after the name of the command; CLI11 wants the last word first
    const std::string_view word = argv[i];
    const bool is_list = word.starts_with('[') && word.ends_with(']');
    words.push_back((is_list ? " " : "") + std::string(word));
  }
  return words;
}

std::optional<CommandLine> parse_subcommand(const SubcommandRow& row, int argc, char** argv, int& exit_code) {
  CommandLine c;
  c.subcommand = row.id;
  CLI::App app(std::string(row.doc) + "\nusage: rldb " + row.name + " " + row.usage, std::string("rldb ") + row.name);
  app.formatter(std::make_shared<HelpFormatter>());
  add_command_options(row.id, app, c);
  try {
    app.parse(shielded_words(argc, argv));
  } catch (const CLI::ParseError& error) {
    exit_code = finish(app, error);
    return std::nullopt;
  }
  choose_cache(c);
  return c;
}

void add_repl_options(CLI::App& app, CommandLine& c) {
  app.set_version_flag("--version", std::string("rldb ") + kVersion);
  app.add_option("files", c.files,
                 "the program: text (.py, .relay), an executable (.rlvm), a model (.onnx, .pt2) or a recorded run "
                 "(.rldbrun); scripts (.session, .rldb) among the files run after it is open")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "-x", [](const std::string&) {}, "run the entries in a file; -x and -ex keep their order")
      ->type_name("FILE");
  app.add_flag("--batch", c.prompt.batch, "no prompt: run the -x and -ex commands (or standard input) and exit");
  app.add_flag("-q,--quiet", c.prompt.quiet, "no banner");
  add_trust_scripts(app, c);
  app.add_flag("--resume", c.prompt.resume, "restore the last session that was killed");
  app.add_flag("--watch", c.prompt.watch, "read the file again whenever it is written");
  app.add_flag_function(
      "--serve", [](std::int64_t) {}, "serve a live page of the session on this machine; --serve=PORT: at this port");
  app.add_option_function<std::string>(
         "--attach", [](const std::string&) {},
         "look into a process that runs a library of `rldb build`, into its core, or into the library")
      ->type_name("PID|CORE|LIB");
  app.add_flag("--journal", c.prompt.journal, "keep a journal even without a terminal");
  add_model_options(app, c);
  add_syntax(app, c);
  add_run_options(app, c);
  add_common(app, c);
}

// Scripts among the files are run after the program has been opened.
bool sort_files(CommandLine& c) {
  std::vector<std::string> programs;
  std::vector<std::pair<bool, std::string>> scripts;
  for (const std::string& file : c.files) {
    if (is_script_path(file))
      scripts.emplace_back(true, file);
    else
      programs.push_back(file);
  }
  c.prompt.startup.insert(c.prompt.startup.begin(), scripts.begin(), scripts.end());
  c.files = std::move(programs);
  // A misspelt command is no program; whoever opens it says so.
  if (c.files.size() < 2 || (!support::file_exists(c.files[0]) && !nearest_subcommand(c.files[0]).empty())) return true;
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::OneProgram, c.files.size(), c.files[0], c.files[1]));
  TerminalConsole().diagnose(diagnostics, {});
  return false;
}

std::optional<CommandLine> parse_repl(int argc, char** argv, int& exit_code) {
  CommandLine c;
  c.prompt.arguments.assign(argv + 1, argv + argc);
  ReplArgs args = take_startup(argc, argv, c);
  CLI::App app(
      "rldb: a REPL and debugger for Relax IR\n"
      "usage: rldb [FILE...]             the prompt\n"
      "       rldb COMMAND [ARGUMENTS]   a batch command",
      "rldb");
  app.footer(
      "\nTwo options in gdb's spelling:\n"
      "  -ex ENTRY                   run an entry: a command (-ex ':run main') or TVMScript\n"
      "  -nx                         read no start files: ~/.config/rldb, ~/.rldbinit, .rldbrc\n" +
      footer());
  app.formatter(std::make_shared<HelpFormatter>());
  add_repl_options(app, c);
  if (!args.ok) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::ArgumentMissing, fmt::format("the argument of `{}`", args.missing)));
    TerminalConsole().diagnose(diagnostics, {});
    exit_code = kUsage;
    return std::nullopt;
  }
  try {
    std::reverse(args.rest.begin(), args.rest.end());  // CLI11 expects the last one first
    app.parse(args.rest);
  } catch (const CLI::ParseError& error) {
    exit_code = finish(app, error);
    return std::nullopt;
  }
  if (!sort_files(c)) {
    exit_code = kUsage;
    return std::nullopt;
  }
  choose_cache(c);
  return c;
}

// The index of the first argument that is neither an option nor the value of one; argc: there is none.
int first_word(int argc, char** argv) {
  CommandLine c;
  CLI::App app;
  add_repl_options(app, c);
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string arg = argv[i];
    if (arg == "--") return argc;  // only files follow
    if (arg == "-ex") {
      ++i;
    } else if (arg.find('=') == std::string::npos) {
      const CLI::Option* option = app.get_option_no_throw(arg);
      if (option && option->get_expected_min() > 0) ++i;
    }
  }
  return std::min(i, argc);
}

}  // namespace

// `rldb help [COMMAND]`: the topic, and the options. The exit code.
static int give_help(const std::string& topic) {
  TerminalConsole console;
  if (topic.empty()) {
    console.write("Topics: rldb help COMMAND, of the commands below; `:help` at the prompt has more.\n" + footer());
    return kGood;
  }
  const auto row = std::find_if(std::begin(kSubcommands), std::end(kSubcommands),
                                [&](const SubcommandRow& r) { return topic == r.name; });
  if (row == std::end(kSubcommands)) {
    source::Diagnostics diagnostics;
    const std::string_view near = nearest_subcommand(topic);
    source::Message m = source::message(diag::NoHelpTopic, topic);
    if (!near.empty()) m.hint = fmt::format("did you mean `rldb help {}`?", near);
    diagnostics.add({}, std::move(m));
    console.diagnose(diagnostics, {});
    return kUsage;
  }
  for (const HelpTopic& t : help_topics())
    if (t.name == topic) console.write(std::string(t.text));
  console.write(fmt::format("\n`rldb {} --help` lists all options.\n", topic));
  return kGood;
}

std::optional<CommandLine> parse_command_line(int argc, char** argv, int& exit_code) {
  const int at = first_word(argc, argv);
  if (at == 1 && argc > 1 && argc <= 3 && std::string_view(argv[1]) == kHelp) {
    exit_code = give_help(argc > 2 ? argv[2] : "");
    return std::nullopt;
  }
  for (const SubcommandRow& row : kSubcommands) {
    if (at >= argc || std::string_view(argv[at]) != row.name) continue;
    std::rotate(argv + 1, argv + at, argv + at + 1);  // options before it are its options
    return parse_subcommand(row, argc, argv, exit_code);
  }
  return parse_repl(argc, argv, exit_code);
}

std::string_view nearest_subcommand(std::string_view word) {
  std::vector<std::string_view> names;
  for (const SubcommandRow& row : kSubcommands) names.emplace_back(row.name);
  return source::nearest(word, names);
}

}  // namespace rldb::ui
