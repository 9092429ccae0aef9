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

// Unfetched is the problem of a file that cannot be had for reasons that mean nothing to the agent.
const Unfetched = "could not be fetched"

// TooLarge is the problem of a file that has more than so many bytes.
func TooLarge(most int64) string { return fmt.Sprintf("is larger than %d MB", most>>20) }

// Offer is a file that somebody sent, or that a message answers, as it is submitted: with the token by which it is fetched
// later, or with its problem where it has more than so many bytes or there is no token.
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

// Token is what a file is fetched by later, of a value that is made of what the network asks for; empty: there is too much
// of it.
func Token(of any) chat.FileToken {
	raw, err := json.Marshal(of)
	if err != nil || len(raw) > chat.MaxFileToken {
		return ""
	}
	return chat.FileToken(raw)
}

// ReadToken reads what Token was made of.
func ReadToken(token chat.FileToken, into any) error {
	if json.Unmarshal([]byte(token), into) != nil {
		return &chat.FileError{Problem: Unfetched, Err: errors.New("the token is none of this plugin's")}
	}
	return nil
}

// FileError is an error of fetching as the host understands it: a file that a call was refused for can never be had.
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

// Download opens the file at an address, which no error names. Errors, also those of reading, are a [*CallError], or a
// [*chat.FileError] where the file has more than so many bytes.
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
		_ = response.Body.Close() // its status says enough
		return nil, &CallError{
			Call: call, Status: response.StatusCode, Message: http.StatusText(response.StatusCode),
			RetryAfter: Seconds(response.Header.Get("Retry-After")),
		}
	}
	large := &chat.FileError{Problem: TooLarge(most), Err: fmt.Errorf("the file has more than %d bytes", most)}
	return &download{Bound(response.Body, most, large), ctx}, nil
}

// download is a file as it comes.
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

// Bound bounds what somebody else sends: reading ends with the error tooLong where there are more than so many bytes.
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

// CheckFile refuses a file of the host's that cannot be sent: one without bytes, or with more than the network takes.
func CheckFile(m chat.Media, most int64) error {
	switch {
	case m.Ref == "":
		return Refuse(chat.MediaRejected, "a file has no bytes")
	case m.Size > most:
		return Refuse(chat.MediaRejected, "a file has %d bytes; %d are taken at most", m.Size, most)
	default:
		return nil
	}
}

// Shape is a row of a table that says which files a network shows as what they are.
type Shape[T any] struct {
	Kinds []chat.MediaKind
	Types []string // MIME types
	Most  int64    // bytes
	As    T
}

// ShapeOf finds as what a file is shown: by the first row that fits, else as other says.
func ShapeOf[T any](table []Shape[T], m chat.Media, other T) T {
	mediaType, _, _ := mime.ParseMediaType(m.MIMEType)
	for _, s := range table {
		if slices.Contains(s.Kinds, m.Kind) && m.Size <= s.Most && slices.Contains(s.Types, mediaType) {
			return s.As
		}
	}
	return other
}
