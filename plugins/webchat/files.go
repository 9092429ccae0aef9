package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of files.
const (
	maxUpload    = 20 << 20 // bytes per file; the host's limit
	maxFiles     = 10       // per message
	maxTransfers = 6        // at the same time
	maxFileName  = 200      // bytes
	// moveWithin limits how long a page may take for the next part of a file.
	moveWithin = 30 * time.Second
)

// shown are the types that a page may display; others can only be saved. SVG and HTML are not included because they may
// contain scripts.
var shown = map[string]chat.MediaKind{
	"image/png": chat.Image, "image/jpeg": chat.Image, "image/gif": chat.Image, "image/webp": chat.Image,
	"audio/mpeg": chat.Audio, "audio/ogg": chat.Audio, "audio/wave": chat.Audio, "audio/wav": chat.Audio, "audio/webm": chat.Audio,
	"audio/mp4": chat.Audio, "audio/aac": chat.Audio, "audio/flac": chat.Audio, "application/ogg": chat.Audio,
	"video/mp4": chat.Video, "video/webm": chat.Video,
}

// postFile stores a file with the host, for a message that follows. Its type is determined from its content, not from what
// the page says.
func (a *api) postFile(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/octet-stream" {
		refuse(w, http.StatusUnsupportedMediaType, "The body must be application/octet-stream.")
		return
	}
	if r.ContentLength > maxUpload {
		refuse(w, http.StatusRequestEntityTooLarge, tooLarge)
		return
	}
	control := http.NewResponseController(w)
	body := patient{http.MaxBytesReader(w, r.Body, maxUpload), control.SetReadDeadline}
	head := make([]byte, 512)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
		refuse(w, http.StatusBadRequest, "The file is empty.")
		return
	}
	m := describeFile(head[:n], r.URL.Query().Get("name"))
	stored, err := a.media.Upload(r.Context(), m, io.MultiReader(bytes.NewReader(head[:n]), body))
	if tooMuch := (*http.MaxBytesError)(nil); errors.As(err, &tooMuch) {
		refuse(w, http.StatusRequestEntityTooLarge, tooLarge)
		return
	}
	if refused, ok := errors.AsType[*sdk.RefusedError](err); ok {
		refuse(w, http.StatusUnprocessableEntity, "The file was refused: it "+refused.Reason+".")
		return
	}
	if err != nil {
		a.log.Warn("file not stored", "error", err)
		refuse(w, http.StatusBadGateway, "The host refused the file; its log says why.")
		return
	}
	respond(w, http.StatusOK, fileOf(stored))
}

const tooLarge = "A file has at most 20 MB."

// describeFile determines what a file is from its first bytes.
func describeFile(head []byte, name string) chat.Media {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		kind = "application/octet-stream"
	}
	m := chat.Media{Kind: chat.File, MIMEType: kind, FileName: fileName(name)}
	if known, ok := shown[kind]; ok {
		m.Kind = known
	}
	return m
}

// fileName returns a name that is not a path and displays as what it is.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	for len(name) > maxFileName {
		runes := []rune(name)
		name = string(runes[len(runes)-len(runes)*maxFileName/len(name):]) // the end has the extension
	}
	if name = strings.Trim(name, " ."); name == "" {
		return "file"
	}
	return name
}

func fileOf(m chat.Media) file {
	return file{Ref: m.Ref, Kind: m.Kind.String(), Type: m.MIMEType, Name: fileName(m.FileName), Size: m.Size}
}

func filesOf(all []chat.Media) []file {
	var files []file
	for _, m := range all {
		files = append(files, fileOf(m))
	}
	return files
}

// mediaOf returns a record's files for the host.
func mediaOf(files []file) []chat.Media {
	kinds := map[string]chat.MediaKind{}
	for k := chat.File; k <= chat.Sticker; k++ {
		kinds[k.String()] = k
	}
	var all []chat.Media
	for _, f := range files {
		all = append(all, chat.Media{Ref: f.Ref, Kind: kinds[f.Kind], MIMEType: f.Type, FileName: f.Name, Size: f.Size})
	}
	return all
}

// resolve returns the files that a page has stored with the host.
func (a *api) resolve(ctx context.Context, refs []chat.MediaRef) ([]file, error) {
	var files []file
	for _, ref := range refs {
		m, content, err := a.media.Download(ctx, ref)
		if err != nil {
			return nil, err
		}
		if err := content.Close(); err != nil {
			return nil, err
		}
		m.Ref = ref
		files = append(files, fileOf(m))
	}
	return files, nil
}

// getFile serves a file of a message, for display in the page or for saving. It can never be opened as a document of the
// page's origin.
func (a *api) getFile(w http.ResponseWriter, r *http.Request) {
	f, ok := a.journal.file(chat.MediaRef(r.PathValue("ref")))
	if !ok {
		refuse(w, http.StatusNotFound, "There is no such file.")
		return
	}
	m, content, err := a.media.Download(r.Context(), f.Ref)
	if errors.Is(err, sdk.ErrNotFound) {
		refuse(w, http.StatusGone, "The host no longer has this file.")
		return
	}
	if err != nil {
		a.log.Warn("file not read", "error", err)
		refuse(w, http.StatusServiceUnavailable, "The host did not provide the file.")
		return
	}
	defer content.Close()
	kind := "application/octet-stream"
	if _, ok := shown[f.Type]; ok {
		kind = f.Type
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	control := http.NewResponseController(w)
	if control.SetWriteDeadline(time.Now().Add(moveWithin)) != nil {
		return
	}
	n, err := io.Copy(patientWriter{w, control.SetWriteDeadline}, content)
	if err != nil || m.Size > 0 && n != m.Size {
		panic(http.ErrAbortHandler) // the page must not treat an incomplete file as complete
	}
}

// patient extends the read deadline as long as data arrives.
type patient struct {
	io.Reader
	deadline func(time.Time) error
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.deadline(time.Now().Add(moveWithin)); err != nil {
		return 0, err
	}
	return p.Reader.Read(b)
}

// patientWriter extends the write deadline as long as data is accepted.
type patientWriter struct {
	io.Writer
	deadline func(time.Time) error
}

func (p patientWriter) Write(b []byte) (int, error) {
	if err := p.deadline(time.Now().Add(moveWithin)); err != nil {
		return 0, err
	}
	return p.Writer.Write(b)
}
