// As places.cpp, in Rust: boxes of the standard library, in a function and in a closure.
#[inline(never)]
fn make(number: usize) -> Box<[usize; 10]> {
    Box::new(std::hint::black_box([number; 10])) // make
}

fn main() {
    let take = |number: usize| std::hint::black_box(make(number)).len(); // closure
    let mut sum = 0;
    for number in 0..5000 {
        sum += take(number);
    }
    std::process::exit((sum != 50000) as i32);
}
