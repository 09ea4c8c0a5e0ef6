//! A global allocator with a heap for each thread, and heaps of one's own, by the C++ library Tarn.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: tarn::Tarn = tarn::Tarn;
//!
//! let numbers: Vec<u64> = (0..1_000_000).collect();
//! assert!(tarn::thread_statistics().large_bytes >= 8_000_000);
//! # drop(numbers);
//! ```
//!
//! A [`Heap`] keeps the values of one kind of work together, bounds them, and gives their memory back at once.
//!
//! The crate links `libtarn.a`. Its build script looks under the prefix in the environment variable
//! `LIBTARN_PREFIX`, then asks pkg-config, and else builds the library from the checkout that the crate is in.

#![warn(missing_docs)]

use std::alloc::{GlobalAlloc, Layout};

mod ffi;
mod heap;

pub use heap::{Heap, HeapBox, HeapOptions, OutOfMemory};

/// What every block of Tarn is aligned to, in bytes.
const ALIGNMENT: usize = 16;

/// The global allocator: each thread allocates from a heap of its own, and frees any block.
///
/// A thread's `alloc` and `dealloc` of its own blocks take no lock and no atomic read-modify-write. The options of
/// the heaps, such as `TARN_LIMIT=64M` and `TARN_THP=on`, are read from the environment once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tarn;

// SAFETY: the functions of tarn/tarn.h give blocks of at least the size and at a multiple of the alignment that they
// were asked for, NULL where there is no memory, and free blocks of any thread.
unsafe impl GlobalAlloc for Tarn {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            ffi::tarn_malloc(layout.size()).cast()
        } else {
            ffi::tarn_aligned_alloc(layout.align(), layout.size()).cast()
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        ffi::tarn_free(block.cast());
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return ffi::tarn_calloc(1, layout.size()).cast();
        }
        let block = self.alloc(layout);
        if !block.is_null() {
            block.write_bytes(0, layout.size());
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return ffi::tarn_realloc(block.cast(), size).cast();
        }
        let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(block, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}

/// Counters of a heap since its creation. Bytes are bytes of size classes; "now" marks what can become less.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapStatistics {
    /// As in the options; without it the next four are 0.
    pub counts_calls: bool,
    /// Blocks that were allocated.
    pub allocated_blocks: u64,
    /// Blocks that were freed, without those whose free has not reached the heap yet: frees reach it in batches.
    pub freed_blocks: u64,
    /// Bytes of the allocated blocks.
    pub allocated_bytes: u64,
    /// Bytes of the freed blocks.
    pub freed_bytes: u64,
    /// Blocks that other threads freed; counted by all heaps.
    pub remote_frees: u64,
    /// Now: bytes in blocks that the program has, or that are ready to be handed out.
    pub used_bytes: u64,
    /// Now: number of slabs.
    pub slabs: u64,
    /// Now: bytes of the slabs.
    pub slab_bytes: u64,
    /// Now: blocks with pages of their own.
    pub large_blocks: u64,
    /// Now: bytes of the large blocks.
    pub large_bytes: u64,
    /// Now: memory that the heap has from the system, in bytes.
    pub footprint_bytes: u64,
    /// Most of `footprint_bytes` so far.
    pub peak_footprint_bytes: u64,
    /// Number of magazines filled from the slabs.
    pub refills: u64,
    /// Number of magazines emptied into the slabs.
    pub flushes: u64,
}

/// Returns the counters of the calling thread's heap, from which [`Tarn`] allocates.
pub fn thread_statistics() -> HeapStatistics {
    // SAFETY: tarn_current_heap returns a heap that lives at least as long as the thread.
    unsafe { ffi::tarn_heap_get_statistics(ffi::tarn_current_heap()) }
}
