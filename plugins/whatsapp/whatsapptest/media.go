package whatsapptest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// maxUpload is the largest file that the media server takes, in bytes.
const maxUpload = 128 << 20

// mediaHost is how the media server is called; the device is led here all the same.
const mediaHost = "media.whatsapp.test"

// mediaAuth is what the device proves to the media server that it may upload by.
const mediaAuth = "whatsapptest-media-auth-0123456789"

// MediaAuth is the secret by which the device may upload files. It must not show in any log or error.
func (*Server) MediaAuth() string { return mediaAuth }

func mediaServers() []waBinary.Node {
	return []waBinary.Node{{
		Tag:     "media_conn",
		Attrs:   waBinary.Attrs{"auth": mediaAuth, "ttl": 3600, "auth_ttl": 3600, "max_buckets": 12},
		Content: []waBinary.Node{{Tag: "host", Attrs: waBinary.Attrs{"hostname": mediaHost}}},
	}}
}

// serveMedia is the media server: it keeps what is encrypted, and does not know by what.
func (s *Server) serveMedia(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	s.mu.Lock()
	broken, content := s.brokenMedia, s.files[name]
	s.mu.Unlock()
	switch {
	case broken != 0:
		w.WriteHeader(broken)
	case r.Method == http.MethodGet && content != nil:
		s.mu.Lock()
		s.fetched++
		s.mu.Unlock()
		_, _ = w.Write(content)
	case r.Method == http.MethodPost && r.URL.Query().Get("auth") == mediaAuth:
		content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpload))
		sum := sha256.Sum256(content)
		if err != nil || base64.URLEncoding.EncodeToString(sum[:]) != name {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		path := s.store(name, content)
		_ = json.NewEncoder(w).Encode(map[string]string{"url": "https://" + mediaHost + path, "direct_path": path})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Server) store(name string, content []byte) (path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = content
	return "/files/" + name + "?ccb=1"
}

// Fetched returns how many files the device has fetched.
func (s *Server) Fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched
}

// BreakMedia has the media server answer everything with a status; zero: it works again.
func (s *Server) BreakMedia(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brokenMedia = status
}

// kinds name what the keys of a file are derived for.
const (
	forImage    = "WhatsApp Image Keys"
	forVideo    = "WhatsApp Video Keys"
	forAudio    = "WhatsApp Audio Keys"
	forDocument = "WhatsApp Document Keys"
)

// fileKeys are what a file is encrypted by.
type fileKeys struct{ iv, cipher, mac []byte }

func keysOf(mediaKey []byte, kind string) (fileKeys, error) {
	all, err := hkdf.Key(sha256.New, mediaKey, nil, kind, 112)
	if err != nil {
		return fileKeys{}, err
	}
	return fileKeys{all[:16], all[16:48], all[48:80]}, nil
}

func (k fileKeys) sum(encrypted []byte) []byte {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write(k.iv)
	mac.Write(encrypted)
	return mac.Sum(nil)[:10]
}

// uploaded is a file on the media server, as a message tells of it.
type uploaded struct {
	path                       string
	key, encryptedSum, fileSum []byte
	length                     uint64
}

func (s *Server) upload(content []byte, kind string) uploaded {
	key := sha256.Sum256(content)
	k, err := keysOf(key[:], kind)
	if err != nil {
		panic(err)
	}
	block, err := aes.NewCipher(k.cipher)
	if err != nil {
		panic(err)
	}
	pad := aes.BlockSize - len(content)%aes.BlockSize
	encrypted := append(bytes.Clone(content), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, k.iv).CryptBlocks(encrypted, encrypted)
	encrypted = append(encrypted, k.sum(encrypted)...)
	sum, plainSum := sha256.Sum256(encrypted), sha256.Sum256(content)
	path := s.store(base64.URLEncoding.EncodeToString(sum[:]), encrypted)
	return uploaded{path, key[:], sum[:], plainSum[:], uint64(len(content))}
}

// Image is a message with an image, and perhaps a caption.
func (s *Server) Image(content []byte, mimeType, caption string) *waE2E.Message {
	f := s.upload(content, forImage)
	return &waE2E.Message{ImageMessage: &waE2E.ImageMessage{
		Mimetype: proto.String(mimeType), Caption: proto.String(caption), DirectPath: &f.path, MediaKey: f.key,
		FileEncSHA256: f.encryptedSum, FileSHA256: f.fileSum, FileLength: &f.length,
	}}
}

// Voice is a voice message.
func (s *Server) Voice(content []byte) *waE2E.Message {
	f := s.upload(content, forAudio)
	return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{
		Mimetype: proto.String("audio/ogg; codecs=opus"), PTT: proto.Bool(true), DirectPath: &f.path, MediaKey: f.key,
		FileEncSHA256: f.encryptedSum, FileSHA256: f.fileSum, FileLength: &f.length,
	}}
}

// Document is a message with a file.
func (s *Server) Document(content []byte, mimeType, name string) *waE2E.Message {
	f := s.upload(content, forDocument)
	return &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		Mimetype: proto.String(mimeType), FileName: proto.String(name), DirectPath: &f.path, MediaKey: f.key,
		FileEncSHA256: f.encryptedSum, FileSHA256: f.fileSum, FileLength: &f.length,
	}}
}

// file fetches and decrypts the file of a message, as a phone does.
func (s *Server) file(m *waE2E.Message) ([]byte, error) {
	var source interface {
		GetDirectPath() string
		GetMediaKey() []byte
		GetFileSHA256() []byte
	}
	kind := forImage
	switch {
	case m.GetImageMessage() != nil:
		source = m.GetImageMessage()
	case m.GetStickerMessage() != nil:
		source = m.GetStickerMessage()
	case m.GetVideoMessage() != nil:
		source, kind = m.GetVideoMessage(), forVideo
	case m.GetAudioMessage() != nil:
		source, kind = m.GetAudioMessage(), forAudio
	case m.GetDocumentMessage() != nil:
		source, kind = m.GetDocumentMessage(), forDocument
	default:
		return nil, errors.New("the message has no file")
	}
	name, _, _ := strings.Cut(source.GetDirectPath()[strings.LastIndexByte(source.GetDirectPath(), '/')+1:], "?")
	s.mu.Lock()
	encrypted := bytes.Clone(s.files[name])
	s.mu.Unlock()
	k, err := keysOf(source.GetMediaKey(), kind)
	if err != nil {
		return nil, err
	}
	end := len(encrypted) - 10
	if end <= 0 || end%aes.BlockSize != 0 || !hmac.Equal(k.sum(encrypted[:end]), encrypted[end:]) {
		return nil, errors.New("the file is not what was uploaded for the message")
	}
	block, err := aes.NewCipher(k.cipher)
	if err != nil {
		return nil, err
	}
	content := encrypted[:end]
	cipher.NewCBCDecrypter(block, k.iv).CryptBlocks(content, content)
	content = content[:end-int(content[end-1])]
	if sum := sha256.Sum256(content); !bytes.Equal(sum[:], source.GetFileSHA256()) {
		return nil, errors.New("the file has another sum than the message says")
	}
	return content, nil
}
