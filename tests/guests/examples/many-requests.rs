//! Sends thirty GET requests at once to the server `path` (host and port), and waits for their answers.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

guests::guest! {
    fn run(args) {
        let mut answers = Vec::new();
        for number in 0..30 {
            let request = OutgoingRequest::new(Fields::new());
            let _ = request.set_scheme(Some(&Scheme::Http));
            let _ = request.set_authority(Some(&args.path_or("")));
            let _ = request.set_path_with_query(Some("/"));
            answers.push(handle(request, None).map_err(|code| guests::failed(format!("{number}: {code:?}")))?);
        }
        for answer in &answers {
            answer.subscribe().block();
        }
        Ok(format!("{} answers", answers.len()).into())
    }
}
