package agent

// Bounds of what Claude is shown with one line. The CLI has taken 12 MB in a picture; the API takes 32 MB in a request.
const (
	MaxPicture  = 1536 << 10 // bytes of one
	MaxPictures = 4
)

// Picture is a file that Claude is shown with a message. It is read when the message is written.
type Picture struct {
	Path string
	Type string // by its content, such as image/png
}
