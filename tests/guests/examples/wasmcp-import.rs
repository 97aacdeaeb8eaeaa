//! A plain component that imports messages of `wasmcp:mcp-v20251125` with types that take much memory of the host.

wit_bindgen::generate!({
    inline: r#"
        package wasmcp:mcp-v20251125@0.1.1;
        interface server-io {
            flags many { a, b, c, d, e, f, g, h }
            send-message: func(all: list<many>);
        }
        world sender {
            import server-io;
            export send-all: func();
        }
    "#,
});

use wasmcp::mcp_v20251125::server_io::{Many, send_message};

struct Sender;

impl Guest for Sender {
    fn send_all() {
        send_message(&vec![Many::all(); 1 << 20]);
    }
}

export!(Sender);
