//! Connects to port `n` of this machine, sends a datagram there, listens itself, and looks up a name.

use guests::Attempts;

guests::guest! {
    fn run(args) {
        use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
        let port = args.n_or(80) as u16;
        let mut attempts = Attempts::default();
        attempts.note("connect", TcpStream::connect(("127.0.0.1", port)).map(drop));
        attempts.note("connect over IPv6", TcpStream::connect(("::1", port)).map(drop));
        attempts.note("listen", TcpListener::bind("127.0.0.1:0").map(drop));
        let datagram = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"escaped", ("127.0.0.1", port)));
        attempts.note("datagram", datagram);
        attempts.note("look-up", ("localhost", port).to_socket_addrs().map(Iterator::count));
        attempts.outcome()
    }
}
