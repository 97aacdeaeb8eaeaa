//! Errors of an exchange, as the guest's import reports them.

use platform::outbound::ExchangeError;
use runtime::imports::HttpError;

pub(super) fn from_exchange(error: ExchangeError) -> HttpError {
    match error {
        ExchangeError::Connect => HttpError::Connect,
        ExchangeError::Certificate(at, why) => HttpError::Certificate(at, why),
        ExchangeError::Tls(at, why) => HttpError::Tls(at, why),
        ExchangeError::Handshake(at, time) => HttpError::Handshake(at, time),
        ExchangeError::Headers => HttpError::AnswerHeaders,
        ExchangeError::Incomplete => HttpError::Incomplete,
        ExchangeError::Protocol(why) => HttpError::Protocol(why),
    }
}
