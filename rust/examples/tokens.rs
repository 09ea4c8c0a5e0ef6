//! A loop that allocates more than it needs, on the system's allocator: docs/guide/rust.md records it.

#[inline(never)]
fn tokens(line: &str) -> Vec<String> {
    line.split(' ').map(String::from).collect()
}

struct Server {
    replies: usize,
}

impl Server {
    #[inline(never)]
    fn answer(&mut self, line: &str) {
        self.replies += tokens(line).iter().filter(|token| token.len() > 3).count();
    }
}

fn main() {
    let mut server = Server { replies: 0 };
    for number in 0..500_000 {
        server.answer(if number % 2 == 0 { "GET /lake/depth HTTP/1.1 keep alive" } else { "PUT /hill" });
    }
    println!("{}", server.replies);
}
