//go:build wasip1

package wasm

import (
	"strconv"
	"strings"

	"portcullis/internal/abi"
	"portcullis/internal/bindings/wasi_http_outgoing_handler"
	http "portcullis/internal/bindings/wasi_http_types"
	"portcullis/internal/bindings/wasi_io_streams"

	witTypes "portcullis/internal/wit/types"
)

const (
	// The most bytes that WASI accepts in one write, and those that are asked for in one read.
	piece = 4096
	most  = 64 << 10
	// How much of an answer is read unless a request says otherwise.
	maxBody = 4 << 20
)

func withDefaults(request abi.Request) abi.Request {
	if request.Method == "" {
		request.Method = "GET"
		if len(request.Body) > 0 {
			request.Method = "POST"
		}
	}
	if request.MaxBody == 0 {
		request.MaxBody = maxBody
	}
	return request
}

func (host) Send(request abi.Request) (abi.Response, error) {
	request = withDefaults(request)
	// The method, and the URL as grants write it.
	target := request.Method + " " + request.URL
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	response, err := sent(request)
	if code, is := err.(broken); is {
		return response, httpError(http.ErrorCode(code), target)
	}
	return response, err
}

// broken is an error of wasi:http on its way to a sentence.
type broken http.ErrorCode

func (broken) Error() string { return "wasi:http" }

func unsent(why string) error { return abi.Fail(nil, "the request cannot be sent: %s", why) }

func sent(request abi.Request) (abi.Response, error) {
	outgoing, err := outgoing(request)
	if err != nil {
		return abi.Response{}, err
	}
	var body *http.OutgoingBody
	if len(request.Body) > 0 {
		opened := outgoing.Body()
		if opened.IsErr() {
			return abi.Response{}, unsent("it has two bodies")
		}
		body = opened.Ok()
	}
	handled := wasi_http_outgoing_handler.Handle(outgoing, options(request.TimeoutMS))
	if handled.IsErr() {
		return abi.Response{}, broken(handled.Err())
	}
	future := handled.Ok()
	defer future.Drop()
	if body != nil {
		if err := write(body, request.Body); err != nil {
			return abi.Response{}, err
		}
	}
	ready := future.Subscribe()
	ready.Block()
	ready.Drop()
	got := future.Get()
	if got.IsNone() || got.Some().IsErr() {
		return abi.Response{}, abi.Fail(nil, "the other server failed: there is no answer")
	}
	answer := got.Some().Ok()
	if answer.IsErr() {
		return abi.Response{}, broken(answer.Err())
	}
	return received(answer.Ok(), request.MaxBody)
}

func outgoing(request abi.Request) (*http.OutgoingRequest, error) {
	scheme := http.MakeSchemeHttps()
	rest, https := strings.CutPrefix(request.URL, "https://")
	if !https {
		var plain bool
		if rest, plain = strings.CutPrefix(rest, "http://"); !plain {
			return nil, unsent("the scheme must be https or http")
		}
		scheme = http.MakeSchemeHttp()
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, "/"
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		authority, path = rest[:at], rest[at:]
	}
	fields := http.MakeFields()
	for _, header := range request.Headers {
		if fields.Append(header.Name, []byte(header.Value)).IsErr() {
			return nil, unsent("the header `" + header.Name + "` is not valid")
		}
	}
	if len(request.Body) > 0 && !fields.Has("content-length") {
		fields.Append("content-length", []byte(strconv.Itoa(len(request.Body))))
	}
	outgoing := http.MakeOutgoingRequest(fields)
	wrong := outgoing.SetMethod(method(request.Method)).IsErr() || outgoing.SetScheme(witTypes.Some(scheme)).IsErr()
	wrong = wrong || outgoing.SetAuthority(witTypes.Some(authority)).IsErr() || outgoing.SetPathWithQuery(witTypes.Some(path)).IsErr()
	if wrong {
		return nil, unsent("the method or the URL is malformed")
	}
	return outgoing, nil
}

func method(name string) http.Method {
	switch name {
	case "GET":
		return http.MakeMethodGet()
	case "HEAD":
		return http.MakeMethodHead()
	case "POST":
		return http.MakeMethodPost()
	case "PUT":
		return http.MakeMethodPut()
	case "PATCH":
		return http.MakeMethodPatch()
	case "DELETE":
		return http.MakeMethodDelete()
	case "OPTIONS":
		return http.MakeMethodOptions()
	}
	return http.MakeMethodOther(name)
}

