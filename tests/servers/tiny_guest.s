# A guest for tests; what it does stands in tiny_guest.py.
.code16
.org 0
boot:
  .fill 0x1f1, 1, 0
setup_sects: .byte 1
  .word 0
  .long 1            # syssize (16-byte units)
  .word 0
  .word 0
  .word 0
  .word 0xAA55
  .byte 0xEB, start - . - 1   # 0x200 jump
  .ascii "HdrS"
  .word 0x0202
  .long 0
  .word 0
  .word 0
  .byte 0            # type_of_loader 0x210
  .byte 1            # loadflags: LOADED_HIGH
  .word 0
  .long 0x100000
  .long 0
  .long 0
  .long 0
  .word 0
  .byte 0,0
  .long 0            # cmd_line_ptr 0x228
.org 0x258
start:
  cli
  mov $0x2000, %ax
  mov %ax, %ds
  xor %si, %si
  # serial 115200 8N1 is QEMU's default; no setup needed
  call hex16         # ticks -> bx
  mov %bx, %bp
  inc %si            # '-'
  mov %si, %di       # exit code: three digits
  add $4, %si        # three digits and '-'
1: mov (%si), %al
  cmp $0x30, %al
  jb 2f
  call hex8
  call out
  jmp 1b
2:
  inb $0xa1, %al     # the button's interrupt is masked: its state is read
  or $2, %al
  outb %al, $0xa1
  mov $0x602, %dx
  mov $0x100, %ax
  outw %ax, %dx
  sti
  xor %ax, %ax
  mov %ax, %es
  mov %es:0x46c, %bx
3: mov $0x600, %dx
  inw %dx, %ax
  test $1, %ah
  jnz 5f
  cmp $0xffff, %bp
  je 4f
  mov %es:0x46c, %ax
  sub %bx, %ax
  cmp %bp, %ax
  jae 5f
4: hlt
  jmp 3b
5: cli
  cmpb $0x70, (%di)
  jne c
  mov $0x505, %dx
  mov $1, %al
  outb %al, %dx
  jmp 9f
c:
  push %cs
  pop %ds
  mov $(words - start_of_setup), %si
6: mov (%si), %al
  inc %si
  test %al, %al
  jz 7f
  call out
  jmp 6b
7: mov $0x2000, %ax
  mov %ax, %ds
  mov $3, %cx
8: mov (%di), %al
  inc %di
  call out
  loop 8b
  mov $10, %al
  call out
  mov $0x604, %dx
  mov $0x2000, %ax
  outw %ax, %dx
9: hlt
  jmp 9b
out:
  push %dx
  push %ax
  mov $0x3fd, %dx
a: inb %dx, %al
  test $0x20, %al
  jz a
  pop %ax
  mov $0x3f8, %dx
  outb %al, %dx
  pop %dx
  ret
hexd:                # (%si) -> al
  mov (%si), %al
  inc %si
  sub $0x30, %al
  cmp $10, %al
  jb b
  sub $39, %al
b: ret
hex8:                # two digits -> al
  push %bx
  call hexd
  mov %al, %bl
  shl $4, %bl
  call hexd
  or %bl, %al
  pop %bx
  ret
hex16:
  call hex8
  mov %al, %bh
  call hex8
  mov %al, %bl
  ret
words: .asciz "\ndovetail: exit "
.org 0x400
  .fill 16,1,0
.set start_of_setup, 0x200
