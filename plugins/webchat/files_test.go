package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

const onePixel = "\x89PNG\r\n\x1a\n and so on"

// upload stores a file as a page does.
func (b *bundle) upload(t *testing.T, name string, content io.Reader) (int, file) {
	t.Helper()
	answer := b.request(t, http.MethodPost, "/api/files?name="+url.QueryEscape(name), nil, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Body, r.ContentLength = io.NopCloser(content), -1
	})
	var stored file
	if err := json.NewDecoder(answer.Body).Decode(&stored); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, stored
}

func TestFilesBothWays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, stored := b.upload(t, "../up/photo.png", strings.NewReader(onePixel))
	if want := (file{Ref: stored.Ref, Kind: "image", Type: "image/png", Name: "photo.png", Size: int64(len(onePixel))}); status != 200 || stored != want {
		t.Fatalf("%d %+v", status, stored)
	}
	if answer := b.request(t, http.MethodGet, "/api/files/"+string(stored.Ref), nil, nil); answer.StatusCode != 404 {
		t.Errorf("a file of no message: %s", answer.Status)
	}
	id := uuid.NewString()
	body := map[string]any{"id": id, "files": []any{stored.Ref}}
	for range 2 {
		if answer := b.request(t, http.MethodPost, "/api/messages", body, nil); answer.StatusCode != 200 {
			t.Fatal(answer.Status)
		}
	}
	want := []chat.Event{event(id, "", b.host.events[0].At, chat.Message{ID: chat.MessageID(id), Media: []chat.Media{
		{Ref: stored.Ref, Kind: chat.Image, MIMEType: "image/png", FileName: "photo.png", Size: int64(len(onePixel))},
	}})}
	if diff := cmp.Diff(want, b.host.events); diff != "" {
		t.Error(diff)
	}

	page, err := b.files.Upload(t.Context(), chat.Media{Kind: chat.Image, MIMEType: "text/html", FileName: "a\"\r\nb.html"}, strings.NewReader("<script>alert(1)</script>"))
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: local, Media: []chat.Media{page}})
	if err != nil {
		t.Fatal(err)
	}
	b.stop()
	b = start(t, b.dir, nil)
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"user accepted [image photo.png]", `agent  [image a"b.html]`}, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
	for ref, want := range map[chat.MediaRef][]string{
		stored.Ref: {onePixel, "image/png", "attachment; filename=photo.png"},
		page.Ref:   {"<script>alert(1)</script>", "application/octet-stream", `attachment; filename="a\"b.html"`},
	} {
		answer := b.request(t, http.MethodGet, "/api/files/"+string(ref), nil, nil)
		content, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		h := answer.Header
		if diff := cmp.Diff(want, []string{string(content), h.Get("Content-Type"), h.Get("Content-Disposition")}); diff != "" {
			t.Error(diff)
		}
		if h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("headers: %v", h)
		}
	}
	if err := b.Delete(t.Context(), local, receipt.IDs[0]); err != nil {
		t.Fatal(err)
	}
	if answer := b.request(t, http.MethodGet, "/api/files/"+string(page.Ref), nil, nil); answer.StatusCode != 404 {
		t.Errorf("a file of a deleted message: %s", answer.Status)
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if status, stored := b.upload(t, "a", strings.NewReader(strings.Repeat("a", maxUpload))); status != 200 || stored.Size != maxUpload {
		t.Errorf("the largest: %d, %d bytes", status, stored.Size)
	}
	if status, _ := b.upload(t, "a", strings.NewReader(strings.Repeat("a", maxUpload+1))); status != 413 {
		t.Errorf("larger than that: %d", status)
	}
	if status, _ := b.upload(t, "a", strings.NewReader("")); status != 400 {
		t.Errorf("an empty one: %d", status)
	}
	for kind, want := range map[string]int{"text/html": 415, "multipart/form-data": 415, "": 415} {
		answer := b.request(t, http.MethodPost, "/api/files", nil, func(r *http.Request) { r.Header.Set("Content-Type", kind) })
		if answer.StatusCode != want {
			t.Errorf("a body of type %q: %s", kind, answer.Status)
		}
	}
	response := b.request(t, http.MethodPost, "/api/files", nil, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(make([]byte, maxUpload+1))), maxUpload+1
	})
	if response.StatusCode != 413 {
		t.Errorf("one that says it is too large: %s", response.Status)
	}
	_, stored := b.upload(t, "a", strings.NewReader("a"))
	refs := func(count int, more ...chat.MediaRef) []chat.MediaRef {
		for range count {
			more = append(more, stored.Ref)
		}
		return more
	}
	for name, test := range map[string]struct {
		files []chat.MediaRef
		want  int
	}{
		"the most":            {refs(maxFiles), 200},
		"more than that":      {refs(maxFiles + 1), 400},
		"one that is gone":    {refs(1, "gone"), 410},
		"one of another path": {refs(0, "../token"), 410},
	} {
		body := map[string]any{"id": uuid.NewString(), "text": name, "files": test.files}
		if answer := b.request(t, http.MethodPost, "/api/messages", body, nil); answer.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", name, answer.Status, test.want)
		}
	}
	if diff := cmp.Diff([]string{"the most"}, b.host.texts()); diff != "" {
		t.Error(diff)
	}
}

