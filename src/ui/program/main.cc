#include "rldb/ui/program/program.h"

int main(int argc, char** argv) { return rldb::ui::main_program(argc, argv); }
