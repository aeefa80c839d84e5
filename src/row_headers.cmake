# The headers of tables, made while configuring: include/rldb/<folder>/<table>.def gets the header rldb/<folder>/<table>.h
# in the build folder, with its rows as constants. Code includes the header of the table that it needs, so that a new row
# rebuilds few files. The tables are globbed: a new one needs no edit here.

# rldb_row_headers(folder pattern macro body): `macro` is defined as the table's path, then `body` is included.
function(rldb_row_headers folder pattern macro body)
  file(GLOB tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/rldb/${folder}/${pattern}.def)
  get_filename_component(itself ${folder} NAME)
  foreach(path IN LISTS tables)
    get_filename_component(table ${path} NAME_WE)
    # The tables of tables.
    if(table STREQUAL itself OR (folder STREQUAL "ir/op" AND table MATCHES "^(class|rule)$"))
      continue()
    endif()
    string(SUBSTRING ${table} 0 1 first)
    string(SUBSTRING ${table} 1 -1 rest)
    string(TOUPPER ${first} first)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/rldb/${folder}/${table}.h @ONLY CONTENT
"// The rows of ${table}.def as constants. Made by src/row_headers.cmake.
#pragma once

#define RLDB_TABLE_NAME ${first}${rest}
#define ${macro} \"rldb/${folder}/${table}.def\"
#include \"rldb/${folder}/${body}\"
#undef RLDB_TABLE_NAME
")
  endforeach()
endfunction()

rldb_row_headers(ir/op * RLDB_OP_ROWS names.inc)
rldb_row_headers(ir/op_attr * RLDB_OP_ATTR_ROWS names.inc)
rldb_row_headers(ir/attr_name * RLDB_ATTR_NAME_ROWS names.inc)
rldb_row_headers(ir/intrinsic * RLDB_INTRINSIC_ROWS constants.inc)
rldb_row_headers(bytecode/builtin * RLDB_BUILTIN_ROWS names.inc)
rldb_row_headers(source diagnostic_* RLDB_DIAG_ROWS diagnostic_names.inc)
