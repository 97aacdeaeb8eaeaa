//! The pages on which users connect accounts: `/connect`, `/oauth/login` and `/oauth/callback`.

mod html;
mod routes;
mod server;

pub(super) use routes::routes;
pub use server::serve_account_pages;
pub(super) use server::set_public_url;
