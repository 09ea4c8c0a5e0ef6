//! The functions of tarn/tarn.h that the crate calls. The structures have the members of that header, in its order.

use std::os::raw::{c_char, c_void};

use crate::HeapStatistics;

#[repr(C)]
pub struct Heap {
    _private: [u8; 0],
}

#[repr(C)]
pub struct HeapOptions {
    pub name: *const c_char,
    pub initial: usize,
    pub increment: usize,
    pub limit: usize,
    pub forbids_remote_frees: bool,
    pub counts_calls: bool,
    pub records_sites: bool,
    pub keeps_memory: bool,
}

extern "C" {
    pub fn tarn_malloc(bytes: usize) -> *mut c_void;
    pub fn tarn_calloc(count: usize, bytes: usize) -> *mut c_void;
    pub fn tarn_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    pub fn tarn_aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void;
    pub fn tarn_free(block: *mut c_void);
    pub fn tarn_current_heap() -> *mut Heap;

    pub fn tarn_heap_create(options: *const HeapOptions) -> *mut Heap;
    pub fn tarn_heap_destroy(heap: *mut Heap);
    pub fn tarn_heap_release(heap: *mut Heap);
    pub fn tarn_heap_trim(heap: *mut Heap) -> usize;
    pub fn tarn_heap_get_statistics(heap: *const Heap) -> HeapStatistics;
    pub fn tarn_heap_aligned_alloc(heap: *mut Heap, alignment: usize, bytes: usize) -> *mut c_void;
}
