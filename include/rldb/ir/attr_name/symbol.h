// The names of the attributes in symbol.def, as constants: attr_name::GlobalSymbol.
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/symbol.def"
#include "rldb/ir/attr_name/names.inc"
