// Counts words in C memory and in Go memory: docs/guide/languages.md records it.
package main

/*
#include <stdlib.h>
#include <string.h>
static size_t length_of_copy(const char *text) {
  char *copy = strdup(text);
  const size_t length = strlen(copy);
  free(copy);
  return length;
}
*/
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"
)

func main() {
	var group sync.WaitGroup
	lengths := make([]int, 4)
	for worker := range lengths {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for number := 0; number < 5000; number++ {
				text := C.CString(strings.Repeat("lake ", 1+number%9))
				lengths[worker] += int(C.length_of_copy(text))
				C.free(unsafe.Pointer(text))
			}
		}(worker)
	}
	group.Wait()
	fmt.Println(lengths)
}
