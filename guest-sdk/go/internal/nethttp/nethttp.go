// Package nethttp sends the requests of net/http by another transport.
package nethttp

import (
	"crypto/tls"
	"net/http"
)

// Register has http.DefaultTransport, and so http.Get and every client without a transport, send by another one. `portcullis build` lets all
// other transports of net/http do as the default one.
func Register(by http.RoundTripper) {
	transport := http.DefaultTransport.(*http.Transport)
	// HTTP/2 would register itself for https.
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	transport.RegisterProtocol("http", by)
	transport.RegisterProtocol("https", by)
}
