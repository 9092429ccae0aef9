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
			map[string]any{"name": "ask", "description": "Asks people.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}},
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
	var asks elicitations
	for {
		line, err := lines.ReadBytes('\n')
		answer := asks.answer(line)
		if answer == nil {
			answer = answerRPC(line)
		}
		if answer != nil {
			fmt.Printf("%s\n", answer)
		}
		if err != nil {
			return
		}
	}
}

// elicitations are the calls of the tool ask, whose arguments are what people are asked for. Each is answered with their answer.
type elicitations struct {
	calls []json.RawMessage // the ids of the calls, by that of the elicitation
}

// answer answers a call of ask with a request for people, and their answer with the call's result. It returns nil for anything else.
func (e *elicitations) answer(message []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	var number int
	var send any
	switch {
	case m.Method == "tools/call" && m.Params.Name == "ask":
		e.calls = append(e.calls, m.ID)
		send = map[string]any{"jsonrpc": "2.0", "id": len(e.calls), "method": "elicitation/create", "params": m.Params.Arguments}
	case m.Method == "" && json.Unmarshal(m.ID, &number) == nil && number >= 1 && number <= len(e.calls):
		text := string(m.Result) + string(m.Error)
		send = map[string]any{"jsonrpc": "2.0", "id": e.calls[number-1], "result": map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}}
	default:
		return nil
	}
	line, _ := json.Marshal(send) // it is of what was decoded
	return line
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
