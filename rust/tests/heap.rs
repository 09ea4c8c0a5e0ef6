//! Heaps of one's own, with values whose destructors run, and counters in the right members.

use std::cell::Cell;
use std::mem;
use std::thread;

use tarn::{Heap, HeapBox, HeapOptions, OutOfMemory};

struct Counted<'a>(&'a Cell<usize>, #[allow(dead_code)] [u64; 9]);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn each_counter_is_in_its_member() {
    let heap = HeapOptions::new().name("counted").counts_calls(true).create().unwrap();
    let kept: Vec<HeapBox<[u8]>> = (0..1000).map(|_| heap.alloc_slice(&[7u8; 100]).unwrap()).collect();
    drop(heap.alloc_slice(&[7u8; 1 << 20]).unwrap());
    let large = heap.alloc_slice(&[7u8; 2 << 20]).unwrap();
    let counters = heap.statistics();
    assert!(counters.counts_calls);
    assert_eq!((counters.allocated_blocks, counters.freed_blocks), (1002, 1));
    assert!(counters.allocated_bytes >= 100_000 + (3 << 20) && counters.allocated_bytes < 4 << 20);
    assert!(counters.freed_bytes >= 1 << 20 && counters.freed_bytes < 2 << 20);
    assert_eq!((counters.remote_frees, counters.large_blocks), (0, 1));
    assert!(counters.used_bytes >= 100_000 + (2 << 20));
    assert!(counters.slabs > 0 && counters.slab_bytes >= 100_000 && counters.slab_bytes < 2 << 20);
    assert!(counters.large_bytes >= 2 << 20 && counters.large_bytes < 3 << 20);
    assert!(counters.footprint_bytes >= counters.slab_bytes + counters.large_bytes);
    assert!(counters.peak_footprint_bytes >= counters.footprint_bytes);
    drop((kept, large));
    heap.trim(); // freed blocks reach the heap in batches
    assert_eq!(heap.statistics().freed_blocks, 1002);
}

#[test]
fn a_heap_without_counting_has_no_counts_of_calls() {
    let heap = Heap::new().unwrap();
    let value = heap.alloc(7u64).unwrap();
    assert_eq!((heap.statistics().counts_calls, heap.statistics().allocated_blocks), (false, 0));
    assert_eq!(*value, 7);
}

#[test]
fn destructors_run_once_and_values_are_aligned() {
    #[repr(align(256))]
    struct Aligned(u8);
    let drops = Cell::new(0);
    let heap = Heap::new().unwrap();
    {
        let mut values: Vec<_> = (0..100).map(|_| heap.alloc(Counted(&drops, [1; 9])).unwrap()).collect();
        values.truncate(40);
        assert_eq!(drops.get(), 60);
    }
    assert_eq!(drops.get(), 100);
    let aligned = heap.alloc(Aligned(3)).unwrap();
    assert_eq!((&*aligned as *const Aligned as usize % 256, aligned.0), (0, 3));
}

#[test]
fn values_without_bytes_take_no_block() {
    let heap = HeapOptions::new().counts_calls(true).create().unwrap();
    let (unit, empty, text) =
        (heap.alloc(()).unwrap(), heap.alloc_slice::<u64>(&[]).unwrap(), heap.alloc_str("").unwrap());
    assert_eq!((*unit, empty.len(), &*text, heap.statistics().allocated_blocks), ((), 0, "", 0));
}

#[test]
fn another_thread_drops_a_value_and_then_uses_the_heap() {
    let heap = HeapOptions::new().counts_calls(true).create().unwrap();
    let text = heap.alloc_str("lake").unwrap();
    thread::scope(|scope| {
        scope.spawn(move || assert_eq!(text.to_string(), "lake"));
    });
    let heap = thread::spawn(move || {
        drop(heap.alloc(1u32).unwrap());
        heap
    })
    .join()
    .unwrap();
    heap.trim();
    assert_eq!((heap.statistics().allocated_blocks, heap.statistics().freed_blocks), (2, 2));
}

#[test]
fn a_heap_at_its_limit_says_so() {
    let heap = HeapOptions::new().limit(8 << 20).create().unwrap();
    let mut kept = Vec::new();
    let error = loop {
        match heap.alloc([1u8; 1 << 16]) {
            Ok(block) => kept.push(block),
            Err(error) => break error,
        }
    };
    assert_eq!(error, OutOfMemory);
    assert_eq!(error.to_string(), "out of memory, or the heap has reached its limit");
    assert!(kept.len() > 64 && kept.len() <= 128, "{}", kept.len());
}

#[test]
fn trim_and_release_give_memory_back() {
    let mut heap = HeapOptions::new().name("kept\0 name").keeps_memory(true).create().unwrap();
    let blocks: Vec<_> = (0..64).map(|_| heap.alloc([1u8; 1 << 16]).unwrap()).collect();
    drop(blocks);
    assert!(heap.trim() >= 2 << 20);
    (0..64).for_each(|_| mem::forget(heap.alloc([1u8; 1 << 16]).unwrap()));
    assert!(heap.statistics().used_bytes >= 4 << 20);
    heap.release();
    assert!(heap.statistics().used_bytes < 1 << 20, "{:?}", heap.statistics());
    assert_eq!(*heap.alloc(5).unwrap(), 5);
}
