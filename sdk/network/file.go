package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Unfetched is the problem of a file that is unavailable for reasons that mean nothing to the agent.
const Unfetched = "could not be fetched"

// TooLarge returns the problem of a file that has more than most bytes.
func TooLarge(most int64) string { return fmt.Sprintf("is larger than %d MB", most>>20) }

// Offer returns a file from a person's message as it is submitted: with the token by which it can be fetched later, or with
// a problem if it has more than most bytes or there is no token.
func Offer(m chat.Media, token chat.FileToken, most int64) chat.Media {
	switch {
	case m.Size > most:
		m.Problem = TooLarge(most)
	case token == "":
		m.Problem = Unfetched
	default:
		m.Token = token
	}
	return m
}

// Token encodes a value that contains what the network needs to fetch a file. It returns an empty token if the value is too
// large.
func Token(of any) chat.FileToken {
	raw, err := json.Marshal(of)
	if err != nil || len(raw) > chat.MaxFileToken {
		return ""
	}
	return chat.FileToken(raw)
}

// ReadToken decodes the value of a token.
func ReadToken(token chat.FileToken, into any) error {
	if json.Unmarshal([]byte(token), into) != nil {
		return &chat.FileError{Problem: Unfetched, Err: errors.New("the token is not from this plugin")}
	}
	return nil
}

// FileError converts an error of fetching for the host: a file that the network refused is permanently unavailable.
func FileError(err error) error {
	e, ok := asFailed(err)
	switch {
	case !ok:
		return err
	case e.MayPass():
		return &chat.FileError{RetryAfter: e.Wait(), Err: err}
	}
	return &chat.FileError{Problem: Unfetched, Err: err}
}

// Download opens the file at an address, which no error contains. Errors, including those of reading, are a [*CallError],
// or a [*chat.FileError] if the file has more than most bytes.
func Download(ctx context.Context, client *http.Client, address string, most int64) (io.ReadCloser, error) {
	const call = "GET file"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &CallError{Call: call, Status: http.StatusBadRequest, Message: "the file has no proper address"}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, &CallError{Call: call, Message: WithoutAddress(err).Error(), Ended: ctx.Err()}
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close() // the status is enough
		return nil, &CallError{
			Call: call, Status: response.StatusCode, Message: http.StatusText(response.StatusCode),
			RetryAfter: Seconds(response.Header.Get("Retry-After")),
		}
	}
	large := &chat.FileError{Problem: TooLarge(most), Err: fmt.Errorf("the file has more than %d bytes", most)}
	return &download{Bound(response.Body, most, large), ctx}, nil
}

// download is a file in transfer.
type download struct {
	io.ReadCloser

	ctx context.Context // it belongs to the request
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if _, large := errors.AsType[*chat.FileError](err); err == nil || large || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, &CallError{Call: "GET file", Message: "the connection broke", Ended: d.ctx.Err()}
}

// Bound limits untrusted data: reading fails with the error tooLong after most bytes.
func Bound(body io.ReadCloser, most int64, tooLong error) io.ReadCloser {
	return &bounded{body, most, tooLong}
}

type bounded struct {
	io.ReadCloser

	left    int64
	tooLong error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.tooLong
	}
	return n, err
}

// CheckFile returns an error if a file of the host cannot be sent: it is empty, or larger than the network accepts.
func CheckFile(m chat.Media, most int64) error {
	switch {
	case m.Ref == "":
		return Refuse(chat.MediaRejected, "a file is empty")
	case m.Size > most:
		return Refuse(chat.MediaRejected, "a file has %d bytes; at most %d are allowed", m.Size, most)
	default:
		return nil
	}
}

// Shape is a row of a table that maps files to the ways in which a network shows them.
type Shape[T any] struct {
	Kinds []chat.MediaKind
	Types []string // MIME types
	Most  int64    // bytes
	As    T
}

// ShapeOf returns how a file is shown: by the first matching row, or other.
func ShapeOf[T any](table []Shape[T], m chat.Media, other T) T {
	mediaType, _, _ := mime.ParseMediaType(m.MIMEType)
	for _, s := range table {
		if slices.Contains(s.Kinds, m.Kind) && m.Size <= s.Most && slices.Contains(s.Types, mediaType) {
			return s.As
		}
	}
	return other
}
