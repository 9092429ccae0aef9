//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// serverVariable makes the test binary an MCP server over its stdin and stdout, instead of running tests.
const serverVariable = "CLAWHOST_E2E_MCP_SERVER"

// answerRPC answers a message to an MCP server that has two tools: greet, and environment, which shows the server's. It returns
// nil for a notification.
func answerRPC(message []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version   string `json:"protocolVersion"`
			Name      string `json:"name"`
			Arguments struct {
				Name string `json:"name"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return nil
	}
	result := map[string]any{}
	schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
	switch m.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": m.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "e2e", "version": "1"},
		}
	case "tools/list":
		result["tools"] = []any{
			map[string]any{"name": "greet", "description": "Greets somebody.", "inputSchema": schema},
			map[string]any{"name": "environment", "description": "Shows the environment.", "inputSchema": schema},
		}
	case "tools/call":
		text := "hello " + m.Params.Arguments.Name
		if m.Params.Name == "environment" {
			env := os.Environ()
			slices.Sort(env)
			text = strings.Join(env, "\n")
		}
		result["content"] = []any{map[string]any{"type": "text", "text": text}}
	}
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // maps of texts always encode
	return answer
}

// serveStdio answers messages until stdin ends.
func serveStdio() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if answer := answerRPC(line); answer != nil {
			fmt.Printf("%s\n", answer)
		}
		if err != nil {
			return
		}
	}
}

// httpServer is the same server over HTTP.
type httpServer struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header // of the requests
}

func newHTTPServer(t *testing.T) *httpServer {
	s := &httpServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.headers = append(s.headers, r.Header.Clone())
		s.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		answer := answerRPC(body)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case answer == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer) // a client that has left needs none
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// seen are the values of a header, one for each request.
func (s *httpServer) seen(header string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []string
	for _, h := range s.headers {
		values = append(values, h.Get(header))
	}
	return values
}