// A page that sends its file slowly, or not at all, takes one of a few places and no more.
func TestTransfersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	content := bytes.Repeat([]byte("a"), 64<<10)
	var writers []*io.PipeWriter
	statuses := make(chan int, maxTransfers)
	for range maxTransfers {
		r, w := io.Pipe()
		writers = append(writers, w)
		slow, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/api/files?name=slow", r)
		if err != nil {
			t.Fatal(err)
		}
		slow.Header.Set("Content-Type", "application/octet-stream")
		if err := b.page.Authorize(slow, sha256.Sum256(content)); err != nil {
			t.Fatal(err)
		}
		go func() {
			answer, err := transport.RoundTrip(slow)
			if err != nil {
				t.Error(err)
				statuses <- 0
				return
			}
			answer.Body.Close()
			statuses <- answer.StatusCode
		}()
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		select {
		case <-b.files.begun:
		case status := <-statuses:
			t.Fatalf("a slow file: %d", status)
		}
	}
	if status, _ := b.upload(t, "one more", strings.NewReader("a")); status != http.StatusServiceUnavailable {
		t.Errorf("one file too many: %d", status)
	}
	b.say(t, "a message needs no such place")
	for _, w := range writers {
		w.Close()
		if status := <-statuses; status != 200 {
			t.Errorf("a slow file: %d", status)
		}
	}
}

func TestDescribeFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content, name string
		want          chat.Media
	}{
		"picture":           {onePixel, "a.png", chat.Media{Kind: chat.Image, MIMEType: "image/png", FileName: "a.png"}},
		"a picture by name": {"<script>alert(1)</script>", "a.png", chat.Media{Kind: chat.File, MIMEType: "text/html", FileName: "a.png"}},
		"drawing":           {`<svg xmlns="http://www.w3.org/2000/svg">`, "a.svg", chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: "a.svg"}},
		"sound":             {"ID3\x03", "a.mp3", chat.Media{Kind: chat.Audio, MIMEType: "audio/mpeg", FileName: "a.mp3"}},
		"film":              {"\x1aE\xdf\xa3\x00webm", "a", chat.Media{Kind: chat.Video, MIMEType: "video/webm", FileName: "a"}},
		"paper":             {"%PDF-1.7", "a.pdf", chat.Media{Kind: chat.File, MIMEType: "application/pdf", FileName: "a.pdf"}},
		"bytes":             {"\x00\x01", "", chat.Media{Kind: chat.File, MIMEType: "application/octet-stream", FileName: "file"}},
		"a path":            {"a", `C:\temp\..\a.txt`, chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: "a.txt"}},
		"only a path":       {"a", "../..", chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: "file"}},
		"turned around":     {"a", "gpj.\u202eexe", chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: "gpj.exe"}},
		"a long name":       {"a", strings.Repeat("ü", 300) + ".txt", chat.Media{Kind: chat.File, MIMEType: "text/plain", FileName: strings.Repeat("ü", 96) + ".txt"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := describeFile([]byte(test.content), test.name)
			if name == "a long name" {
				if len(got.FileName) > maxFileName || len(got.FileName) < maxFileName-20 || !strings.HasSuffix(got.FileName, "ü.txt") {
					t.Errorf("a name of %d bytes: %q", len(got.FileName), got.FileName)
				}
				got.FileName = test.want.FileName
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
