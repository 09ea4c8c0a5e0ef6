// The page of web/lab.html, as it was built: TARN_LAB_PAGE is its path.
  .section .rodata
  .global tarn_lab_page_begin
  .global tarn_lab_page_end
tarn_lab_page_begin:
  .incbin TARN_LAB_PAGE
tarn_lab_page_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