func options(timeoutMS uint64) witTypes.Option[*http.RequestOptions] {
	if timeoutMS == 0 {
		return witTypes.None[*http.RequestOptions]()
	}
	time := witTypes.Some(min(timeoutMS, 1<<43) * 1_000_000)
	options := http.MakeRequestOptions()
	// A host that does not support one of these uses its own time.
	options.SetConnectTimeout(time)
	options.SetFirstByteTimeout(time)
	options.SetBetweenBytesTimeout(time)
	return witTypes.Some(options)
}

// write writes and ends a body. A server that stops reading says why in its answer.
func write(body *http.OutgoingBody, bytes []byte) error {
	opened := body.Write()
	if opened.IsErr() {
		return nil
	}
	stream := opened.Ok()
	for len(bytes) > 0 {
		part := bytes[:min(piece, len(bytes))]
		if stream.BlockingWriteAndFlush(part).IsErr() {
			stream.Drop()
			body.Drop()
			return nil
		}
		bytes = bytes[len(part):]
	}
	stream.Drop()
	if finished := http.OutgoingBodyFinish(body, witTypes.None[*http.Fields]()); finished.IsErr() {
		return broken(finished.Err())
	}
	return nil
}

func received(incoming *http.IncomingResponse, maxBody int) (abi.Response, error) {
	defer incoming.Drop()
	response := abi.Response{Status: int(incoming.Status())}
	fields := incoming.Headers()
	for _, entry := range fields.Entries() {
		response.Headers = append(response.Headers, abi.Header{Name: entry.F0, Value: strings.ToValidUTF8(string(entry.F1), "\uFFFD")})
	}
	fields.Drop()
	consumed := incoming.Consume()
	if consumed.IsErr() {
		return response, abi.Fail(nil, "the other server failed: its body is gone")
	}
	body := consumed.Ok()
	defer body.Drop()
	opened := body.Stream()
	if opened.IsErr() {
		return response, nil
	}
	stream := opened.Ok()
	defer stream.Drop()
	for {
		part := stream.BlockingRead(most)
		if part.IsErr() {
			err := part.Err()
			if err.Tag() == wasi_io_streams.StreamErrorClosed {
				return response, nil
			}
			if code := http.HttpErrorCode(err.LastOperationFailed()); code.IsSome() {
				return response, broken(code.Some())
			}
			return response, broken(http.MakeErrorCodeHttpResponseIncomplete())
		}
		response.Body = append(response.Body, part.Ok()...)
		if len(response.Body) > maxBody {
			response.Body, response.Truncated = response.Body[:maxBody], true
			return response, nil
		}
	}
}

func httpError(code http.ErrorCode, target string) error {
	switch code.Tag() {
	case http.ErrorCodeHttpRequestDenied:
		return abi.Refuse("http", target, "")
	case http.ErrorCodeHttpRequestUriInvalid, http.ErrorCodeHttpRequestUriTooLong:
		return unsent("the URL is none that is sent")
	case http.ErrorCodeHttpRequestMethodInvalid:
		return unsent("the method is none that is sent")
	case http.ErrorCodeConnectionTimeout, http.ErrorCodeConnectionReadTimeout, http.ErrorCodeHttpResponseTimeout:
		return abi.Fail(abi.ErrTimeout, "the other server did not answer in time")
	case http.ErrorCodeConnectionLimitReached:
		return abi.Fail(nil, "a limit was reached: requests of this call")
	case http.ErrorCodeHttpRequestBodySize:
		return abi.Fail(nil, "a limit was reached: the size of the request's body")
	case http.ErrorCodeHttpResponseBodySize:
		return abi.Fail(nil, "a limit was reached: the size of the answer's body")
	case http.ErrorCodeDestinationNotFound:
		return abi.Fail(nil, "the other server failed: its name cannot be resolved")
	case http.ErrorCodeConnectionRefused:
		return abi.Fail(nil, "the other server failed: no connection could be made")
	case http.ErrorCodeInternalError:
		if why := code.InternalError(); why.IsSome() {
			return abi.Fail(nil, "the other server failed: %s", why.Some())
		}
	}
	return abi.Fail(nil, "the other server failed: error %d of wasi:http", code.Tag())
}
