package upload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/upload"
)

// shelf is the host's file store. It counts open files.
type shelf struct {
	files map[chat.MediaRef]file
	open  int
}

type file struct {
	media   chat.Media
	content io.Reader
}

func (s *shelf) Download(_ context.Context, ref chat.MediaRef) (chat.Media, io.ReadCloser, error) {
	f, ok := s.files[ref]
	if !ok {
		return chat.Media{}, nil, fmt.Errorf("download: %w", sdk.ErrNotFound)
	}
	s.open++
	return f.media, lent{f.content, s}, nil
}

type lent struct {
	io.Reader
	shelf *shelf
}

func (l lent) Close() error {
	l.shelf.open--
	return nil
}

// received is a part of a form as the server reads it.
type received struct{ Name, FileName, Type, Content string }

func read(t interface{ Fatal(...any) }, contentType string, body io.Reader) (list []received) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	for reader := multipart.NewReader(body, params["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, received{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)})
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 1<<20/16)
	s := &shelf{files: map[chat.MediaRef]file{
		"named":    {chat.Media{FileName: "Ärger 🦀.pdf", MIMEType: "application/pdf", Size: 4}, strings.NewReader("%PDF")},
		"evil":     {chat.Media{FileName: "a\"b\\c/d\r\nX-Evil: 1.pdf", MIMEType: "text/plain\r\nX: y", Size: 1}, strings.NewReader("x")},
		"nameless": {chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg; codecs=opus", Size: 2}, strings.NewReader("oo")},
		"nothing":  {chat.Media{}, strings.NewReader("")},
		"large":    {chat.Media{FileName: "large", Size: int64(len(large))}, strings.NewReader(large)},
	}}
	var got []received
	length := int64(0)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, length = read(t, r.Header.Get("Content-Type"), r.Body), r.ContentLength
	}))
	defer server.Close()
	form, err := upload.New(t.Context(), s.Download,
		upload.Part{Name: "chat", Value: []byte("7")}, upload.Part{Name: "named", File: "named"}, upload.Part{Name: "payload", Value: []byte(`{}`), Type: "application/json"},
		upload.Part{Name: "evil", File: "evil"}, upload.Part{Name: `n"ame`, File: "nameless"}, upload.Part{Name: "nothing", File: "nothing"}, upload.Part{Name: "large", File: "large"},
	)
	if err != nil {
		t.Fatal(err)
	}
	request, err := form.Request(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || form.Err() != nil {
		t.Fatal(err, form.Err())
	}
	_ = response.Body.Close()
	want := []received{
		{"chat", "", "", "7"},
		{"named", "Ärger 🦀.pdf", "application/pdf", "%PDF"},
		{"payload", "", "application/json", "{}"},
		{"evil", "a_b_c_d__X-Evil: 1.pdf", "application/octet-stream", "x"},
		{"n_ame", "voice.ogg", "audio/ogg; codecs=opus", "oo"},
		{"nothing", "file", "application/octet-stream", ""},
		{"large", "large", "application/octet-stream", large},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received (-want +got):\n%.2000s", diff)
	}
	if length != form.Length {
		t.Errorf("announced are %d bytes, not %d", length, form.Length)
	}
	for range 2 {
		if err := form.Close(); err != nil || s.open != 0 {
			t.Errorf("%v, %d files are open", err, s.open)
		}
	}
}

// The server reads exactly what is sent, with the announced length.
func TestForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &shelf{files: map[chat.MediaRef]file{}}
		var parts []upload.Part
		var want []received
		for i := range rapid.IntRange(0, 8).Draw(t, "parts") {
			name, content := fmt.Sprint("part", i), rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "content")
			if rapid.Bool().Draw(t, "a value") {
				parts = append(parts, upload.Part{Name: name, Value: content})
				want = append(want, received{Name: name, Content: string(content)})
				continue
			}
			ref := chat.MediaRef(name)
			s.files[ref] = file{chat.Media{FileName: name + ".txt", MIMEType: "text/plain", Size: int64(len(content))}, iotest.HalfReader(bytes.NewReader(content))}
			parts = append(parts, upload.Part{Name: name, File: ref})
			want = append(want, received{name, name + ".txt", "text/plain", string(content)})
		}
		form, err := upload.New(context.Background(), s.Download, parts...)
		if err != nil {
			t.Fatal(err)
		}
		defer form.Close()
		sent, err := io.ReadAll(form)
		if err != nil || form.Err() != nil || int64(len(sent)) != form.Length {
			t.Fatalf("%v, %v: %d bytes, announced are %d", err, form.Err(), len(sent), form.Length)
		}
		if len(parts) == 0 {
			return // an empty form has no boundary for a reader to find
		}
		if diff := cmp.Diff(want, read(t, form.ContentType, bytes.NewReader(sent))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

// A file that differs from its announcement makes an incomplete request, and the sender gets an error.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Error("a whole request arrived")
		}
	}))
	defer server.Close()
	broken := errors.New("the host went away")
	for name, test := range map[string]struct {
		content io.Reader
		want    error
	}{
		"ends too soon":     {strings.NewReader("123"), upload.ErrSize},
		"does not end":      {strings.NewReader("1234567"), upload.ErrSize},
		"breaks":            {io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), broken},
		"breaks at its end": {io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(broken)), broken},
	} {
		s := &shelf{files: map[chat.MediaRef]file{"f": {chat.Media{Size: 5}, test.content}}}
		form, err := upload.New(t.Context(), s.Download, upload.Part{Name: "f", File: "f"})
		if err != nil {
			t.Fatal(err)
		}
		request, err := form.Request(t.Context(), server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			t.Errorf("%s: it was sent", name)
		}
		if !errors.Is(form.Err(), test.want) {
			t.Errorf("%s: %v, want %v", name, form.Err(), test.want)
		}
		_ = form.Close()
	}
}

// If a file does not exist, those opened before it are closed.
func TestAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := &shelf{files: map[chat.MediaRef]file{"f": {chat.Media{Size: 1}, strings.NewReader("x")}}}
	_, err := upload.New(t.Context(), s.Download, upload.Part{Name: "a", File: "f"}, upload.Part{Name: "b", File: "g"})
	if !errors.Is(err, sdk.ErrNotFound) || s.open != 0 {
		t.Errorf("%v, %d files are open", err, s.open)
	}
}

// TestTimeOfNoSize is that of an empty file.
func TestTimeOfNoSize(t *testing.T) {
	t.Parallel()
	if got, want := upload.Time(-50<<20), upload.Time(0); got != want {
		t.Errorf("a negative size may take %v, want %v", got, want)
	}
}
