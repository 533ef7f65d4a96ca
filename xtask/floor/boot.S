/* From the loader to C: a multiboot header, flat segments of our own, and a stack.
 * See https://www.gnu.org/software/grub/manual/multiboot/multiboot.html. */

    /* Among the code and linked first, so that it stands near the beginning of the file. */
    .text
    .align 4
    .long 0x1BADB002                /* what a loader looks for */
    .long 0                         /* nothing is asked of it */
    .long -0x1BADB002               /* the three add up to zero */

    .global start
start:
    cli
    cld
    lgdt segments_pointer
    ljmp $8, $1f
1:  movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %fs
    movl %eax, %gs
    movl %eax, %ss
    movl $stack_end, %esp
    pushl %ebx                      /* what the loader tells */
    call floor
2:  hlt
    jmp 2b

    .section .rodata
    .align 8
segments:
    .quad 0
    .quad 0x00CF9A000000FFFF        /* code: from 0, 4 GiB */
    .quad 0x00CF92000000FFFF        /* data: the same */
segments_pointer:
    .word . - segments - 1
    .long segments

    .bss
    .align 16
    .skip 4096
stack_end:

    .section .note.GNU-stack, "", @progbits
