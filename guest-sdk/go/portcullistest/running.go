package portcullistest

import (
	"net/http"
	"slices"
	"sync"

	"portcullis/httpclient"
	"portcullis/internal/abi"
	"portcullis/internal/nethttp"
)

// As in a plugin, what has no context of a call belongs to the one that runs, and so do requests of net/http. If several run at once, there
// is no telling.
func init() {
	abi.Running = running.only
	nethttp.Register(fake{})
}

var running calls

type calls struct {
	mutex sync.Mutex
	hosts []*Host
}

func (c *calls) begin(host *Host) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.hosts = append(c.hosts, host)
}

func (c *calls) end(host *Host) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	at := slices.Index(c.hosts, host)
	c.hosts = slices.Delete(c.hosts, at, at+1)
}

func (c *calls) only() abi.Host {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.hosts) != 1 {
		return nil
	}
	return c.hosts[0]
}

func (c *calls) none() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.hosts) == 0
}

type fake struct{}

// RoundTrip leaves requests of the tests themselves to net/http.
func (fake) RoundTrip(request *http.Request) (*http.Response, error) {
	if running.none() {
		return nil, http.ErrSkipAltProtocol
	}
	return httpclient.Transport{}.RoundTrip(request)
}
