//! Heaps that the program creates, and the values in them.

use std::alloc::Layout;
use std::error::Error;
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use crate::{ffi, HeapStatistics};

/// The system has no memory for a block or a heap, or the heap has reached its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("out of memory, or the heap has reached its limit")
    }
}

impl Error for OutOfMemory {}

/// Options of a [`Heap`]. Sizes are in bytes.
///
/// ```
/// let heap = tarn::HeapOptions::new().name("requests").limit(1 << 20).create()?;
/// assert_eq!(heap.alloc([0u8; 2 << 20]).unwrap_err(), tarn::OutOfMemory);
/// # Ok::<(), tarn::OutOfMemory>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HeapOptions {
    name: CString,
    initial: usize,
    increment: usize,
    limit: usize,
    counts_calls: bool,
    keeps_memory: bool,
}

impl HeapOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the heap in messages and statistics; its first 23 bytes, up to a zero byte, are kept.
    pub fn name(mut self, name: &str) -> Self {
        let bytes: Vec<u8> = name.bytes().take_while(|&byte| byte != 0).collect();
        self.name = CString::new(bytes).unwrap_or_default();
        self
    }

    /// Maps and touches so many bytes when the heap is created.
    pub fn initial(mut self, bytes: usize) -> Self {
        self.initial = bytes;
        self
    }

    /// Maps so many bytes in one step when more are needed; 0: 4 MiB.
    pub fn increment(mut self, bytes: usize) -> Self {
        self.increment = bytes;
        self
    }

    /// Limits the memory that is in use at one time; 0: no limit.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Counts each call, which then takes a slower path.
    pub fn counts_calls(mut self, is_on: bool) -> Self {
        self.counts_calls = is_on;
        self
    }

    /// Keeps freed memory until the heap is released, trimmed or dropped.
    pub fn keeps_memory(mut self, is_on: bool) -> Self {
        self.keeps_memory = is_on;
        self
    }

    /// Creates a heap with these options.
    pub fn create(&self) -> Result<Heap, OutOfMemory> {
        let options = ffi::HeapOptions {
            name: self.name.as_ptr(),
            initial: self.initial,
            increment: self.increment,
            limit: self.limit,
            forbids_remote_frees: false,
            counts_calls: self.counts_calls,
            records_sites: false,
            keeps_memory: self.keeps_memory,
        };
        // SAFETY: the options live during the call, which copies the name.
        let heap = unsafe { ffi::tarn_heap_create(&options) };
        NonNull::new(heap).map(|heap| Heap { heap }).ok_or(OutOfMemory)
    }
}

/// A heap with memory of its own, for one thread at a time. Its values may go to other threads, and be dropped there.
///
/// Dropping the heap gives its memory back at once. No [`HeapBox`] of it can be left by then.
///
/// ```
/// let heap = tarn::Heap::new()?;
/// let mut numbers = heap.alloc_slice(&[3, 1, 2])?;
/// numbers.sort_unstable();
/// assert_eq!(*numbers, [1, 2, 3]);
/// # Ok::<(), tarn::OutOfMemory>(())
/// ```
///
/// ```compile_fail
/// let heap = tarn::Heap::new().unwrap();
/// let number = heap.alloc(7).unwrap();
/// drop(heap); // an error: `number` still borrows it
/// println!("{}", *number);
/// ```
///
/// ```compile_fail
/// let heap = tarn::Heap::new().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| heap.alloc(7).is_ok()); // an error: two threads would allocate from one heap
/// });
/// ```
#[derive(Debug)]
pub struct Heap {
    heap: NonNull<ffi::Heap>,
}

// SAFETY: a heap is used by one thread at a time, and it need not be the one that created it. As `Heap` is not Sync, two
// threads cannot allocate from it at once.
unsafe impl Send for Heap {}

impl Heap {
    /// Creates a heap with the default options.
    pub fn new() -> Result<Self, OutOfMemory> {
        HeapOptions::new().create()
    }

