# The same before tvm-ffi.
    .section .rodata
    .globl __tvm_dev_mblob
    .type __tvm_dev_mblob, @object
__tvm_dev_mblob:
    .quad 2f - 1f
1:  .quad 3
    .quad 16
    .ascii "relax.Executable"
    .quad 4f - 3f
3:  .incbin EXECUTABLE
4:  .quad 4
    .ascii "_lib"
    .quad 12
    .ascii "_import_tree"
    .quad 3, 0, 1, 1
    .quad 1, 1
2:  .size __tvm_dev_mblob, . - __tvm_dev_mblob
    .section .note.GNU-stack, "", @progbits
