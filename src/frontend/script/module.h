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

ParseResult read_file(Reader& r, const cst::Tree& tree);
// After an edit, with r.module set: reads a member from its new node. `keep_signature`: the edit is in the body only,
// and the member's memo has followed it. The member's type as seen by callers may have changed.
void read_again(Reader& r, Member& m, Node node, bool keep_signature);
// The module of a class whose members have been read; reads those that have not.
const ir::Module* build_module(Reader& r, ModuleState& m, bool& broken);
ParseResult read_entry(Reader& r, const cst::Tree& tree);
const ir::Type* read_lone_type(Reader& r, const cst::Tree& tree, std::vector<const ir::Var*>& symbols);

}  // namespace rldb::frontend::script
