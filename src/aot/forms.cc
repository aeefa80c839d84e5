// The form that is asked for: by the name of the file, or by a word.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "rldb/aot/build.h"

namespace rldb::aot {

std::optional<Form> form_of_name(std::string_view path) {
  if (path.ends_with(".rlvm") || path.ends_with(".ro")) return Form::Executable;
  if (path.ends_with(".so")) return Form::SharedLibrary;
  if (path.ends_with(".o")) return Form::Object;
  return std::nullopt;
}

std::optional<Form> form_of_word(std::string_view word) {
  if (word == "rlvm") return Form::Executable;
  if (word == "so") return Form::SharedLibrary;
  if (word == "o") return Form::Object;
  if (word == "program") return Form::Program;
  return std::nullopt;
}

std::string library_name(std::string_view path) {
  std::string name = std::filesystem::path(path).stem().string();
  if (name.starts_with("lib") && name.size() > 3) name.erase(0, 3);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "model_");
  return name;
}

}  // namespace rldb::aot
