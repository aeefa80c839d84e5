// Classes, files and entries at the prompt: members and their signatures, imports, TypeVars, the metadata trailer.
//
// Members are read on demand: a function that calls another needs its type, which is its signature's when that has a
// return annotation, else the result of reading it first (a cycle without annotations is read twice).
#pragma once

#include "frontend/script/relax/relax.h"

namespace rldb::frontend::script {

// The meaning of a bare name among the module's members; Nothing when it has none.
Val module_name(Reader& r, std::string_view name, Node at);
// cls.f
Val module_member(Reader& r, std::string_view name, Node at);
// A name of a namespace as a value: it remains a Path unless it names something definite.
Val value_of_path(Reader& r, const Val& path);
// The device denoted by an I.vdevice(...) constructor.
const ir::VDevice* vdevice_of_attr(Reader& r, const ir::Attr* a);
// @T.macro and plain functions: callable at parse time where that is possible.
void define_macro(Reader& r, Node function);

// Kinds of the functions that are members of a module.
bool is_function(Kind k);

// The meaning of names as the import lines of a text and its header of comments give it.
Imports imports_of(const std::vector<Node>& imports, std::string_view text);

ParseResult read_file(Reader& r, const cst::Tree& tree);
// After an edit, with r.module set: reads a member from its new node. The member's type as seen by callers may have
// changed. To keep statements, the member's memo must have followed the edit; and its signature, if the edit is in the
// body only.
enum class Keep : std::uint8_t { Nothing, Statements, Signature };
void read_again(Reader& r, Member& m, Node node, Keep keep);
// Instead, while the member's header does not parse; what is known about its statements is kept.
void leave_unread(Member& m, Node node);
// The module of a class whose members have been read; reads those that have not.
const ir::Module* build_module(Reader& r, ModuleState& m, bool& broken, ParseResult::Gaps& gaps);
// A function of a file that has no class, as a part of the result.
ParsedItem lone_item(const Member& m);
ParseResult read_entry(Reader& r, const cst::Tree& tree);
const ir::Type* read_lone_type(Reader& r, const cst::Tree& tree, std::vector<const ir::Var*>& symbols);

}  // namespace rldb::frontend::script
