//! Counts words with Tarn as the global allocator, and keeps the longest ones in a heap of their own.

use std::collections::BTreeMap;

#[global_allocator]
static GLOBAL: tarn::Tarn = tarn::Tarn;

#[inline(never)]
fn count(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    counts
}

fn main() -> Result<(), tarn::OutOfMemory> {
    let text = "The lake was calm and the hills around the lake were green. ".repeat(1000);
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let text = text.clone();
            std::thread::spawn(move || count(&text))
        })
        .collect();

    let heap = tarn::HeapOptions::new().name("longest words").limit(1 << 20).create()?;
    let mut longest = Vec::new();
    for worker in workers {
        let counts = worker.join().expect("a worker does not panic");
        if let Some((word, times)) = counts.iter().max_by_key(|(word, _)| word.len()) {
            longest.push((heap.alloc_str(word)?, *times));
        }
    }
    for (word, times) in &longest {
        println!("{word} {times}");
    }
    assert!(heap.statistics().footprint_bytes >= 4 * 16);
    Ok(())
}
