package messagesapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// Pictures that cannot be read or are too large are refused, as by the API.
func TestPictures(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	for _, p := range recordings.Pictures(t) {
		image := map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": p.Type, "data": p.Data}}
		for place, turn := range map[string]turn{
			"message": blocks("user", map[string]any{"type": "text", "text": "look"}, image),
			"result":  blocks("user", map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "content": []any{image}}),
		} {
			response := post(t.Context(), t, s, false, turn)
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			want := map[string]string{"a small PNG": "", "a large PNG": "max allowed size: 8000 pixels", "a damaged PNG of 9000 × 9000": "8000 pixels", "a damaged PNG of 100000 × 1000": "8000 pixels"}
			why, known := want[p.Name]
			if !known {
				why = "Could not process image"
			}
			if refused := response.StatusCode == http.StatusBadRequest; err != nil || refused != (why != "") || !strings.Contains(string(body), why) {
				t.Errorf("%s in a %s: %d, %v, %s; want %q", p.Name, place, response.StatusCode, err, body, why)
			}
		}
	}
}
