// Object files of src/aot/runtime, put in by the assembler: RLDB_AOT_RUNTIME and RLDB_AOT_STANDALONE are their paths.
#include "aot/runtime_objects.h"

#define RLDB_EMBED(name, path)                                                                                         \
  asm(".section .rodata\n.balign 16\n.global " name "_begin\n.hidden " name "_begin\n" name "_begin:\n.incbin \"" path \
      "\"\n.global " name "_end\n.hidden " name "_end\n" name "_end:\n.byte 0\n.previous\n")

RLDB_EMBED("rldb_embedded_runtime", RLDB_AOT_RUNTIME);
RLDB_EMBED("rldb_embedded_standalone", RLDB_AOT_STANDALONE);

extern "C" {
extern const char rldb_embedded_runtime_begin[], rldb_embedded_runtime_end[];
extern const char rldb_embedded_standalone_begin[], rldb_embedded_standalone_end[];
}

namespace rldb::aot {

std::string_view runtime_object() {
  return {rldb_embedded_runtime_begin, std::size_t(rldb_embedded_runtime_end - rldb_embedded_runtime_begin)};
}
std::string_view standalone_object() {
  return {rldb_embedded_standalone_begin, std::size_t(rldb_embedded_standalone_end - rldb_embedded_standalone_begin)};
}

}  // namespace rldb::aot
