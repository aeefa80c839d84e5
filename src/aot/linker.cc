// The linker as a child process: which one, with which options, and its words if it fails.
#include "aot/linker.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "rldb/support/file.h"
#include "rldb/support/shell.h"

namespace rldb::aot {

namespace {

using support::Failure;
using support::shell_word;

// A driver of a C compiler knows the C library's files; a bare linker is given their names.
struct Tool {
  std::string_view name;
  bool driver;
};
constexpr Tool kTools[] = {{"cc", true}, {"gcc", true}, {"clang", true}, {"ld.lld", false}, {"ld", false}};

// By the name of the command: `cc -fuse-ld=lld` is a driver, `/usr/bin/ld.bfd` and `mold` are not.
bool is_driver(std::string_view command) {
  std::string_view name = command.substr(0, command.find(' '));
  name.remove_prefix(name.rfind('/') + 1);
  return name != "ld" && name != "lld" && name != "gold" && name != "mold" && !name.starts_with("ld.") &&
         !name.ends_with("-ld") && name.find("-ld.") == std::string_view::npos;
}

bool on_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0 && ::access(fmt::format("{}/{}", rest.substr(0, end), name).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string options_of(Form form, bool driver) {
  switch (form) {
    case Form::Object:
      return driver ? "-r -nostdlib" : "-r";
    case Form::SharedLibrary:
      return driver ? "-shared -Wl,-z,defs -Wl,--gc-sections -Wl,-Bsymbolic" : "-shared --gc-sections -Bsymbolic";
    case Form::Program:
      return driver ? "-Wl,--gc-sections" : "";
    case Form::Executable:
      break;
  }
  return {};
}

// Not every linker knows where the C library is: rldb itself uses it.
std::string folder_of_c_library() {
  Dl_info found;
  if (::dladdr(reinterpret_cast<void*>(&std::getenv), &found) == 0 || !found.dli_fname) return {};
  return " -L" + shell_word(support::folder_of(found.dli_fname));
}

std::string libraries_of(Form form, bool driver) {
  if (form == Form::Object) return {};
  return driver ? " -lm -pthread" : folder_of_c_library() + " -l:libm.so.6 -l:libc.so.6";
}

}  // namespace

support::Result<support::Unit, std::string> link(const Request& request, const std::vector<std::string>& objects,
                                                 const std::string& folder, const std::string& output) {
  std::string tool = request.linker;
  bool driver = tool.empty() || is_driver(tool);
  for (const Tool& t : kTools) {
    if (!tool.empty() || (request.form == Form::Program && !t.driver) || !on_path(t.name)) continue;
    tool = t.name;
    driver = t.driver;
  }
  if (request.form == Form::Program && !driver)
    return Failure(std::string("a program needs the driver of a C compiler (cc, gcc or clang)"));
  if (tool.empty())
    return Failure(std::string(request.form == Form::Program
                                   ? "no C compiler was found: looked for cc, gcc and clang"
                                   : "no linker was found: looked for cc, gcc, clang, ld.lld and ld"));
  std::string command = fmt::format("{} {} -o {}", tool, options_of(request.form, driver), shell_word(output));
  for (const std::string& o : objects) command += " " + shell_word(o);
  const std::string log = folder + "/log";
  command += libraries_of(request.form, driver) + " > " + shell_word(log) + " 2>&1";
  const int status = support::run_shell(command);
  if (status == 0) return support::Unit{};
  auto text = support::read_file(log, 1 << 16);
  std::string why = text.ok() ? *text : std::string();
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return Failure(fmt::format("`{}` failed{}{}", tool, why.empty() ? "" : ": ", why));
}

}  // namespace rldb::aot
