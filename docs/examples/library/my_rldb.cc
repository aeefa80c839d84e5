// An rldb of one's own: its prompt and its batch commands know the operator and the pass.
#include "my_compiler.h"
#include "rldb/ui/program/program.h"

int main(int argc, char** argv) {
  register_scale_shift();
  register_fold_scale_shift();
  return rldb::ui::main_program(argc, argv);
}