    /// Moves a value into the heap.
    pub fn alloc<T>(&self, value: T) -> Result<HeapBox<'_, T>, OutOfMemory> {
        let place = self.place(Layout::new::<T>())?.cast::<T>();
        // SAFETY: the block has the size and the alignment of a T.
        unsafe { place.as_ptr().write(value) };
        Ok(HeapBox::new(place))
    }

    /// Copies a slice into the heap.
    pub fn alloc_slice<T: Copy>(&self, values: &[T]) -> Result<HeapBox<'_, [T]>, OutOfMemory> {
        let place = self.place(Layout::for_value(values))?.cast::<T>();
        // SAFETY: the block is new, and has the size and the alignment of the slice.
        unsafe { place.as_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        Ok(HeapBox::new(NonNull::slice_from_raw_parts(place, values.len())))
    }

    /// Copies a text into the heap.
    pub fn alloc_str(&self, text: &str) -> Result<HeapBox<'_, str>, OutOfMemory> {
        let bytes = mem::ManuallyDrop::new(self.alloc_slice(text.as_bytes())?);
        // SAFETY: the bytes are those of a str, whose pointer has the same parts as that of a slice.
        let place = unsafe { NonNull::new_unchecked(bytes.place.as_ptr() as *mut str) };
        Ok(HeapBox::new(place))
    }

    /// A block of the heap; of no bytes, an address that is aligned.
    fn place(&self, layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
        if layout.size() == 0 {
            return Ok(NonNull::new(layout.align() as *mut u8).unwrap_or(NonNull::dangling()));
        }
        // SAFETY: the heap lives as long as `self`, and an alignment of a layout is a power of two.
        let block = unsafe { ffi::tarn_heap_aligned_alloc(self.heap.as_ptr(), layout.align(), layout.size()) };
        NonNull::new(block.cast()).ok_or(OutOfMemory)
    }

    /// Gives all free memory back to the system now, and returns the number of bytes.
    pub fn trim(&self) -> usize {
        // SAFETY: the heap lives as long as `self`.
        unsafe { ffi::tarn_heap_trim(self.heap.as_ptr()) }
    }

    /// Frees what was leaked from the heap, as by [`mem::forget`], at once; the heap stays usable.
    pub fn release(&mut self) {
        // SAFETY: `&mut self` says that no HeapBox borrows the heap.
        unsafe { ffi::tarn_heap_release(self.heap.as_ptr()) }
    }

    /// Returns the heap's counters.
    pub fn statistics(&self) -> HeapStatistics {
        // SAFETY: the heap lives as long as `self`.
        unsafe { ffi::tarn_heap_get_statistics(self.heap.as_ptr()) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: no HeapBox borrows the heap any more, and the crate makes no heap a thread's current one.
        unsafe { ffi::tarn_heap_destroy(self.heap.as_ptr()) }
    }
}

/// A value in a [`Heap`], as `Box` is one in the global allocator. Any thread may drop it.
pub struct HeapBox<'heap, T: ?Sized> {
    place: NonNull<T>,
    heap: PhantomData<&'heap Heap>,
    value: PhantomData<T>,
}

// SAFETY: a HeapBox owns its value, has no access to the heap, and any thread may free a block.
unsafe impl<T: ?Sized + Send> Send for HeapBox<'_, T> {}
// SAFETY: a shared HeapBox gives shared access to its value alone.
unsafe impl<T: ?Sized + Sync> Sync for HeapBox<'_, T> {}

impl<T: ?Sized> HeapBox<'_, T> {
    fn new(place: NonNull<T>) -> Self {
        HeapBox { place, heap: PhantomData, value: PhantomData }
    }
}

impl<T: ?Sized> Drop for HeapBox<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the value is valid, is dropped once, and its block, unless it has no bytes, is Tarn's.
        unsafe {
            let bytes = mem::size_of_val(self.place.as_ref());
            ptr::drop_in_place(self.place.as_ptr());
            if bytes != 0 {
                ffi::tarn_free(self.place.as_ptr().cast());
            }
        }
    }
}

impl<T: ?Sized> Deref for HeapBox<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as the box, which owns it.
        unsafe { self.place.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for HeapBox<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref; `&mut self` makes the access the only one.
        unsafe { self.place.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for HeapBox<'_, T> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(text)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for HeapBox<'_, T> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(text)
    }
}
