# The modules of a library as TVM exports them: EXECUTABLE, the bytes of an .rlvm file, and the code of the library.
    .section .rodata
    .globl __tvm_ffi__library_bin
    .type __tvm_ffi__library_bin, @object
__tvm_ffi__library_bin:
    .quad 2f - 1f
1:  .quad 3, 0, 1, 1
    .quad 1, 1
    .quad 18
    .ascii "relax.VMExecutable"
    .quad 4f - 3f
3:  .incbin EXECUTABLE
4:  .quad 4
    .ascii "_lib"
2:  .size __tvm_ffi__library_bin, . - __tvm_ffi__library_bin
    .section .note.GNU-stack, "", @progbits
