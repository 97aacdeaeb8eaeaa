"""The module `ssl` of a component, which has no OpenSSL. The host encrypts, and checks each certificate by its own list: whoever wants
that looser is not heard, and who has a certificate of its own is refused."""

from __future__ import annotations

import enum
from typing import Any


class SSLError(OSError):
    pass


class SSLCertVerificationError(SSLError, ValueError):
    pass


class SSLZeroReturnError(SSLError):
    pass


class SSLWantReadError(SSLError):
    pass


class SSLWantWriteError(SSLError):
    pass


class SSLSyscallError(SSLError):
    pass


class SSLEOFError(SSLError):
    pass


class VerifyMode(enum.IntEnum):
    CERT_NONE = 0
    CERT_OPTIONAL = 1
    CERT_REQUIRED = 2


class TLSVersion(enum.IntEnum):
    MINIMUM_SUPPORTED = -2
    MAXIMUM_SUPPORTED = -1
    TLSv1 = 0x301
    TLSv1_1 = 0x302
    TLSv1_2 = 0x303
    TLSv1_3 = 0x304


class Purpose(enum.Enum):
    SERVER_AUTH = "server"
    CLIENT_AUTH = "client"


class SSLSocket:
    """No connection is one: those of `portcullis_guest.sockets` are encrypted by the host."""


class SSLObject:
    pass


class MemoryBIO:
    def __init__(self) -> None:
        raise SSLError("there is no encryption in a component: the host encrypts")


class SSLContext:
    """What a client says of its connections, as far as it asks for what the host does anyway."""

    sslsocket_class, sslobject_class = SSLSocket, SSLObject
    minimum_version, maximum_version = TLSVersion.TLSv1_2, TLSVersion.TLSv1_3
    check_hostname = True
    post_handshake_auth = False
    keylog_filename = None
    options = verify_flags = 0

    def __init__(self, protocol: int | None = None) -> None:
        self.protocol = protocol
        self._verify_mode = VerifyMode.CERT_REQUIRED

    @property
    def verify_mode(self) -> VerifyMode:
        return self._verify_mode

    @verify_mode.setter
    def verify_mode(self, mode: int) -> None:
        self._verify_mode = VerifyMode(mode)

    def load_cert_chain(self, *_: Any, **__: Any) -> None:
        raise SSLError("a plugin has no certificate of its own: the host makes the connection")

    def wrap_bio(self, *_: Any, **__: Any) -> Any:
        return MemoryBIO()

    def wrap_socket(self, *_: Any, **__: Any) -> Any:
        raise SSLError("there is no encryption in a component: the host encrypts")

    def load_verify_locations(self, *_: Any, **__: Any) -> None:
        pass

    load_default_certs = set_default_verify_paths = set_ciphers = set_alpn_protocols = load_verify_locations

    def get_ca_certs(self, binary_form: bool = False) -> list[Any]:
        return []

    def cert_store_stats(self) -> dict[str, int]:
        return {"x509": 0, "crl": 0, "x509_ca": 0}


def create_default_context(purpose: Purpose = Purpose.SERVER_AUTH, **_: Any) -> SSLContext:
    return SSLContext(PROTOCOL_TLS_CLIENT)


_create_default_https_context = create_default_context
_create_unverified_context = create_default_context
CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = VerifyMode
SSLWantX509LookupError = CertificateError = SSLCertVerificationError
PROTOCOL_TLS = PROTOCOL_SSLv23 = 2
PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17
OP_ALL = OP_NO_SSLv2 = OP_NO_SSLv3 = OP_NO_TLSv1 = OP_NO_TLSv1_1 = OP_NO_COMPRESSION = OP_NO_TICKET = OP_NO_RENEGOTIATION = 0
VERIFY_DEFAULT = VERIFY_X509_STRICT = VERIFY_X509_PARTIAL_CHAIN = VERIFY_X509_TRUSTED_FIRST = 0
HAS_SNI = HAS_ALPN = HAS_TLSv1_2 = HAS_TLSv1_3 = HAS_NEVER_CHECK_COMMON_NAME = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = False
OPENSSL_VERSION, OPENSSL_VERSION_NUMBER, OPENSSL_VERSION_INFO = "OpenSSL 3.0.0 (the host encrypts)", 0x30000000, (3, 0, 0, 0, 0)
