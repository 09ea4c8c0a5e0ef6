// The same as stacks.c, in Rust: closures, trait objects, generic code.
#[inline(never)]
#[no_mangle]
pub extern "C" fn stop(bytes: usize) {
    let made: Vec<u8> = Vec::with_capacity(bytes);
    std::hint::black_box(&made);
}

trait Shape {
    fn area(&self) -> usize;
}
struct Square(usize);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> usize {
        stop(720001);
        self.0 * self.0
    }
}

#[inline(never)]
fn sum<T: Iterator<Item = usize>>(of: T) -> usize {
    let mut made = 0;
    for each in of {
        if each == 2 {
            stop(720002);
        }
        made += each;
    }
    made
}

fn main() {
    let one: Box<dyn Shape> = Box::new(Square(3));
    let twice = |by: usize| by * std::hint::black_box(&one).area();
    let other = std::thread::spawn(|| sum((0..4).map(|each| each)));
    assert_eq!(twice(2) + other.join().unwrap(), 24);
}
