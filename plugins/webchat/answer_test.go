package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/webchat/internal/proof"
	"github.com/clawhost/clawhost/sdk/chat"
)

// openAnswer makes a request by hand and returns what identifies the answer, and its body as it comes.
func openAnswer(t *testing.T, b *bundle, uri string) (proof.Answer, io.ReadCloser) {
	t.Helper()
	r := proof.Request{Session: hail(t, b, proof.NewHello()).Session, Number: 7, Method: "GET", URI: uri, Sum: proof.Sum(nil)}
	request, err := http.NewRequestWithContext(t.Context(), r.Method, b.base+uri, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", r.Header(proof.NewKey(b.token).Request(b.authority(), r)))
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	return proof.Answer{Session: r.Session, Number: r.Number, Status: answer.StatusCode, Type: answer.Header.Get("Content-Type")}, answer.Body
}

// ask makes a request by hand, as openAnswer, and reads the body.
func ask(t *testing.T, b *bundle, uri string) (proof.Answer, []byte) {
	t.Helper()
	answer, from := openAnswer(t, b, uri)
	defer from.Close()
	body, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return answer, body
}

func (b *bundle) authority() string { return strings.TrimPrefix(b.base, "http://") }

// The server's answers are proven: each for one request, one status, one type and one address, and none for another token.
func TestResponseIsBoundToItsRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := proof.NewKey(b.token)
	for uri, status := range map[string]int{
		"/api/state": http.StatusOK, "/api/history?limit=0": http.StatusBadRequest, "/api/files/none": http.StatusNotFound, "/api/none": http.StatusNotFound,
	} {
		answer, body := ask(t, b, uri)
		if answer.Status != status {
			t.Errorf("%s: %d", uri, answer.Status)
		}
		if said, err := io.ReadAll(key.Reader(bytes.NewReader(body), b.authority(), answer)); err != nil || len(said) == 0 {
			t.Errorf("%s: %q, %v", uri, said, err)
		}
		for name, change := range map[string]func(a *proof.Answer) (address, token string){
			"another session": func(a *proof.Answer) (string, string) { a.Session += "A"; return b.authority(), b.token },
			"another request": func(a *proof.Answer) (string, string) { a.Number++; return b.authority(), b.token },
			"another status":  func(a *proof.Answer) (string, string) { a.Status++; return b.authority(), b.token },
			"another type":    func(a *proof.Answer) (string, string) { a.Type = "text/html"; return b.authority(), b.token },
			"another address": func(*proof.Answer) (string, string) { return "127.0.0.1:1", b.token },
			"another token":   func(*proof.Answer) (string, string) { return b.authority(), b.token + "x" },
		} {
			other := answer
			address, token := change(&other)
			said, err := io.ReadAll(proof.NewKey(token).Reader(bytes.NewReader(body), address, other))
			if !errors.Is(err, proof.ErrStranger) || len(said) > 0 {
				t.Errorf("%s as that of %s: %q, %v", uri, name, said, err)
			}
		}
	}
}

// Of an answer that was changed on its way, no more is taken than what came before the change, and its end is never taken for whole.
func TestAChangedAnswerIsNotTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := proof.NewKey(b.token)
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	answer, body := ask(t, b, "/api/files/"+string(b.keep(t, content).Ref))
	read := func(body []byte) ([]byte, error) {
		return io.ReadAll(key.Reader(bytes.NewReader(body), b.authority(), answer))
	}
	if got, err := read(body); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes: %v", len(got), err)
	}
	parts := partsOf(t, body)
	if len(parts) < 4 {
		t.Fatalf("%d parts", len(parts))
	}
	last := len(parts) - 1
	changed := slices.Clone(parts[1])
	changed[len(changed)-1]++
	for name, sent := range map[string][][]byte{
		"nothing":               {},
		"one part left out":     slices.Delete(slices.Clone(parts), 1, 2),
		"one part twice":        slices.Insert(slices.Clone(parts), 1, parts[0]),
		"two parts exchanged":   {parts[1], parts[0], parts[last]},
		"an early end":          {parts[0], parts[last]},
		"no end":                parts[:last],
		"half a part":           {parts[0], parts[1][:100]},
		"half a line":           {parts[0], parts[1][:10]},
		"another content":       {parts[0], changed, parts[last]},
		"no proof":              {[]byte(`{"id":"00000000-0000-4000-8000-000000000000","state":"accepted"}`)},
		"a part of many bytes":  {[]byte(strings.Repeat("A", 43) + " ffffff\n")},
		"a part of fewer bytes": {[]byte(strings.Repeat("A", 43) + " -00001\n")},
	} {
		got, err := read(bytes.Join(sent, nil))
		if err == nil || !bytes.HasPrefix(content, got) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// partsOf splits an answer's body.
func partsOf(t *testing.T, body []byte) (parts [][]byte) {
	t.Helper()
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n') + 1
		var size int
		for _, digit := range body[end-7 : end-1] {
			size = size<<4 | strings.IndexByte("0123456789abcdef", digit)
		}
		parts = append(parts, body[:end+size])
		body = body[end+size:]
	}
	return parts
}

// A file that the host does not hand over to its end is not taken for whole.
func TestAFileThatBreaksOffIsNotWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kept := b.keep(t, []byte("all of it"))
	if err := os.WriteFile(b.files.path(kept.Ref, "content"), []byte("all"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/api/files/"+string(kept.Ref), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := b.page.RoundTrip(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q of 9 bytes is taken for the file", got)
	}
}

// keep stores a file and sends it.
func (b *bundle) keep(t *testing.T, content []byte) chat.Media {
	t.Helper()
	stored, err := b.files.Upload(t.Context(), chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: "a.txt"}, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Send(t.Context(), chat.Outgoing{Key: string(stored.Ref), To: local, Media: []chat.Media{stored}}); err != nil {
		t.Fatal(err)
	}
	return stored
}

// An event is one part, so that none is shown twice, left out or in another's place.
func TestEventsAreProven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.send(t, "one")
	b.send(t, "two")
	answer, stream := openAnswer(t, b, "/api/events")
	defer stream.Close()
	key := proof.NewKey(b.token)
	var raw bytes.Buffer
	reader := key.Reader(io.TeeReader(stream, &raw), b.authority(), answer)
	for shown := ""; !strings.Contains(shown, "two"); {
		event := make([]byte, 64<<10)
		n, err := reader.Read(event)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(event[:n])
	}
	parts := partsOf(t, raw.Bytes())
	for _, part := range parts {
		if bytes.Count(part, []byte("event: ")) > 1 {
			t.Errorf("one part has several events: %s", part)
		}
	}
	last := len(parts) - 1
	for name, sent := range map[string][][]byte{
		"exchanged": slices.Concat(parts[:last-1], [][]byte{parts[last], parts[last-1]}),
		"left out":  slices.Concat(parts[:last-1], [][]byte{parts[last]}),
	} {
		shown, err := io.ReadAll(key.Reader(bytes.NewReader(bytes.Join(sent, nil)), b.authority(), answer))
		if !errors.Is(err, proof.ErrStranger) || bytes.Contains(shown, []byte("two")) {
			t.Errorf("%s: %v after\n%s", name, err, shown)
		}
	}
}
