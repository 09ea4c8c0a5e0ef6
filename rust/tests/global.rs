//! The global allocator: sizes, alignments, and blocks that another thread frees.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static GLOBAL: tarn::Tarn = tarn::Tarn;

#[test]
fn large_vectors_are_in_the_heap_of_the_thread() {
    let before = tarn::thread_statistics();
    let numbers = vec![1u8; 3 << 20];
    let during = tarn::thread_statistics();
    assert!(during.large_blocks > before.large_blocks, "{before:?} {during:?}");
    assert!(during.large_bytes >= before.large_bytes + numbers.len() as u64);
    assert!(during.footprint_bytes >= during.large_bytes + during.slab_bytes);
    assert!(during.peak_footprint_bytes >= during.footprint_bytes);
}

#[test]
fn blocks_of_each_alignment_are_aligned_zeroed_and_moved() {
    for shift in 0..16 {
        for size in [1, 15, 64, 5000, 300_000] {
            let layout = Layout::from_size_align(size, 1 << shift).unwrap();
            // SAFETY: the layout has bytes, and each block is used within its size and freed with its layout.
            unsafe {
                let block = alloc(layout);
                assert_eq!(block as usize % layout.align(), 0, "{layout:?}");
                block.write_bytes(0xff, size);
                let block = realloc(block, layout, 2 * size);
                assert_eq!(block as usize % layout.align(), 0, "{layout:?}");
                assert_eq!((*block, *block.add(size - 1)), (0xff, 0xff), "{layout:?}");
                let block = realloc(block, Layout::from_size_align(2 * size, layout.align()).unwrap(), size);
                assert_eq!((*block, *block.add(size - 1)), (0xff, 0xff), "{layout:?}");
                dealloc(block, layout);
                let zeroed = alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(zeroed, size).iter().all(|&byte| byte == 0), "{layout:?}");
                dealloc(zeroed, layout);
            }
        }
    }
}

#[test]
fn another_thread_frees_what_this_one_allocates() {
    let (send, receive) = mpsc::channel::<Vec<String>>();
    let consumer = thread::spawn(move || receive.into_iter().map(|texts| texts.len()).sum::<usize>());
    let before = tarn::thread_statistics();
    for number in 0..500 {
        send.send((0..100).map(|part| format!("{number} {part} of many")).collect()).unwrap();
    }
    drop(send);
    assert_eq!(consumer.join().unwrap(), 50_000);
    // The owner takes the blocks back when it needs some; by then they are counted.
    let kept: Vec<String> = (0..60_000).map(|part| format!("{part} of many")).collect();
    assert!(tarn::thread_statistics().remote_frees > before.remote_frees + 10_000);
    drop(kept);
}
