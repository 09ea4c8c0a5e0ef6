// The page of web/, as it was built: TARN_PAGE is its path.
  .section .rodata
  .global tarn_page_begin
  .global tarn_page_end
tarn_page_begin:
  .incbin TARN_PAGE
tarn_page_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
