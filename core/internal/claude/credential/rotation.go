package credential

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// rotation sends requests with one key after the other, until the API accepts one.
type rotation struct {
	next http.RoundTripper
	keys *keyring
}

// RoundTrip sends a request. Only requests to the model show whether a key is valid, and are retried with other keys. If
// all are refused, it returns the response for the key that will be usable first, unchanged.
func (r *rotation) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := buffer(req)
	if err != nil {
		return nil, err
	}
	keys := r.keys.order()
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/v1/messages") {
		return r.next.RoundTrip(with(req, keys[0].value, body))
	}
	var kept *http.Response
	var least verdict
	for _, k := range keys {
		answer, err := r.next.RoundTrip(with(req, k.value, body))
		if err != nil {
			drop(kept)
			return nil, err
		}
		found := judge(answer)
		r.keys.tell(k, found, answer.StatusCode)
		switch {
		case found.why == accepted:
			drop(kept)
			return answer, nil
		case kept != nil && found.compare(least) > 0:
			drop(answer)
		default:
			drop(kept)
			kept, least = answer, found
		}
	}
	return kept, nil
}

// buffer reads a request's body, so that it can be sent again.
func buffer(req *http.Request) ([]byte, error) {
	const first = 1 << 20 // trusted part of the announced length
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	var b bytes.Buffer
	if n := req.ContentLength; n > 0 {
		b.Grow(int(min(n, first)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(req.Body)
	return b.Bytes(), err
}

// with returns a copy of a request with a key and a body.
func with(req *http.Request, key string, body []byte) *http.Request {
	try := req.Clone(req.Context())
	try.Header.Set("X-Api-Key", key)
	try.Body, try.ContentLength, try.TransferEncoding = http.NoBody, int64(len(body)), nil
	if len(body) > 0 {
		try.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		try.Body, _ = try.GetBody()
	}
	return try
}

// drop closes a response that may have been read partly.
func drop(answer *http.Response) {
	if answer == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, answer.Body, maxRefusal) // so that its connection can be reused
	answer.Body.Close()
}
