// Code shared by files (file.cc), classes (module.cc, members.cc) and entries at the prompt (entry.cc): members, the
// preamble, items.
#pragma once

#include "frontend/script/module.h"

namespace rldb::frontend::script {

// The statements of a text, indented as a whole or not.
std::vector<Node> statements_of(const cst::Tree& tree);
// R, T, I, tvm and their long names, without any import.
void set_default_spaces(Reader& r);
// Imports, TypeVars and metadata determine how to read the rest, wherever they occur.
void read_preamble(Reader& r, const std::vector<Node>& statements);
bool is_call_to(Reader& r, Node n, Space space, std::string_view name);
// n = TypeVar("n")
bool is_type_var(Node s);
void collect_type_var(Reader& r, Node s);
// Reports a name that is taken.
void add_member(Reader& r, ModuleState& m, std::string_view name, Node name_node, Node node);
// Reads a member that has not been read, and what it needs of others.
void read_member(Reader& r, Member& m);
// The header was edited: variables that it still has stay the same, for the statements of the body.
void read_signature_again(Reader& r, Member& m);
const ir::FuncType* signature_type(Reader& r, const Signature& s, const ir::Type* ret);
// Nothing is known about a function whose header does not parse: neither it nor its calls are checked.
bool is_unread(Node function);
// A class.
ParsedItem read_module(Reader& r, Node n, ParseResult::Gaps& gaps);
// Reads functions outside classes; each is an item.
void add_lone_items(Reader& r, ModuleState& lone, ParseResult& out);
// In the order of the text.
void sort_items(ParseResult& out);

}  // namespace rldb::frontend::script
