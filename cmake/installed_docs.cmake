# Turns the links of installed documents to files that are not installed, such as sources and design pages, into their
# text. Runs at the installation, with the folder of the documents in `folder`.
foreach(place IN ITEMS "guide ../" "reference ../" "guide/tutorial ../../")
  string(REPLACE " " ";" place "${place}")
  list(GET place 0 pages)
  list(GET place 1 up)  # from a page to docs/
  string(REPLACE "." "\\." up "${up}")
  file(GLOB names "${folder}/${pages}/*.md")
  foreach(name IN LISTS names)
    file(READ "${name}" text)
    string(REGEX REPLACE "\\[([^]]*)\\]\\(${up}(\\.\\./|design/)[^)]*\\)" "\\1" text "${text}")
    file(WRITE "${name}" "${text}")
  endforeach()
endforeach()
