package telegramtest

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// What a bot may upload.
const (
	maxUpload = 50 << 20 // bytes
	maxPhoto  = 10 << 20 // bytes
)

// upload is a file of a request.
type upload struct {
	name, mimeType string
	content        []byte
}

// uploads are the files of a request, by their field.
type uploads map[string]upload

func uploadsOf(form *multipart.Form) (uploads, error) {
	files := uploads{}
	if form == nil {
		return files, nil
	}
	for field, headers := range form.File {
		f, err := headers[0].Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(f)
		f.Close() // It was only read.
		if err != nil {
			return nil, err
		}
		files[field] = upload{name: headers[0].Filename, mimeType: headers[0].Header.Get("Content-Type"), content: content}
	}
	return files, nil
}

// sendFile answers sendPhoto and its kind.
func (s *Server) sendFile(kind string, params map[string]string, files uploads) response {
	m, refusal, ok := s.begin(params)
	if !ok {
		return refusal
	}
	file, ok := files[kind]
	if name, attached := strings.CutPrefix(params[kind], "attach://"); attached {
		file, ok = files[name]
	}
	if !ok {
		return badRequest("there is no %s in the request", kind)
	}
	if r, ok := s.enclose(m, kind, file); !ok {
		return r
	}
	if r, ok := setContent(m, params, "caption"); !ok {
		return r
	}
	return s.post(m)
}

// enclose puts a file into a message.
func (s *Server) enclose(m *Message, kind string, file upload) (response, bool) {
	isImage := slices.Contains([]string{"image/jpeg", "image/png", "image/webp"}, http.DetectContentType(file.content))
	switch {
	case len(file.content) == 0:
		return badRequest("file must be non-empty"), false
	case len(file.content) > maxUpload:
		return failed(http.StatusRequestEntityTooLarge, "Request Entity Too Large"), false
	case kind == "photo" && len(file.content) > maxPhoto:
		return badRequest("file is too big for a photo"), false
	case kind == "photo" && !isImage:
		return badRequest("IMAGE_PROCESS_FAILED"), false
	}
	m.Media, m.File, m.FileName, m.MIMEType = kind, file.content, file.name, file.mimeType
	m.media = map[string]any{kind: s.store(Post{Media: kind, File: file.content, FileName: file.name, MIMEType: file.mimeType})}
	return response{}, true
}

// sendMediaGroup posts all files of an album or none.
func (s *Server) sendMediaGroup(params map[string]string, files uploads) response {
	var items []struct {
		Type     string          `json:"type"`
		Media    string          `json:"media"`
		Caption  string          `json:"caption"`
		Entities json.RawMessage `json:"caption_entities"`
	}
	if err := json.Unmarshal([]byte(params["media"]), &items); err != nil {
		return badRequest("can't parse media JSON object")
	}
	if len(items) < 2 || len(items) > 10 {
		return badRequest("group must have 2-10 items")
	}
	s.lastID++
	album := s.lastID
	var messages []*Message
	for i, item := range items {
		m, refusal, ok := s.begin(params)
		if !ok {
			return refusal
		}
		picture := func(kind string) bool { return kind == "photo" || kind == "video" }
		if first := items[0].Type; item.Type != first && !(picture(item.Type) && picture(first)) || item.Type == "voice" {
			return badRequest("can't mix %s and %s in a group", first, item.Type)
		}
		name, attached := strings.CutPrefix(item.Media, "attach://")
		file, ok := files[name]
		if !attached || !ok {
			return badRequest("item %d of the group has no file", i)
		}
		if r, ok := s.enclose(m, item.Type, file); !ok {
			return r
		}
		content := map[string]string{"caption": item.Caption, "caption_entities": string(item.Entities)}
		if r, ok := setContent(m, content, "caption"); !ok {
			return r
		}
		m.Album = album
		messages = append(messages, m)
	}
	var posted []any
	for _, m := range messages {
		posted = append(posted, s.post(m).Result)
	}
	return succeeded(posted)
}
