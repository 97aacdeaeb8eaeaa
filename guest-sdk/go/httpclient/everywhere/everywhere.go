//go:build wasip1

// Package everywhere sends all requests of net/http through the host. `portcullis build` adds it to plugins with net/http.
package everywhere

import (
	"portcullis/httpclient"
	"portcullis/internal/nethttp"
)

func init() { nethttp.Register(httpclient.Transport{}) }
