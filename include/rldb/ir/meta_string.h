// Strings that a text left in its metadata section: TVM writes a StringImm of several lines (the parts of an assert's
// message) as `metadata["tirx.StringImm"][0]`. When the text does not bring the section, the reference itself stands
// for the string: messages show it, and it is printed as it was read. The front end and the printer use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rldb::ir {

bool is_meta_string_key(std::string_view key);  // "tirx.StringImm"
std::string meta_string_reference(std::string_view key, std::int64_t index);
// Whether the text is such a reference, exactly as meta_string_reference writes it.
bool is_meta_string_reference(std::string_view text);

}  // namespace rldb::ir
