// The names of the attributes of symbol.def: attr_name::GlobalSymbol is "global_symbol".
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/symbol.def"
#include "rldb/ir/attr_name/names.inc"
